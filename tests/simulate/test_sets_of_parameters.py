"""Simulations and rollouts of robots with many sets of parameters."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on
from ordern.errors import ArgumentError
from ordern.model.parameter_fields import own_numbers
from ordern.model.variation import varied_robot
from tests.kernel.varied_robots import each_folded, random_numbers
from tests.random_models import random_robot


@pytest.mark.slow
def test_simulate_returns_a_result_for_each_set() -> None:
    robot = on.load("double-pendulum")
    numbers = {"inertia": own_numbers(robot)["inertia"] * np.array([1.0, 2.0])[:, None, None]}
    varied, starts = varied_robot(robot, numbers, {}), np.array([[0.5, 0.1], [1.0, -0.3]])
    found = varied.simulate(starts, tau=[0.1, 0.2], until=0.2)
    assert found.shape == (2,)
    for k, one in enumerate(each_folded(robot, numbers)):
        right = one.simulate(starts[k], tau=[0.1, 0.2], until=0.2)
        np.testing.assert_allclose(found[k].q[-1], right.q[-1], rtol=1e-9)
        assert found[k].robot.mass == pytest.approx(one.mass)


def test_simulate_names_arguments_that_do_not_fit() -> None:
    robot = on.load("double-pendulum")
    varied = varied_robot(robot, {"gravity": np.tile(own_numbers(robot)["gravity"], (2, 1))}, {})
    with pytest.raises(ArgumentError, match=r"q0 has shape \(3, 2\); .* must broadcast to \(2, 2\)"):
        varied.simulate(np.zeros((3, 2)))
    with pytest.raises(ArgumentError, match="a checkpoint is for one run"):
        varied.simulate([0.1, 0.2], checkpoint="run.npz")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["semi-implicit-euler", "rk4"])
@pytest.mark.parametrize("seed", [2, 4])
def test_rollouts(seed: int, method: str) -> None:
    robot, rng = (
        random_robot(seed, 5, armature=True, passive=seed == 2, floating=seed == 4),
        np.random.default_rng(seed),
    )
    numbers = random_numbers(robot, rng, (3,))
    varied, fixed = varied_robot(robot, numbers, {}), each_folded(robot, numbers)
    q0, v0 = robot.random(rng, 4)[:, None], rng.normal(size=(4, 1, robot.nv))
    found = varied.rollout(q0, v0, steps=20, dt=1e-3, method=method)
    assert found.q.shape == (4, 3, 21, robot.nq)
    for k, one in enumerate(fixed):
        right = one.rollout(q0[:, 0], v0[:, 0], steps=20, dt=1e-3, method=method)
        np.testing.assert_allclose(found.q[:, k], right.q, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(found.v[:, k], right.v, rtol=1e-11, atol=1e-11)
    one = varied_robot(robot, {field: x[1] for field, x in numbers.items()}, {})
    mine, other = (x.simulate(q0[0, 0], v0[0, 0], until=0.1) for x in (one, fixed[1]))
    np.testing.assert_allclose(mine.q[-1], other.q[-1], rtol=1e-9, atol=1e-9)


def test_rollouts_name_shapes_that_do_not_fit() -> None:
    robot = on.load("double-pendulum")
    varied = varied_robot(robot, {"gravity": np.tile(own_numbers(robot)["gravity"], (3, 1))}, {})
    with pytest.raises(ArgumentError, match="the robot's parameters do not broadcast"):
        varied.rollout(np.zeros((4, 2)), np.zeros(2), steps=2)
