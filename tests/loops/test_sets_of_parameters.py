"""Robots with loops and many sets of parameters: each state is solved with its own set."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on
from ordern.errors import ArgumentError
from ordern.loops.dynamics import METHODS
from ordern.model.parameter_fields import own_numbers
from ordern.model.variation import varied_robot
from tests.kernel.varied_robots import each_folded


@pytest.mark.slow
@pytest.mark.parametrize(("name", "method"), [("four-bar", None), ("door", None), ("four-bar", "null-space")])
def test_closed_dynamics(name: str, method: str | None) -> None:
    robot, rng = on.load(name), np.random.default_rng(0)
    numbers = {"inertia": own_numbers(robot)["inertia"] * rng.uniform(0.5, 2.0, (3, len(robot.bodies), 1))}
    numbers["gravity"] = own_numbers(robot)["gravity"] * np.array([1.0, 0.5, 0.2])[:, None]
    varied, fixed = varied_robot(robot, numbers, {}), each_folded(robot, numbers)
    q = robot.assemble().q
    v = np.asarray(robot.project_velocity(q, rng.normal(size=robot.nv)))
    tau = rng.normal(size=(2, 1, robot.nv))
    found = varied.closed_dynamics(q, v, tau, method=method)
    assert found.a.shape == (2, 3, robot.nv)
    for k, one in enumerate(fixed):
        right = one.closed_dynamics(q, v, tau[:, 0], method=method)
        for what in ("a", "multipliers", "rank", "joint_wrenches", "residual", "singular", "body_forces"):
            mine, other = getattr(found, what)[:, k], getattr(right, what)
            np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(other).max()), err_msg=what)
        for loop, wrench in right.wrenches.items():
            np.testing.assert_allclose(found.wrenches[loop][:, k], wrench, rtol=1e-9, atol=1e-9)
    a = varied.forward_dynamics(q, v, tau, method=method)
    np.testing.assert_allclose(a, found.a, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_all_methods(method: str) -> None:
    test_closed_dynamics("four-bar", method)


@pytest.mark.slow
def test_rollouts() -> None:
    robot = on.load("four-bar")
    numbers = {"inertia": own_numbers(robot)["inertia"] * np.array([1.0, 2.0])[:, None, None]}
    varied, q = varied_robot(robot, numbers, {}), robot.assemble().q
    found = varied.rollout(q, np.zeros(robot.nv), steps=20, dt=1e-3, method="rk4")
    for k, one in enumerate(each_folded(robot, numbers)):
        right = one.rollout(q, np.zeros(robot.nv), steps=20, dt=1e-3, method="rk4")
        np.testing.assert_allclose(found.q[k], right.q, rtol=1e-12, atol=1e-12)


def test_functions_for_one_robot_say_so() -> None:
    robot = on.load("four-bar")
    own = own_numbers(robot)
    many = varied_robot(robot, {x: np.tile(own[x], (2, 1, 1)) for x in ("inertia", "joint_placement")}, {})
    q = robot.assemble().q
    for call in (
        lambda: many.assemble(q),
        lambda: many.close(q),
        lambda: many.mobility(q),
        lambda: many.actuation(q, np.zeros(many.nv), np.zeros(many.nv)),
        lambda: many.inverse_kinematics(np.eye(4), many.frames[-1]),
        lambda: on.grasp([many], None),
    ):
        with pytest.raises(ArgumentError, match="sets of parameters"):
            call()
