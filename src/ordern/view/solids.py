"""Triangle meshes of simple solids, about their own centres, with crisp edges where solids have edges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise, product

import numpy as np

from ..arguments import AnyArray, Array
from ..io.mjcf.hull import convex_hull
from ..records import dataclass
from ..rotations import from_z, pose

__all__ = ["Solid", "along", "box", "capsule", "cylinder", "ellipsoid", "round_box", "turned"]

_AROUND = 28
_SIGNS = np.array(list(product((-1.0, 1.0), repeat=3)))
"""The corners of a box with sides of length two."""
Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, eq=False)
class Solid:
    """A surface of triangles."""

    vertices: Array
    faces: AnyArray
    flat: bool = False
    """True if its faces are shaded one by one, rather than smoothly."""

    def at(self, T: Array) -> Solid:
        """Return the surface moved by a 4x4 matrix."""
        return Solid(self.vertices @ T[:3, :3].T + T[:3, 3], self.faces, self.flat)


def box(sides: Sequence[float] | Array) -> Solid:
    """Return a box with these sides along x, y and z."""
    return Solid(_SIGNS * np.asarray(sides, float) / 2, _BOX, flat=True)


def round_box(sides: Sequence[float] | Array, bevel: float) -> Solid:
    """Return a box with bevelled edges."""
    half = np.asarray(sides, float) / 2
    return Solid(_bevelled(half, np.minimum(bevel, 0.45 * half)), _ROUND_BOX, flat=True)


def _bevelled(half: Array, cut: Array) -> Array:
    """Return three points at each corner of a box, each of them on one face."""
    return (_SIGNS[:, None] * np.where(np.eye(3) > 0, half, half - cut)).reshape(24, 3)


_BOX, _ROUND_BOX = convex_hull(_SIGNS), convex_hull(_bevelled(np.ones(3), np.full(3, 0.2)))
"""The triangles of boxes, which do not depend on their sides."""


def turned(curves: Sequence[Points], around: int = _AROUND) -> Solid:
    """Return the surface that curves of points (radius, z) sweep about z: smooth along a curve, with edges between.

    Curves must go up on the outside, so that faces point outward.
    """
    angle = np.linspace(0, 2 * math.pi, around, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    vertices, faces, start = [], [], 0
    k = np.arange(around)
    after = (k + 1) % around
    for curve in curves:
        for r, z in curve:
            vertices.append(np.concatenate([r * ring, np.full((around, 1), z)], axis=1))
        for i in range(len(curve) - 1):
            low, high = start + i * around, start + (i + 1) * around
            if curve[i][0] > 0:
                faces.append(np.stack([low + k, low + after, high + after], axis=1))
            if curve[i + 1][0] > 0:
                faces.append(np.stack([low + k, high + after, high + k], axis=1))
        start += len(curve) * around
    return Solid(np.concatenate(vertices), np.concatenate(faces))


def cylinder(radius: float, length: float, bevel: float = 0.0) -> Solid:
    """Return a cylinder along z."""
    h = length / 2
    c = min(bevel, 0.4 * radius, 0.4 * h)
    corners = [(0, -h), (radius - c, -h), (radius, c - h), (radius, h - c), (radius - c, h), (0, h)]
    return turned([pair for pair in pairwise(corners) if pair[0] != pair[1]])


def capsule(radius: float, length: float) -> Solid:
    """Return a cylinder along z of this length, with half balls at its ends."""
    arc = np.linspace(0, math.pi / 2, 8)
    h = length / 2
    low = [(radius * math.sin(a), -h - radius * math.cos(a)) for a in arc]
    high = [(radius * math.cos(a), h + radius * math.sin(a)) for a in arc]
    return turned([[*low, *high]])


def ellipsoid(half: Sequence[float] | Array) -> Solid:
    """Return an ellipsoid with these half axes."""
    arc = np.linspace(0, math.pi, 17)
    ball = turned([[(math.sin(a) if 0 < a < math.pi else 0.0, -math.cos(a)) for a in arc]])
    return Solid(ball.vertices * np.asarray(half, float), ball.faces)


def along(a: Array, b: Array) -> Array:
    """Return the 4x4 placement halfway between two points, whose z goes from a to b."""
    z = np.asarray(b, float) - a
    length = np.linalg.norm(z)
    return pose(from_z(z / length if length > 0 else (0.0, 0.0, 1.0)), (np.asarray(a) + b) / 2)
