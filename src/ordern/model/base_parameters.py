"""Base parameters: move inertia that a joint cannot sense onto the parent, where it takes fewer operations.

A point mass on the axis of a hinge, and inertia that is equal in all directions across the axis, act on the parent in
the same way at every angle, as if they were fixed to the parent. So this part of a body's inertia is added to its
parent, from the leaves to the root, and finally to the base, where it has no effect. Of the ten inertial parameters of
a body on a hinge seven remain, on a slide four. Joint forces, joint accelerations and the mass matrix do not change;
forces between bodies do, and so do all other quantities of single bodies.

Straight-line code uses this, since terms that are zero take no operations, and only where it pays: a body whose
inertia is aligned with its axes may become one whose inertia is not.

Reference: the regrouped parameters of Gautier and Khalil 1990.
"""

from __future__ import annotations

import numpy as np

from ..arguments import Array
from ..joints import Joint
from .inertia_numbers import inertia_of, second_moments
from .parts import BASE
from .tables import INERTIA, PLACEMENT, Tables

__all__ = ["in_parent", "is_own", "regrouped"]


_ROUNDING = 4e-16
"""A number below this part of the largest of its kind is zero but for rounding."""


def regrouped(tables: Tables) -> Array:
    """Return the rows of all bodies, with inertia moved where that changes nothing for the joints."""
    rows: Array = tables.rows.copy()
    for k in reversed(range(len(rows))):
        joint = tables.kinds[tables.kind[k]].joint
        given = joint.shiftable_inertia(inertia_of(rows[k, INERTIA].tolist())) if is_own(type(joint)) else None
        if given is None:
            continue
        numbers = np.array([given.m, *given.h, *given.I], float)
        left = _clean(rows[k, INERTIA] - numbers, rows[k, INERTIA])
        parent = int(tables.parent[k])
        if parent == BASE:
            rows[k, INERTIA] = left
            continue
        before = rows[parent, INERTIA]
        moved = in_parent(numbers, rows[k, PLACEMENT])
        after = _clean(before + moved, np.abs(before) + np.abs(moved))
        if _cost(left) + _cost(after) < _cost(rows[k, INERTIA]) + _cost(before):
            rows[k, INERTIA], rows[parent, INERTIA] = left, after
    return rows


def is_own(joint: type[Joint]) -> bool:
    """Return True if a class defines `shiftable_inertia` for its own motion, and does not inherit it from another."""
    said, moves = (
        next(k for k, c in enumerate(joint.__mro__) if name in vars(c)) for name in ("shiftable_inertia", "transform")
    )
    return said <= moves


def in_parent(numbers: Array, placement: Array) -> Array:
    """Return ten numbers of an inertia about the parent's origin, in the parent's axes."""
    E, r = placement[:9].reshape(3, 3), placement[9:]
    m, h = numbers[0], E.T @ numbers[1:4]
    I = E.T @ second_moments(numbers) @ E
    half = h + 0.5 * m * r
    I = I + 2.0 * (r @ half) * np.eye(3) - np.outer(r, half) - np.outer(half, r)
    return np.array([m, *(h + m * r), *I[np.triu_indices(3)]])


def _clean(numbers: Array, size: Array) -> Array:
    """Return the numbers, with rounding errors of zeros removed."""
    found: Array = numbers.copy()
    for part in (slice(0, 1), slice(1, 4), slice(4, 10)):
        found[part][np.abs(found[part]) <= _ROUNDING * np.abs(size[part]).max()] = 0.0
    return found


def _cost(row: Array) -> int:
    """Estimate the number of products of an inertia."""
    m, h, xx, across, yy, yz, zz = row[0], row[1:4], row[4], row[5:7], row[7], row[8], row[9]
    skewed = np.count_nonzero(across) + np.count_nonzero(yz)
    alike = (xx != yy) + (yy != zz) + (xx != zz)
    return int(np.count_nonzero(m) + 3 * np.count_nonzero(h) + 3 * skewed + alike + np.count_nonzero([xx, yy, zz]))
