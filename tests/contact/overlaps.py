"""How far two solids overlap, by other means than the library: all corners along all axes, and searches on segments.

Solids are (kind, size) with the sizes of shapes; poses are arrays (N, 4, 4). Distances between
solids that are apart are exact for spheres and capsules, and lower bounds for two boxes.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

__all__ = ["overlap", "overlap_with_ground"]

Solid = tuple[str, tuple[float, ...]]
SIGNS = np.array(list(product((-1.0, 1.0), repeat=3)))


def overlap(a: Solid, A: Any, b: Solid, B: Any) -> Any:
    """Return how far solids must move to be apart, (N,); negative if they are."""
    if b[0] != "box" and a[0] == "box":
        return overlap(b, B, a, A)
    if a[0] == "box":
        return _along_axes(_corners(a, A), _corners(b, B), _axes(A, B))
    radius = a[1][0] + (0.0 if b[0] == "box" else b[1][0])
    apart = _search(_segment(a, A), lambda x: _distance(x, b, B))
    if b[0] != "box":
        return radius - apart
    ends = np.stack(_segment(a, A), axis=1)
    u = ends[:, 1] - ends[:, 0]
    across = np.cross(B[:, :3, :3].swapaxes(1, 2), u[:, None])
    axes = np.concatenate([B[:, :3, :3].swapaxes(1, 2), across], axis=1)
    return radius + np.where(apart > 1e-7, -apart, _along_axes(ends, _corners(b, B), axes))


def overlap_with_ground(a: Solid, A: Any) -> Any:
    """Return how far a solid is below z = 0, (N,)."""
    if a[0] == "box":
        return -_corners(a, A)[..., 2].min(axis=1)
    return a[1][0] - np.stack(_segment(a, A))[..., 2].min(axis=0)


def _corners(a: Solid, A: Any) -> Any:
    return np.einsum("nij,kj->nki", A[:, :3, :3], SIGNS * 0.5 * np.array(a[1])) + A[:, None, :3, 3]


def _segment(a: Solid, A: Any) -> tuple[Any, Any]:
    arm = (0.5 * a[1][1] if len(a[1]) > 1 else 0.0) * A[:, :3, 2]
    return A[:, :3, 3] - arm, A[:, :3, 3] + arm


def _axes(A: Any, B: Any) -> Any:
    a, b = A[:, :3, :3].swapaxes(1, 2), B[:, :3, :3].swapaxes(1, 2)
    return np.concatenate([a, b, np.cross(a[:, :, None], b[:, None]).reshape(len(a), 9, 3)], axis=1)


def _along_axes(a: Any, b: Any, axes: Any) -> Any:
    """Return the least overlap of points along axes; those that are about zero do not count."""
    length = np.linalg.norm(axes, axis=-1)
    n = axes / np.maximum(length, 1e-9)[..., None]
    x, y = np.einsum("nki,nli->nlk", a, n), np.einsum("nki,nli->nlk", b, n)
    found = np.minimum(x.max(axis=2) - y.min(axis=2), y.max(axis=2) - x.min(axis=2))
    return np.where(length > 1e-6, found, np.inf).min(axis=1)


def _distance(x: Any, b: Solid, B: Any) -> Any:
    """Return the distance of points from a box, or from the segment of a round solid."""
    if b[0] == "box":
        y = np.einsum("nji,nj->ni", B[:, :3, :3], x - B[:, :3, 3])
        return np.linalg.norm(y - np.clip(y, -0.5 * np.array(b[1]), 0.5 * np.array(b[1])), axis=1)
    p, q = _segment(b, B)
    u = q - p
    t = np.clip(((x - p) * u).sum(axis=1) / np.maximum((u * u).sum(axis=1), 1e-12), 0.0, 1.0)
    return np.linalg.norm(x - p - t[:, None] * u, axis=1)


def _search(segment: tuple[Any, Any], distance: Any) -> Any:
    """Return the least of a convex function along segments, by thirds."""
    p, q = segment
    for _ in range(60 if np.any(p != q) else 0):
        c, d = (2.0 * p + q) / 3.0, (p + 2.0 * q) / 3.0
        first = (distance(c) < distance(d))[:, None]
        p, q = np.where(first, p, c), np.where(first, d, q)
    return np.minimum(np.minimum(distance(p), distance(q)), distance(0.5 * (p + q)))
