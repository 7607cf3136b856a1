"""Robots and states over which identities are checked, and the interpreter that answers."""

from __future__ import annotations

from typing import Any

import numpy as np

import ordern as on
from tests.random_models import random_robot, random_state

Array = np.ndarray
STATES = 12

TREES: dict[str, on.Robot] = {
    "tree": random_robot(1, 12),
    "tree with armature": random_robot(2, 12, armature=True),
    "chain": random_robot(3, 9, chain=True),
    "floating tree": random_robot(4, 10, floating=True, armature=True),
    "fixed joints kept": random_robot(5, 12, merge=False, armature=True),
}


def ask(robot: on.Robot, question: str, *arguments: Any, external: Any = None, method: str | None = None, **options):
    """The interpreter's answer: the algorithms as they are written. Compiled code is held to it elsewhere."""
    present = () if external is None else ("external",)
    more = () if external is None else (external,)
    kernel = robot.kernel(question, method, present=present, way="interpreted", **options)
    return kernel(*arguments, *more)


def states(robot: on.Robot, seed: int = 0) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations."""
    return random_state(robot, seed, (STATES,))


def external_forces(robot: on.Robot, seed: int = 0) -> Array:
    """A moment and a force on each body."""
    return np.random.default_rng(seed).normal(size=(STATES, len(robot.bodies), 6))


def rate(robot: on.Robot, function: Any, q: Array, v: Array, a: Array | None = None, h: float = 1e-5) -> Array:
    """The derivative by time of function(q, v) along the motion with this velocity and acceleration."""
    a = np.zeros_like(v) if a is None else a
    ahead = function(ask(robot, "integrate", q, v, h), v + h * a)
    behind = function(ask(robot, "integrate", q, v, -h), v - h * a)
    return (ahead - behind) / (2 * h)


def skew(w: Array) -> Array:
    """The matrices of cross products with the vectors w."""
    x, y, z = np.moveaxis(w, -1, 0)
    o = np.zeros_like(x)
    return np.moveaxis(np.array([[o, -z, y], [z, o, -x], [-y, x, o]]), (0, 1), (-2, -1))


def times(A: Array, x: Array) -> Array:
    """Matrix by vector, for batches."""
    return np.einsum("...ij,...j->...i", A, x)
