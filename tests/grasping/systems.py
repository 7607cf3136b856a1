"""Grasps for the tests."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import ordern as on
from tests.random_models import random_robot

C = on.contacts
KINDS: dict[str, tuple[Any, ...]] = {
    "rigid": (C.Rigid, C.Rigid, C.Rigid),
    "mixed": (C.Rigid, C.Hinge, C.Point),
    "fingers": (C.SoftFinger, C.SoftFinger, C.Point),
    "few": (C.Rigid, C.Rigid, C.Rigid),
    "few-fixed": (C.Rigid, C.Hinge, C.Rigid),
    "points": (C.Point, C.Point, C.Point, C.Point),
}
JOINTS = {"few": (3, 7, 2), "few-fixed": (3, 7, 2), "points": (3, 3, 3, 2)}


@cache
def arm(n: int) -> on.Robot:
    return random_robot(40 + n, n, (on.Revolute, on.Prismatic), chain=True, armature=False)


@cache
def walker() -> on.Robot:
    """A floating base with two legs."""
    return random_robot(9, 6, (on.Revolute, on.Prismatic), floating=True)


def system(name: str) -> tuple[on.Grasp, list[np.ndarray]]:
    """A random grasp, and a position in which it is closed."""
    kinds = KINDS[name]
    rng = np.random.default_rng(sum(map(ord, name)))
    arms = [arm(n) for n in JOINTS.get(name, (7,) * len(kinds))]
    q = [a.random(rng) for a in arms]
    bases = [(rng.normal(size=3), rng.normal(size=3) * ((1, 1, 1) if name == "mixed" else (0, 0, 1))) for _ in arms]
    held = None if name.endswith("fixed") else (2.0, (0.1, 0.2, -0.1), (0.3, 0.4, 0.5))
    contacts = [kind(axis=(0.6, 0.0, 0.8)) if kind is C.Hinge else kind() for kind in kinds]
    gravity, pose = (0.0, 0.0, -9.0), ((0.3, 0.2, 0.1), (0.1, 0.5, 0.3))
    return on.grasp([(a, "tool") for a in arms], held, contacts, bases=bases, q=q, pose=pose, gravity=gravity), q


def random_system(seed: int) -> tuple[on.Grasp, list[np.ndarray]]:
    """Any number of arms, joints and contacts; every fourth object stands still."""
    rng = np.random.default_rng(seed)
    arms = [arm(int(rng.choice((2, 3, 7)))) for _ in range(int(rng.integers(1, 6)))]
    kinds = [(C.Rigid, C.Hinge, C.SoftFinger, C.Point)[rng.integers(4)]() for _ in arms]
    q = [a.random(rng) for a in arms]
    bases = [(rng.normal(size=3), rng.normal(size=3) * (0, 0, 1)) for _ in arms]
    held = None if seed % 4 == 3 else (2.0, rng.normal(size=3) * 0.2, (0.3, 0.4, 0.5))
    pose, tips = (rng.normal(size=3), rng.normal(size=3)), [(a, "tool") for a in arms]
    return on.grasp(tips, held, kinds, bases=bases, q=q, pose=pose, gravity=(0.0, 0.0, -9.0)), q


def moving(grasp: on.Grasp, q: list[np.ndarray], seed: int = 0) -> Any:
    """A state with velocities that fit."""
    rng = np.random.default_rng(seed)
    return grasp.project(q, rng.normal(size=grasp.nv), grasp.stands.matrix, rng.normal(size=6))


def forces(grasp: on.Grasp, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return 10.0 * rng.normal(size=grasp.nv), 5.0 * rng.normal(size=6)
