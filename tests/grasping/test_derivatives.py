"""Derivatives of the dynamics of grasps: against differences along states that keep all contacts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ordern as on
from ordern.errors import ArgumentError, UnknownNameError
from ordern.grasping.as_one_robot import to_whole
from ordern.rotations import exp
from tests.grasping.systems import forces, moving, system
from tests.tolerances import FINITE_DIFFERENCE, GRASPED, assert_close

Array = NDArray[np.float64]


def _answers(motion: Any) -> Array:
    """Accelerations of arms and object, then contact forces."""
    return np.concatenate([*motion.accelerations, motion.object_acceleration, motion.forces.ravel()])


def _together(grasp: on.Grasp, state: Any, rng: np.random.Generator) -> dict[str, Array]:
    """Changes of arms and object that keep the contacts, of positions and of velocities."""
    robot = grasp.closed_robot
    q, v = to_whole(state)
    K, n = robot.loop_jacobian(q), grasp.nv
    over = np.linalg.pinv(K, rcond=1e-9)
    dq = rng.normal(size=robot.nv)
    dq -= over @ (K @ dq)
    turned = robot.derivatives.loop_rate(q, v, wrt="q").q
    dv = rng.normal(size=robot.nv)
    dv -= over @ (K @ dv + turned @ dq)
    found = {"q": dq[:n], "v": dv[:n]}
    if grasp.object is not None:
        # the velocity in the world's axes: the object's own axes turn
        own = (state.R.T @ state.velocity.reshape(2, 3).T).T
        turn = np.cross(dq[n : n + 3], own) + dv[n:].reshape(2, 3)
        found |= {"pose": dq[n:], "velocity": (state.R @ turn.T).T.ravel()}
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mixed", "fingers", "few-fixed"])
def test_along_states_that_keep_the_contacts(name: str) -> None:
    grasp, q = system(name)
    state, (tau, wrench) = moving(grasp, q), forces(grasp)
    rng = np.random.default_rng(3)
    along = _together(grasp, state, rng)
    along["tau"] = rng.normal(size=grasp.nv)
    if grasp.object is not None:
        along["wrench"] = rng.normal(size=6)
    at = {"pose": state.pose, "velocity": state.velocity, "wrench": wrench} if grasp.object is not None else {}

    def answer(s: float) -> Array:
        start, given = state.pose.copy(), {}
        if grasp.object is not None:
            start[:3, 3] += s * state.R @ along["pose"][3:]
            start[:3, :3] = state.R @ exp(s * along["pose"][:3])
            given = {"wrench": wrench + s * along["wrench"]}
        qs = [x + s * along["q"][a.v] for a, x in zip(grasp.arms, state.q, strict=True)]
        vs = np.concatenate(state.v) + s * along["v"]
        velocity = state.velocity + s * along.get("velocity", np.zeros(6))
        there = grasp.project(qs, vs, start, velocity)
        return _answers(grasp.dynamics(there, tau + s * along["tau"], **given))

    h = 1e-4
    known = (8.0 * (answer(h) - answer(-h)) - (answer(2 * h) - answer(-2 * h))) / (12.0 * h)
    arguments = (np.concatenate(state.q), np.concatenate(state.v), tau)
    rate = grasp.jvp(*arguments, along, **at)
    flat = np.concatenate([rate.accelerations, rate.object_acceleration, rate.forces.ravel()])
    motion = grasp.dynamics(state, tau, wrench=at.get("wrench"))
    unique = len(flat) if motion.rank == motion.rows else grasp.nv + 6  # forces of least norm depend on the axes
    assert_close(flat[:unique], known[:unique], 10.0 * FINITE_DIFFERENCE)
    whole = grasp.derivatives(*arguments, **at)
    assert set(whole._fields) == set(along)
    for answer_name in rate._fields:
        summed = sum(getattr(d, answer_name) @ along[x] for x, d in whole._asdict().items())
        assert_close(summed, getattr(rate, answer_name), GRASPED)
    weights = {x: rng.normal(size=y.shape) for x, y in rate._asdict().items()}
    gradient = grasp.vjp(*arguments, weights, **at)
    power = sum(np.sum(w * getattr(rate, x)) for x, w in weights.items())
    assert_close(sum(g @ along[x] for x, g in gradient._asdict().items()), power, GRASPED)


@pytest.mark.slow
def test_batches_names_and_the_closed_robot() -> None:
    grasp, q = system("mixed")
    state, (tau, wrench) = moving(grasp, q), forces(grasp)
    many = grasp.derivatives(state.q, state.v, np.stack([tau, 2.0 * tau]), pose=state.pose, velocity=state.velocity)
    assert many._fields == ("q", "v", "tau", "pose", "velocity")
    assert many.pose.forces.shape == (2, len(grasp.contacts), 6, 6)
    found = grasp.derivatives(state.q, state.v, tau, pose=state.pose, wrench=wrench, wrt="wrench")
    assert found._fields == ("wrench",)
    # the wrench acts through the mobility of the whole mechanism
    assert_close(found.wrench.object_acceleration, found.wrench.object_acceleration.T, GRASPED)
    robot = grasp.closed_robot
    assert robot.nc == grasp.nc
    assert set(robot.loop_rows) == {c.name for c in grasp.contacts}
    with pytest.raises(UnknownNameError, match="unknown argument in `wrt` 'x'"):
        grasp.derivatives(state.q, state.v, tau, pose=state.pose, wrt="x")
    fixed, q = system("few-fixed")
    with pytest.raises(ArgumentError, match="its object does not move, so 'pose' is fixed"):
        fixed.derivatives(q, np.zeros(fixed.nv), np.zeros(fixed.nv), wrt="pose")
