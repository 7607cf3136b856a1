"""Solids made of simple shapes: their extent, and the inertia that they would have."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from ..arguments import Array
from ..io.solids import Mass, combined, shape_mass
from ..model import Shape
from ..records import dataclass

__all__ = ["Solid", "solid_of"]


@dataclass(frozen=True)
class Solid:
    """A solid of uniform density, in the frame of its body."""

    corners: Array
    """Corners of boxes around its shapes, (n, 3)."""
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
    """Return the solid of shapes of known volumes; overlaps count twice."""
    corners, masses = [], []
    for shape in shapes:
        mass, half = _measures(shape)
        signs = np.array(list(product((-1.0, 1.0), repeat=3)))
        corners.append(shape.placement.p + (signs * half) @ shape.placement.R.T)
        masses.append(mass.moved(shape.placement))
    whole = combined(masses)
    squares = whole.I / whole.m if whole.m else whole.I
    gyration = float(np.sqrt(np.linalg.eigvalsh(squares).max())) if np.isfinite(squares).all() else np.inf
    return Solid(np.concatenate(corners), gyration)


def _measures(shape: Shape) -> tuple[Mass, Array]:
    """Return the mass of a shape of density one, and half the sides of the box around it."""
    size = np.abs(np.array(shape.size))
    size = np.maximum(size, 1e-9 * size.max())  # a plate without thickness has no volume
    if shape.kind == "box":
        return shape_mass("box", size / 2), size / 2
    if shape.kind in ("cylinder", "capsule"):
        r, half = size[0], size[1] / 2
        return shape_mass(shape.kind, (r, half)), np.array([r, r, half + r * (shape.kind == "capsule")])
    return shape_mass(shape.kind, size), np.broadcast_to(size, 3)
