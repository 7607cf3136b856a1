"""Rollouts and loops in JAX: the numbers of NumPy's, and their gradients."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ordern as on
from tests.tolerances import FINITE_DIFFERENCE, ROUNDING, assert_close
from tests.worlds.jax_precision import double  # noqa: F401


def _start(robot: on.Robot, rng: np.random.Generator) -> tuple[Any, Any]:
    if not robot.nc:
        return robot.random(rng, 3), rng.standard_normal((3, robot.nv))
    q = np.tile(robot.assemble().q, (3, 1))
    return q, robot.project_velocity(q, rng.standard_normal((3, robot.nv)))


@pytest.mark.parametrize(
    ("name", "method"),
    [
        *(
            pytest.param(name, method, marks=pytest.mark.slow)
            for name in ("double-pendulum", "puma560", "free-top", "quadruped", "four-bar")
            for method in ("semi-implicit-euler", "rk4")
        ),
    ],
)
def test_rollouts_and_their_gradients(name: str, method: str) -> None:
    robot, rng = on.load(name), np.random.default_rng(0)
    q0, v0 = _start(robot, rng)
    tau = rng.standard_normal((3, 12, robot.nv))
    settings = {"dt": 0.01, "method": method, "every": 3}
    expected = robot.rollout(q0, v0, tau, **settings)
    weights = rng.standard_normal(expected.v.shape)
    found = robot.rollout(jnp.asarray(q0), v0, tau, **settings)
    for x, y in zip(found, (expected.q, expected.v, expected.t), strict=True):
        assert isinstance(x, jax.Array)
        assert_close(x, y, ROUNDING)

    def cost(v0: Any, tau: Any) -> Any:
        return (robot.rollout(jnp.asarray(q0), v0, tau, **settings).v * weights).sum()

    by_v, by_tau = jax.jit(jax.grad(cost, (0, 1)))(v0, tau)
    native = expected.vjp(v=weights)
    assert_close(by_v, native.v0, ROUNDING)
    assert_close(by_tau, native.tau, ROUNDING)


@pytest.mark.slow
def test_policies_feedback_and_external_forces() -> None:
    robot, rng = on.load("double-pendulum"), np.random.default_rng(1)
    q0, v0, target = rng.standard_normal((3, 4, 2))
    push = {robot.bodies[1].name: np.ones(6)}
    settings = {"steps": 6, "dt": 0.02, "hold": 2, "feedback": (3.0, 0.5, target), "external": push}
    expected = robot.rollout(q0, v0, policy=lambda t, q, v: t - 0.1 * v, **settings)
    found = jax.jit(lambda q: robot.rollout(q, v0, policy=lambda t, q, v: t - 0.1 * v, **settings))(q0)
    assert_close(found.q, expected.q, ROUNDING)
    assert_close(found.v, expected.v, ROUNDING)

    def cost(gain: Any) -> Any:
        return (robot.rollout(jnp.asarray(q0), v0, policy=lambda q, v: -gain * v, steps=6).v ** 2).sum()

    h = 1e-5
    assert_close(jax.grad(cost)(0.1), (cost(0.1 + h) - cost(0.1 - h)) / (2 * h), FINITE_DIFFERENCE)
    second = jax.grad(jax.grad(cost))(0.1)
    assert_close(second, (jax.grad(cost)(0.1 + h) - jax.grad(cost)(0.1 - h)) / (2 * h), FINITE_DIFFERENCE)


@pytest.mark.slow
def test_loops_are_kept_closed() -> None:
    robot, rng = on.load("four-bar"), np.random.default_rng(2)
    q, v = (x[0] for x in _start(robot, rng))
    tau = rng.standard_normal(robot.nv)
    motion, expected = robot.closed_dynamics(jnp.asarray(q), v, tau), robot.closed_dynamics(q, v, tau)
    assert_close(motion.a, expected.a, ROUNDING)
    assert_close(motion.multipliers, expected.multipliers, ROUNDING)
    assert_close(robot.forward_dynamics(jnp.asarray(q), v, tau), expected.a, ROUNDING)
    by_q = jax.jacrev(lambda q: robot.forward_dynamics(q, v, tau))(jnp.asarray(q))
    assert_close(by_q, robot.derivatives.forward_dynamics(q, v, tau).q, ROUNDING)
    assert np.isnan(robot.forward_dynamics(jnp.asarray(q) + 0.3, v, tau)).all()
    found = robot.closed_dynamics(jnp.asarray(q), v, tau, stabilise=(10.0, 5.0))
    assert_close(found.a, robot.closed_dynamics(q, v, tau, stabilise=(10.0, 5.0)).a, ROUNDING)


@pytest.mark.slow
def test_forces_of_drives_in_loops() -> None:
    robot, force = on.load("spatial-slider-crank"), {"ball": np.array([0.1, 0.2, 0.3])}
    q, zero = robot.assemble().q, np.zeros(robot.nv)
    expected = robot.closed_dynamics(q, zero, zero, loop_forces=force).a
    assert_close(robot.closed_dynamics(jnp.asarray(q), zero, zero, loop_forces=force).a, expected, ROUNDING)


def test_trajectories_that_did_not_stay_finite() -> None:
    robot, q = on.load("double-pendulum"), jnp.zeros((2, 2))
    tau = jnp.array([[0.0, 0.0], [jnp.inf, 0.0]])[:, None]
    found = robot.rollout(q, q, jnp.broadcast_to(tau, (2, 3, 2)), dt=0.01).diverged
    assert found.tolist() == [False, True]


def test_one_row_over_time_serves_all_steps() -> None:
    robot, rng = on.load("double-pendulum"), np.random.default_rng(3)
    q, v, tau = rng.standard_normal((3, 4, 2))
    push, target = rng.standard_normal((4, 1, 2, 6)), rng.standard_normal((4, 1, 2))
    settings = {"steps": 5, "external": push, "feedback": (2.0, 1.0, target)}
    expected = robot.rollout(q, v, tau[:, None], **settings)
    found = robot.rollout(jnp.asarray(q), v, tau[:, None], **settings)
    assert_close(found.q, expected.q, ROUNDING)
    for named in ({"tau": tau}, {"feedback": (1.0, 1.0, tau)}, {"external": push[:, 0]}):
        with pytest.raises(on.ArgumentError, match="has 4 rows, and both the batch and the steps have this length"):
            robot.rollout(jnp.asarray(q), v, steps=4, **named)
    with pytest.raises(on.ArgumentError, match="give `steps`, or a tau with a row for each step"):
        robot.rollout(jnp.asarray(q), v, tau[:, None])


def test_what_is_for_numpy_says_so() -> None:
    robot, q = on.load("double-pendulum"), jnp.zeros(2)
    with pytest.raises(on.ArgumentError, match=r"limits='bounce' is for NumPy arrays"):
        robot.rollout(q, q, steps=2, limits="bounce")
    with pytest.raises(on.ArgumentError, match=r"noise= is for NumPy arrays"):
        robot.rollout(q, q, steps=2, noise={"q": 0.1})
    with pytest.raises(on.ArgumentError, match="tau has 3 rows over time, but there are 2 steps"):
        robot.rollout(q, q, jnp.zeros((3, 2)), steps=2)
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"tau": lambda q, v: -v}, "rollout takes arrays, not function.*policy=function"),
        ({"dt": -0.01}, "`dt` must be a finite number above zero, not -0.01"),
        ({"smoothing": 0.0}, "`smoothing` must be a finite number above zero"),
        ({"feedback": (1.0, jnp.ones(3), q)}, r"kd has shape \(3,\); give a number, or 2"),
        ({"feedback": 3.0}, "`feedback` must be three things"),
        ({"external": jnp.zeros((5, 6))}, r"external has shape \(5, 6\); for 'double-pendulum' give \(..., 2, 6\)"),
        ({"policy": lambda q, v: None}, r"the policy returned NoneType; .* of shape \(2,\)"),
        ({"policy": lambda q, v: jnp.zeros(3)}, r"the policy returned \(3,\); for 'double-pendulum' give"),
    )
    for settings, words in wrong:
        with pytest.raises(on.ArgumentError, match=words):
            robot.rollout(q, q, steps=2, **settings)
    with pytest.raises(on.ArgumentError, match="v0 is None; give an array"):
        robot.rollout(q, None, steps=2)
    four_bar = on.load("four-bar")
    with pytest.raises(on.ArgumentError, match="solved by 'multipliers', not by 'kkt'"):
        four_bar.forward_dynamics(jnp.zeros(3), np.zeros(3), np.zeros(3), method="kkt")
