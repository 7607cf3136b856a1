"""Writing drag as MJCF: the density and viscosity of one fluid around all bodies, and geoms that are ellipsoids in it.

MuJoCo derives the drag of a body from its inertia, or from its ellipsoids. So only drags that one fluid explains can be
written: those of robots that were read from MJCF, and of others whose numbers agree.
"""

from __future__ import annotations

import math

import numpy as np

from ..model import Body, Drag, EllipsoidDrag, Model, Placement, Shape
from ..records import dataclass
from .mjcf.fluid import box_drag, box_sides

__all__ = ["Fluid", "fluid_around"]

_SAME = 1e-9
"""Relative differences of numbers that count as equal."""
_MASSLESS = 1e-15


@dataclass(frozen=True, slots=True)
class Fluid:
    """The fluid around a robot."""

    density: float
    viscosity: float
    frames: dict[int, Placement]
    """The frames of the inertias of bodies with the drag of a box, by the index of the body."""
    ellipsoids: dict[int, EllipsoidDrag]
    """The shapes that are ellipsoids in the fluid, by their index."""


def fluid_around(model: Model) -> Fluid | None:
    """Return the fluid that explains all drags of a robot; None if there is none."""
    first = next((drag for body in model.bodies for drag in body.drags), None)
    if first is None:
        return None
    owner = next(body for body in model.bodies if body.drags)
    density, viscosity = _properties(first, owner)
    frames, ellipsoids = dict[int, Placement](), dict[int, EllipsoidDrag]()
    for k, body in enumerate(model.bodies):
        if body.mass < _MASSLESS and not body.drags:
            continue
        if len(body.drags) == 1 and isinstance(body.drags[0], Drag):
            if not _is_box(body, body.drags[0], density, viscosity):
                return None
            frames[k] = body.drags[0].at
            continue
        for drag in body.drags:
            shape = _shape_of(drag, k, model, ellipsoids)
            if shape is None or not isinstance(drag, EllipsoidDrag):
                return None
            if not _near((drag.density, drag.viscosity), (density, viscosity)):
                return None
            ellipsoids[shape] = drag
        if not body.drags:  # MuJoCo would add some
            return None
    return Fluid(density, viscosity, frames, ellipsoids)


def _properties(drag: Drag | EllipsoidDrag, body: Body) -> tuple[float, float]:
    """Return density and viscosity of the fluid, if a drag is that of a box with the inertia of its body."""
    if isinstance(drag, EllipsoidDrag):
        return drag.density, drag.viscosity
    if body.mass < _MASSLESS:
        return 0.0, 0.0
    x, y, z = box_sides(_moments(body, drag.at), body.mass)
    diameter, area = (x + y + z) / 3.0, y * z + z * x + x * y
    return 2.0 * sum(drag.quadratic[3:]) / area, drag.linear[3] / (3.0 * math.pi * diameter)


def _moments(body: Body, at: Placement) -> np.ndarray:
    return np.diag(at.R.T @ body.inertia_matrix @ at.R)


def _is_box(body: Body, drag: Drag, density: float, viscosity: float) -> bool:
    """Return whether a drag is that of a box with the inertia of the body."""
    if body.mass < _MASSLESS:
        return False
    I, R = body.inertia_matrix, drag.at.R
    inner = R.T @ I @ R
    diagonal = np.abs(inner - np.diag(np.diag(inner))).max() <= _SAME * np.abs(I).max()
    expected = box_drag(drag.at, _moments(body, drag.at), body.mass, density, viscosity)
    central = np.allclose(drag.at.position, body.com, rtol=0.0, atol=_SAME)
    same = _near((*drag.linear, *drag.quadratic), (*expected.linear, *expected.quadratic))
    return bool(diagonal and central and same)


def _shape_of(drag: Drag | EllipsoidDrag, body: int, model: Model, taken: dict[int, EllipsoidDrag]) -> int | None:
    """Return the index of a shape of the body that has the place and the semi-axes of an ellipsoid."""
    for n, shape in enumerate(model.shapes):
        if shape.body == body and n not in taken and isinstance(drag, EllipsoidDrag):
            placed = np.allclose(shape.placement.matrix, drag.at.matrix, rtol=0.0, atol=_SAME)
            if placed and _near(_semi_axes(shape), drag.semi_axes):
                return n
    return None


def _semi_axes(shape: Shape) -> tuple[float, ...]:
    """Return the semi-axes that MuJoCo gives the ellipsoid around a shape; nothing for shapes without one."""
    size = shape.size
    if shape.kind == "box":
        return tuple(x / 2.0 for x in size)
    if shape.kind in ("cylinder", "capsule"):
        radius, length = size
        return radius, radius, length / 2.0 + (radius if shape.kind == "capsule" else 0.0)
    return {"sphere": size * 3, "ellipsoid": size}.get(shape.kind, ())


def _near(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    if len(one) != len(other):
        return False
    return bool(np.allclose(one, other, rtol=_SAME, atol=_SAME * max(map(abs, (*one, *other)), default=0.0)))
