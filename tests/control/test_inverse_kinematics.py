"""Inverse kinematics: random reachable targets of real arms, limits, redundancy, and honesty about failures."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import ordern as on
from ordern import robots
from tests.control.moving import Array
from tests.random_models import random_robot
from tests.robots import ROBOTS
from tests.tolerances import FINITE_DIFFERENCE, REACHED, assert_close

ARMS = {
    "panda": ("panda_description/urdf/panda.urdf", "panda_hand_tcp"),
    "ur5": ("ur_description/urdf/ur5_robot.urdf", "tool0"),
    "talos": ("talos_data/robots/talos_reduced.urdf", "gripper_left_base_link"),
    "puma560": ("puma560", "flange"),
}


@cache
def load(name: str, floating: bool = False) -> on.Robot:
    file = ARMS[name][0]
    return on.load(ROBOTS / file if file.endswith(".urdf") else file, floating=floating)


@pytest.mark.slow
@pytest.mark.parametrize("name", ARMS)
def test_reachable_targets_are_reached(name: str) -> None:
    """More than 99.9 % of random targets, within limits; by Pinocchio's logarithm of what is left."""
    robot, frame = load(name), ARMS[name][1]
    T = robot.pose(robot.random(1, 1000), frame)
    q, info = robot.inverse_kinematics(T, frame, restarts=60)
    assert info.reached.mean() > 0.999
    assert np.all(q >= robot.lower) and np.all(q <= robot.upper)
    left = [pin.log6(pin.SE3(a).actInv(pin.SE3(b))).vector for a, b in zip(robot.pose(q, frame), T, strict=True)]
    error = np.linalg.norm(left, axis=1)[info.reached]
    assert error.max() < 2 * REACHED
    assert np.all(info.why[info.reached] == "reached")
    assert_close(np.hypot(info.angle, info.distance)[info.reached], error, REACHED)


@pytest.mark.slow
def test_a_floating_robot_reaches_from_where_it_is() -> None:
    robot = load("talos", True)
    T = {}
    goal = robot.random(3, 20)
    for side in ("left", "right"):
        T[f"gripper_{side}_base_link"] = robot.pose(goal, f"gripper_{side}_base_link")
        T[f"{side}_sole_link"] = robot.pose(goal, f"{side}_sole_link")
    q, info = robot.inverse_kinematics(T, restarts=20)
    assert info.reached.mean() >= 0.9  # four limbs at once, within all limits
    for frame, expected in T.items():
        assert_close(robot.pose(q, frame)[info.reached], expected[info.reached], 2 * REACHED)
    assert_close(np.linalg.norm(q[:, :4], axis=1), np.ones(20), 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_derivatives_of_the_residuals(seed: int) -> None:
    from ordern.control.targets import targets

    robot = random_robot(seed, 6, (on.Spherical, on.Revolute, on.Planar, on.Prismatic), floating=True, chain=True)
    rng = np.random.default_rng(seed)
    q, x = robot.random(rng, 10), rng.normal(size=(10, robot.nv))
    goal = targets(robot, robot.pose(robot.random(rng, 10), "tool"), "tool", rng.uniform(0.5, 2.0, 6), (10,))
    h = 1e-6
    slope = (goal.residuals(robot.integrate(q, x, h)) - goal.residuals(robot.integrate(q, x, -h))) / (2 * h)
    assert_close((goal.derivatives(q) @ x[..., None])[..., 0], slope, FINITE_DIFFERENCE)


@pytest.mark.slow
def test_weights_leave_axes_free() -> None:
    robot, frame = load("panda"), ARMS["panda"][1]
    T = robot.pose(robot.random(4, 50), frame)
    q, info = robot.inverse_kinematics(T, frame, weights=(0, 0, 0, 1, 1, 1), restarts=20)
    assert info.reached.all() and info.distance.max() < REACHED and not info.angle.any()
    assert_close(robot.pose(q, frame)[:, :3, 3], T[:, :3, 3], REACHED)
    q, info = robot.inverse_kinematics(T, frame, weights=(1, 1, 1, 0, 0, 0), restarts=20)
    assert info.reached.all()
    assert_close(robot.pose(q, frame)[:, :3, :3], T[:, :3, :3], 2 * REACHED)
    q, info = robot.inverse_kinematics(T, frame, weights=(1, 1, 0, 1, 1, 1), restarts=20)  # may turn about its z
    assert info.reached.all()
    assert_close(robot.pose(q, frame)[:, :3, 2:], T[:, :3, 2:], 2 * REACHED)
    assert np.abs(robot.pose(q, frame)[:, :3, 0] - T[:, :3, 0]).max() > 0.1


@pytest.mark.slow
def test_batches_have_the_shape_of_their_targets() -> None:
    robot, frame = load("puma560"), "flange"
    T = robot.pose(robot.random(5, (2, 3)), frame)
    q, info = robot.inverse_kinematics(T, frame, restarts=30)
    assert q.shape == (2, 3, 6) and info.reached.shape == info.why.shape == info.steps.shape == (2, 3)
    assert info.stops.shape == (2, 3, 6)
    one, single = robot.inverse_kinematics(T[1, 2], frame, q0=q[1, 2])
    assert one.shape == (6,) and single.reached.shape == () and single.steps == 0
    many, _ = robot.inverse_kinematics(T[0, 0], frame, q0=robot.random(6, 7))
    assert many.shape == (7, 6)
    none, info = robot.inverse_kinematics(np.zeros((0, 4, 4)), frame)
    assert none.shape == (0, 6) and str(info) == "0 of 0 reached"


def test_a_spare_freedom_goes_where_it_is_wanted() -> None:
    """At the nearest position to `rest`, the way to it has no part that the target would let through."""
    robot, frame = load("panda").lock("panda_finger_joint1"), ARMS["panda"][1]
    rest = np.array([0.0, -0.3, 0.0, -1.8, 0.0, 1.5, 0.0])
    T = robot.pose(robot.integrate(rest, np.random.default_rng(7).normal(0.0, 0.4, (30, 7))), frame)
    plain, first = robot.inverse_kinematics(T, frame, limits=False, restarts=5)
    q, info = robot.inverse_kinematics(T, frame, limits=False, restarts=5, null=rest, steps=300)
    assert first.reached.all() and info.reached.all()
    away = np.linalg.norm(robot.difference(q, rest), axis=1)
    assert np.all(away <= np.linalg.norm(robot.difference(plain, rest), axis=1) + 1e-12)
    _, _, rows = np.linalg.svd(robot.jacobian(q, frame))
    along = (rows[:, 6:] @ robot.difference(q, rest)[..., None])[:, 0, 0]
    assert np.abs(along).max() < 1e-4
    assert_close(robot.pose(q, frame), T, 2 * REACHED)


def planar(upper: float) -> on.Robot:
    """Two links of 1 m in a plane; the elbow bends up to a limit."""
    elbow = {"lower": -0.1, "upper": upper}
    return (
        on.Builder("planar")
        .body("base")
        .body("one", parent="base", joint=on.Revolute((0, 0, 1)), joint_name="shoulder", mass=1.0)
        .body("two", parent="one", joint=on.Revolute((0, 0, 1)), joint_name="elbow", at=(1, 0, 0), mass=1.0, **elbow)
        .frame("tip", "two", (1.0, 0.0, 0.0))
        .build()
    )


def at(x: float, y: float) -> Array:
    T = np.eye(4)
    T[:2, 3] = x, y
    return T


@pytest.mark.slow
def test_it_says_what_stands_in_the_way() -> None:
    position: dict[str, Any] = {"weights": (0, 0, 0, 1, 1, 1), "q0": [0.3, 0.4]}
    robot = planar(1.0)
    _, info = robot.inverse_kinematics(at(1.0, 1.2), "tip", **position)  # 1.35 rad at the elbow
    assert info.reached or info.why == "limit"
    _, info = robot.inverse_kinematics(at(0.5, 0.5), "tip", **position)  # the elbow would have to bend by 2.4 rad
    assert not info.reached and info.why == "limit"
    assert info.stops.tolist() == [False, True]
    near = 2 * np.cos(0.5)  # as near as the elbow lets the tip come to the shoulder
    assert float(info.distance) == pytest.approx(near - np.hypot(0.5, 0.5), abs=1e-6)
    assert "held by joint limits (elbow)" in str(info)
    _, info = robot.inverse_kinematics(at(3.0, 0.0), "tip", **position)  # the arm is 2 m long
    assert info.why == "singular" and float(info.distance) == pytest.approx(1.0, abs=1e-6)
    assert "out of reach" in str(info) and not info.stops.any()
    q, info = robot.inverse_kinematics(at(0.5, 0.5), "tip", limits=False, **position)
    assert info.reached and q[1] > 2.0
    _, info = planar(3.0).inverse_kinematics(at(0.5, 0.5), "tip", steps=2, **position)
    assert info.why == "steps"


@pytest.mark.slow
def test_a_followers_limits_count() -> None:
    """A joint that follows at twice the angle stops at half of its leader's range."""
    robot = (
        on.Builder("pair")
        .body("base")
        .body("one", parent="base", joint=on.Revolute((0, 0, 1)), joint_name="lead", mass=1.0)
        .body("two", parent="base", joint=on.Revolute((0, 0, 1)), mimic=("lead", 2.0, 0.0), upper=0.8, mass=1.0)
        .frame("tip", "one", (1.0, 0.0, 0.0))
        .build()
    )
    q, info = robot.inverse_kinematics(at(0.0, 1.0), "tip", weights=(0, 0, 0, 1, 1, 1))
    assert q.tolist() == [0.4] and info.why == "limit"


def test_mistakes_are_named() -> None:
    robot, T = load("puma560"), np.eye(4)
    for words, arguments, options in (
        (r"say which frame", (T,), {}),
        (r"give the pose first, then the frame", ("flange", T), {}),
        (r"leave `frame` out", ({"flange": T}, "flange"), {}),
        (r"unknown frame 'flang'.*Did you mean 'flange'", (T, "flang"), {}),
        (r"the pose for 'flange' has shape \(3, 4\)", (T[:3], "flange"), {}),
        (r"the pose for 'flange' is not a pose", (2 * T, "flange"), {}),
        (r"the pose for 'flange' must be finite", (T * np.nan, "flange"), {}),
        (r"q0 has shape \(5,\); its last dimension must be 6", (T, "flange", np.zeros(5)), {}),
        (r"poses and q0: the batch shapes .* do not fit together", (np.stack([T] * 3), "flange", np.zeros((2, 6))), {}),
        (r"weights of 'flange' has shape \(3,\)", (T, "flange"), {"weights": (1, 1, 1)}),
        (r"nor all zero", (T, "flange"), {"weights": np.zeros(6)}),
        (r"no pose for the frame 'x'", (T, "flange"), {"weights": {"x": np.ones(6)}}),
        (r"tolerance must be a finite number above zero", (T, "flange"), {"tolerance": 0.0}),
        (r"steps must be 1 or more", (T, "flange"), {"steps": 0}),
        (r"null has shape \(3,\); its last dimension must be 6", (T, "flange"), {"null": np.zeros(3)}),
        (r"no poses", ({},), {}),
    ):
        with pytest.raises(on.OrdernError, match=words):
            robot.inverse_kinematics(*arguments, **options)


def test_loops_stay_closed() -> None:
    """The five-bar reaches a point by the law of cosines, not by opening its loop; a far one is missed closed."""
    robot, start = on.load("five-bar"), robots.positions("five-bar")["assembled"]
    T = robot.pose(start, "tool")
    T[:3, 3] += (0.02, 0.0, 0.03)
    only = {"q0": start, "weights": (0, 0, 0, 1, 1, 1)}
    q, info = robot.inverse_kinematics(T, "tool", **only)
    assert info.reached
    x, z = T[0, 3], T[2, 3]
    for base, drive in ((-0.05, q[0]), (0.05, q[2])):
        elbow = np.array([base + 0.2 * np.cos(drive), 0.2 * np.sin(drive)])
        assert abs(np.hypot(x - elbow[0], z - elbow[1]) - 0.3) < 1e-9
    assert np.abs(robot.loop_residual(q)).max() < 1e-9
    T[2, 3] = 2.0
    q, info = robot.inverse_kinematics(T, "tool", **only)
    assert not info.reached
    assert np.abs(robot.loop_residual(q)).max() < 1e-9


def test_the_limits_of_an_angle_hold_in_a_joint_whose_other_coordinates_have_none():
    """The angle of a planar joint integrates one velocity, so that a limit can stop it; x and y do not."""
    builder = on.Builder("cart").body("ground")
    ends = {"lower": (-0.5, -np.inf, -np.inf), "upper": (0.5, np.inf, np.inf)}
    builder.body("plate", mass=1.0, inertia=(1, 1, 1), parent="ground", joint=on.Planar(), **ends)
    robot = builder.build()
    inside, outside = (np.array([angle, 0.2, -0.1]) for angle in (0.3, 1.2))
    q, info = robot.inverse_kinematics(robot.pose(inside, "plate"), "plate")
    assert info.reached
    assert_close(q, inside, REACHED)
    q, info = robot.inverse_kinematics(robot.pose(outside, "plate"), "plate")
    assert q[0] == 0.5
    assert info.why == "limit"
    assert info.stops.tolist() == [True, False, False]
