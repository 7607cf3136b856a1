"""Mistakes and combinations of a new user's first hours: errors that name them, and numbers that are right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.errors import OrdernError


def _gripper() -> on.Builder:
    builder = on.Builder("gripper").body("palm", mass=1.0, inertia=(1, 1, 1))
    finger = {"mass": 0.1, "inertia": (1e-4, 1e-4, 1e-4), "parent": "palm"}
    builder.body("one", joint=on.Prismatic((0, 1, 0)), joint_name="g1", **finger)
    builder.body("two", joint=on.Prismatic((0, 1, 0)), joint_name="g2", mimic=("g1", -2.0, 0.01), **finger)
    return builder


def test_a_named_position_of_a_follower_is_that_of_its_leader() -> None:
    robot = _gripper().position("open", {"g2": -0.03}).build()
    assert robot.positions["open"] == pytest.approx([0.02])
    both = _gripper().position("open", {"g1": 0.5, "g2": -0.03}).build()
    assert both.positions["open"] == pytest.approx([0.5])


def test_a_floating_robot_with_named_positions_is_attached() -> None:
    robot = on.load("puma560").attach(on.load("quadruped"), to="flange")
    assert "quadruped/stand" in robot.positions


def test_a_robot_in_another_current_is_not_attached() -> None:
    builder = on.Builder("fin", current=(1, 0, 0)).body("ground")
    builder.body("fin", mass=1.0, parent="ground", joint=on.Prismatic((1, 0, 0)), drag=on.Drag(linear=1.0))
    with pytest.raises(OrdernError, match="'fin' is in a current"):
        on.load("puma560").attach(builder.build(), to="flange")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: on.Builder("b").body("x", mass=1.0, displaced=3.0), "a mass and a centre"),
        (lambda: on.Builder("b").body("x", mass=1.0, drag=3.0), "a Drag or an EllipsoidDrag"),
        (lambda: on.load("puma560").attach("p", to="flange", mas=1.0), "unknown keyword 'mas' in attach"),
    ],
)
def test_wrong_arguments_are_named(call: Any, words: str) -> None:
    with pytest.raises(OrdernError, match=words):
        call()


@pytest.mark.needs("sympy")
def test_symbolic_questions_are_checked() -> None:
    arm = on.load("planar-3r")
    for arguments, options, words in (
        (("planar-3r", "gravity_force"), {}, "give a robot first"),
        ((arm, "pose"), {}, "needs the setting 'frame'"),
        ((arm, "gravity_force"), {"param": True}, "unknown setting 'param'"),
    ):
        with pytest.raises(OrdernError, match=words):
            on.symbolic(*arguments, **options)


def test_a_policy_has_no_delay() -> None:
    robot = on.load("double-pendulum")
    late = on.controllers.Sampled(on.controllers.PD(robot, [0.0, 0.0], 1.0, 1.0), 0.001, delay=0.002)
    with pytest.raises(OrdernError, match="a policy has no delay"):
        robot.rollout(np.zeros(2), np.zeros(2), steps=2, dt=1e-3, policy=late)


@pytest.mark.needs("xacrodoc")
def test_unknown_arguments_of_a_template_are_named(tmp_path: Path) -> None:
    file = tmp_path / "arm.urdf.xacro"
    file.write_text(
        '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="n" default="1"/>'
        '<link name="l$(arg n)"/></robot>'
    )
    assert on.load(file, xacro=True, xacro_args={"n": 2}).base == "l2"
    with pytest.raises(OrdernError, match="the template has no argument 'm'"):
        on.load(file, xacro=True, xacro_args={"m": 1})
    with pytest.raises(OrdernError, match="must be a dictionary"):
        on.load(file, xacro=True, xacro_args=[1])  # type: ignore[arg-type]


STAGE = """#usda 1.0
(
    metersPerUnit = {unit}
    kilogramsPerUnit = 1
    upAxis = "Z"
)
def Xform "base" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
{{
    float physics:mass = 1
}}
def Xform "arm" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
{{
    float physics:mass = {mass}
    float3 physics:diagonalInertia = (1, 1, 1)
}}
def PhysicsRevoluteJoint "hinge"
{{
    uniform token physics:axis = "{axis}"
    rel physics:body0 = </base>
    rel physics:body1 = </arm>
}}
"""


@pytest.mark.needs("pxr")
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"mass": "nan"}, "/arm: physics:mass must be a number"),
        ({"mass": "-1"}, "must not be below zero"),
        ({"axis": "Q"}, "/hinge: physics:axis must be X, Y or Z"),
        ({"unit": "0"}, "metersPerUnit of the stage must be a positive number"),
    ],
)
def test_impossible_numbers_of_a_stage_are_named(given: dict[str, str], words: str, tmp_path: Path) -> None:
    file = tmp_path / "arm.usda"
    file.write_text(STAGE.format(**{"mass": "1", "axis": "Z", "unit": "1"}))
    assert on.load(file).nv == 1
    file.write_text(STAGE.format(**{"mass": "1", "axis": "Z", "unit": "1", **given}))
    with pytest.raises(OrdernError, match=words):
        on.load(file)
