"""Masses: of spheres, boxes and the like, solid or hollow, and of several together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..arguments import Array
from ..model import Placement

__all__ = ["NOTHING", "SOLIDS", "Mass", "combined", "shape_mass", "solid_mass"]

Moments = tuple[Any, tuple[Any, Any, Any]]
"""A mass, and its moments of inertia along its own axes: real or, for derivatives, complex numbers."""

_THIN = 1e-30
"""The imaginary thickness of a shell."""
_GAP = 1e-6
"""The thickness of the shell of an ellipsoid, as in MuJoCo."""


class Mass(NamedTuple):
    """A mass, its centre, and its inertia about that."""

    m: float
    com: Array
    I: Array

    def moved(self, at: Placement) -> Mass:
        """Return the mass in the frame that its own frame is placed in."""
        R = at.R
        return Mass(self.m, at.p + R @ self.com, R @ self.I @ R.T)


NOTHING = Mass(0.0, np.zeros(3), np.zeros((3, 3)))


def combined(parts: Sequence[Mass]) -> Mass:
    """Return several masses as one."""
    m = sum(part.m for part in parts)
    if len(parts) == 1 or m == 0.0:
        return parts[0] if parts else NOTHING
    com = np.sum([part.m * part.com for part in parts], axis=0) / m
    I = np.zeros((3, 3))
    for part in parts:
        d = part.com - com
        I += part.I + part.m * (d @ d * np.eye(3) - np.outer(d, d))
    return Mass(m, com, I)


def shape_mass(kind: str, size: Sequence[float], shell: bool = False) -> Mass:
    """Return the mass of a shape of density one, about its centre; of a shell, of unit density per area.

    `size` has half sides and half lengths, as in MJCF.
    """
    m, moments = _shell(kind, size) if shell else SOLIDS[kind](*size)
    return Mass(m, np.zeros(3), np.diag(moments))


def solid_mass(kind: str, size: Sequence[float]) -> Mass:
    """Return the mass of a solid of density one, about its centre; `size` is that of a `Shape`, with whole lengths."""
    radius, *length = size
    halves = [x / 2.0 for x in size] if kind == "box" else [radius, *(x / 2.0 for x in length)]
    return shape_mass(kind, size if kind == "ellipsoid" else halves)


def _shell(kind: str, size: Sequence[float]) -> Moments:
    """Return the derivative of the solid by its thickness, by a complex step, which is exact to rounding.

    Offsets of an ellipsoid are not ellipsoids. Like MuJoCo, use Thomsen's formula for the area, and the moments of the
    gap between two ellipsoids.
    """
    if kind == "ellipsoid":
        a, b, c = size
        p = 1.6075
        area = 4.0 * math.pi * (((a * b) ** p + (b * c) ** p + (c * a) ** p) / 3.0) ** (1.0 / p)
        inner, outer = _ellipsoid(a, b, c), _ellipsoid(a + _GAP, b + _GAP, c + _GAP)
        x, y, z = (area * (o - i) / (outer[0] - inner[0]) for i, o in zip(inner[1], outer[1], strict=True))
        return area, (x, y, z)
    thick = [x + _THIN * 1j for x in size]
    if kind == "capsule":
        thick[1] = size[1]  # the offset of a capsule is one with a larger radius and the same axis
    m, moments = SOLIDS[kind](*thick)
    x, y, z = (moment.imag / _THIN for moment in moments)
    return m.imag / _THIN, (x, y, z)


def _sphere(r: Any) -> Moments:
    return _ellipsoid(r, r, r)


def _ellipsoid(a: Any, b: Any, c: Any) -> Moments:
    m = 4.0 / 3.0 * math.pi * a * b * c
    return m, (m * (b * b + c * c) / 5.0, m * (a * a + c * c) / 5.0, m * (a * a + b * b) / 5.0)


def _box(a: Any, b: Any, c: Any) -> Moments:
    m = 8.0 * a * b * c
    return m, (m * (b * b + c * c) / 3.0, m * (a * a + c * c) / 3.0, m * (a * a + b * b) / 3.0)


def _cylinder(r: Any, half: Any) -> Moments:
    m = 2.0 * math.pi * r * r * half
    x = m * (3.0 * r * r + 4.0 * half * half) / 12.0
    return m, (x, x, 0.5 * m * r * r)


def _capsule(r: Any, half: Any) -> Moments:
    h = 2.0 * half
    ball, (turn, _, _) = _sphere(r)
    rod, (x, _, z) = _cylinder(r, half)
    x += turn + ball * h * (3.0 * r + 2.0 * h) / 8.0
    return ball + rod, (x, x, z + turn)


SOLIDS: dict[str, Callable[..., Moments]] = {
    "sphere": _sphere,
    "ellipsoid": _ellipsoid,
    "box": _box,
    "cylinder": _cylinder,
    "capsule": _capsule,
}
"""The shapes whose volume is known."""
