"""Random robots with loops of every type that are closed in a known position, and states of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import ordern as on
from tests.random_models import random_placement, random_robot

Array = NDArray[np.float64]

TREE_JOINTS = (on.Revolute, on.Prismatic, on.Spherical, on.Cylindrical, on.Helical, on.Planar, on.Continuous)
"""Joints whose motion subspace is constant in the child's frame: what the oracle knows of them is exact."""

LOOP_TYPES = (
    "fixed",
    "revolute",
    "prismatic",
    "helical",
    "cylindrical",
    "universal",
    "planar",
    "spherical",
    "distance",
)


def rotation(axis: Any, angle: float) -> Array:
    """Rodrigues' formula."""
    x, y, z = np.asarray(axis, float) / np.linalg.norm(axis)
    W = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * W + (1.0 - np.cos(angle)) * W @ W


def pose(R: Array, p: Any) -> Array:
    """A homogeneous matrix."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, p
    return T


def random_loop(kind: str, rng: np.random.Generator) -> tuple[Any, Array]:
    """A closure, and a relative pose in which it is closed, by formulas on paper."""
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    one, two = np.linalg.svd(axis[None])[2][1:]
    a, b, x, y = rng.uniform(-0.8, 0.8, 4)
    R = rotation(axis, a)
    if kind == "fixed":
        return on.Fixed(), np.eye(4)
    if kind == "revolute":
        return on.Revolute(axis), pose(R, np.zeros(3))
    if kind == "prismatic":
        return on.Prismatic(axis), pose(np.eye(3), x * axis)
    if kind == "helical":
        return on.Helical(axis, 0.3), pose(R, 0.3 / (2.0 * np.pi) * a * axis)
    if kind == "cylindrical":
        return on.Cylindrical(axis), pose(R, x * axis)
    if kind == "universal":
        return on.Universal(axis, one), pose(R @ rotation(one, b), np.zeros(3))
    if kind == "planar":
        return on.Planar(axis), pose(R, x * one + y * two)
    if kind == "spherical":
        return on.Spherical(), pose(rotation(rng.normal(size=3), b), np.zeros(3))
    p = rng.normal(size=3)
    return on.Distance(float(np.linalg.norm(p))), pose(rotation(rng.normal(size=3), b), p)


def closed_robot(
    seed: int, n: int, kinds: Any, floating: bool = False, joints: Any = TREE_JOINTS
) -> tuple[on.Robot, Array]:
    """A random tree of n bodies, closed by loops of these kinds at a random position, which comes with it."""
    rng = np.random.default_rng(1000 + seed)
    tree = random_robot(seed, n, joints, floating=floating)
    q = tree.random(rng)
    builder = tree.builder()
    names = [b.name for b in tree.bodies]
    for k, kind in enumerate(kinds):
        one, other = rng.choice(len(names) + 1, 2, replace=False) - 1
        parent, child = (tree.base if j < 0 else names[j] for j in (one, other))
        type, between = random_loop(kind, rng)
        at = random_placement(rng)
        frame = _pose(tree, q, parent) @ pose(at.R, at.p) @ between
        there = np.linalg.inv(_pose(tree, q, child)) @ frame
        builder.loop(f"loop{k}", type, parent, child, at=at, child_at=on.Placement.of(there[:3, :3], there[:3, 3]))
    return builder.build(), q


def motion_state(robot: on.Robot, q: Array, seed: int) -> tuple[Array, Array]:
    """A velocity that keeps the loops closed, made by an orthogonal projection of its own, and joint forces."""
    rng = np.random.default_rng(seed)
    K = robot.loop_jacobian(q)
    v = rng.normal(size=robot.nv)
    return v - np.linalg.pinv(K, rcond=1e-9) @ (K @ v), rng.normal(size=robot.nv) * 5.0


def _pose(tree: on.Robot, q: Array, body: str) -> Array:
    """Of a body, without compiling a function for it."""
    return np.asarray(tree.kernel("pose", way="interpreted", frame=body)(q))
