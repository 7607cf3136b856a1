"""Hessians, supported wrenches, Delassus matrices and impacts: identities, and Pinocchio in `tests.peers`."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on
from ordern.errors import ArgumentError, SingularError, UnknownNameError
from tests.algorithms.trees import ask, times
from tests.random_models import random_placement, random_robot, random_state
from tests.tolerances import INVERSION, ROUNDING, SINGLE, assert_close

AXES = ["frame", "world", "origin"]


def tree(seed: int) -> on.Robot:
    """Trees, chains, floating ones, with joints that follow others, with fixed joints."""
    return random_robot(
        950 + seed, 5 + seed % 4, floating=seed % 3 == 1, chain=seed % 5 == 2, mimic=seed % 4 == 3, merge=seed % 7 != 6
    )


def frames_of(robot: on.Robot, seed: int) -> list[on.Frame]:
    """Two frames, on different bodies."""
    rng = np.random.default_rng(seed)
    return [on.Frame(f"f{k}", k, random_placement(rng)) for k in (len(robot.bodies) - 1, seed % 3)]


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("seed", [1, 3, 6])
def test_hessian_times_velocity_is_the_rate_of_the_jacobian(seed: int, axes: str) -> None:
    robot = tree(seed)
    q, v, _ = random_state(robot, seed, (3,))
    frame = frames_of(robot, seed)[0]
    H = ask(robot, "kinematic_hessian", q, frame=frame, axes=axes)
    assert H.shape == (3, 6, robot.nv, robot.nv)
    assert_close((H @ v[:, None, :, None])[..., 0], ask(robot, "jacobian_rate", q, v, frame=frame, axes=axes), ROUNDING)


@pytest.mark.parametrize("seed", [1, 3, 6])
def test_supported_wrench_is_that_of_the_joint(seed: int) -> None:
    robot = tree(seed)
    q, v, a = random_state(robot, seed, (3,))
    external = np.random.default_rng(seed).normal(size=(3, len(robot.bodies), 6))
    wrenches = ask(robot, "joint_wrenches", q, v, a, external=external)
    for k in (0, len(robot.bodies) - 1):
        frame = on.Frame(robot.bodies[k].name, k)
        given = (robot, "supported_wrench", q, v, a)
        found = {axes: ask(*given, external=external, frame=frame, axes=axes) for axes in AXES}
        assert_close(found["frame"], wrenches[:, k], ROUNDING)
        pose = ask(robot, "pose", q, frame=frame)
        R, p = pose[:, :3, :3], pose[:, :3, 3]
        moment, force = times(R, wrenches[:, k, :3]), times(R, wrenches[:, k, 3:])
        assert_close(found["world"], np.concatenate([moment, force], axis=-1), ROUNDING)
        assert_close(found["origin"], np.concatenate([moment + np.cross(p, force), force], axis=-1), ROUNDING)


@pytest.mark.parametrize("axes", AXES[:2])
@pytest.mark.parametrize("seed", [1, 3, 6])
def test_delassus_matrix(seed: int, axes: str) -> None:
    robot = tree(seed)
    q, _, _ = random_state(robot, seed, (3,))
    frames = frames_of(robot, seed)
    J = ask(robot, "jacobians", q, frames=frames, axes=axes)
    for question, first in (("delassus_matrix", 0), ("point_delassus_matrix", 3)):
        rows = J[:, :, first:].reshape(3, -1, robot.nv)
        expected = rows @ np.linalg.solve(ask(robot, "mass_matrix", q), rows.swapaxes(-1, -2))
        assert_close(ask(robot, question, q, frames=frames, axes=axes), expected, INVERSION)


QUESTIONS = {"kinematic_hessian": 1, "supported_wrench": 3, "delassus_matrix": 1, "point_delassus_matrix": 1}


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("seed", [1, 3, 6])
def test_every_way_gives_the_same(seed: int, question: str) -> None:
    robot = tree(seed)
    given = random_state(robot, seed, (5,))[: QUESTIONS[question]]
    frames = frames_of(robot, seed)
    options = {"frames": frames} if "delassus" in question else {"frame": frames[0]}
    expected = ask(robot, question, *given, axes="world", **options)
    for way in ("unrolled", "rolled"):
        kernel = robot.kernel(question, way=way, axes="world", **options)
        assert_close(kernel(*given), expected, INVERSION)
        single = kernel(*(x.astype(np.float32) for x in given))
        assert single.dtype == np.float32
        if "delassus" not in question:  # whose error is that of the mass matrix, times its condition number
            assert_close(single, expected, SINGLE)


def test_solving_with_the_delassus_matrix() -> None:
    robot = on.load("puma560")
    q = np.random.default_rng(0).normal(size=(4, 6))
    x = np.random.default_rng(1).normal(size=(4, 6))
    D = robot.delassus_matrix(q, ["flange"])
    assert_close(times(D, robot.delassus_solve(q, x, ["flange"])), x, INVERSION)
    assert_close(D, robot.operational_inertia_inverse(q, "flange"), INVERSION)
    damped = times(D + 0.1 * np.eye(6), robot.delassus_solve(q, x, ["flange"], damping=0.1))
    assert_close(damped, x, INVERSION)
    with pytest.raises(SingularError, match=r"depend on each other.*damping"):
        robot.delassus_solve(q, np.zeros(12), ["flange", "hand"])
    with pytest.raises(ArgumentError, match="has no loops; list the `frames`"):
        robot.delassus_matrix(q)
    with pytest.raises(ArgumentError, match='must be "frame" or "world", not "origin"'):
        robot.delassus_matrix(q, ["flange"], axes="origin")
    with pytest.raises(UnknownNameError, match="unknown contact 'plane'"):
        robot.delassus_matrix(q, ["flange"], contact="plane")


@pytest.mark.parametrize("contact", ["frame", "point"])
@pytest.mark.parametrize("seed", [1, 3])
def test_impacts_of_frames(seed: int, contact: str) -> None:
    """Velocities at the frames are reversed, impulses change the momentum, and energy is not gained."""
    robot = tree(seed)
    q, v, _ = random_state(robot, seed, (4,))
    frames, e = frames_of(robot, seed), np.array([0.0, 0.3, 0.7, 1.0])
    after = robot.impact(q, v, frames, e, contact=contact)
    first = 3 if contact == "point" else 0
    J = robot.jacobians(q, frames)
    before, then = ((J @ x[:, None, :, None])[..., first:, 0] for x in (v, after.v))
    assert_close(then, -e[:, None, None] * before, INVERSION)
    pushed = (J.swapaxes(-1, -2) @ after.impulses[..., None]).sum(axis=1)[..., 0]
    assert_close(times(robot.mass_matrix(q), after.v - v), pushed, INVERSION)
    lost = robot.kinetic_energy(q, v) - robot.kinetic_energy(q, after.v)
    assert (lost[:-1] > 0.0).all() and abs(lost[-1]) <= 1e-9 * robot.kinetic_energy(q, v)[-1]
    assert after.loop_impulses.shape == (4, 0)


def test_impacts_of_loops() -> None:
    robot = on.load("four-bar")
    q = robot.assemble(robot.neutral()).q
    v = np.random.default_rng(3).normal(size=robot.nv)
    K, M = robot.loop_jacobian(q), robot.mass_matrix(q)
    after = robot.impact(q, v, restitution=0.5)
    assert_close(K @ after.v, -0.5 * K @ v, INVERSION)
    assert_close(M @ (after.v - v), K.T @ after.loop_impulses, INVERSION)
    closed = robot.impact(q, v).v
    assert_close(K @ closed, np.zeros(len(K)), INVERSION)
    name = robot.bodies[-1].name
    hit = robot.impact(q, closed, [name], contact="point")
    assert_close(K @ hit.v, np.zeros(len(K)), INVERSION)
    assert_close(robot.velocity(q, hit.v, name)[3:], np.zeros(3), INVERSION)
    assert not hit.unique  # the mechanism has one freedom
    D = robot.delassus_matrix(q)
    assert_close(D, K @ np.linalg.solve(M, K.T), INVERSION)


def test_impacts_of_a_driven_loop() -> None:
    """A loop that a motor moves has a rate by itself: it is closed again when the robot moves along."""
    crank = on.Builder("crank").body("base")
    crank.body("arm", parent="base", joint=on.Revolute((0, 0, 1)), mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1))
    driven = crank.loop("motor", on.Driven(on.Revolute((0, 0, 1)), (0.0, 2.0)), "base", "arm").build()
    q, v, t = np.array([0.6]), np.array([0.5]), 0.3
    after = driven.impact(q, v, t=t)
    assert_close(driven.loop_rate(q, after.v, t=t), np.zeros(driven.nc), INVERSION)
    assert_close(np.abs(after.v), [2.0], INVERSION)
    assert_close(driven.delassus_matrix(q, t=t).max(), 1.0 / driven.mass_matrix(q)[0, 0], INVERSION)


def test_what_impacts_refuse() -> None:
    robot = on.load("puma560")
    q, v = np.zeros(6), np.ones(6)
    with pytest.raises(ArgumentError, match="restitution must be from 0 to 1"):
        robot.impact(q, v, ["flange"], 1.5)
    with pytest.raises(ArgumentError, match="impact without frames: 'puma560' has no loops"):
        robot.impact(q, v)
    with pytest.raises(ArgumentError, match="joint_wrenches"):
        on.load("four-bar").supported_wrench(*np.zeros((3, 3)), on.load("four-bar").bodies[0].name)
