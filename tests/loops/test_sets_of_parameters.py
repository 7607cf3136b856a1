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
        lambda: many.close(q),
        lambda: many.mobility(q),
        lambda: many.inverse_kinematics(np.eye(4), many.frames[-1]),
        lambda: on.grasp([many], None),
    ):
        with pytest.raises(ArgumentError, match="sets of parameters"):
            call()


def test_each_set_of_placements_has_a_closed_position() -> None:
    bar = on.load("four-bar")
    q, rest = bar.assemble().q, np.zeros(3)
    sets = bar.vary(placement={"elbow": lambda at: at + np.outer((0.0, 0.01), np.eye(6)[0])})
    for ask in (lambda: sets.forward_dynamics(q, rest, rest), lambda: sets.rollout(q, rest, steps=1)):
        with pytest.raises(on.InconsistentStateError, match=r"robot\.assemble"):
            ask()
    found = sets.assemble(np.stack([q, q])[:, None], keep="drive")
    assert found.q.shape == (2, 2, 3) and found.ok.shape == (2, 2) and found.loops["pin"].shape == (2, 2)
    for k in range(2):
        np.testing.assert_allclose(found.q[0, k], sets.folded(k).assemble(q, keep="drive").q, atol=1e-12)
    assert np.abs(sets.loop_residual(found.q)).max() < 1e-11
    apart = bar.vary(placement={"elbow": lambda at: at + np.outer((0.0, 9.0), np.eye(6)[0])})
    with pytest.raises(on.LoopError, match=r"^set 1: loop 'pin' of 'four-bar' cannot be closed"):
        apart.assemble(q)


@pytest.mark.parametrize("name", ["four-bar", "five-bar"])
def test_projections_and_forces_of_drives(name: str) -> None:
    robot, rng = on.load(name), np.random.default_rng(0)
    many = robot.randomise(0, (2, 3), mass=0.3, com=0.02)
    q, v0 = robot.assemble(on.robots.positions(name)["assembled"]).q, rng.normal(size=(3, robot.nv))
    v, keep = many.project_velocity(q, v0), robot.actuated[:1]
    assert v.shape == (2, 3, robot.nv)
    a, kept = many.project_acceleration(q, v, v0), many.project_velocity(q, v0, keep=keep)
    found = many.actuation(q, v, a)
    assert isinstance(found.internal, list) and len(found.internal) == 6
    for index in np.ndindex(2, 3):
        one, x = many.folded(index), v0[index[1]]
        np.testing.assert_allclose(v[index], one.project_velocity(q, x), atol=1e-11)
        np.testing.assert_allclose(kept[index], one.project_velocity(q, x, keep=keep), atol=1e-11)
        np.testing.assert_allclose(a[index], one.project_acceleration(q, v[index], x), atol=1e-9)
        np.testing.assert_allclose(one.forward_dynamics(q, v[index], found.tau[index]), a[index], atol=1e-8)
        np.testing.assert_allclose(
            found.multipliers[index], one.actuation(q, v[index], a[index]).multipliers, atol=1e-8
        )


def test_forces_of_drives_of_joints_that_follow_others() -> None:
    """A drive of a follower has the ratio of each set; inertias of 1 and ratio^2 are accelerated."""
    builder = on.Builder("geared").body("ground")
    wheel = {"parent": "ground", "joint": on.Revolute((0, 0, 1)), "mass": 1.0, "inertia": (1.0, 1.0, 1.0)}
    builder.body("first", joint_name="wheel", **wheel)
    robot = builder.body("second", joint_name="gear", mimic=("wheel", 2.0, 0.0), **wheel).build()
    many = robot.vary(mimic_ratio={"gear": [0.5, 2.0, -1.0]})
    found = many.actuation([0.0], [0.0], [1.0], ["gear"])
    np.testing.assert_allclose(found.tau[:, 0], [1.25, 5.0, 2.0])
    np.testing.assert_allclose(found.u[:, 0], [2.5, 2.5, -2.0])


@pytest.mark.slow
def test_derivatives_by_placements_that_keep_loops_closed() -> None:
    """With the derivatives of `loop_residual`, the position follows a placement."""
    bar = on.load("four-bar")
    q, rest, h = bar.assemble().q, np.zeros(3), 1e-5

    def closed(x: float) -> np.ndarray:
        other = bar.vary(placement={"elbow": lambda at: at + x * np.eye(6)[0]})
        return other.forward_dynamics(other.assemble(q, keep="drive").q, rest, rest)

    elbow = [c.name for c in bar.joints].index("elbow")
    gap = bar.derivatives.loop_residual(q, wrt=("q", "joint_placement"))
    dq = np.append(0.0, np.linalg.solve(gap.q[:, 1:], -gap.joint_placement[:, elbow, 0]))
    a = bar.derivatives.forward_dynamics(q, rest, rest, wrt=("q", "joint_placement"))
    expected = (closed(h) - closed(-h)) / (2 * h)
    assert np.abs(a.joint_placement[:, elbow, 0] + a.q @ dq - expected).max() < 1e-7 * np.abs(expected).max()
