"""Derivatives of every question about random robots, against jets in 50 digits; and at states where 0 / 0 lurks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import ordern as on
from ordern.algorithms import find
from ordern.algorithms.derivatives.derived import derived_name
from tests.joints.custom import Ball
from tests.loops.closed_systems import LOOP_TYPES, closed_robot
from tests.precise import all_questions, arguments, precise_rate, settings_of
from tests.random_models import ALL_JOINTS, random_robot
from tests.tolerances import difference

__all__ = ["SPECIAL", "Found", "compared", "special_states", "tree", "with_loops"]

JOINTS = (*ALL_JOINTS, on.RollingDisc, Ball)
CLOSE, CLOSE_INVERSE = 1e-9, 1e-12
"""What is promised, relative to the largest number: for all questions, and for inverse dynamics."""
SIX = ("operational_inertia", "dynamic_inverse", "operational_bias")
"""Questions about frames that need to move in six directions."""
NOT_SMOOTH = ("loop_excess",)
"""Questions whose answer is the largest of several numbers."""
CERTIFIED = {"contact_step": 4}
"""Questions whose last numbers are such ones: a certificate."""


@dataclass(frozen=True)
class Found:
    """The error of one derivative of one question."""

    robot: str
    question: str
    mode: str
    error: float
    limit: float


def tree(seed: int) -> on.Robot:
    """A tree or chain; one in three floats, one in three has joints that follow others."""
    rng = np.random.default_rng(seed)
    start = 5 * seed
    joints = [JOINTS[(start + k) % len(JOINTS)] for k in range(5)]
    kinds: dict[str, Any] = {"floating": seed % 3 == 1, "mimic": seed % 3 == 2, "chain": seed % 4 == 0}
    return random_robot(seed, int(rng.integers(2, 5)), joints, armature=True, passive=True, **kinds)


def with_loops(seed: int) -> tuple[on.Robot, np.ndarray]:
    """A tree with a loop of one type, closed at the position that comes with it."""
    return closed_robot(seed, 5, [LOOP_TYPES[seed % len(LOOP_TYPES)]], floating=seed % 2 == 1)


def compared(seed: int, loops: bool, questions: Any = None, compiled: int = 8) -> Iterator[Found]:
    """The errors of the derivatives of questions about one robot.

    One in `compiled` runs as machine code. Gradients and matrices are computed for one question in four.
    """
    robot, closed = with_loops(seed) if loops else (tree(seed), None)
    names = all_questions(loops) if questions is None else questions
    for k, name in enumerate(names):
        rng = np.random.default_rng(seed)
        settings = settings_of(robot, name)
        if name in NOT_SMOOTH or (name in SIX and np.linalg.matrix_rank(robot.jacobian(robot.random(rng), "tool")) < 6):
            continue
        refuses = find(name)[1].refuses
        if refuses is not None and refuses(robot):  # the answer is refused, too
            continue
        given, along = arguments(robot, name, rng)
        if closed is not None:
            given["q"] = closed
            if "v" in given:
                given["v"] = robot.project_velocity(closed, given["v"])
        rate = precise_rate(robot, name, given, along, **settings)
        way = None if (seed + k) % compiled == 0 else "interpreted"
        limit = CLOSE_INVERSE if name == "inverse_dynamics" else CLOSE
        errors = _errors(robot, name, given, along, rate, settings, way)
        for mode, error in errors if (seed + k // compiled) % 4 == 0 else [next(errors)]:
            yield Found(robot.name, name, mode, error, limit)


def _errors(
    robot: on.Robot, name: str, given: dict[str, Any], along: dict[str, Any], rate: np.ndarray,
    settings: dict[str, Any], way: str | None,
) -> Iterator[tuple[str, float]]:  # fmt: skip
    """The errors of a product with tangents, of a gradient, and of the matrices of derivatives."""
    wrt, values = tuple(given), list(given.values())

    def ask(mode: str, *more: Any) -> np.ndarray:
        return robot.kernel(derived_name(mode, name, wrt), way=way, **settings)(*values, *more)

    smooth = np.arange(len(rate)) < len(rate) - CERTIFIED.get(name, 0) if rate.ndim else ...
    yield "jvp", difference(ask("jvp", *along.values())[smooth], rate[smooth])
    weights = np.zeros_like(rate)
    weights[smooth] = np.random.default_rng(0).normal(size=rate.shape)[smooth]
    gradient, flat = ask("vjp", weights), np.concatenate([np.ravel(x) for x in along.values()])
    scale = np.linalg.norm(gradient) * np.linalg.norm(flat)
    yield "vjp", float(abs(gradient @ flat - np.sum(weights * rate)) / max(1.0, scale))
    rows, start, matrices = rate.size, 0, ask("jacobian")
    summed = np.zeros(rows)
    for x in along.values():
        stop = start + rows * np.size(x)
        summed += matrices[start:stop].reshape(rows, np.size(x)) @ np.ravel(x)
        start = stop
    yield "derivatives", difference(summed.reshape(rate.shape)[smooth], rate[smooth])


SPECIAL = (0.0, -0.0, np.pi, -np.pi, np.pi / 2, 1e-9, -1e-9, 1e-160, 5e-324, 1e-2, 1e-1)
"""Turns and velocities at which texts have branches, quotients of zeros, or numbers without a square."""


def special_states(robot: on.Robot, rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities whose numbers are random, or special."""

    def numbers() -> np.ndarray:
        shape = (count, robot.nv)
        kind = rng.integers(3, size=(count, 1))  # all random, all special, or mixed
        special = np.where(kind == 2, rng.random(shape) < 0.5, kind == 1)
        return np.where(special, rng.choice(SPECIAL, shape), rng.normal(size=shape))

    start = np.where(rng.random((count, 1)) < 0.8, robot.neutral(), robot.random(rng, count))
    turn = numbers()
    for joint in robot.joints:
        if isinstance(joint.type, on.RollingDisc):
            turn[:, joint.v] = 0.0  # a disc that lies flat has no heading
    return robot.integrate(start, turn, 1.0), numbers()


def argument_names(question: str) -> list[str]:
    """The names of the required arguments."""
    return [p.name for p in find(question)[0].inputs if not p.optional]
