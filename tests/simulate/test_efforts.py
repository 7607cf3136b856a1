"""Feedback within the effort limits of joints: the forces of all steps are found again by inverse dynamics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ordern as on
from tests.compile.ptx_tools import rollout_here
from tests.tolerances import FINITE_DIFFERENCE, ROUNDING, assert_close

TARGET = np.array([-0.5, 0.4])
START, STILL, DT = np.array([0.1, 0.2]), np.zeros(2), 2e-3


def arm(touching: bool, efforts: tuple[float, float] = (2.0, 1.0)) -> on.Robot:
    """Return two links that gravity pulls harder than their motors can."""
    b = on.Builder("arm").body("base")
    b.body("upper", mass=1.0, com=(0.3, 0, 0), inertia=(0.01, 0.03, 0.03))
    b.body("lower", mass=0.5, com=(0.2, 0, 0), inertia=(0.01, 0.02, 0.02))
    b.joint("shoulder", on.Revolute((0, 1, 0)), "base", "upper", effort_limit=efforts[0])
    b.joint("elbow", on.Revolute((0, 1, 0)), "upper", "lower", at=(0.6, 0, 0), effort_limit=efforts[1])
    robot = b.build()
    return robot.with_contacts(on.Ground(0.5, height=-50.0), points={"lower": 0.05}) if touching else robot


def efforts(robot: on.Robot, kp: float, **more: Any) -> np.ndarray:
    """Return the largest force of each joint in a second of feedback."""
    run = robot.rollout(START, STILL, steps=500, dt=DT, feedback=(kp, kp / 30.0, TARGET), **more)
    return np.abs(robot.inverse_dynamics(run.q[:-1], run.v[:-1], np.diff(run.v, axis=0) / DT)).max(0)


@pytest.mark.parametrize("kp", [20.0, 1e3, 1e5])
@pytest.mark.parametrize("touching", [False, True])
def test_forces_stay_within_limits(touching: bool, kp: float) -> None:
    assert_close(efforts(arm(touching), kp), np.array([2.0, 1.0]), ROUNDING)


def test_limits_may_be_ignored_and_zero_is_none() -> None:
    assert efforts(arm(True), 20.0, effort="ignore")[0] > 10.0
    assert efforts(arm(True, (0.0, 1.0)), 20.0)[0] > 10.0
    with pytest.raises(on.UnknownNameError, match="effort"):
        efforts(arm(True), 20.0, effort="none")


def fed(robot: on.Robot, kp: Any, q: Any = START, v: Any = STILL, **more: Any) -> Any:
    """Return a rollout in which joints reach their limits and leave them."""
    return robot.rollout(q, v, steps=60, feedback=(kp, 3.0, TARGET), **{"dt": DT, **more})


@pytest.mark.parametrize("touching", [False, True])
def test_derivatives_are_those_of_clipped_forces(touching: bool) -> None:
    robot, e = arm(touching), 1e-6
    run = fed(robot, 60.0)
    by_kp = (fed(robot, 60.0 + e).q[-1] - fed(robot, 60.0 - e).q[-1]) / (2 * e)
    starts = START + np.array([[e, 0.0], [-e, 0.0]])
    by_q = np.subtract(*fed(robot, 60.0, starts).q[:, -1]) / (2 * e)
    assert_close(run.jvp(kp=np.ones(2)).q[-1], by_kp, FINITE_DIFFERENCE)
    assert_close(run.jvp(q0=np.array([1.0, 0.0])).q[-1], by_q, FINITE_DIFFERENCE)
    weights = np.zeros_like(run.q)
    weights[-1, 0] = 1.0
    found = run.vjp(q=weights)
    assert_close(np.array([found.q0[0], found.kp.sum()]), np.array([by_q[0], by_kp[0]]), FINITE_DIFFERENCE)


@pytest.mark.slow
@pytest.mark.needs("jax")
@pytest.mark.parametrize("touching", [False, True])
def test_other_libraries_clip_as_well(touching: bool) -> None:
    import jax
    import torch

    from tests.worlds.jax_precision import precision

    robot = arm(touching)
    expected = fed(robot, 60.0).q
    found = fed(robot, 60.0, torch.tensor(START), torch.tensor(STILL)).q
    assert_close(found.numpy(), expected, ROUNDING)
    with precision(True):
        start = jax.numpy.asarray(START), jax.numpy.asarray(STILL)
        found = np.asarray(fed(robot, 60.0, *start).q)
        slope = np.asarray(jax.jacfwd(lambda kp: fed(robot, kp, *start).q[-1])(60.0))
    assert_close(found, expected, ROUNDING)
    assert_close(slope, fed(robot, 60.0).jvp(kp=np.ones(2)).q[-1], ROUNDING)


@pytest.mark.parametrize("method", ["semi-implicit-euler", "rk4"])
def test_code_for_gpus_clips_as_well(method: str) -> None:
    robot = arm(False)
    kd = 3.0 if method == "rk4" else 3.0 + DT * 60.0  # implicit steps brake with kd + h kp
    numbers = np.r_[DT, 0.01, 0.0, 0.0, 1.0, 60.0, 60.0, kd, kd, 2.0, 1.0]
    arrays = {"q0": START[None], "v0": STILL[None], "tau": np.zeros((1, 1, 2)), "numbers": numbers}
    q, _ = rollout_here(robot, method, arrays | {"goal": TARGET[None, None]}, 60, 1)
    assert_close(q[0], fed(robot, 60.0, method=method).q, ROUNDING)


@pytest.mark.needs("gymnasium")
def test_springs_of_environments_have_limits() -> None:
    robot = arm(True)
    given = {"goals": 0.5, "feedback": (1e3, 30.0, TARGET), "dt": DT, "num_envs": 2, "starts": {"q": START}}
    environment = on.gym.VectorEnv(robot, reward=lambda q, v, tau: np.abs(tau).max(-1), **given)
    environment.reset(seed=0)
    _, reward, *_ = environment.step(np.ones((2, 2)))
    assert_close(reward, np.array([2.0, 2.0]), ROUNDING)


def test_a_force_that_grows_within_a_step_is_clipped() -> None:
    """The feedback needs nothing at the start of a step, and far more than its limit at the end."""
    b = on.Builder("hinge").body("base").body("link", mass=1.0, inertia=(0.1, 0.1, 0.1))
    robot = b.joint("joint", on.Revolute((0, 0, 1)), "base", "link", effort_limit=10.0).build()
    run = robot.rollout([0.0], [0.0], [100.0], steps=1, dt=0.01, feedback=(0.0, 1e3, [0.0]))
    assert run.v[-1, 0] == pytest.approx(0.01 * (100.0 - 10.0) / 0.1, rel=1e-12)
