"""Convex shapes: their geometry in coal, their farthest points in a direction, and how these turn with it.

The farthest points of a shape in a direction d are a point, an edge or a face. `farthest` returns more: the corners
that may be farthest after a small tilt. Rims of cylinders are polygons of 16 corners and the farthest point of the rim;
the latter comes out of its chord within the first 1e-3 rad of tilt, so that nothing jumps where a cylinder stands
upright. `turning` is the derivative of the farthest point by d, where that is unique.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np

from ....arguments import Array
from ....io.mjcf.hull import convex_hull
from ....model.contacts import Solid

__all__ = ["TILT", "ConvexShape", "shape_of"]

TILT = 1e-4
"""The angle, in rad, over which depths are averaged."""
_CORNERS = 16
"""Corners of the rim of a cylinder."""
_STEP = 2.0 * math.pi / _CORNERS
_UPRIGHT = 1e-13
"""Across the axis of a cylinder, directions shorter than this have no angle."""
_LYING = 0.5
"""Across the axis, directions longer than this have no flat rim near to them."""


class ConvexShape:
    """A convex shape in its own axes: a polytope, unless a subclass says otherwise."""

    curved = False
    """True if its surface is curved somewhere."""
    across = 0.0
    """The radius of a surface along which an edge lies, across that edge."""

    def __init__(self, corners: Array) -> None:
        self.corners = corners
        self.radius = float(np.linalg.norm(corners, axis=1).max())
        """Of a sphere around its origin."""

    def geometry(self, coal: Any) -> Any:
        """Return the geometry in coal."""
        faces = convex_hull(self.corners)
        points, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
        points.extend([np.array(x) for x in self.corners])
        triangles.extend([coal.Triangle(*face) for face in faces.tolist()])
        return coal.Convex(points, triangles)

    def farthest(self, d: Array) -> Array:
        """Return corners (m, 3) among which are the farthest points in the direction d, and in all near to it."""
        return self.corners

    def turning(self, d: Array) -> Array:
        """Return the derivative (3, 3) of the farthest point by the direction."""
        return np.zeros((3, 3))


class _Box(ConvexShape):
    """A box, by its sides."""

    def __init__(self, sides: tuple[float, ...]) -> None:
        super().__init__(0.5 * np.array(sides) * np.array(list(product((-1.0, 1.0), repeat=3))))
        self.sides = sides

    def geometry(self, coal: Any) -> Any:
        """Return the box."""
        return coal.Box(*self.sides)


class _Ellipsoid(ConvexShape):
    """An ellipsoid, by its half axes; a sphere."""

    curved = True

    def __init__(self, axes: tuple[float, ...]) -> None:
        self.axes, self.square, self.radius = axes, np.array(axes) ** 2, max(axes)

    def geometry(self, coal: Any) -> Any:
        """Return the ellipsoid, or the sphere."""
        return coal.Sphere(self.axes[0]) if len(set(self.axes)) == 1 else coal.Ellipsoid(*self.axes)

    def farthest(self, d: Array) -> Array:
        """Return the farthest point."""
        p = self.square * d
        return np.asarray(p / math.sqrt(p @ d))[None]

    def turning(self, d: Array) -> Array:
        """Return the derivative of the farthest point."""
        p = self.square * d
        far = math.sqrt(p @ d)
        return np.asarray((np.diag(self.square) - np.outer(p, p) / far**2) / far)


class _Capsule(ConvexShape):
    """A capsule along z, by its radius and the length between the centres of its caps."""

    curved = True

    def __init__(self, radius: float, length: float) -> None:
        self.across, self.length, self.radius = radius, length, radius + 0.5 * length
        self.ends = np.array([[0.0, 0.0, -0.5 * length], [0.0, 0.0, 0.5 * length]])

    def geometry(self, coal: Any) -> Any:
        """Return the capsule."""
        return coal.Capsule(self.across, self.length)

    def farthest(self, d: Array) -> Array:
        """Return the farthest points of both caps."""
        return np.asarray(self.ends + self.across * d)

    def turning(self, d: Array) -> Array:
        """Return the derivative of a farthest point."""
        return np.asarray(self.across * (np.eye(3) - np.outer(d, d)))


class _Cylinder(ConvexShape):
    """A cylinder along z, by its radius and length."""

    curved = True

    def __init__(self, radius: float, length: float) -> None:
        self.across, self.length, self.radius = radius, length, math.hypot(radius, 0.5 * length)
        angles = _STEP * np.arange(_CORNERS)
        rim = np.stack([radius * np.cos(angles), radius * np.sin(angles)], axis=1)
        self._rims = [np.insert(rim, 2, z, axis=1) for z in (-0.5 * length, 0.5 * length)]

    def geometry(self, coal: Any) -> Any:
        """Return the cylinder."""
        return coal.Cylinder(self.across, self.length)

    def farthest(self, d: Array) -> Array:
        """Return corners on the rim that faces the direction, or those of the nearest line along the side."""
        x, y = float(d[0]), float(d[1])
        level = math.hypot(x, y)
        c, s = (1.0, 0.0) if level < _UPRIGHT else (x / level, y / level)
        z, r = 0.5 * self.length, self.across
        if level > _LYING:
            return np.array([[r * c, r * s, -z], [r * c, r * s, z]])
        off = (math.atan2(s, c) / _STEP + 0.5) % 1.0 - 0.5  # from the nearest corner, in corners
        chord = math.cos(0.5 * _STEP) / math.cos((0.5 - abs(off)) * _STEP)
        out = min(level / (10.0 * TILT), 1.0)
        r *= chord + (1.0 - chord) * out * out * (3.0 - 2.0 * out)
        end = z if d[2] > 0.0 else -z
        return np.concatenate([self._rims[int(d[2] > 0.0)], [[r * c, r * s, end]]])

    def turning(self, d: Array) -> Array:
        """Return the derivative of the farthest point of a rim."""
        level, H = math.hypot(d[0], d[1]), np.zeros((3, 3))
        if level > _UPRIGHT:
            e = d[:2] / level
            H[:2, :2] = self.across / level * (np.eye(2) - np.outer(e, e))
        return H


def shape_of(solid: Solid) -> ConvexShape:
    """Return the shape of a solid."""
    size = solid.size
    if solid.kind == "box":
        return _Box(size)
    if solid.kind in ("sphere", "ellipsoid"):
        return _Ellipsoid(size if len(size) == 3 else size * 3)
    if solid.kind == "capsule":
        return _Capsule(*size)
    if solid.kind == "cylinder":
        return _Cylinder(*size)
    assert solid.kind == "hull", solid.kind
    return ConvexShape(np.array(size).reshape(-1, 3))
