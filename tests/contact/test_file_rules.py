"""Contact parameters of files: which shapes touch, and with which friction, beside MuJoCo itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ordern as on
from ordern.errors import ArgumentError
from ordern.model.contact_terms import ContactTerms
from ordern.model.json_form import from_plain, to_plain

SCENE = """
<mujoco>
  <option><flag filterparent="{filter}"/></option>
  <default>
    <geom friction="0.9 0.02 0.003"/>
    <default class="ice"><geom friction="0.05" condim="4" solref="0.01 0.8"/><pair condim="6"/></default>
    <default class="cat"><geom contype="2" conaffinity="4"/></default>
  </default>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1" friction="0.4" priority="{floor}" condim="1"/>
    <geom name="post" size="0.5" pos="0 0 0.2" friction="0.2" solimp="0.9 0.99 0.01"/>
    <body name="a">
      <freejoint/>
      <geom name="a" size="0.5" friction="0.7"/>
      <body name="a2"><geom name="a2" size="0.4" class="ice"/></body>
      <body name="b" pos="0.1 0 0">
        <joint axis="1 0 0" pos="0 0 1"/><joint axis="0 1 0"/>
        <geom name="b" size="0.5" priority="3" friction="0.3 0.1" condim="6"/>
        <body name="c" pos="0.1 0 0">
          <joint/>
          <geom name="c" size="0.5" class="cat"/>
          <geom name="c1" size="0.5"/>
        </body>
      </body>
    </body>
    <body name="d" pos="0 0.1 0">
      <freejoint/>
      <geom name="d" size="0.5" conaffinity="2" contype="0"/>
      <geom name="d0" size="0.5" conaffinity="0" contype="0"/>
    </body>
    <body name="e" pos="0 -0.1 0"><joint/><geom name="e" size="0.5" margin="0.01"/></body>
  </worldbody>
  <contact>
    <exclude body1="a2" body2="e"/>
    <exclude body1="world" body2="e"/>
    <pair geom1="d0" geom2="a" class="ice"/>
    <pair geom1="d0" geom2="floor" friction="0.6 0.6 0.01" condim="4"/>
    <pair geom1="e" geom2="a2" condim="1"/>
    <pair geom1="b" geom2="e"/>
  </contact>
</mujoco>
"""


def of_mujoco(text: str) -> dict[frozenset[str], tuple[float, ...]]:
    """Return the coefficients of all contacts that MuJoCo finds where all geoms overlap."""
    import mujoco

    model: Any = mujoco.MjModel.from_xml_string(text)
    data: Any = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    found = {}
    for c in data.contact:
        names = frozenset(model.geom(k).name for k in c.geom)
        sliding, torsional, rolling = c.friction[[0, 2, 3]]
        n = c.dim
        found[names] = (sliding if n > 1 else 0.0, torsional if n > 3 else 0.0, rolling if n > 4 else 0.0)
    return found


@pytest.mark.needs("mujoco")
@pytest.mark.parametrize("filter", ["enable", "disable"])
@pytest.mark.parametrize("floor", [0, 5])
def test_shapes_touch_as_in_mujoco(tmp_path: Path, filter: str, floor: int) -> None:
    text = SCENE.format(filter=filter, floor=floor)
    path = tmp_path / "scene.xml"
    path.write_text(text)
    contacts = on.load(path).with_contacts(self_collision=True).contacts
    assert contacts is not None
    found = {
        frozenset(c.name.split(" - ")) if c.second else frozenset([c.name, "floor"]): (
            c.friction,
            c.torsional,
            c.rolling,
        )
        for c in contacts.pairs
    }
    expected = of_mujoco(text)
    assert set(found) == set(expected)
    for names, numbers in expected.items():
        assert found[names] == pytest.approx(numbers, abs=1.1e-5), names  # MuJoCo's least friction is 1e-5


def by_name(robot: on.Robot) -> dict[str, tuple[float, ...]]:
    contacts = robot.with_contacts(self_collision=True).contacts
    assert contacts is not None
    return {c.name: (c.friction, c.torsional, c.rolling, c.restitution) for c in contacts.pairs}


def test_files_and_data_keep_contact_parameters(tmp_path: Path) -> None:
    path = tmp_path / "scene.xml"
    path.write_text(SCENE.format(filter="enable", floor=0))
    robot = on.load(path)
    ice = next(s.contact for s in robot.shapes if s.name == "a2" and s.role == "collision")
    assert ice == ContactTerms(0.02, 0.003, dimensions=4, solref=(0.01, 0.8))
    assert ice is not None
    assert ice.per_mass == pytest.approx(((1.0 / (0.95 * 0.01 * 0.8)) ** 2, 2.0 / (0.95 * 0.01)))
    notes = [n.message for n in robot.notes if n.quiet]
    kept = "kept, but not used by rigid contacts: solimp of <geom>, solref of <geom>, margin of <geom>"
    assert kept in notes
    plain = from_plain(to_plain(robot), on.Model)
    assert (plain.shapes, plain.contact_rules) == (robot.shapes, robot.contact_rules)
    again = tmp_path / "again.xml"
    robot.save(again)
    expected = by_name(robot)
    assert len(expected) == 17
    assert {k.replace("_2", ""): x for k, x in by_name(on.load(again)).items()} == expected
    attached = on.Builder("two")
    attached.body("base")
    attached.attach(robot, "base", prefix="it/")
    rules = attached.build().contact_rules
    assert rules is not None
    assert rules.excluded[0] == ("it/a2", "it/e")


def test_bad_contact_parameters_are_told() -> None:
    body = '<mujoco><worldbody><geom type="plane" size="1 1 1"/><body><freejoint/><geom name="g" size="1" {}/></body>'
    for given, message in (
        ('condim="2"', "condim"),
        ('friction="x"', "friction"),
        ('contype="1.5"', "contype must be a whole number"),
    ):
        with pytest.raises(on.ModelError, match=message):
            on.load(body.format(given) + "</worldbody></mujoco>")
    with pytest.raises(on.ModelError, match="there is no geom 'h'"):
        on.load(body.format("") + '</worldbody><contact><pair geom1="g" geom2="h"/></contact></mujoco>')
    apart = on.load(body.format('contype="2" conaffinity="2"') + "</worldbody></mujoco>")
    with pytest.raises(ArgumentError, match="nothing of 'mujoco' can touch by the rules of its file"):
        apart.with_contacts()


URDF = """
<robot name="two">
  <link name="base"><collision><geometry><sphere radius="0.1"/></geometry></collision></link>
  <link name="arm"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><sphere radius="0.1"/></geometry></collision></link>
  <joint name="j" type="continuous"><parent link="base"/><child link="arm"/></joint>
  <gazebo reference="base"><mu1>0.3</mu1><mu2>0.3</mu2></gazebo>
  <gazebo reference="arm"><mu1 value="0.6"/><mu2>0.5</mu2><kp>1e5</kp><kd>10</kd></gazebo>
  <gazebo reference="gone"><mu1>-2</mu1></gazebo>
</robot>
"""
SDF = """
<sdf version="1.9"><model name="two">
  <link name="base"><collision name="b"><geometry><sphere><radius>0.1</radius></sphere></geometry>
    <surface><friction><ode><mu>0.3</mu></ode></friction></surface></collision></link>
  <link name="arm"><collision name="a"><geometry><sphere><radius>0.1</radius></sphere></geometry>
    <surface><friction><ode><mu>0.6</mu><mu2>0.5</mu2></ode>
      <torsional><coefficient>2</coefficient><patch_radius>0.01</patch_radius></torsional></friction>
      <bounce><restitution_coefficient>0.4</restitution_coefficient></bounce>
      <contact><ode><kp>1e5</kp><kd>10</kd></ode></contact></surface></collision></link>
  <joint name="fixed" type="fixed"><parent>world</parent><child>base</child></joint>
  <joint name="j" type="revolute"><parent>base</parent><child>arm</child><axis><xyz>0 0 1</xyz></axis></joint>
</model></sdf>
"""


@pytest.mark.filterwarnings("ignore::ordern.ModelWarning")
@pytest.mark.parametrize("text", [URDF, SDF])
def test_surfaces_of_gazebo(text: str) -> None:
    robot = on.load(text)
    arm = next(s for s in robot.shapes if s.link == "arm")
    assert arm.friction == 0.6
    assert arm.contact is not None
    assert (arm.contact.stiffness, arm.contact.damping) == (1e5, 10.0)
    notes = " ".join(n.message for n in robot.notes)
    assert "without <mu2>" in notes
    assert "gazebo" not in notes or "is -2; expected a number not below zero" in notes
    contacts = robot.with_contacts(pairs=[(robot.base, "arm")]).contacts
    assert contacts is not None
    assert contacts.pairs[0].friction == 0.3  # the smaller one, as in Gazebo
    contacts = robot.with_contacts(on.Ground(friction=None), bodies=["arm"]).contacts
    assert contacts is not None
    (sole,) = contacts.pairs
    assert (sole.friction, sole.restitution) == (0.6, 0.4 if text is SDF else 0.0)
    assert sole.torsional == pytest.approx(0.01 * 2 * 3 * 3.141592653589793 / 16 if text is SDF else 0.0)
    if text is URDF:
        assert on.load(robot.to_urdf()).shapes == robot.shapes
