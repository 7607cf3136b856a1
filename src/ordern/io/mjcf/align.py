"""Alignment of free bodies (`align` of <freejoint>, `alignfree` of <compiler>): the frame of the body is moved.

As in MuJoCo, the frame of such a body is that of its inertia: at the centre of mass, along the principal axes. What the
file places in the body stays where it is. A body is aligned if it has no joint but the free one, and carries no bodies.
"""

from __future__ import annotations

import math

import numpy as np

from ...arguments import Array
from ...model import Placement
from ...rotations import about
from ..attributes import keyword, number
from ..solids import Mass
from .geometry import geom_of, mass_of
from .nodes import BodyNode
from .orientation import placed
from .tree import Tree

__all__ = ["align_free_bodies", "principal_axes"]

_SMALL = 1e-12
"""Numbers that count as zero, as in MuJoCo: off-diagonal inertias, and differences of moments."""
_WEIGHTLESS = 1e-14
"""Masses of geoms that do not count."""
_MOST = 500
"""The most iterations."""
_AXES = np.eye(3)


def align_free_bodies(tree: Tree, masses: dict[str, Mass]) -> None:
    """Move the frames of the bodies that are to be aligned, and their masses in `masses`."""
    carriers = {id(body.parent) for body in tree.bodies}
    for body in tree.bodies:
        if body is tree.world or id(body) in carriers or len(body.joints) != 1 or not body.floats or not _wanted(body):
            continue
        at = _inertial_frame(body, masses[body.name])
        back = at.inverse
        for part in (*body.geoms, *body.sites, *body.inertials):
            part.at = back @ part.at
        body.at, body.pose = body.at @ at, body.pose @ at
        masses[body.name] = masses[body.name].moved(back)


def _wanted(body: BodyNode) -> bool:
    part = body.joints[0]
    word = "auto"
    if part.element.tag == "freejoint":
        word = keyword(part.element, "align", ("false", "true", "auto"), "auto", f"joint {part.name!r}")
    return part.document.settings.align_free if word == "auto" else word == "true"


def _inertial_frame(body: BodyNode, mass: Mass) -> Placement:
    """Return the frame of a body's inertia: that of its <inertial> or its only geom, or of the principal axes."""
    settings = body.document.settings
    low, high = settings.groups
    geoms = [part for part in body.geoms if low <= number(part.element, "group", body.what, 0.0) <= high]
    if body.inertials and (settings.from_geoms != "true" or not geoms):
        part = body.inertials[0]
        at = part.at @ part.scale.of_placement(placed(part.element, part.document.settings, body.what))
        return _turned(at, mass) if "fullinertia" in part.element.attributes else at
    found = [geom_of(part, body) for part in geoms]
    heavy = [geom for geom in found if mass_of(geom).m > _WEIGHTLESS]
    if not heavy:
        return Placement()
    if len(heavy) > 1:
        return _turned(Placement(), mass)
    at = heavy[0].at
    plain = "mesh" not in heavy[0].element.attributes
    return at if plain else _turned(at, mass_of(heavy[0]))


def _turned(at: Placement, mass: Mass) -> Placement:
    """Return the frame of the principal axes at the centre of mass, as MuJoCo finds it from the axes of `at`."""
    R = at.R
    return Placement.of(R @ principal_axes(R.T @ mass.I @ R), mass.com)


def principal_axes(I: Array) -> Array:
    """Return the principal axes as columns, those of the largest moment first, by Jacobi's iteration.

    The axes of a matrix are not unique: their signs, and all of them if moments are equal. The steps are those that
    MuJoCo takes, so that the axes are the same.
    """
    R = np.eye(3)
    for _ in range(_MOST):
        D = R.T @ I @ R
        row, column = max(((1, 2), (0, 2), (0, 1)), key=lambda pair: abs(D[pair]))
        off = float(D[row, column])
        if abs(off) < _SMALL:
            break
        tau = float(D[column, column] - D[row, row]) / (2.0 * off)
        t = math.copysign(1.0, tau) / (abs(tau) + math.sqrt(1.0 + tau * tau)) if tau else 1.0
        c = 1.0 / math.sqrt(1.0 + t * t)
        if c > 1.0 - _SMALL:
            break
        axis = 3 - row - column
        R = R @ about(_AXES[axis], math.copysign(math.acos(c), t if axis == 1 else -t))
    moments = (R.T @ I @ R).diagonal().tolist()
    for first in (0, 1, 0):
        if moments[first] + _SMALL < moments[first + 1]:
            moments[first], moments[first + 1] = moments[first + 1], moments[first]
            R = R @ about(_AXES[(first + 2) % 3], math.pi / 2.0)
    return R
