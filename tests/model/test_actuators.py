"""Actuators as records: what a builder is told, what survives changes of a robot, and what is refused."""

from __future__ import annotations

import math
import pickle
from typing import Any

import pytest

import ordern as on
from ordern.model.json_form import from_plain, to_plain

BALL = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}


def hand() -> on.Builder:
    """A palm with a ball joint, and two hinges in series."""
    builder = on.Builder("hand").body("palm", parent=None)
    builder.body("thumb", parent="palm", joint=on.Spherical(), joint_name="ball", **BALL)
    builder.body("near", parent="palm", joint=on.Revolute(), joint_name="knuckle", **BALL)
    return builder.body("far", parent="near", joint=on.Revolute(), joint_name="tip", **BALL)


def test_what_a_builder_is_told_survives() -> None:
    builder = hand().actuator("m", "motor", "knuckle").actuator("b", "motor", "ball", force_limits=(-2, 3))
    builder.actuator("pull", "position", ["knuckle", "tip"], [4.0, (0.5,)], control_limits=(0, 1), through="tendon 't'")
    robot = builder.build()
    motor, ball, pull = robot.actuators
    assert (motor.name, motor.kind, motor.joints, motor.gear) == ("m", "motor", ("knuckle",), ((1.0,),))
    assert ball.gear == ((1.0, 1.0, 1.0),) and ball.force_limits == (-2.0, 3.0)
    assert pull.gear == ((4.0,), (0.5,)) and pull.control_limits == (0.0, 1.0) and pull.through == "tendon 't'"
    assert pickle.loads(pickle.dumps(robot)).actuators == robot.actuators
    assert from_plain(to_plain(robot), on.Robot).actuators == robot.actuators
    assert robot.builder().build().actuators == robot.actuators
    locked = robot.lock("knuckle").actuators  # a locked joint drops out, with actuators of nothing else
    assert [(x.name, x.joints, x.gear) for x in locked[1:]] == [("pull", ("tip",), ((0.5,),))] and len(locked) == 2
    held = on.grasp([(robot, "far"), (robot, "thumb")], (1.0, (0, 0, 0), (0.1, 0.1, 0.1))).robot
    assert [x.joints for x in held.actuators[:4:3]] == [("hand-1/knuckle",), ("hand-2/knuckle",)]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"joints": "knuckles"}, r"unknown joint 'knuckles' in actuator 'm'. Did you mean 'knuckle'\?"),
        ({"joints": "ball", "gear": [1.0]}, "gear has 1 numbers for joint 'ball'; expected 3, one for each freedom"),
        ({"joints": "tip", "gear": [1.0, 2.0]}, "1 joints and 2 gears"),
        ({"joints": "tip", "gear": ["x"]}, "gear must be numbers"),
        ({"joints": "tip", "gear": [float("inf")]}, "gear must be finite"),
        ({"joints": "tip", "force_limits": (1, 0)}, "force_limits must be the least and the largest number"),
        ({"joints": "tip", "name": ""}, "an actuator's name must be a non-empty string"),
    ],
)
def test_what_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(on.ModelError, match=message):
        hand().actuator(**{"name": "m", **given}).build()
    twice = hand().actuator("m", "motor", "tip").actuator("m", "motor", "knuckle")
    with pytest.raises(on.ModelError, match="actuator 'm' exists already"):
        twice.build()


def test_the_text_of_an_actuator_makes_it_again() -> None:
    one = on.Actuator("a", "motor", ("j",), ((2.0,),), force_limits=(-math.inf, 3.0), control_limits=(0.0, 1.0))
    other = on.Actuator("b", "adhesion", through="body 'x'")
    for actuator in (one, other):
        assert eval(repr(actuator), {"Actuator": on.Actuator, "inf": math.inf}) == actuator
    assert repr(other) == """Actuator('b', 'adhesion', through="body 'x'")"""
