"""Inertias as ten numbers, for any number of bodies and sets at once.

The numbers are m, mx, my, mz, xx, yy, zz, xy, xz, yz: mass, first moments and moments of inertia about the origin of
the body's frame, in its axes. Moments of inertia by themselves are the last six of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arguments import Array
from ..model import Body, Placement

__all__ = [
    "INERTIA_NAMES",
    "TO_PINOCCHIO",
    "about_centre",
    "about_origin",
    "centre",
    "in_frame",
    "matrix",
    "numbers_of",
    "six",
]

INERTIA_NAMES = ("mass", "mx", "my", "mz", "xx", "yy", "zz", "xy", "xz", "yz")
TO_PINOCCHIO = (0, 1, 2, 3, 4, 7, 5, 8, 9, 6)
"""The places of Pinocchio's ten numbers, m, mx, my, mz, xx, xy, yy, xz, yz, zz, among ours."""
_NINE = (0, 3, 4, 3, 1, 5, 4, 5, 2)
_ROWS, _COLUMNS = (0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)


def numbers_of(bodies: Sequence[Body]) -> Array:
    """Return the numbers (n, 10) of bodies."""
    n = len(bodies)
    mass = np.array([b.mass for b in bodies])
    com = np.array([b.com for b in bodies]).reshape(n, 3)
    return about_origin(mass, com, np.array([b.inertia for b in bodies]).reshape(n, 6))


def matrix(moments: Array) -> Array:
    """Return moments of inertia (..., 6) as matrices (..., 3, 3)."""
    return moments[..., _NINE].reshape(*moments.shape[:-1], 3, 3)


def six(matrices: Array) -> Array:
    """Return symmetric matrices (..., 3, 3) as moments of inertia (..., 6)."""
    return matrices[..., _ROWS, _COLUMNS]


def centre(numbers: Array, massless: Array | float = 0.0) -> Array:
    """Return the centres of mass (..., 3); `massless` for bodies without mass."""
    m = numbers[..., :1]
    with np.errstate(all="ignore"):
        return np.where(m == 0.0, massless, numbers[..., 1:4] / np.where(m == 0.0, 1.0, m))


def _steiner(m: Array, c: Array) -> Array:
    """Return the moments of inertia (..., 6) of point masses at places (..., 3)."""
    x, y, z = np.moveaxis(c, -1, 0)
    return np.stack([y * y + z * z, z * z + x * x, x * x + y * y, -x * y, -x * z, -y * z], axis=-1) * m[..., None]


def about_centre(numbers: Array) -> Array:
    """Return the moments of inertia (..., 6) about the centres of mass."""
    return numbers[..., 4:] - _steiner(numbers[..., 0], centre(numbers))


def about_origin(mass: Array, com: Array, moments: Array) -> Array:
    """Return the ten numbers of masses (...), centres (..., 3) and moments (..., 6) about the centres."""
    parts = (mass[..., None], mass[..., None] * com, moments + _steiner(mass, com))
    shape = np.broadcast_shapes(*(x.shape[:-1] for x in parts))
    return np.concatenate([np.broadcast_to(x, (*shape, x.shape[-1])) for x in parts], axis=-1)


def in_frame(numbers: Array, at: Placement) -> Array:
    """Return the numbers of inertias in a frame in which their own frame is `at`."""
    R, com = at.R, centre(numbers)
    moments = six(R @ matrix(about_centre(numbers)) @ R.T)
    return about_origin(numbers[..., 0], com @ R.T + at.p, moments)
