"""Momentum, and dynamics as a frame feels it: against dense matrices, laws of mechanics, and Pinocchio."""

from __future__ import annotations

import inspect
from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import ordern as on
from ordern.model import BASE
from ordern.model.base_parameters import regrouped
from tests.algorithms.trees import ask, rate, times
from tests.peers_util import CASES, Pair
from tests.random_models import ALL_JOINTS, random_robot, random_state
from tests.tolerances import FINITE_DIFFERENCE, INVERSION, PEER, ROUNDING, SINGLE, assert_close

Array = np.ndarray
STATES = 3
SEEDS = range(15)
AXES = ("frame", "world")
SIX = ("operational_inertia_inverse", "operational_inertia", "dynamic_inverse", "operational_bias")


@cache
def tree(seed: int) -> on.Robot:
    """A tree or chain with every kind of base, armature, and joints that follow others."""
    mimic = seed % 3 == 2
    joints = (on.Revolute, on.Prismatic, on.Universal, on.Helical) if mimic else ALL_JOINTS
    return random_robot(
        seed,
        9,
        joints,
        floating=seed % 4 == 0,
        chain=seed % 2 == 1,
        armature=seed % 3 != 0,
        mimic=mimic,
        merge=seed % 5 != 0,
    )


def test_some_joints_follow_others() -> None:
    assert sum(any(c.mimic for c in tree(seed).joints) for seed in SEEDS) >= 4


def dense(robot: on.Robot, q: Array, v: Array, frame: str, axes: str) -> dict[str, Array]:
    """The answers by dense matrices; those with an inverse only where that is far from singular."""
    options: dict[str, Any] = {"frame": frame, "axes": axes}
    M, J = ask(robot, "mass_matrix", q), ask(robot, "jacobian", q, **options)
    MJ = np.linalg.solve(M, J.swapaxes(-1, -2))
    found = {"operational_inertia_inverse": J @ MJ}
    size = np.linalg.eigvalsh(J @ MJ)
    if (size[..., 0] < 1e-5 * size[..., -1]).any():
        return found
    Lambda = np.linalg.inv(J @ MJ)
    slack = -np.linalg.solve(M, ask(robot, "bias_force", q, v)[..., None])[..., 0]
    acceleration = ask(robot, "acceleration", q, v, slack, kind="classical", **options)
    return {
        **found,
        "operational_inertia": Lambda,
        "dynamic_inverse": MJ @ Lambda,
        "operational_bias": -times(Lambda, acceleration),
    }


def test_the_answers_to_compare_with_are_there() -> None:
    def found(seed: int) -> int:
        robot = tree(seed)
        return len(dense(robot, *random_state(robot, seed, (STATES,))[:2], "tool", "frame"))

    assert sum(found(seed) == 4 for seed in SEEDS) >= 9


@pytest.mark.slow
@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("seed", SEEDS)
def test_operational_space_of_a_frame(seed: int, axes: str) -> None:
    robot = tree(seed)
    q, v, _ = random_state(robot, seed, (STATES,))
    for question, expected in dense(robot, q, v, "tool", axes).items():
        given = (q, v) if question == "operational_bias" else (q,)
        found = ask(robot, question, *given, frame="tool", axes=axes)
        assert_close(found, expected, INVERSION)
        if question.startswith("operational_inertia"):
            assert (found == found.swapaxes(-1, -2)).all()


@pytest.mark.slow
@pytest.mark.parametrize("seed", (0, 1, 5, 8))
def test_what_the_answers_mean(seed: int) -> None:
    """A force on the frame, the acceleration that it causes there, and the accelerations of the joints."""
    robot = tree(seed)
    q, v, _ = random_state(robot, seed, (STATES,))
    f = np.random.default_rng(seed).normal(size=(STATES, 6))
    options: dict[str, Any] = {"frame": robot.bodies[-1].name, "axes": "frame"}
    J = ask(robot, "jacobian", q, **options)
    inverse = ask(robot, "dynamic_inverse", q, **options)
    assert_close(J @ inverse, np.broadcast_to(np.eye(6), (STATES, 6, 6)), INVERSION)

    def acceleration(force: Array) -> tuple[Array, Array]:
        external = np.zeros((STATES, len(robot.bodies), 6))
        external[:, -1] = force
        a = ask(robot, "forward_dynamics", q, v, 0 * v, external=external)
        return a, ask(robot, "acceleration", q, v, a, kind="classical", **options)

    bias = ask(robot, "operational_bias", q, v, **options)
    held, none = acceleration(bias)
    assert_close(none, 0 * none, INVERSION)
    pushed, more = acceleration(bias + f)
    assert_close(more, times(ask(robot, "operational_inertia_inverse", q, **options), f), INVERSION)
    assert_close(times(ask(robot, "operational_inertia", q, **options), more), f, INVERSION)
    assert_close(times(inverse, more), pushed - held, INVERSION)


def test_gravity_in_the_bias_force() -> None:
    """At rest a free body is held by its weight, and a robot that is one rigid body feels its inertia."""
    builder = on.Builder(gravity=(0.0, 0.0, -10.0)).body("b", mass=2.0, com=(0.3, 0.0, 0.0), inertia=(1.0, 2.0, 3.0))
    robot = builder.frame("f", "b", at=(0.3, 0.0, 0.0)).build(floating=True)
    q = robot.random(1)
    held = ask(robot, "operational_bias", q, np.zeros(6), frame="f", axes="world")
    assert_close(held, [0, 0, 0, 0, 0, 20.0], ROUNDING)
    inertia = ask(robot, "operational_inertia", q, frame="f", axes="frame")
    assert_close(inertia, np.diag([1.0, 2.0, 3.0, 2.0, 2.0, 2.0]), ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["interpreted", "unrolled", "rolled"])
def test_a_frame_that_cannot_move_in_all_ways(way: str) -> None:
    """The compliance exists; its inverse, and what is made with it, is not finite."""
    robot = on.load("planar-3r")
    q, frame = random_state(robot, 0, (2,))[0], robot.bodies[-1].name
    J, M = ask(robot, "jacobian", q, frame=frame, axes="frame"), ask(robot, "mass_matrix", q)
    Y = robot.kernel(SIX[0], way=way, frame=frame, axes="frame")(q)
    assert_close(Y, J @ np.linalg.solve(M, J.swapaxes(-1, -2)), ROUNDING)
    assert not np.isfinite(robot.kernel("dynamic_inverse", way=way, frame=frame, axes="frame")(q)).any()
    assert not ask(robot, SIX[0], q, frame="world", axes="frame").any()
    assert not np.isfinite(robot.kernel("operational_inertia", way=way, frame="world", axes="frame")(q)).any()


SMALL = random_robot(1, 3, (on.Revolute, on.Helical), floating=True, armature=True, mimic=True)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["unrolled", "rolled"])
@pytest.mark.parametrize("question", SIX)
def test_compiled_as_interpreted(question: str, way: str) -> None:
    q, v, _ = random_state(SMALL, 1, (3,))
    given = (q, v) if question == "operational_bias" else (q,)
    options = {"frame": "tool", "axes": "frame" if way == "rolled" else "world"}
    expected = ask(SMALL, question, *given, **options)
    kernel = SMALL.kernel(question, way=way, **options)
    assert_close(kernel(*given), expected, INVERSION)
    if question == SIX[0] and way == "rolled":
        assert_close(kernel(q.astype(np.float32)), expected, SINGLE)


@pytest.mark.slow
@pytest.mark.parametrize("question", [*SIX, "frame_response"])
@pytest.mark.parametrize("seed", [0, 1])
def test_inertias_that_joints_do_not_feel_may_be_anywhere(question: str, seed: int) -> None:
    """Straight-line code moves them between bodies, which no frame may notice."""
    joints = (on.Revolute, on.Spherical, on.Prismatic, on.Universal)
    robot = random_robot(seed, 5, joints, floating=seed == 0, chain=seed == 1)
    moved, given = regrouped(robot.tables), random_state(robot, seed, (3,))[: 1 + (question == "operational_bias")]
    assert np.abs(moved - robot.tables.rows).max() > 0.1
    options = {"frame": "tool", "axes": "world"}
    found = robot.kernel(question, way="unrolled", **options)(*given)
    assert_close(found, ask(robot, question, *given, **options), INVERSION)


@pytest.mark.parametrize("method", ["composite-body", "body-sum"])
def test_momentum_compiled(method: str) -> None:
    q, v, _ = random_state(SMALL, 1, (3,))
    expected = ask(SMALL, "momentum", q, v, method=method, frame="tool")
    for way in ("unrolled", "rolled"):
        assert_close(SMALL.kernel("momentum", method, way=way, frame="tool")(q, v), expected, ROUNDING)


def test_momentum_by_every_method_through_the_robot() -> None:
    q, v, _ = random_state(SMALL, 1, (3,))
    for frame in ("world", "tool"):
        one, other = (SMALL.momentum(q, v, frame, method=m.name) for m in on.methods("momentum"))
        assert_close(one, other, ROUNDING)
    with pytest.raises(on.UnknownNameError, match="unknown method 'x' in momentum"):
        SMALL.momentum(q, v, method="x")


def test_questions_with_several_methods_let_one_choose() -> None:
    """Every function of a robot whose question the library answers in more than one way takes `method=`."""
    asked = Counter(m.question for m in on.methods() if m.function.__module__.startswith("ordern."))
    several = {name for name, n in asked.items() if n > 1 and hasattr(on.Robot, name)}
    assert {"momentum", "forward_dynamics", "closed_dynamics"} <= several
    for name in several:
        assert "method" in inspect.signature(getattr(on.Robot, name)).parameters, name


@pytest.mark.slow
def test_through_the_robot() -> None:
    robot = random_robot(2, 1, (on.Revolute,), floating=True)
    q, v, _ = random_state(robot, 2)
    assert_close(robot.momentum(q, v), ask(robot, "momentum", q, v, frame="world"), ROUNDING)
    Lambda = robot.operational_inertia(q, "tool")
    assert_close(Lambda @ robot.operational_inertia_inverse(q, "tool"), np.eye(6), INVERSION)
    J = ask(robot, "jacobian", q, frame="tool", axes="frame")
    assert_close(J @ robot.dynamic_inverse(q, "tool"), np.eye(6), INVERSION)
    world = robot.operational_bias(q, v, "tool", axes="world")
    R = ask(robot, "pose", q, frame="tool")[:3, :3]
    own = robot.operational_bias(q, v, "tool")
    assert_close(np.concatenate([R @ own[:3], R @ own[3:]]), world, INVERSION)


def wrench_in_world(robot: on.Robot, q: Array, external: Array) -> Array:
    """All forces on the bodies, gravity too, about the world's origin."""
    total = np.zeros((len(q), 6))
    for k, body in enumerate(robot.bodies):
        T = ask(robot, "pose", q, frame=body.name)
        R, p = T[:, :3, :3], T[:, :3, 3]
        force, weight = times(R, external[:, k, 3:]), body.mass * np.array(robot.gravity)
        total[:, 3:] += force + weight
        centre = p + times(R, np.array(body.com))
        total[:, :3] += times(R, external[:, k, :3]) + np.cross(p, force) + np.cross(centre, weight)
    return total


@pytest.mark.parametrize("method", ["composite-body", "body-sum"])
@pytest.mark.parametrize("seed", range(5))
def test_momentum_changes_by_the_forces_on_a_free_robot(seed: int, method: str) -> None:
    robot = random_robot(seed, 6, floating=True, armature=seed % 2 == 0)
    q, v, tau = random_state(robot, seed, (STATES,))
    tau[:, :6] = 0.0
    external = np.random.default_rng(seed).normal(size=(STATES, len(robot.bodies), 6))
    a = ask(robot, "forward_dynamics", q, v, tau, external=external)
    change = rate(robot, lambda q, v: ask(robot, "momentum", q, v, method=method, frame="world"), q, v, a)
    expected = wrench_in_world(robot, q, external)
    assert_close(change, expected, FINITE_DIFFERENCE)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["composite-body", "body-sum"])
@pytest.mark.parametrize("seed", SEEDS)
def test_momentum_is_that_of_the_bodies(seed: int, method: str) -> None:
    robot = tree(seed)
    q, v, _ = random_state(robot, seed, (STATES,))
    total = np.zeros((STATES, 6))
    for body in robot.bodies:
        T = ask(robot, "pose", q, frame=body.name)
        V = ask(robot, "velocity", q, v, frame=body.name, axes="frame")
        R, p, w = T[:, :3, :3], T[:, :3, 3], V[:, :3]
        com = np.array(body.com)
        linear = body.mass * (V[:, 3:] + np.cross(w, com))
        xx, yy, zz, xy, xz, yz = body.inertia
        I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        total[:, 3:] += times(R, linear)
        total[:, :3] += times(R, times(I, w)) + np.cross(p + times(R, com), times(R, linear))
    assert_close(ask(robot, "momentum", q, v, method=method, frame="world"), total, ROUNDING)
    T = ask(robot, "pose", q, frame="tool")
    R, p = T[:, :3, :3].swapaxes(-1, -2), T[:, :3, 3]
    moved = np.concatenate([times(R, total[:, :3] - np.cross(p, total[:, 3:])), times(R, total[:, 3:])], axis=1)
    assert_close(ask(robot, "momentum", q, v, method=method, frame="tool"), moved, ROUNDING)


@pytest.mark.parametrize("name", ["ur5", "solo12", "talos", "panda"])
def test_momentum_as_pinocchio(name: str) -> None:
    pair = Pair(next(c for c in CASES if c.name == name))
    s = pair.states(2)
    theirs = pair.each(s, lambda q, v, a, tau, k: pin.computeCentroidalMomentum(pair.model, pair.data, q, v).np)
    centres = pair.each(s, lambda q, v, a, tau, k: pin.centerOfMass(pair.model, pair.data, q))
    for k, centre in enumerate(centres):
        frame = on.Frame("centre", BASE, on.Placement.of(np.eye(3), centre))
        found = ask(pair.robot, "momentum", s.q[k], s.v[k], frame=frame)
        assert_close(found, theirs[k][[3, 4, 5, 0, 1, 2]], PEER)


@pytest.mark.parametrize("name", ["talos", "panda"])
def test_compliance_of_real_robots(name: str) -> None:
    pair = Pair(next(c for c in CASES if c.name == name))
    s, frame = pair.states(2), pair.frames(1)[0]
    found = ask(pair.robot, SIX[0], s.q, frame=frame, axes="frame")
    J = np.stack([_jacobian(pair, s.q[k : k + 1], frame) for k in range(len(s))])
    assert_close(found, J @ np.linalg.solve(pair.masses(s), J.swapaxes(-1, -2)), INVERSION)


def _jacobian(pair: Pair, q: Array, frame: str) -> Array:
    m, d = pair.model, pair.data
    J = pin.computeFrameJacobian(m, d, pair.positions(q)[0], m.getFrameId(frame), pin.ReferenceFrame.LOCAL)
    return np.concatenate([J[3:], J[:3]]) @ pair.E
