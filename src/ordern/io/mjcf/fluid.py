"""Drag in the fluid that <option density viscosity wind> describes, by MuJoCo's two models.

A body with a geom of `fluidshape="ellipsoid"` has the drag of these ellipsoids. Any other body has the drag of a box
with its mass and inertia. See "Fluid forces" in the chapter on computation of MuJoCo's documentation.
"""

from __future__ import annotations

import math

import numpy as np

from ...arguments import Array
from ...model import Drag, EllipsoidDrag, Placement
from ..attributes import keyword, vector
from ..solids import Mass
from .document import Settings
from .geometry import Geom, geom_of
from .nodes import BodyNode
from .orientation import placed

__all__ = ["body_drags", "box_drag", "box_sides"]

_MASSLESS = 1e-15
_COEFFICIENTS = (0.5, 0.25, 1.5, 1.0, 1.0)
_SEMI_AXES = {
    **{"sphere": (0, 0, 0), "capsule": (0, 0, 1), "cylinder": (0, 0, 1)},
    **{"ellipsoid": (0, 1, 2), "box": (0, 1, 2)},
}


def body_drags(body: BodyNode, mass: Mass) -> list[Drag | EllipsoidDrag]:
    """Return the drags of a body."""
    settings = body.document.settings
    density, viscosity = settings.density, settings.viscosity
    if not (density or viscosity) or mass.m < _MASSLESS:
        return []
    geoms = [geom_of(part, body) for part in body.geoms]
    ellipsoids = [g for g in geoms if keyword(g.element, "fluidshape", ("none", "ellipsoid"), "none", g.what) != "none"]
    if ellipsoids:
        known = [g for g in ellipsoids if g.kind in _SEMI_AXES and "mesh" not in g.element.attributes]
        for geom in ellipsoids:
            if all(geom is not g for g in known):
                geom.document.unread.add(f"drag of an ellipsoid around a geom of type {geom.kind}")
        return [_ellipsoid(g, settings) for g in known]
    at, moments = _principal(body, mass, geoms)
    return [box_drag(at, moments, mass.m, density, viscosity)]


def _ellipsoid(geom: Geom, settings: Settings) -> EllipsoidDrag:
    e, size = geom.element, tuple(geom.scale.length * x for x in geom.size)
    semi_axes = tuple(size[k] for k in _SEMI_AXES[geom.kind])
    if geom.kind == "capsule":
        semi_axes = (size[0], size[0], size[0] + size[1])
    given = vector(e, "fluidcoef", range(1, 6), geom.what, ())
    blunt, slender, angular, kutta, magnus = (*given, *_COEFFICIENTS[len(given) :])
    return EllipsoidDrag(
        semi_axes, settings.density, settings.viscosity, blunt, slender, angular, kutta, magnus, at=geom.at
    )


def _principal(body: BodyNode, mass: Mass, geoms: list[Geom]) -> tuple[Placement, Array]:
    """Return the frame of the principal axes of a body's inertia, and its moments about them.

    If two moments are equal, the axes are those of the <inertial>, or of the only geom.
    """
    R = np.eye(3)
    if body.inertials and body.document.settings.from_geoms != "true":
        part = body.inertials[0]
        R = (part.at @ placed(part.element, part.document.settings, body.what)).R
    elif len(geoms) == 1:
        R = geoms[0].at.R
    I = R.T @ mass.I @ R
    off = np.abs(I - np.diag(np.diag(I))).max()
    if off <= 1e-9 * np.abs(I).max():
        return Placement.of(R, mass.com), np.diag(I)
    moments, axes = np.linalg.eigh(mass.I)
    axes = axes[:, ::-1]
    return Placement.of(axes * np.linalg.det(axes), mass.com), moments[::-1]


def box_sides(moments: Array, mass: float) -> tuple[float, float, float]:
    """Return the sides of a box with this mass and these moments of inertia."""
    x, y, z = np.sqrt(np.maximum(_MASSLESS, moments.sum() - 2.0 * moments) / mass * 6.0).tolist()
    return x, y, z


def box_drag(at: Placement, moments: Array, mass: float, density: float, viscosity: float) -> Drag:
    """Return the drag of a box with this mass and these moments of inertia."""
    x, y, z = box_sides(moments, mass)
    diameter = (x + y + z) / 3.0
    turning, moving = math.pi * diameter**3 * viscosity, 3.0 * math.pi * diameter * viscosity
    moment = [density * a * (b**4 + c**4) / 64.0 for a, b, c in ((x, y, z), (y, z, x), (z, x, y))]
    force = [0.5 * density * area for area in (y * z, z * x, x * y)]
    return Drag((turning,) * 3 + (moving,) * 3, (*moment, *force), at)
