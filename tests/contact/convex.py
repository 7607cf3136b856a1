"""Scenes of convex shapes: one on a fixed table, two that float, and pairs whose poses are given."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np

import ordern as on
from ordern.model.contacts import ModelContact, Solid
from ordern.simulate.contacts.convex.pairs import ConvexPair

__all__ = ["CORNERS", "SHAPES", "Pair", "on_table", "pair_of", "posed", "two"]

CORNERS = np.array([[x, y, z] for z, a in ((-0.2, 0.1), (0.2, 0.06)) for x, y in product((-a, a), repeat=2)])
"""Of a frustum."""
SHAPES = {
    "box": (0.2, 0.15, 0.1),
    "sphere": (0.1,),
    "capsule": (0.05, 0.2),
    "cylinder": (0.08, 0.2),
    "ellipsoid": (0.1, 0.15, 0.05),
    "hull": tuple((0.5 * CORNERS).ravel().tolist()),
}
Pose = tuple[np.ndarray, np.ndarray]


def on_table(
    kind: str,
    size: tuple[float, ...],
    folder: Path | None = None,
    table: tuple[float, float, float] | None = (1.0, 1.0, 0.2),
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81),
) -> on.Robot:
    """Return a free body of 2 kg over a fixed box, whose top is at z = 0; a mesh is a frustum."""
    builder = on.Builder("scene").body("table").body("thing", mass=2.0, inertia=(0.01, 0.012, 0.015))
    if table is not None:
        builder.shape("table", "box", table, role="collision", at=(0.0, 0.0, -0.5 * table[2]))
    file = ""
    if kind == "mesh":
        assert folder is not None
        path = folder / "frustum.obj"
        path.write_text("\n".join([f"v {x} {y} {z}" for x, y, z in CORNERS.tolist()] + ["f 1 2 3"]))
        file = str(path)
    builder.shape("thing", kind, size, role="collision", file=file)
    builder.joint("free", on.Free(), "table", "thing")
    builder.gravity = gravity
    return builder.build()


def two(
    shapes: Sequence[tuple[str, tuple[float, ...]]],
    gravity: float = 0.0,
    table: tuple[float, float, float] | None = None,
) -> on.Robot:
    """Return bodies "0" and "1" of 1 kg that float freely; the fixed "hub" may be a table."""
    builder = on.Builder("two").body("hub")
    if table is not None:
        builder.shape("hub", "box", table, role="collision", at=(0.0, 0.0, -0.5 * table[2]))
    for k, (kind, size) in enumerate(shapes):
        builder.body(str(k), mass=1.0, inertia=(0.004, 0.005, 0.006))
        builder.shape(str(k), kind, size, role="collision")
        builder.joint(f"float {k}", on.Free(), "hub", str(k))
    builder.gravity = (0.0, 0.0, -gravity)
    return builder.build()


def posed(*poses: tuple[Sequence[float], Sequence[float]]) -> np.ndarray:
    """Return the positions of free bodies, from quaternions and points."""
    return np.concatenate([[*(np.array(turn) / np.linalg.norm(turn)), *at] for turn, at in poses])


class Pair:
    """Two shapes; the second one is in the origin."""

    def __init__(self, first: str, second: str) -> None:
        solids = (Solid(k, kind, tuple(SHAPES[kind])) for k, kind in enumerate((first, second)))
        self.pair = ConvexPair(ModelContact("pair", *solids, convex=True), None)

    def gap(self, first: Pose, second: Pose) -> float:
        """Return the gap at poses."""
        return -self.pair.patch(first, second, 0.0).depth

    def touching(self, rng: np.random.Generator, aligned: bool) -> Pose | None:
        """Return a pose of the first shape in which it overlaps by 1e-5 to 1e-3 m; None if none is found.

        If they are aligned, faces and edges are nearly parallel, up to 1e-4 rad.
        """
        z = np.array([0.0, 0.0, rng.uniform(0.0, 1.0)])
        R = on.rotations.exp(1e-4 * rng.standard_normal(3) + z) if aligned else on.rotations.exp(rng.standard_normal(3))
        n = np.array([0.0, 0.0, 1.0]) if aligned else rng.standard_normal(3)
        n /= np.linalg.norm(n)
        p, wanted = 0.5 * n + 0.02 * rng.standard_normal(3), 10.0 ** rng.uniform(-5.0, -3.0)
        for _ in range(40):
            patch = self.pair.patch((R, p), _ORIGIN, 0.0)
            if abs(patch.depth - wanted) < 1e-7:
                return R, p
            p = p + n * (patch.depth - wanted) / max(float(patch.axes[2] @ n), 0.3)
        return None

    def rates(self, pose: Pose, velocity: np.ndarray) -> tuple[float, float, float]:
        """Return the rate of the gap by differences, the mean velocity of its points, and the size of velocities."""
        (R, p), w, u, h = pose, velocity[:3], 0.1 * velocity[3:], 1e-8
        after, before = (self.gap((on.rotations.exp(d * w) @ R, p + d * u), _ORIGIN) for d in (h, -h))
        patch = self.pair.patch(pose, _ORIGIN, 0.0)
        speeds = (u + np.cross(w, patch.points - p)) @ patch.axes[2]
        return (after - before) / (2.0 * h), float(patch.w @ speeds), 0.1 * float(np.abs(velocity).max())


_ORIGIN = (np.eye(3), np.zeros(3))


def pair_of(first: str, second: str) -> Pair:
    """Return two shapes of `SHAPES`."""
    return Pair(first, second)
