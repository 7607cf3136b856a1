"""The region in which two convex shapes overlap, seen along the normal of their contact.

Each shape has corners (x, y, z) near the plane of contact: a point, an edge or a face, whose height z is linear in x
and y. Seen along z, the faces are convex polygons. The corners of their intersection, with the differences of heights
there, are what `averaging` needs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ....arguments import Array

__all__ = ["overlap"]

_THIN = 1e-9
"""Polygons with less than this part of the square of their diameter as area are edges."""
_PARALLEL = 1e-9
"""Edges at a smaller angle are parallel."""
Point = tuple[float, float]


def overlap(upper: Array, lower: Array, across: float) -> tuple[Array, Array]:
    """Return corners (m, 2) of the region in which two faces overlap, and depths there; empty if they do not.

    `upper` and `lower` (m, 3) are corners of the shapes above and below the plane; `across` is the sum of their radii
    across edges: where two edges lie side by side, the depth falls with the square of their distance.
    """
    above, below = _plane(upper), _plane(lower)
    a, b = _outline(upper), _outline(lower)
    more: list[float] = []
    if len(a) == 1 or len(b) == 1:
        found = a if len(a) == 1 else b
    elif len(a) == 2 and len(b) == 2:
        found, more = _edges(a, b, across)
    else:
        found = _clipped(a, b) if len(b) > 2 else _clipped(b, a)
    if not found:
        return np.zeros((0, 2)), np.zeros(0)
    x = np.array(found)
    depth = below[0] - above[0] + x @ (below[1] - above[1])
    return x, depth - np.array(more) if more else depth


def _plane(corners: Array) -> tuple[float, Array]:
    """Return the height at the origin and the slope of the plane through corners; that of an edge is along it."""
    n = len(corners)
    if n == 1:
        return float(corners[0, 2]), np.zeros(2)
    middle = corners.sum(axis=0) / n
    x = corners - middle
    (xx, xy, xz), (_, yy, yz), _ = (x.T @ x).tolist()
    det = xx * yy - xy * xy
    if n > 2 and det > _THIN * (xx + yy) ** 2:
        slope = np.array([yy * xz - xy * yz, xx * yz - xy * xz]) / det
    else:
        along = x[int(np.argmax((x[:, :2] ** 2).sum(axis=1))), :2]
        slope = along * (along @ (x[:, :2].T @ x[:, 2])) / max(float(((x[:, :2] @ along) ** 2).sum()), 1e-300)
    return float(middle[2] - slope @ middle[:2]), slope


def _outline(corners: Array) -> list[Point]:
    """Return the hull of corners, seen along z, counter-clockwise: a point, two points, or a polygon."""
    if len(corners) == 1:
        return [(float(corners[0, 0]), float(corners[0, 1]))]
    points = sorted(map(tuple, corners[:, :2].tolist()))
    size = max(points[-1][0] - points[0][0], max(p[1] for p in points) - min(p[1] for p in points))
    thin = _THIN * size * size
    halves: list[list[Point]] = []
    for ordered in (points, points[::-1]):
        half: list[Point] = []
        for p in ordered:
            while len(half) > 1 and _side(half[-2], half[-1], p) <= thin:
                half.pop()
            if not half or math.dist(p, half[-1]) > _THIN * size:
                half.append(p)
        halves.append(half)
    found = halves[0][:-1] + halves[1][:-1]
    return found if len(found) > 1 else [points[0]]


def _side(a: Point, b: Point, p: Point) -> float:
    """Return twice the area of a triangle; positive where p is on the left of a to b."""
    return (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])


def _clipped(points: Sequence[Point], polygon: Sequence[Point]) -> list[Point]:
    """Return the part of a polygon or an edge that is inside of another polygon (Sutherland and Hodgman)."""
    found = list(points)
    for a, b in zip(polygon, [*polygon[1:], polygon[0]], strict=True):
        sides = [_side(a, b, p) for p in found]
        kept: list[Point] = []
        for k, p in enumerate(found):
            before, was = found[k - 1], sides[k - 1]
            if (was < 0.0) != (sides[k] < 0.0):
                s = was / (was - sides[k])
                kept.append((before[0] + s * (p[0] - before[0]), before[1] + s * (p[1] - before[1])))
            if sides[k] >= 0.0:
                kept.append(p)
        found = kept
    return found


def _edges(a: Sequence[Point], b: Sequence[Point], across: float) -> tuple[list[Point], list[float]]:
    """Return where two edges cross, and where round ones end beside each other, with the loss of depth there."""
    (p, q), (r, s) = np.array(a), np.array(b)
    u, w, d = q - p, s - r, r - p
    k = float(u[0] * w[1] - u[1] * w[0])
    long = float(np.hypot(*u) * np.hypot(*w))
    found: list[Point] = []
    lost: list[float] = []
    if abs(k) > _PARALLEL * long:
        at = p + u * min(max((d[0] * w[1] - d[1] * w[0]) / k, 0.0), 1.0)
        found, lost = [(float(at[0]), float(at[1]))], [0.0]
    if not across and found:
        return found, lost
    for ends, start, along in (((p, q), r, w), ((r, s), p, u)):
        for x in ends:
            t = float((x - start) @ along / (along @ along))
            y = start + t * along
            away = float(np.hypot(*(x - y)))
            if -_THIN <= t <= 1.0 + _THIN:
                found.append((float(0.5 * (x[0] + y[0])), float(0.5 * (x[1] + y[1]))))
                lost.append(0.5 * away * away / across if across else 0.0)
    return found, lost
