"""Kinematics of many frames in one call: the same as one call for each, in every way of running."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.errors import ArgumentError, UnknownNameError
from tests.algorithms.trees import ask
from tests.random_models import random_placement, random_robot, random_state
from tests.tolerances import ROUNDING, SINGLE, assert_close

AXES = ["frame", "world", "origin"]
ONE = {"poses": "pose", "velocities": "velocity", "accelerations": "acceleration", "jacobians": "jacobian"}
"""The question about one frame, by the question about many."""
STATES = {"poses": 1, "velocities": 2, "accelerations": 3, "jacobians": 1}
"""The number of arguments."""


def tree(seed: int) -> on.Robot:
    """Trees, chains, floating ones, with joints that follow others, with fixed joints."""
    return random_robot(
        900 + seed, 4 + seed % 5, floating=seed % 3 == 1, chain=seed % 5 == 2, mimic=seed % 4 == 3, merge=seed % 7 != 6
    )


def some_frames(robot: on.Robot, seed: int) -> list[on.Frame]:
    """Frames on several bodies, two on the same one, and one on the base."""
    rng = np.random.default_rng(seed)
    bodies = [len(robot.bodies) - 1, seed % len(robot.bodies), seed % len(robot.bodies), -1]
    return [on.Frame(f"f{k}", body, random_placement(rng)) for k, body in enumerate(bodies)]


def settings(question: str) -> list[dict[str, str]]:
    """All settings of a question but the frames."""
    if question == "poses":
        return [{}]
    kinds = ["classical", "spatial"] if question == "accelerations" else [""]
    return [{"axes": axes, **({"kind": kind} if kind else {})} for axes in AXES for kind in kinds]


@pytest.mark.parametrize("question", ONE)
@pytest.mark.parametrize("seed", [1, 3, 6])
def test_the_same_as_one_by_one(seed: int, question: str) -> None:
    robot = tree(seed)
    given = random_state(robot, seed, (3,))[: STATES[question]]
    frames = some_frames(robot, seed)
    bodies = [on.Frame(b.name, k) for k, b in enumerate(robot.bodies)]
    for options in settings(question):
        one_by_one = [ask(robot, ONE[question], *given, frame=f, **options) for f in frames]
        found = ask(robot, question, *given, frames=frames, **options)
        assert_close(found, np.stack(one_by_one, axis=1), ROUNDING)
        if question != "jacobians":
            one_by_one = [ask(robot, ONE[question], *given, frame=f, **options) for f in bodies]
            assert_close(ask(robot, f"body_{question}", *given, **options), np.stack(one_by_one, axis=1), ROUNDING)


@pytest.mark.slow
def test_a_moving_base_moves_all_frames() -> None:
    robot = tree(2)
    q, v, a = random_state(robot, 5)
    moved = {"base_velocity": np.arange(6.0), "base_acceleration": np.arange(6.0)[::-1]}
    name = robot.bodies[-1].name
    assert_close(
        robot.accelerations(q, v, a, axes="world", **moved)[-1],
        robot.acceleration(q, v, a, name, axes="world", **moved),
        ROUNDING,
    )
    del moved["base_acceleration"]
    assert_close(robot.velocities(q, v, [name], **moved)[0], robot.velocity(q, v, name, **moved), ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize("question", ONE)
@pytest.mark.parametrize("seed", [1, 3, 6])
def test_every_way_gives_the_same(seed: int, question: str) -> None:
    robot = tree(seed)
    given = random_state(robot, seed, (5,))[: STATES[question]]
    asked: list[tuple[str, dict[str, Any]]] = [(question, {"frames": some_frames(robot, seed)})]
    asked += [] if question == "jacobians" else [(f"body_{question}", {})]
    for options in settings(question)[::2]:
        for name, frames in asked:
            expected = ask(robot, name, *given, **frames, **options)
            for way in ("unrolled", "rolled"):
                kernel = robot.kernel(name, way=way, **frames, **options)
                assert_close(kernel(*given), expected, ROUNDING)
                single = kernel(*(x.astype(np.float32) for x in given))
                assert single.dtype == np.float32
                assert_close(single, expected, SINGLE)


def test_public_functions() -> None:
    """Batches, results in given memory, single states that are called again, all bodies."""
    robot = on.load("puma560")
    q, v, a = np.random.default_rng(0).normal(size=(3, 2, 5, 6))
    names, out = ["wrist", "flange"], np.empty((2, 5, 2, 4, 4))
    assert robot.poses(q, names, out=out) is out
    assert_close(out[..., 1, :, :], robot.pose(q, "flange"), ROUNDING)
    assert_close(robot.poses(q)[..., -1, :, :], robot.pose(q, robot.bodies[-1].name), ROUNDING)
    for _ in range(2):
        assert_close(robot.poses(q[0, 0], names)[1], robot.pose(q[0, 0], "flange"), ROUNDING)
        assert robot.velocities(q[0, 0], v[0, 0]).shape == (6, 6)
    assert robot.velocities(q, v, names, "world").shape == (2, 5, 2, 6)
    assert_close(robot.velocities(q, v)[..., -1, :], robot.velocity(q, v, robot.bodies[-1].name), ROUNDING)
    assert robot.accelerations(q, v, a, iter(names), kind="spatial").shape == (2, 5, 2, 6)
    assert_close(robot.jacobians(q)[..., 5, :, :], robot.jacobian(q, robot.bodies[5].name), ROUNDING)
    assert robot.jacobians(q, names).shape == (2, 5, 2, 6, 6)
    assert robot.poses(q, []).shape == (2, 5, 0, 4, 4)


def test_results_in_memory_of_any_strides() -> None:
    """Results have three dimensions: each may have any stride, and NumPy gives any to one of length one."""
    robot = on.load("planar-3r")
    q = np.random.default_rng(0).normal(size=(5, 3))
    for frames in (["link3"], ["link1", "link3"]):
        expected = np.stack([robot.jacobian(q, name) for name in frames], axis=1)
        k = len(frames)
        assert_close(robot.jacobians(q, frames), expected, ROUNDING)
        assert_close(robot.jacobians(q[0], frames), expected[0], ROUNDING)
        whole = np.full((2, 5, 6, 3, k), np.nan)
        out = whole[1].transpose(0, 3, 1, 2)[:, ::-1, :, ::-1]
        assert robot.jacobians(q, frames, out=out) is out
        assert_close(out, expected, ROUNDING)
        assert np.isnan(whole[0]).all()
        assert_close(robot.jacobians(q.astype(np.float32), frames), expected, SINGLE)


def test_wrong_frames_are_named() -> None:
    robot = on.load("puma560")
    q = np.zeros(6)
    with pytest.raises(ArgumentError, match="poses: `frames` must be a list of frames or of their names, not 'flange'"):
        robot.poses(q, "flange")
    with pytest.raises(UnknownNameError, match=r"unknown frame 'flnge' in puma560. Did you mean 'flange'"):
        robot.jacobians(q, ["wrist", "flnge"])
    with pytest.raises(UnknownNameError, match="It is a list: `poses`, `velocities`"):
        robot.pose(q, ["wrist", "flange"])
    with pytest.raises(ArgumentError, match="`out` has shape"):
        robot.poses(q, ["flange"], out=np.empty((4, 4)))
    with pytest.raises(ArgumentError, match="poses needs the setting 'frames'"):
        robot.kernel("poses")


@pytest.mark.slow
def test_a_long_chain() -> None:
    """Poses of all bodies are loops: the code is as long as for a short chain."""
    chain = on.Robot.of(on.robots.chain(400, seed=1).build())
    q = np.random.default_rng(1).normal(size=(3, chain.nq))
    assert chain.kernel("body_poses").code.way == "rolled"
    assert_close(chain.poses(q)[:, -1], chain.pose(q, chain.bodies[-1].name), ROUNDING)
    frames = [b.name for b in chain.bodies[::100]]
    for k, name in enumerate(frames):
        assert_close(chain.jacobians(q, frames)[:, k], chain.jacobian(q, name), ROUNDING)


@pytest.mark.slow
@pytest.mark.needs("sympy")
def test_symbols() -> None:
    robot = on.load("double-pendulum")
    found = on.symbolic(robot, "poses", frames=[b.name for b in robot.bodies])
    assert found.shape == (2, 4, 4)
    values = {symbol: {"q1": 0.3, "q2": -0.4}[symbol.name] for symbol in found.free_symbols}
    numbers = np.array(found.subs(values)).astype(float)
    assert_close(numbers, robot.poses([0.3, -0.4]), ROUNDING)
