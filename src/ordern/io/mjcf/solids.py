"""Masses: of spheres, boxes and the like, solid or hollow, and of several together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...model import Placement

__all__ = ["NOTHING", "Mass", "combined", "shape_mass"]

Array = NDArray[np.float64]
Moments = tuple[float, tuple[float, float, float]]
"""A mass, and its moments of inertia along its own axes."""

_SHELL = 1e-6
"""The thickness of the shell of an ellipsoid, as MuJoCo has it."""


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


def shape_mass(kind: str, size: tuple[float, ...], shell: bool) -> Mass:
    """Return the mass of a shape of density one, about its centre; of a shell, of unit density per area."""
    m, moments = (_SHELLS if shell else _SOLIDS)[kind](*size)
    return Mass(m, np.zeros(3), np.diag(moments))


def _sphere(r: float) -> Moments:
    m = 4.0 / 3.0 * math.pi * r**3
    return m, (0.4 * m * r * r,) * 3


def _ellipsoid(a: float, b: float, c: float) -> Moments:
    m = 4.0 / 3.0 * math.pi * a * b * c
    return m, (m * (b * b + c * c) / 5.0, m * (a * a + c * c) / 5.0, m * (a * a + b * b) / 5.0)


def _box(a: float, b: float, c: float) -> Moments:
    m = 8.0 * a * b * c
    return m, (m * (b * b + c * c) / 3.0, m * (a * a + c * c) / 3.0, m * (a * a + b * b) / 3.0)


def _cylinder(r: float, half: float) -> Moments:
    h = 2.0 * half
    m = math.pi * r * r * h
    x = m * (3.0 * r * r + h * h) / 12.0
    return m, (x, x, 0.5 * m * r * r)


def _capsule(r: float, half: float) -> Moments:
    h = 2.0 * half
    ball, (turn, _, _) = _sphere(r)
    rod, (x, _, z) = _cylinder(r, half)
    x += turn + ball * h * (3.0 * r + 2.0 * h) / 8.0
    return ball + rod, (x, x, z + turn)


def _sphere_shell(r: float) -> Moments:
    m = 4.0 * math.pi * r * r
    return m, (2.0 / 3.0 * m * r * r,) * 3


def _ellipsoid_shell(a: float, b: float, c: float) -> Moments:
    """Use Thomsen's formula for the area, and the moments of the gap between two ellipsoids."""
    p = 1.6075
    m = 4.0 * math.pi * (((a * b) ** p + (b * c) ** p + (c * a) ** p) / 3.0) ** (1.0 / p)
    inner, outer = _ellipsoid(a, b, c), _ellipsoid(a + _SHELL, b + _SHELL, c + _SHELL)
    x, y, z = (m * (o - i) / (outer[0] - inner[0]) for i, o in zip(inner[1], outer[1], strict=True))
    return m, (x, y, z)


def _box_shell(a: float, b: float, c: float) -> Moments:
    s = np.array([a, b, c])
    m, square = 0.0, np.zeros(3)
    for k in range(3):
        side = 8.0 * s.prod() / s[k]
        m += side
        square += side * np.where(np.arange(3) == k, s * s, s * s / 3.0)
    x, y, z = (square.sum() - square).tolist()
    return m, (x, y, z)


def _cylinder_shell(r: float, half: float) -> Moments:
    h = 2.0 * half
    lids, wall = 2.0 * math.pi * r * r, 2.0 * math.pi * r * h
    x = wall * (6.0 * r * r + h * h) / 12.0 + lids * (r * r + h * h) / 4.0
    return lids + wall, (x, x, wall * r * r + 0.5 * lids * r * r)


def _capsule_shell(r: float, half: float) -> Moments:
    h = 2.0 * half
    ball, (turn, _, _) = _sphere_shell(r)
    wall = 2.0 * math.pi * r * h
    x = wall * (6.0 * r * r + h * h) / 12.0 + turn + ball * h * (h + 2.0 * r) / 4.0
    return ball + wall, (x, x, wall * r * r + turn)


_SOLIDS: dict[str, Callable[..., Moments]] = {
    "sphere": _sphere,
    "ellipsoid": _ellipsoid,
    "box": _box,
    "cylinder": _cylinder,
    "capsule": _capsule,
}
_SHELLS: dict[str, Callable[..., Moments]] = {
    "sphere": _sphere_shell,
    "ellipsoid": _ellipsoid_shell,
    "box": _box_shell,
    "cylinder": _cylinder_shell,
    "capsule": _capsule_shell,
}
