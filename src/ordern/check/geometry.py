"""Solids made of simple shapes: their extent, and the inertia that they would have."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi

import numpy as np
from numpy.typing import NDArray

from ..model import Shape
from ..records import dataclass

__all__ = ["SOLIDS", "Solid", "solid_of"]

Array = NDArray[np.float64]
SOLIDS = ("box", "sphere", "cylinder", "capsule", "ellipsoid")
"""The shapes whose volume is known."""


@dataclass(frozen=True)
class Solid:
    """A solid of uniform density, in the frame of its body."""

    corners: Array
    """Corners of boxes around its shapes, (n, 3)."""
    com: Array
    gyration: float
    """The largest radius of gyration about the centre of mass: the square root of inertia by mass."""

    @property
    def radius(self) -> float:
        """The distance from the origin of the body to the farthest point of the solid."""
        return self.reach((0.0, 0.0, 0.0))

    def reach(self, point: Sequence[float]) -> float:
        """Return an upper bound of the distance from a point to the farthest point of the solid."""
        return float(np.linalg.norm(self.corners - np.asarray(point), axis=1).max())

    def distance(self, point: Sequence[float]) -> float:
        """Return the distance of a point from the bounding box along the body's axes; zero inside."""
        p = np.asarray(point)
        outside = np.maximum(self.corners.min(axis=0) - p, p - self.corners.max(axis=0))
        return float(np.linalg.norm(np.maximum(outside, 0.0)))

    @property
    def size(self) -> float:
        """The diagonal of the bounding box."""
        return float(np.linalg.norm(np.ptp(self.corners, axis=0)))


def solid_of(shapes: Sequence[Shape]) -> Solid:
    """Return the solid of shapes, which are all in SOLIDS; overlaps count twice."""
    corners, volumes, centres, moments = [], [], [], []
    for shape in shapes:
        half, volume, squares = _measures(shape)
        R, p = shape.placement.R, shape.placement.p
        signs = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
        corners.append(p + (signs * half) @ R.T)
        volumes.append(volume)
        centres.append(p)
        moments.append((R * squares) @ R.T)
    with np.errstate(all="ignore"):
        total = sum(volumes)
        weights = np.array(volumes) / total if total > 0.0 else np.full(len(volumes), 1.0 / len(volumes))
        com = weights @ np.array(centres)
        # second moments of position, from which the inertia follows
        P = sum(w * (A + np.outer(c - com, c - com)) for w, A, c in zip(weights, moments, centres, strict=True))
        inertia = np.trace(P) * np.eye(3) - P
        gyration = float(np.sqrt(np.linalg.eigvalsh(inertia).max())) if np.isfinite(inertia).all() else np.inf
    return Solid(np.concatenate(corners), com, gyration)


def _measures(shape: Shape) -> tuple[Array, float, Array]:
    """Return half the sides of the box around a shape, its volume, and the mean squares of x, y, z in it."""
    size = np.abs(np.array(shape.size))
    if shape.kind == "box":
        return size / 2, float(size.prod()), size**2 / 12
    if shape.kind == "sphere":
        (r,) = size
        return np.full(3, r), 4 / 3 * pi * r**3, np.full(3, r**2 / 5)
    if shape.kind == "ellipsoid":
        return size, float(4 / 3 * pi * size.prod()), size**2 / 5
    r, length = size
    if shape.kind == "cylinder":
        return np.array([r, r, length / 2]), pi * r**2 * length, np.array([r**2 / 4, r**2 / 4, length**2 / 12])
    tube, caps = pi * r**2 * length, 4 / 3 * pi * r**3
    volume = tube + caps
    if volume == 0.0:
        return np.array([r, r, length / 2 + r]), 0.0, np.zeros(3)
    across = (tube * r**2 / 4 + caps * r**2 / 5) / volume
    # a half ball's centre is 3/8 r beyond the end of the tube
    along = (tube * length**2 / 12 + caps * (r**2 / 5 + length**2 / 4 + 3 / 8 * r * length)) / volume
    return np.array([r, r, length / 2 + r]), volume, np.array([across, across, along])
