"""Numbers of a robot in the file that it came from: all else stays as it is, and the file says what the robot does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ordern as on
from ordern.io.xml_edit import EditedXml
from tests.tolerances import assert_close

URDF = """<?xml version="1.0"?>
<!-- an arm: é -->
<robot name="arm">
  <link name="base"/>
  <link name="upper"><inertial><origin rpy="0.3 0 0" xyz="0.1 0 0"/>  <!-- by CAD -->
    <mass value='2'/><inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.03"/></inertial></link>
  <link name="tool"/>
  <link name="camera"><inertial><mass value="0.1"/>
    <inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/></inertial></link>
  <joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/></joint>
  <joint name="roll" type="continuous"><origin xyz="0.3 0 0"/><parent link="upper"/><child link="tool"/>
    <axis xyz="1 0 0"/><dynamics damping="0.1" friction="0.2" own="7"/></joint>
  <joint name="held" type="fixed"><origin xyz="0 0 0.1"/><parent link="upper"/><child link="camera"/></joint>
</robot>
"""

MJCF = """<mujoco model="arm"> <!-- as drawn -->
  <compiler angle="radian" inertiafromgeom="true"/>
  <default><joint damping="0.5"/></default>
  <worldbody>
    <body name="a"><joint name="j1" axis="0 0 1" pos="0.1 0 0"/>
      <geom type="capsule" size="0.03" fromto="0 0 0 0.3 0 0"/>
      <body name="b" pos="0.3 0 0">
        <inertial pos="0.1 0 0" mass="1" diaginertia="0.01 0.02 0.02" euler="0 0 1"/>
        <joint name="j2" axis="0 1 0" armature="0.01"/>
        <body name="tool" pos="0.2 0 0"><geom size="0.04" mass="0.2"/></body>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="j1" gear="10" armature="0.001"/><motor joint="j2"/></actuator>
</mujoco>
"""


def changed(tmp_path: Path, text: str, name: str, **more: object) -> tuple[on.Robot, on.Robot, str]:
    """A robot with other numbers, the one that its file in place describes, and that file."""
    (tmp_path / name).write_text(text, encoding="utf-8", newline="\n")
    robot = on.load(tmp_path / name)
    other = robot.randomise(3, (), mass=0.3, com=0.01, inertia=0.2, fold=True)
    other = other.vary(damping=0.3, joint_friction=0.4, **more, fold=True)
    other.save(tmp_path / f"new_{name}", in_place=True)
    return other, on.load(tmp_path / f"new_{name}"), (tmp_path / f"new_{name}").read_text(encoding="utf-8")


def test_urdf(tmp_path: Path) -> None:
    other, read, text = changed(tmp_path, URDF, "arm.urdf")
    assert_close(read.parameters.theta, other.parameters.theta, 1e-12)
    for kept in (
        "<!-- an arm: é -->",
        "<!-- by CAD -->",
        'own="7"',
        'rpy="0.3 0 0"',
        "<mass value='",
        '<mass value="0.1"/>',
    ):
        assert kept in text
    assert text.count("<dynamics") == 2


def test_placements_in_urdf(tmp_path: Path) -> None:
    _, read, _ = changed(
        tmp_path, URDF, "arm.urdf", placement={"shoulder": lambda x: x + 0.01, "roll": lambda x: x - 0.02}
    )
    fixed = on.load(tmp_path / "arm.urdf")
    moved = fixed.vary(placement={"shoulder": lambda x: x + 0.01, "roll": lambda x: x - 0.02}, fold=True)
    for one, two in zip(read.joints, moved.joints, strict=True):
        assert_close(one.placement.matrix, two.placement.matrix, 1e-12)


@pytest.mark.slow
def test_mjcf(tmp_path: Path) -> None:
    other, read, text = changed(tmp_path, MJCF, "arm.xml", armature=0.4)
    assert_close(read.parameters.theta, other.parameters.theta, 1e-12)
    assert "<!-- as drawn -->" in text and 'inertiafromgeom="auto"' in text and "euler" not in text
    assert text.count("<inertial") == 2 and 'armature="0.001"' in text


def test_same_numbers_change_nothing(tmp_path: Path) -> None:
    (tmp_path / "arm.urdf").write_text(URDF, encoding="utf-8", newline="\r\n")
    on.load(tmp_path / "arm.urdf").save(tmp_path / "b.urdf", in_place=True)
    assert (tmp_path / "b.urdf").read_bytes() == (tmp_path / "arm.urdf").read_bytes()


def test_links_of_one_body_share_what_is_possible(tmp_path: Path) -> None:
    """A body that is lighter than the camera on it: the camera cannot keep its mass."""
    (tmp_path / "arm.urdf").write_text(URDF, encoding="utf-8")
    robot = on.load(tmp_path / "arm.urdf")
    light = robot.with_parameters(inertia=0.02 * robot.parameters.inertia, fold=True)
    light.save(tmp_path / "light.urdf", in_place=True)
    read = on.load(tmp_path / "light.urdf")
    assert_close(read.parameters.theta, light.parameters.theta, 1e-12)
    masses = [x.mass for x in on.load(tmp_path / "light.urdf", merge=False).bodies]
    assert min(masses) >= 0.0 and max(masses) < 0.042


def test_refusals(tmp_path: Path) -> None:
    (tmp_path / "arm.urdf").write_text(URDF, encoding="utf-8")
    robot = on.load(tmp_path / "arm.urdf")
    for call, message in (
        (lambda: on.load("puma560").save(tmp_path / "x.urdf", in_place=True), "no file of its own"),
        (lambda: robot.save(tmp_path / "x.xml", in_place=True), "ends in .urdf"),
        (
            lambda: robot.vary(armature=0.1, fold=True).save(tmp_path / "x.urdf", in_place=True),
            "armature of joint 'shoulder'",
        ),
    ):
        with pytest.raises(on.OrdernError, match=message):
            call()
    assert not list(tmp_path.glob("x.*"))
    robot.vary(armature=0.1, fold=True).save(tmp_path / "x.urdf", in_place=True, lossy=True)
    assert not on.load(tmp_path / "x.urdf").parameters.armature.any()


def test_attributes() -> None:
    xml = EditedXml(b"<a  b = '1'\n c=\"x b='2' > y\" ><d/></a>", "<string>")
    xml.set(xml.root, b="3", c=None, e="4")
    xml.insert(xml.root.children[0], "<f/>")
    assert xml.data == b"<a  b = '3' e=\"4\" ><d>\n  <f/>\n</d></a>"
    with pytest.raises(on.ModelError, match="UTF-16"):
        EditedXml("<a/>".encode("utf-16"), "<string>")
    assert np.array_equal(xml.root.line, 1)
