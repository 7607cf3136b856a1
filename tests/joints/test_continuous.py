"""Continuous joints: full turns do not matter, except to springs, followers and trajectories."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on
from ordern.control import trajectories
from tests.tolerances import ROUNDING, SINGLE, assert_close

TURN = 2.0 * np.pi
URDF = """<robot name="wheel"><link name="base"/>
<link name="w"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="continuous"><parent link="base"/><child link="w"/><axis xyz="0 0 1"/></joint></robot>"""
WHEEL = on.load(URDF)
ANGLES = np.array([0.0, 0.3, 1.5 * np.pi, -1.5 * np.pi, 3.0, 7.0, -100.0, 1e4])[:, None]


def two(**terms: object) -> on.Robot:
    """A continuous joint, and a revolute one."""
    body = {"mass": 1.0, "com": (0.1, 0.0, 0.0), "inertia": (1.0, 1.0, 1.0)}
    made = on.Builder("two").body("base").body("a", parent="base", joint=on.Continuous(), **terms, **body)
    return made.body("b", parent="a", joint=on.Revolute(), joint_name="b", at=(1, 0, 0), **body).build()


def short(angle: np.ndarray) -> np.ndarray:
    return np.angle(np.exp(1j * angle))


@pytest.mark.parametrize("way", ["interpreted", "unrolled", "rolled"])
def test_difference_goes_the_short_way(way: str) -> None:
    robot = two()
    found = robot.kernel("difference", way=way)(np.full((8, 2), 0.2), np.hstack([ANGLES, ANGLES]))
    assert_close(found, np.hstack([short(ANGLES - 0.2), ANGLES - 0.2]), 1e4 * ROUNDING)
    assert found[1, 0] == 0.3 - 0.2  # inside half a turn it is the plain difference


def test_single_precision() -> None:
    q = ANGLES[:6].astype(np.float32)
    assert_close(WHEEL.difference(np.zeros_like(q), q), short(ANGLES[:6]), SINGLE)


def test_distance_interpolate_and_same_position() -> None:
    assert WHEEL.distance([0.0], [1.5 * np.pi]) == pytest.approx(0.5 * np.pi)
    assert_close(WHEEL.interpolate([0.0], [1.5 * np.pi], 0.5), [-0.25 * np.pi], ROUNDING)
    assert WHEEL.same_position([0.1], [0.1 - 2 * TURN]) and not WHEEL.same_position([0.1], [0.1 + 0.5 * TURN])
    assert not two().same_position([0.0, 0.1], [0.0, 0.1 + TURN])


def test_derivatives_on_the_other_side() -> None:
    found = WHEEL.derivatives.difference(0.2 * np.ones((8, 1)), ANGLES)
    assert_close(found.q0, -np.ones((8, 1, 1)), ROUNDING)
    assert_close(found.q1, np.ones((8, 1, 1)), ROUNDING)


def test_feedback_takes_the_short_way() -> None:
    def steered(goal: float) -> np.ndarray:
        return WHEEL.rollout([0.0], [0.0], steps=5, dt=0.01, feedback=(9.0, 6.0, [goal])).q

    far, near = steered(1.5 * np.pi), steered(-0.5 * np.pi)
    assert_close(far, near, ROUNDING)
    assert near[-1, 0] < 0.0


def test_springs_count_turns() -> None:
    robot = two(stiffness=2.0)
    assert_close(robot.passive_force([3.0 * np.pi, 0.0], [0.0, 0.0]), [-6.0 * np.pi, 0.0], ROUNDING)


def test_a_joint_that_another_follows_counts_turns() -> None:
    body = {"mass": 1.0, "inertia": (1.0, 1.0, 1.0)}
    led = on.Builder("led").body("base").body("a", parent="base", joint=on.Continuous(), joint_name="a", **body)
    robot = led.body("b", parent="base", joint=on.Revolute(), mimic=("a", 0.5, 0.0), **body).build()
    assert_close(robot.difference([0.0], [TURN]), [TURN], ROUNDING)
    assert not robot.same_position([0.0], [TURN])  # the follower is half a turn further


def test_trajectories_keep_turns() -> None:
    roll = trajectories.minimum_jerk(WHEEL, [0.0], [3.0 * TURN], 2.0)
    assert_close(roll(2.0).q, [3.0 * TURN], ROUNDING)
    through = trajectories.spline(WHEEL, [0.0, 1.0, 2.0], [[0.0], [5.0], [10.0]])
    assert_close(through(np.array([1.0, 2.0])).q, [[5.0], [10.0]], ROUNDING)


def test_composites() -> None:
    body = {"mass": 1.0, "inertia": (1.0, 1.0, 1.0)}
    joint = on.Composite((on.Prismatic((1, 0, 0)), on.Continuous()))
    robot = on.Builder("c").body("base").body("a", parent="base", joint=joint, stiffness=1.0, **body).build()
    assert_close(robot.difference([0.0, 0.0], [9.0, 1.5 * np.pi]), [9.0, -0.5 * np.pi], ROUNDING)
    assert_close(robot.passive_force([9.0, TURN], [0.0, 0.0]), [-9.0, -TURN], ROUNDING)


@pytest.mark.needs("pinocchio")
def test_as_in_pinocchio() -> None:
    import pinocchio as pin

    model = pin.buildModelFromXML(URDF)
    circle = np.hstack([np.cos(ANGLES), np.sin(ANGLES)])
    start = np.array([np.cos(0.2), np.sin(0.2)])
    theirs = np.array([pin.difference(model, start, q) for q in circle])
    assert_close(WHEEL.difference(np.full((8, 1), 0.2), ANGLES), theirs, 1e4 * ROUNDING)


@pytest.mark.needs("jax")
@pytest.mark.slow
def test_in_jax() -> None:
    import jax

    q = jax.numpy.asarray(ANGLES[:4])
    found = jax.jit(lambda q: WHEEL.difference(jax.numpy.zeros_like(q), q))(q)
    assert_close(np.asarray(found), short(ANGLES[:4]), SINGLE)
