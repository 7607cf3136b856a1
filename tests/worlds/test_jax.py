"""Robots in JAX: every transformation gives what NumPy gives."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ordern as on
from tests.tolerances import ROUNDING, assert_close
from tests.worlds.jax_precision import double, precision  # noqa: F401

ARM = on.load("double-pendulum")
BATCH = np.random.default_rng(0).standard_normal((3, 5, 2))


def test_arrays_of_jax_give_arrays_of_jax() -> None:
    q, v, tau = map(jnp.asarray, BATCH)
    found = ARM.forward_dynamics(q, v, tau)
    assert isinstance(found, jax.Array) and found.dtype == jnp.float64
    assert np.array_equal(found, ARM.forward_dynamics(*BATCH))
    assert isinstance(ARM.forward_dynamics(*BATCH), np.ndarray)
    assert isinstance(ARM.forward_dynamics(q, BATCH[1], [0.0, 0.0]), jax.Array)
    assert ARM.mass_matrix(jnp.array([0, 1])).dtype == jnp.float64
    single = ARM.mass_matrix(q.astype(jnp.float32))
    assert single.dtype == jnp.float32 and np.array_equal(single, ARM.mass_matrix(BATCH[0].astype(np.float32)))
    with precision(False):
        assert ARM.mass_matrix(jnp.asarray(BATCH[0])).dtype == jnp.float32


def test_transformations_agree_with_numpy() -> None:
    q, v, tau = map(jnp.asarray, BATCH)
    expected = ARM.forward_dynamics(*BATCH)
    assert_close(jax.jit(ARM.forward_dynamics)(q, v, tau), expected, ROUNDING)
    assert_close(jax.vmap(ARM.forward_dynamics)(q, v, tau), expected, ROUNDING)
    one = jax.vmap(ARM.forward_dynamics, (None, 0, None), 1)(q[0], v, tau[0])
    assert_close(one, ARM.forward_dynamics(BATCH[0, 0], BATCH[1], BATCH[2, 0]).T, ROUNDING)
    table = jax.vmap(lambda q: jax.vmap(lambda v: ARM.forward_dynamics(q, v, tau[0]))(v))(q)
    assert_close(table, ARM.forward_dynamics(BATCH[0, :, None], BATCH[1], BATCH[2, 0]), ROUNDING)
    D = ARM.derivatives.forward_dynamics(*BATCH[:, 0])
    for jacobian in (jax.jacfwd, jax.jacrev):
        by_q, by_v, by_tau = jacobian(ARM.forward_dynamics, (0, 1, 2))(q[0], v[0], tau[0])
        for found, matrix in ((by_q, D.q), (by_v, D.v), (by_tau, D.tau)):
            assert_close(found, matrix, ROUNDING)


@pytest.mark.slow
def test_second_derivatives() -> None:
    q, v, tau = map(jnp.asarray, BATCH)
    second = ARM.second_derivatives.forward_dynamics(*BATCH[:, 0]).q_q
    for hessian in (jax.jacfwd(jax.jacrev(ARM.forward_dynamics)), jax.jacrev(jax.jacfwd(ARM.forward_dynamics))):
        assert_close(hessian(q[0], v[0], tau[0]), second, ROUNDING)


def test_gradients_of_inputs_that_are_the_same_for_a_batch_are_sums() -> None:
    q, v, tau = map(jnp.asarray, BATCH)
    found = jax.grad(lambda one: ARM.forward_dynamics(q, one, tau).sum())(v[0])
    each = jax.vmap(lambda q, tau: jax.grad(lambda one: ARM.forward_dynamics(q, one, tau).sum())(v[0]))(q, tau)
    assert_close(found, each.sum(0), ROUNDING)


def test_loops_of_jax() -> None:
    def step(state: Any, tau: Any) -> Any:
        q, v = state
        v = v + 0.01 * ARM.forward_dynamics(q, v, tau)
        return (ARM.integrate(q, v, 0.01), v), v

    start, forces = (jnp.asarray(BATCH[0, 0]), jnp.asarray(BATCH[1, 0])), jnp.asarray(BATCH[2])
    (q, _), path = jax.jit(lambda s, f: jax.lax.scan(step, s, f))(start, forces)
    state = tuple(BATCH[:2, 0])
    for k in range(5):
        state, expected = step(state, BATCH[2, k])
        assert_close(path[k], expected, ROUNDING)
    assert_close(q, state[0], ROUNDING)


def test_settings_optional_arguments_and_external_forces_by_name() -> None:
    robot, rng = on.load("puma560"), np.random.default_rng(1)
    q, v, a = rng.standard_normal((3, 4, 6))
    wrench = rng.standard_normal((4, 6))
    given = {"external": {"flange": wrench, "hand": wrench[0]}, "base_velocity": wrench[1]}
    found = robot.inverse_dynamics(
        *map(jnp.asarray, (q, v, a)),
        external={"flange": jnp.asarray(wrench), "hand": wrench[0]},
        base_velocity=wrench[1],
    )
    assert_close(found, robot.inverse_dynamics(q, v, a, **given), ROUNDING)
    pose = jax.jit(lambda q: robot.pose(q, "flange", threads=2))(q)
    assert_close(pose, robot.pose(q, "flange"), ROUNDING)
    assert isinstance(robot.operational_inertia(jnp.asarray(q), "flange"), jax.Array)
    assert_close(robot.static_torque(jnp.asarray(q)), robot.static_torque(q), ROUNDING)


def test_errors_are_in_words() -> None:
    q, v, tau = map(jnp.asarray, BATCH)
    with pytest.raises(on.ArgumentError, match="argument 'v' has shape"):
        jax.jit(ARM.forward_dynamics)(q, v[:, :1], tau)
    with pytest.raises(on.ArgumentError, match="do not broadcast"):
        ARM.forward_dynamics(q, v[:3], tau)
    with pytest.raises(on.ArgumentError, match="`out` is for NumPy arrays"):
        ARM.gravity_force(q, out=np.empty((5, 2)))
    with pytest.raises(on.ArgumentError, match="give real numbers"):
        ARM.gravity_force(q + 1j)
    for x, words in ((None, "argument 'v' is None"), ("fast", "argument 'v' is not an array of numbers, but str")):
        with pytest.raises(on.ArgumentError, match=words):
            ARM.forward_dynamics(jnp.zeros(ARM.nq), x, jnp.zeros(ARM.nv))
    with pytest.raises(on.ArgumentError, match="argument 'v' is None; give an array"):
        ARM.forward_dynamics(np.zeros(ARM.nq), None, np.zeros(ARM.nv))
    with pytest.raises(on.ArgumentError, match="`threads` must be"):
        ARM.gravity_force(q, threads=0)


@pytest.mark.slow
def test_rarer_transformations() -> None:
    q, v, tau = (jnp.asarray(x[0]) for x in BATCH)

    def cost(q: Any) -> Any:
        return jnp.sin(ARM.forward_dynamics(q, v, tau)).sum()

    expected = jax.grad(cost)(q)
    assert_close(jax.grad(jax.checkpoint(cost))(q), expected, ROUNDING)
    with jax.disable_jit():
        assert_close(jax.grad(cost)(q), expected, ROUNDING)
    assert_close(jax.linearize(cost, q)[1](v), expected @ v, ROUNDING)
    by_forward = jax.grad(lambda q: jax.jvp(cost, (q,), (v,))[1])(q)
    assert_close(by_forward, jax.hessian(cost)(q) @ v, ROUNDING)
    (transposed,) = jax.linear_transpose(lambda x: ARM.mass_matrix_product(q, x), v)(tau)
    assert_close(transposed, ARM.mass_matrix(q) @ tau, ROUNDING)
    third = jax.jacfwd(jax.jacfwd(jax.jacrev(ARM.potential_energy)))(q)
    assert_close(third, jax.jacrev(jax.hessian(ARM.potential_energy))(q), ROUNDING)
    assert_close(jax.lax.map(ARM.gravity_force, BATCH[0]), ARM.gravity_force(BATCH[0]), ROUNDING)
    slope = jax.grad(lambda x: ARM.potential_energy([x, 2.0 * x]))(0.3)
    assert_close(slope, ARM.gravity_force([0.3, 0.6]) @ [1.0, 2.0], ROUNDING)
    with jax.checking_leaks():
        jax.jit(jax.grad(lambda m: ARM.vary(mass=m).gravity_force(q).sum()))(jnp.ones(2))


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked",
    [
        lambda robot, q, v, tau: robot.derivatives.forward_dynamics(q, v, tau),
        lambda robot, q, v, tau: robot.derivatives.jacobians(q),
        lambda robot, q, v, tau: robot.jvp("forward_dynamics", (q, v, tau), (v, None, q)),
        lambda robot, q, v, tau: robot.vjp("inverse_dynamics", (q, v, tau), tau, wrt=("q", "inertia")),
        lambda robot, q, v, tau: robot.hessian("kinetic_energy", (q, v), np.ones(len(q))),
        lambda robot, q, v, tau: robot.second_derivatives.gravity_force(q),
        lambda robot, q, v, tau: robot.mass_matrix_factors(q),
        lambda robot, q, v, tau: robot.interpolate(q, v, 0.3),
        lambda robot, q, v, tau: robot.distance(q, v),
        lambda robot, q, v, tau: robot.delassus_matrix(q, ["flange"]),
        lambda robot, q, v, tau: robot.forward_dynamics(q, v, tau, method="conjugate-gradient"),
    ],
)
def test_functions_around_kernels(asked: Any) -> None:
    robot = on.load("puma560")
    state = np.random.default_rng(2).standard_normal((3, 2, 6))
    found = jax.tree.leaves(jax.jit(lambda *x: asked(robot, *x))(*state))
    for x, y in zip(found, jax.tree.leaves(asked(robot, *state)), strict=True):
        assert_close(x, y, ROUNDING)
