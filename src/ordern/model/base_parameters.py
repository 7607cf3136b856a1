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

from collections.abc import Sequence

import numpy as np

from ..arguments import Array
from ..graph import Scalar
from ..joints import Joint
from ..spatial.linear import Vector3, add, dot, scale
from .inertia_numbers import inertia_of
from .parts import BASE
from .tables import INERTIA, PLACEMENT, Tables

__all__ = ["in_parent", "is_own", "regrouped", "regrouped_rows"]


_ROUNDING = 4e-16
"""A number below this part of the largest of its kind is zero but for rounding."""
_PARTS = (slice(0, 1), slice(1, 4), slice(4, 10))
"""The mass, first and second moments among ten numbers."""


def regrouped(tables: Tables) -> Array:
    """Return the rows of all bodies, with inertia moved where that changes nothing for the joints."""
    return np.array(regrouped_rows(tables, tables.rows.tolist())).reshape(tables.rows.shape)


def regrouped_rows(tables: Tables, rows: Sequence[Sequence[Scalar]]) -> list[list[Scalar]]:
    """Return the same of rows some of whose numbers are not known yet.

    Such numbers count as different from zero and from all others.
    """
    found = [list(row) for row in rows]
    for k in reversed(range(len(found))):
        joint, row = tables.kinds[tables.kind[k]].joint, found[k]
        own = row[INERTIA]
        given = joint.shiftable_inertia(inertia_of(own)) if is_own(type(joint)) else None
        if given is None:
            continue
        numbers = [given.m, *given.h, *given.I]
        left = _clean([x - y for x, y in zip(own, numbers, strict=True)], own)
        parent = int(tables.parent[k])
        if parent == BASE:
            row[INERTIA] = left
            continue
        before = found[parent][INERTIA]
        moved = _in_parent(numbers, row[PLACEMENT])
        after = _clean([x + y for x, y in zip(before, moved, strict=True)], before, moved)
        if _cost(left) + _cost(after) < _cost(own) + _cost(before):
            row[INERTIA], found[parent][INERTIA] = left, after
    return found


def is_own(joint: type[Joint]) -> bool:
    """Return True if a class defines `shiftable_inertia` for its own motion, and does not inherit it from another."""
    said, moves = (
        next(k for k, c in enumerate(joint.__mro__) if name in vars(c)) for name in ("shiftable_inertia", "transform")
    )
    return said <= moves


def in_parent(numbers: Array, placement: Array) -> Array:
    """Return ten numbers of an inertia about the parent's origin, in the parent's axes."""
    return np.array(_in_parent(numbers.tolist(), placement.tolist()))


def _in_parent(numbers: Sequence[Scalar], placement: Sequence[Scalar]) -> list[Scalar]:
    """Return the same over any scalars."""
    E = (placement[0:3], placement[3:6], placement[6:9])
    r: Vector3 = (placement[9], placement[10], placement[11])
    columns = [[row[k] for row in E] for k in range(3)]
    m, (xx, xy, xz, yy, yz, zz) = numbers[0], numbers[4:]
    I = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
    h: Vector3 = (dot(columns[0], numbers[1:4]), dot(columns[1], numbers[1:4]), dot(columns[2], numbers[1:4]))
    half = add(h, scale(0.5 * m, r))
    about = 2.0 * dot(r, half)
    second = []
    for a in range(3):
        turned = [dot(row, columns[a]) for row in I]
        for b in range(a, 3):
            more = dot(columns[b], turned) - r[a] * half[b] - half[a] * r[b]
            second.append(more + about if a == b else more)
    return [m, *add(h, scale(m, r)), *second]


def _clean(numbers: list[Scalar], *sizes: Sequence[Scalar]) -> list[Scalar]:
    """Return the numbers, with rounding errors of zeros removed: numbers far below the sizes of their terms."""
    for part in _PARTS:
        both = zip(*(s[part] for s in sizes), strict=True)
        known = [sum(abs(x) for x in terms if isinstance(x, float)) for terms in both]
        limit = _ROUNDING * max(known)
        numbers[part] = [0.0 if isinstance(x, float) and abs(x) <= limit else x for x in numbers[part]]
    return numbers


def _cost(row: Sequence[Scalar]) -> int:
    """Estimate the number of products of an inertia."""
    m, hx, hy, hz, xx, xy, xz, yy, yz, zz = row
    skewed = sum(map(_there, (xy, xz, yz)))
    alike = _differ(xx, yy) + _differ(yy, zz) + _differ(xx, zz)
    return _there(m) + 3 * sum(map(_there, (hx, hy, hz))) + 3 * skewed + alike + sum(map(_there, (xx, yy, zz)))


def _there(x: Scalar) -> bool:
    """Return True unless a number is known to be zero."""
    return not isinstance(x, float) or x != 0.0


def _differ(x: Scalar, y: Scalar) -> bool:
    """Return True unless two numbers are known to be equal."""
    return x != y if isinstance(x, float) and isinstance(y, float) else x is not y
