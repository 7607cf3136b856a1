"""Robots with parameters that JAX traces, and robots as arguments of transformed functions."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

import ordern as on
from tests.tolerances import FINITE_DIFFERENCE, ROUNDING, assert_close
from tests.worlds.jax_precision import double  # noqa: F401

ARM = on.load("double-pendulum")
BODY = ARM.bodies[1].name
Q, V, A = np.random.default_rng(0).standard_normal((3, 2))


def _forces(mass: Any, armature: Any, gravity: Any, fold: bool = False) -> Any:
    return ARM.vary(mass={BODY: mass}, armature=armature, gravity=gravity, fold=fold).inverse_dynamics(Q, V, A)


POINT = (1.3, 0.2, np.array([0.1, 0.2, -9.0]))


@pytest.mark.slow
def test_tracers_vary_a_robot() -> None:
    expected = _forces(*POINT, fold=True)
    assert_close(_forces(*map(jnp.asarray, POINT)), expected, ROUNDING)
    assert_close(jax.jit(_forces)(*POINT), expected, ROUNDING)
    masses = np.linspace(0.5, 2.0, 4)
    each = np.stack([_forces(m, *POINT[1:], fold=True) for m in masses])
    assert_close(jax.vmap(lambda m: _forces(m, *POINT[1:]))(masses), each, ROUNDING)
    by_mass, _, by_gravity = jax.jacrev(_forces, (0, 1, 2))(*map(jnp.asarray, POINT))
    h = 1e-6
    differences = (_forces(1.3 + h, *POINT[1:], True) - _forces(1.3 - h, *POINT[1:], True)) / (2 * h)
    assert_close(by_mass, differences, FINITE_DIFFERENCE)
    assert by_gravity.shape == (2, 3)


def test_the_numbers_that_vary_are_a_leaf() -> None:
    varied = ARM.vary(mass={BODY: jnp.array([0.5, 1.0, 2.0])})
    (leaf,), structure = jax.tree.flatten(varied)
    assert leaf.shape == varied.variation.values.shape == (3, varied.variation.count)
    assert structure == jax.tree.structure(ARM.vary(mass={BODY: jnp.array([1.0])})) != jax.tree.structure(ARM)
    assert jax.tree.unflatten(structure, [2.0 * leaf]).batch_shape == varied.batch_shape == (3,)
    assert jax.tree.leaves(ARM) == []


@pytest.mark.slow
def test_robots_are_pytrees() -> None:
    varied = ARM.vary(mass={BODY: jnp.array([0.5, 1.0, 2.0])})
    assert varied.batch_shape == (3,)
    assert_close(varied.mass, ARM.vary(mass={BODY: np.array([0.5, 1.0, 2.0])}).mass, ROUNDING)
    asked = jax.jit(lambda robot, q: robot.gravity_force(q))
    expected = ARM.vary(mass={BODY: np.array([0.5, 1.0, 2.0])}).gravity_force(Q)
    assert_close(asked(varied, Q), expected, ROUNDING)
    assert_close(jax.vmap(asked, (0, None))(varied, Q), expected, ROUNDING)
    assert_close(asked(ARM, Q), ARM.gravity_force(Q), ROUNDING)
    gradient = jax.grad(lambda robot: robot.gravity_force(Q).sum())(varied)
    (leaf,) = jax.tree.leaves(gradient)
    assert isinstance(gradient, on.Robot) and leaf.shape == varied.variation.values.shape
    assert jax.tree.structure(varied) == jax.tree.structure(ARM.vary(mass={BODY: jnp.array([1.0])}))


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        {"mass": np.array([1.0, 2.0])},
        {"mass": {BODY: lambda m: m + 0.5}, "com": {BODY: np.array([0.1, 0.2, 0.3])}},
        {"com": np.array([0.1, 0.2, 0.3])},
        {"inertia": {BODY: np.diag([0.1, 0.2, 0.25])}},
        {"inertia": np.array([0.1, 0.2, 0.25, 0.0, 0.0, 0.01]), "mass": {BODY: 3.0}},
        {"placement": {ARM.joints[1].name: np.array([0.1, 0.2, 0.3])}, "mass": np.array([1.0, 2.0])},
        {"placement": {ARM.joints[1].name: np.array([0.1, 0.2, 0.3, 0.0, 0.4, 0.1])}},
        {"damping": 0.3, "stiffness": {ARM.joints[0].name: 2.0}, "rest": np.array([0.1, 0.2])},
    ],
)
def test_changes_are_those_of_numpy(change: dict[str, Any]) -> None:
    given = jax.tree.map(lambda x: x if callable(x) else jnp.asarray(x), change)
    given |= {"armature": jnp.asarray(0.1)}
    robot, expected = ARM.vary(**given), ARM.vary(**change, armature=0.1)
    assert isinstance(robot.variation.values, jax.Array)
    assert_close(robot.mass_matrix(Q), expected.mass_matrix(Q), ROUNDING)
    assert_close(robot.passive_force(Q, V), expected.passive_force(Q, V), ROUNDING)
    again = robot.vary(gravity=jnp.array([0.0, 1.0, 0.0])).gravity_force(Q)
    assert_close(again, expected.vary(gravity=(0.0, 1.0, 0.0)).gravity_force(Q), ROUNDING)
    inertia = ARM.parameters.inertia * 1.1
    found = ARM.with_parameters(inertia=jnp.asarray(inertia)).mass_matrix(Q)
    assert_close(found, ARM.with_parameters(inertia=inertia).mass_matrix(Q), ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize("turn", [[], [0.0, 0.0, 0.0], [0.1, -0.2, 0.3]])
def test_derivatives_by_placements(turn: list[float]) -> None:
    point = np.array([0.1, 0.2, 0.3, *turn])

    def height(place: Any) -> Any:
        return ARM.vary(placement={ARM.joints[1].name: place}).potential_energy(jnp.asarray(Q))

    check_grads(height, (jnp.asarray(point),), order=1)


@pytest.mark.slow
def test_rollouts_by_parameters() -> None:
    def end(mass: Any) -> Any:
        return ARM.vary(mass={BODY: mass}).rollout(jnp.asarray(Q), V, steps=10, dt=0.01).q[-1].sum()

    h = 1e-5
    assert_close(jax.grad(end)(1.3), (end(1.3 + h) - end(1.3 - h)) / (2 * h), FINITE_DIFFERENCE)


def test_impossible_numbers_are_nan_or_said() -> None:
    found = ARM.vary(mass=jnp.zeros(2), inertia=jnp.zeros(6)).forward_dynamics(Q, V, A)
    assert not np.isfinite(found).all()
    with pytest.raises(on.ArgumentError, match="fold=True"):
        ARM.vary(mass=jnp.asarray(1.0), fold=True)
    with pytest.raises(on.ArgumentError, match=r"expected a position \(..., 3\)"):
        ARM.vary(placement={ARM.joints[1].name: jnp.zeros((4, 4))})
    with pytest.raises(on.ArgumentError, match="does not broadcast"):
        ARM.vary(mass=jnp.zeros(3))
    with pytest.raises(on.ArgumentError, match=r"the vector of parameters that vary is an array of jax"):
        jax.jit(lambda mass: ARM.vary(mass={BODY: mass}).parameters.theta)(1.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gravity": (2,)}, r"gravity has shape \(2,\); expected \(..., 3\)"),
        ({"gravity": (4,)}, r"gravity has shape \(4,\)"),
        ({"com": {BODY: ()}}, rf"com of '{BODY}' has shape \(\); expected \(..., 3\)"),
        ({"com": {BODY: (2,)}}, rf"com of '{BODY}' has shape \(2,\)"),
        ({"inertia": {BODY: (1,)}}, r"expected \(..., 6\)"),
        ({"mass": (2, 1), "com": {BODY: (3, 3)}}, r"vary: the batch shapes of mass \(2,\), com \(3,\) do not fit"),
    ],
)
def test_numbers_of_a_wrong_shape_are_said_as_for_numpy(changes: dict[str, Any], message: str) -> None:
    def ones(shape: Any) -> Any:
        return {name: jnp.ones(x) for name, x in shape.items()} if isinstance(shape, dict) else jnp.ones(shape)

    with pytest.raises(on.ArgumentError, match=message):
        ARM.vary(**{what: ones(shape) for what, shape in changes.items()})


@pytest.mark.slow
def test_linearisations_vary_with_parameters() -> None:
    found = jax.jit(lambda mass: ARM.vary(mass={BODY: mass}).linearise(Q, V, A).A)(2.5)
    assert_close(found, ARM.vary(mass={BODY: 2.5}).linearise(Q, V, A).A, ROUNDING)


def test_methods_of_numpy_code_refuse_parameters_that_vary() -> None:
    with pytest.raises(on.ArgumentError, match="by the method 'conjugate-gradient' is not compiled as one function"):
        ARM.vary(mass={BODY: 2.5}).forward_dynamics(jnp.asarray(Q), V, A, method="conjugate-gradient")


def test_files_have_the_numbers_that_vary() -> None:
    assert ARM.vary(mass={BODY: jnp.asarray(2.5)}).to_mjcf() == ARM.vary(mass={BODY: 2.5}).to_mjcf()
    with pytest.raises(on.ArgumentError, match=r"to_mjcf: the vector of parameters that vary is an array of jax"):
        jax.jit(lambda mass: len(ARM.vary(mass={BODY: mass}).to_mjcf()))(2.5)


def test_a_batch_for_a_joint_with_one_freedom() -> None:
    damping = np.array([1.0, 2.0])
    expected = ARM.vary(damping={ARM.joints[0].name: damping}).passive_force(Q, V)
    assert_close(ARM.vary(damping={ARM.joints[0].name: jnp.asarray(damping)}).passive_force(Q, V), expected, ROUNDING)
