"""Derivatives by parameters: against differences, exact identities, and between modes, kinds of numbers and sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ordern as on
from ordern.model.parameter_fields import FIELDS, own_numbers
from ordern.model.variation import varied_robot
from tests.kernel.varied_robots import each_folded, folded, random_numbers
from tests.random_models import random_robot, random_state

Array = NDArray[Any]


def _pendulum() -> tuple[on.Robot, tuple[Array, ...]]:
    robot = on.load("double-pendulum")
    return robot, (np.array([0.3, 0.2]), np.array([0.1, -0.4]), np.array([1.0, 2.0]))


def test_inverse_dynamics_is_linear_in_inertia() -> None:
    robot, state = _pendulum()
    found = robot.derivatives.inverse_dynamics(*state, wrt=("q", "inertia"))
    assert found._fields == ("q", "inertia")
    assert found.inertia.shape == (2, 2, 10)
    whole = np.tensordot(found.inertia, own_numbers(robot)["inertia"], 2)
    np.testing.assert_allclose(whole, robot.inverse_dynamics(*state), rtol=1e-13)
    np.testing.assert_allclose(found.q, robot.derivatives.inverse_dynamics(*state, wrt="q").q, rtol=1e-13)


def test_modes_sets_and_digits_agree() -> None:
    robot, state = _pendulum()
    numbers = {"inertia": own_numbers(robot)["inertia"] * np.array([1.0, 1.5])[:, None, None]}
    varied, tangent = varied_robot(robot, numbers, {}), np.random.default_rng(0).normal(size=(2, 10))
    weights = np.array([0.7, -0.2])
    for k, one in enumerate(each_folded(robot, numbers)):
        D = one.derivatives.forward_dynamics(*state, wrt=("inertia", "gravity"))
        many = varied.derivatives.forward_dynamics(*state, wrt=("inertia", "gravity"))
        np.testing.assert_allclose(many.inertia[k], D.inertia, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(many.gravity[k], D.gravity, rtol=1e-12, atol=1e-12)
        along = np.tensordot(D.inertia, tangent, 2)
        np.testing.assert_allclose(varied.jvp("forward_dynamics", state, {"inertia": tangent})[k], along, rtol=1e-11)
        g = varied.vjp("forward_dynamics", state, weights, wrt=("tau", "inertia"))
        np.testing.assert_allclose(g.inertia[k], np.tensordot(weights, D.inertia, 1), rtol=1e-11, atol=1e-13)
        exact = one.jvp("forward_dynamics", [x.astype(np.longdouble) for x in state], {"inertia": tangent})
        np.testing.assert_allclose(exact.astype(float), along, rtol=1e-12)


def test_derivatives_by_arguments_of_varied_robots() -> None:
    robot, state = _pendulum()
    numbers = {"inertia": own_numbers(robot)["inertia"] * np.array([1.0, 1.5])[:, None, None]}
    varied = varied_robot(robot, numbers, {})
    found = varied.derivatives.forward_dynamics(*state)
    H = varied.derivatives.jacobian(state[0], wrt="q", frame=robot.frames[-1], axes="world").q
    single = varied.jvp("forward_dynamics", [x.astype(np.longdouble) for x in state], ([1.0, 0.0],))
    for k, one in enumerate(each_folded(robot, numbers)):
        right = one.derivatives.forward_dynamics(*state)
        for mine, other in zip(found, right, strict=True):
            np.testing.assert_allclose(mine[k], other, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(single[k].astype(float), right.q[:, 0], rtol=1e-11)
        same = one.derivatives.jacobian(state[0], wrt="q", frame=robot.frames[-1], axes="world").q
        np.testing.assert_allclose(H[k], same, rtol=1e-12, atol=1e-12)


def test_errors_name_fields() -> None:
    robot, state = _pendulum()
    with pytest.raises(on.OrdernError, match=r"inertia"):
        robot.derivatives.forward_dynamics(*state, wrt="inertias")
    with pytest.raises(on.OrdernError, match=r"has no numbers of 'mimic_ratio'"):
        robot.derivatives.forward_dynamics(*state, wrt="mimic_ratio")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("question", ["inverse_dynamics", "forward_dynamics", "passive_force", "pose", "com"])
def test_all_fields_against_differences(question: str, seed: int) -> None:
    robot, rng = random_robot(seed, 4, armature=True, passive=True, mimic=seed % 2 == 1), np.random.default_rng(seed)
    numbers = random_numbers(robot, rng, ())
    robot = folded(robot, numbers)
    q, v, a = random_state(robot, seed)
    state = {"passive_force": (q, v), "pose": (q,), "com": (q,)}.get(question, (q, v, a))
    options = {"frame": "tool"} if question == "pose" else {}
    own = own_numbers(robot)
    for field in FIELDS:
        if field not in numbers:
            continue
        tangent = rng.normal(size=own[field].shape)

        def at(s: float, field: str = field, tangent: Array = tangent) -> Array:
            other = varied_robot(robot, {field: own[field] + s * tangent}, {})
            return np.asarray(getattr(other, question)(*state, **options))

        h = 1e-4
        rate = (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h)
        if question == "pose":
            R, W = at(0.0)[:3, :3], at(0.0)[:3, :3].T @ rate[:3, :3]
            rate = np.array([W[2, 1], W[0, 2], W[1, 0], *(R.T @ rate[:3, 3])])
        size = max(1.0, np.abs(rate).max())
        D = getattr(getattr(robot.derivatives, question)(*state, wrt=field, **options), field)
        np.testing.assert_allclose(np.tensordot(D, tangent, tangent.ndim), rate, rtol=1e-7, atol=1e-8 * size)
        along = robot.jvp(question, state, {field: tangent}, **options)
        np.testing.assert_allclose(along, rate, rtol=1e-7, atol=1e-8 * size)
        w = rng.normal(size=rate.shape)
        g = getattr(robot.vjp(question, state, w, wrt=field, **options), field)
        np.testing.assert_allclose(np.sum(g * tangent), np.sum(w * rate), rtol=1e-7, atol=1e-7 * size)
