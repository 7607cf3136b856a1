"""The same robot as URDF, MJCF, SDF, a table and calls of the builder: one robot, the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on
from tests.random_models import random_state
from tests.tolerances import FIVE_DECIMALS_OF_PI, ROUNDING, TWELVE_DIGITS_OF_PI, assert_close

URDF = """<robot name="arm">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0.1 0.02 0.3"/><mass value="2"/>
    <inertia ixx="0.03" iyy="0.04" izz="0.05" ixy="0.001" ixz="-0.002" iyz="0.003"/></inertial></link>
  <link name="fore"><inertial><origin xyz="0 0.1 0.2" rpy="0.1 0.2 0.3"/><mass value="1.5"/>
    <inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="slider"><inertial><mass value="0.5"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
    <origin xyz="0 0 0.5" rpy="0.3 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="9" velocity="3"/></joint>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="fore"/>
    <origin xyz="0.1 0 0.4" rpy="0 0.5 -0.2"/><axis xyz="1 1 0"/></joint>
  <joint name="slide" type="prismatic"><parent link="fore"/><child link="slider"/>
    <origin xyz="0 0.2 0.1"/><axis xyz="0 0 1"/><limit lower="0" upper="0.3" effort="9" velocity="3"/></joint>
</robot>"""

MJCF = """<mujoco model="arm"><compiler angle="radian" eulerseq="XYZ"/><worldbody><body name="base">
  <body name="upper" pos="0 0 0.5" euler="0.3 0 0">
    <inertial pos="0.1 0.02 0.3" mass="2" fullinertia="0.03 0.04 0.05 0.001 -0.002 0.003"/>
    <joint name="shoulder" axis="0 1 0" range="-2 2"/>
    <body name="fore" pos="0.1 0 0.4" euler="0 0.5 -0.2">
      <inertial pos="0 0.1 0.2" euler="0.1 0.2 0.3" mass="1.5" diaginertia="0.02 0.03 0.04"/>
      <joint name="elbow" axis="1 1 0"/>
      <body name="slider" pos="0 0.2 0.1">
        <inertial pos="0 0 0" mass="0.5" diaginertia="0.01 0.01 0.01"/>
        <joint name="slide" type="slide" axis="0 0 1" range="0 0.3"/>
      </body></body></body></body></worldbody></mujoco>"""

SDF = """<sdf version="1.9"><model name="arm">
  <link name="base"><inertial><mass>1</mass></inertial></link>
  <link name="upper"><pose relative_to="shoulder"/><inertial><pose>0.1 0.02 0.3 0 0 0</pose><mass>2</mass>
    <inertia><ixx>0.03</ixx><iyy>0.04</iyy><izz>0.05</izz><ixy>0.001</ixy><ixz>-0.002</ixz><iyz>0.003</iyz></inertia>
  </inertial></link>
  <link name="fore"><pose relative_to="elbow"/><inertial><pose>0 0.1 0.2 0.1 0.2 0.3</pose><mass>1.5</mass>
    <inertia><ixx>0.02</ixx><iyy>0.03</iyy><izz>0.04</izz></inertia></inertial></link>
  <link name="slider"><pose relative_to="slide"/><inertial><mass>0.5</mass>
    <inertia><ixx>0.01</ixx><iyy>0.01</iyy><izz>0.01</izz></inertia></inertial></link>
  <joint name="anchor" type="fixed"><parent>world</parent><child>base</child></joint>
  <joint name="shoulder" type="revolute"><pose relative_to="base">0 0 0.5 0.3 0 0</pose>
    <parent>base</parent><child>upper</child>
    <axis><xyz>0 1 0</xyz><limit><lower>-2</lower><upper>2</upper></limit></axis></joint>
  <joint name="elbow" type="continuous"><pose relative_to="upper">0.1 0 0.4 0 0.5 -0.2</pose>
    <parent>upper</parent><child>fore</child><axis><xyz>0.70710678118654752 0.70710678118654752 0</xyz></axis></joint>
  <joint name="slide" type="prismatic"><pose relative_to="fore">0 0.2 0.1 0 0 0</pose>
    <parent>fore</parent><child>slider</child>
    <axis><xyz>0 0 1</xyz><limit><lower>0</lower><upper>0.3</upper></limit></axis></joint>
</model></sdf>"""


def built() -> on.Robot:
    turn = on.Placement.xyz_rpy((0, 0, 0), (0.1, 0.2, 0.3)).R
    return (
        on.Builder("arm", gravity=(0, 0, -9.81))
        .body("base")
        .body("upper", mass=2.0, com=(0.1, 0.02, 0.3), inertia=(0.03, 0.04, 0.05, 0.001, -0.002, 0.003))
        .body("fore", mass=1.5, com=(0, 0.1, 0.2), inertia=turn @ np.diag([0.02, 0.03, 0.04]) @ turn.T)
        .body("slider", mass=0.5, inertia=(0.01, 0.01, 0.01))
        .joint("shoulder", on.Revolute((0, 1, 0)), "base", "upper", at=((0, 0, 0.5), (0.3, 0, 0)), lower=-2, upper=2)
        .joint("elbow", on.Continuous((1, 1, 0)), "upper", "fore", at=((0.1, 0, 0.4), (0, 0.5, -0.2)))
        .joint("slide", on.Prismatic((0, 0, 1)), "fore", "slider", at=(0, 0.2, 0.1), lower=0, upper=0.3)
        .build()
    )


@pytest.fixture(scope="module")
def wanted() -> on.Robot:
    return built()


@pytest.mark.slow
@pytest.mark.parametrize("text", [URDF, MJCF, SDF], ids=["urdf", "mjcf", "sdf"])
def test_the_same_numbers(wanted: on.Robot, text: str) -> None:
    robot = on.load(text)
    assert [c.name for c in robot.joints] == [c.name for c in wanted.joints]
    q, v, a = random_state(wanted, 0, (20,))
    assert_close(robot.inverse_dynamics(q, v, a), wanted.inverse_dynamics(q, v, a), ROUNDING)
    assert_close(robot.mass_matrix(q), wanted.mass_matrix(q), ROUNDING)
    assert_close(robot.forward_dynamics(q, v, a), wanted.forward_dynamics(q, v, a), ROUNDING)
    for body in wanted.bodies:
        assert_close(robot.pose(q, body.name), wanted.pose(q, body.name), ROUNDING)
    assert (robot.lower == wanted.lower).all()
    assert (robot.upper == wanted.upper).all()


@pytest.mark.parametrize("text", [URDF, MJCF], ids=["urdf", "mjcf"])
def test_there_and_back(wanted: on.Robot, text: str) -> None:
    robot = on.load(text)
    q, v, a = random_state(wanted, 1, (5,))
    for again in (on.load(robot.to_urdf()), on.load(robot.to_mjcf())):
        assert_close(again.inverse_dynamics(q, v, a), wanted.inverse_dynamics(q, v, a), ROUNDING)


IIWA = (
    # link poses in the world, as (z, roll, yaw) in quarter turns; masses, mass centres, moments of inertia
    ((0.1575, 0, 0), 4.0, (0, -0.03, 0.12), (0.1, 0.09, 0.02)),
    ((0.36, 1, -2), 4.0, (0.0003, 0.059, 0.042), (0.05, 0.018, 0.044)),
    ((0.5645, 0, 0), 3.0, (0, 0.03, 0.13), (0.08, 0.075, 0.01)),
    ((0.78, 1, 0), 2.7, (0, 0.067, 0.034), (0.03, 0.01, 0.029)),
    ((0.9645, 0, -2), 1.7, (0.0001, 0.021, 0.076), (0.02, 0.018, 0.005)),
    ((1.18, 1, -2), 1.8, (0, 0.0006, 0.0004), (0.005, 0.0036, 0.0047)),
    ((1.261, 0, 0), 0.3, (0, 0, 0.02), (0.001, 0.001, 0.001)),
)
"""KUKA's LBR iiwa, as Bullet's examples have it in SDF."""
ORIGINS = (
    # the same in URDF: offsets from link to link, then roll, pitch and yaw in quarter turns
    ((0, 0, 0.1575), (0, 0, 0)),
    ((0, 0, 0.2025), (1, 0, 2)),
    ((0, 0.2045, 0), (1, 0, 2)),
    ((0, 0, 0.2155), (1, 0, 0)),
    ((0, 0.1845, 0), (-1, 2, 0)),
    ((0, 0, 0.2155), (1, 0, 0)),
    ((0, 0.081, 0), (-1, 2, 0)),
)


def words(numbers: tuple[float, ...]) -> str:
    return " ".join(map(repr, numbers))


def iiwa_sdf(quarter: str, half: str) -> str:
    """With these spellings of a quarter of a turn and of half a turn."""
    angle = {-2: f"-{half}", 0: "0", 1: quarter}
    parts = ["<link name='l0'/><joint name='anchor' type='fixed'><parent>world</parent><child>l0</child></joint>"]
    for k, ((z, roll, yaw), mass, com, (x, y, w)) in enumerate(IIWA, 1):
        parts.append(
            f"<link name='l{k}'><pose>0 0 {z} {angle[roll]} 0 {angle[yaw]}</pose><inertial><pose>{words(com)} 0 0 0"
            f"</pose><mass>{mass}</mass><inertia><ixx>{x}</ixx><iyy>{y}</iyy><izz>{w}</izz></inertia></inertial></link>"
            f"<joint name='j{k}' type='revolute'><parent>l{k - 1}</parent><child>l{k}</child>"
            "<axis><xyz>0 0 1</xyz></axis></joint>"
        )
    return f"<sdf version='1.6'><model name='iiwa'>{''.join(parts)}</model></sdf>"


def iiwa_urdf(quarter: str, half: str) -> str:
    angle = {-1: f"-{quarter}", 0: "0", 1: quarter, 2: half}
    parts = ["<link name='l0'/>"]
    for k, (((_, mass, com, (x, y, w))), (at, turns)) in enumerate(zip(IIWA, ORIGINS, strict=True), 1):
        rpy = " ".join(angle[turn] for turn in turns)
        parts.append(
            f"<link name='l{k}'><inertial><origin xyz='{words(com)}'/><mass value='{mass}'/><inertia ixx='{x}'"
            f" iyy='{y}' izz='{w}' ixy='0' ixz='0' iyz='0'/></inertial></link><joint name='j{k}' type='continuous'>"
            f"<parent link='l{k - 1}'/><child link='l{k}'/><origin xyz='{words(at)}' rpy='{rpy}'/><axis xyz='0 0 1'/>"
            "</joint>"
        )
    return f"<robot name='iiwa'>{''.join(parts)}</robot>"


@pytest.mark.parametrize(
    ("digits", "between"),
    [
        (("1.5708", "3.14159"), FIVE_DECIMALS_OF_PI),  # as Bullet's file writes them: the robots are two
        (("1.57079632679", "3.14159265359"), (0.0, TWELVE_DIGITS_OF_PI)),
        (("1.5707963267948966", "3.141592653589793"), (0.0, ROUNDING)),
    ],
    ids=["as shipped", "12 digits", "all digits"],
)
def test_files_that_differ_only_in_the_digits_of_pi(digits: tuple[str, str], between: tuple[float, float]) -> None:
    """Two files of one arm, one of them with four or five decimals of pi: what their dynamics differ by is that."""
    sdf = on.load(iiwa_sdf(*digits), snap=0.0)
    urdf = on.load(iiwa_urdf("1.5707963267948966", "3.141592653589793"), snap=0.0)
    q, v, a = random_state(urdf, 0, (5,))
    for question, arguments in (
        ("mass_matrix", (q,)),
        ("inverse_dynamics", (q, v, a)),
        ("forward_dynamics", (q, v, a)),
    ):
        one, other = (robot.kernel(question, way="interpreted")(*arguments) for robot in (sdf, urdf))
        assert between[0] <= np.abs(one - other).max() / np.abs(other).max() <= between[1]
