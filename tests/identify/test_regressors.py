"""Regressors: times theta they are the forces, momenta and energies, of all joints, in every way of running."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on
from tests.identify.robots import WORLD, closed_motion, compared, random_tree
from tests.random_models import random_state
from tests.tolerances import ROUNDING, SINGLE, assert_close, difference

ARM = on.load("puma560")


@pytest.mark.parametrize("seed", [3, 7, *(pytest.param(k, marks=pytest.mark.slow) for k in (0, 1, 2, 4, 5, 6))])
def test_regressor_times_theta(seed: int) -> None:
    for name, found, expected in compared(random_tree(seed), seed):
        assert difference(found, expected) <= ROUNDING, name


@pytest.mark.slow
@pytest.mark.parametrize("way", ["unrolled", "rolled"])
@pytest.mark.parametrize("seed", [1, 3, 6])
def test_compiled_regressor_times_theta(seed: int, way: str) -> None:
    for name, found, expected in compared(random_tree(seed), seed, way):
        assert difference(found, expected) <= ROUNDING, name


def test_columns_have_the_order_of_the_labels() -> None:
    """A change of one number of theta changes the forces by its column, of a robot with all kinds of numbers."""
    robot = random_tree(7).with_parameters(stiffness=0.0 * random_tree(7).parameters.stiffness, fold=True)
    q, v, a = random_state(robot, 0)
    p = robot.parameters
    Y = robot.kernel("inverse_dynamics_regressor", way="interpreted")(q, v, a, np.array(1e-9))
    assert Y.shape == (robot.nv, len(p.theta_labels)) and len(p.theta) == len(p.theta_labels)
    assert_close(p.with_theta(2.0 * p.theta).theta, 2.0 * p.theta, 0.0)
    masses = [k for k, x in enumerate(p.theta_labels) if x.endswith(".mass")]
    for at in (*masses[::4], *range(10 * len(robot.bodies), len(p.theta), 11)):
        more = robot.with_parameters(p.with_theta(p.theta + 0.25 * np.eye(len(p.theta))[at]), fold=True)
        changed = [
            r.kernel("inverse_dynamics", way="interpreted")(q, v, a)
            - r.kernel("passive_force", way="interpreted")(q, v, np.array(1e-9))
            for r in (more, robot)
        ]
        assert_close(4.0 * (changed[0] - changed[1]), Y[:, at], 1e-10)


def test_joints_feel_only_what_they_carry() -> None:
    q, v, a = random_state(ARM, 0)
    Y = ARM.inverse_dynamics_regressor(q, v, a, smoothing=0.0)
    inertial, drives = Y[:, :60].reshape(6, 6, 10), Y[:, 60:].reshape(6, 3, 6)
    for j in range(6):
        assert not inertial[j, :j].any() and inertial[j, j].any()
        assert_close(drives[j], np.eye(6)[j] * np.array([a, v, np.sign(v)]), 0.0)


def test_friction_without_and_with_smoothing() -> None:
    q, a = ARM.random(0), np.zeros(6)
    v = np.array([0.0, 1e-200, 0.5, -0.5, 1e-3, -1e-3])
    friction = lambda **more: np.diag(ARM.inverse_dynamics_regressor(q, v, a, **more)[:, 72:])  # noqa: E731
    assert_close(friction(smoothing=0.0), [0.0, 0.0, 1.0, -1.0, 1.0, -1.0], 1e-15)
    assert_close(friction(), v / np.sqrt(v * v + 1e-4), 1e-15)


@pytest.mark.parametrize("more", [{}, {"smoothing": 0.0}, {"smoothing": 0.3}])
def test_friction_is_that_of_passive_force(more: dict[str, float]) -> None:
    """With the same default, and at rest."""
    rough, v = ARM.vary(damping=0.2, joint_friction=0.5, fold=True), np.array([0.0, 0.005, 0.5, -0.5, 1.0, -1e-3])
    q, a = ARM.random(0), np.ones(6)
    forces = rough.inverse_dynamics(q, v, a) - rough.passive_force(q, v, **more)
    assert_close(rough.inverse_dynamics_regressor(q, v, a, **more) @ rough.parameters.theta, forces, ROUNDING)


@pytest.mark.slow
def test_batches_single_precision_and_a_moving_base() -> None:
    q, v, a = random_state(ARM, 0, (4, 3))
    v0, a0 = np.random.default_rng(0).normal(size=(2, 6))
    theta, moved = ARM.parameters.theta, {"base_velocity": v0, "base_acceleration": a0}
    Y = ARM.inverse_dynamics_regressor(q, v, a, **moved)
    assert Y.shape == (4, 3, 6, 78)
    assert_close(Y @ theta, ARM.inverse_dynamics(q, v, a, **moved), ROUNDING)
    W = ARM.base_wrench_regressor(q, v, a, **moved)
    sensed = ARM.kernel("supported_wrench", present=(*moved,), way="interpreted", frame=WORLD, axes="frame")
    assert_close(W @ theta, sensed(q, v, a, v0, a0), ROUNDING)
    single = ARM.inverse_dynamics_regressor(*(x.astype(np.float32) for x in (q, v, a)))
    assert single.dtype == np.float32
    assert_close(single @ theta, ARM.inverse_dynamics(q, v, a), SINGLE)


@pytest.mark.slow
def test_derivatives_of_a_regressor_are_those_of_forces() -> None:
    q, v, a = random_state(ARM, 1)
    theta = ARM.parameters.theta
    found = ARM.derivatives.inverse_dynamics_regressor(q, v, a)
    expected = ARM.derivatives.inverse_dynamics(q, v, a)
    for ours, other in zip(found, expected, strict=True):
        assert_close(np.einsum("ijk,j->ik", ours, theta), other, ROUNDING)


@pytest.mark.slow
def test_sets_of_placements() -> None:
    many = ARM.vary(placement={"elbow": lambda at: at + np.array([[0.0] * 6, [0.1, 0, 0, 0, 0.2, 0]])})
    q, v, a = random_state(ARM, 1)
    Y = many.inverse_dynamics_regressor(q, v, a)
    assert Y.shape == (2, 6, 78)
    assert_close(Y @ ARM.parameters.theta, many.inverse_dynamics(q, v, a), ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["four-bar", "five-bar", "stewart-platform", "slider-crank"])
def test_regressors_of_loops(name: str) -> None:
    """The forces of drives, and their finite differences by each parameter."""
    robot, (q, v, a) = closed_motion(name)
    Y, p = robot.actuation_regressor(q, v, a), robot.parameters
    assert_close(Y @ p.theta, robot.actuation(q, v, a).u, ROUNDING)
    rng = np.random.default_rng(0)
    for k in rng.integers(len(robot.bodies), size=6):
        point = np.zeros(len(p.theta))  # any body may have a point mass more
        r = rng.normal(size=3)
        moments = r @ r * np.eye(3) - np.outer(r, r)
        point[10 * k : 10 * k + 10] = (1.0, *r, *moments[(0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)])
        ends = [robot.with_parameters(p.with_theta(p.theta + h * point)).actuation(q, v, a).u for h in (0.0, 1.0)]
        assert_close(ends[1] - ends[0], Y @ point, ROUNDING)


@pytest.mark.slow
def test_friction_of_loops_does_the_work_of_all_joints() -> None:
    """A drive overcomes the damping of all joints of the tree, by the power that they take."""
    robot, (q, v, a) = closed_motion("four-bar")
    Y = robot.actuation_regressor(q, v, a)
    damping = Y[0, 10 * len(robot.bodies) + robot.nv :][: robot.nv]
    assert_close(damping * v[0], v * v, ROUNDING)
    with pytest.raises(on.LoopError, match="cannot drive the motion"):
        robot.actuation_regressor(q, v, a, actuated=())


def test_bodies_in_a_fluid_are_refused() -> None:
    builder = on.Builder("fish")
    builder.body("hull", mass=1.0, inertia=(1.0, 1.0, 1.0), added_inertia=np.eye(6))
    robot = builder.build(floating=True)
    with pytest.raises(on.ArgumentError, match="fluid"):
        robot.inverse_dynamics_regressor(robot.neutral(), np.zeros(6), np.zeros(6))
