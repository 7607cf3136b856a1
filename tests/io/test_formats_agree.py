"""The same robot as URDF, MJCF, SDF, a table and calls of the builder: one robot, the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on
from tests.random_models import random_state
from tests.tolerances import ROUNDING, assert_close

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
