"""Contacts from files, and in them: the ground and friction of an MJCF scene; robots that are saved with results."""

from __future__ import annotations

from pathlib import Path

import pytest

import ordern as on
from ordern.model.json_form import from_plain, to_plain
from tests.contact.robots import hopper

SCENE = """
<mujoco>
  <worldbody>
    <geom type="plane" size="1 1 1" pos="0 0 0.5" euler="10 0 0" friction="0.4"/>
    <body name="box" pos="0 0 1">
      <freejoint/>
      <geom type="box" size="0.1 0.1 0.1" friction="0.7 0 0"/>
    </body>
  </worldbody>
</mujoco>
"""


def test_the_ground_of_a_scene(tmp_path: Path) -> None:
    path = tmp_path / "scene.xml"
    path.write_text(SCENE)
    robot = on.load(path)
    assert {shape.friction for shape in robot.shapes if shape.role == "collision"} == {0.4, 0.7}
    contacts = robot.with_contacts().contacts
    assert contacts is not None and contacts.ground is not None
    assert contacts.ground.normal == pytest.approx((0.0, -0.17364818, 0.98480775))
    assert contacts.ground.height == pytest.approx(0.5 * 0.98480775)
    assert [c.friction for c in contacts.pairs] == [0.7] * 8  # the larger one, as in MuJoCo
    own = robot.with_contacts(on.Ground(0.2)).contacts
    assert own is not None
    assert [c.friction for c in own.pairs] == [0.2] * 8


def test_contacts_are_stored_with_a_robot() -> None:
    robot = hopper().with_contacts(on.Ground(0.3, normal=(0.1, 0, 1)), points={"foot": 0.02})
    data = to_plain(robot)
    assert from_plain(data, on.Model).contacts == robot.contacts
    data["contacts"]["pairs"][0]["first"]["body"] = 7
    with pytest.raises(on.ModelError, match="contact 'foot' is of body or joint 7"):
        from_plain(data, on.Model)
