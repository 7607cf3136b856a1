"""The convex hull of points in space, by the incremental algorithm: each point outside extends the hull so far."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...arguments import Array

__all__ = ["convex_hull"]

Indices = NDArray[np.int64]
_THIN = 1e-11
"""Points closer to a face than this, relative to the size of the whole, lie on it."""


def convex_hull(points: Array) -> Indices:
    """Return the triangles of the hull, counter-clockwise from outside; empty if all points lie in a plane."""
    tolerance = _THIN * float(np.ptp(points, axis=0).max())
    start = _simplex(points, tolerance)
    if start is None:
        return np.zeros((0, 3), np.int64)
    a, b, c, d = start
    faces = np.array([(a, b, c), (a, c, d), (a, d, b), (b, d, c)])
    planes = _planes(points, faces)
    outward = np.linalg.norm(points - points[start].mean(axis=0), axis=1)
    for k in np.argsort(-outward):  # outer points first, so that few of the later ones are outside
        seen = planes @ [*points[k], 1.0] > tolerance
        if not seen.any():
            continue
        edges = {edge for f in faces[seen].tolist() for edge in ((f[0], f[1]), (f[1], f[2]), (f[2], f[0]))}
        rim = sorted((i, j) for i, j in edges if (j, i) not in edges)
        added = np.array([(i, j, k) for i, j in rim])
        faces = np.concatenate([faces[~seen], added])
        planes = np.concatenate([planes[~seen], _planes(points, added)])
    return faces[np.lexsort(faces.T[::-1])]


def _planes(points: Array, faces: Indices) -> Array:
    """Return unit normals and offsets of faces, (n, 4); the height of a point x above a face is row . (x, 1)."""
    p, q, r = points[faces].swapaxes(0, 1)
    n = np.cross(q - p, r - p)
    length = np.linalg.norm(n, axis=1, keepdims=True)
    n = n / np.where(length, length, 1.0)
    return np.column_stack([n, -np.einsum("ij,ij->i", n, p)])


def _simplex(points: Array, tolerance: float) -> list[int] | None:
    """Return four points that span space, each as far as possible from those before; None if all lie in a plane."""
    a = int(points[:, 0].argmin())
    b = int(np.linalg.norm(points - points[a], axis=1).argmax())
    u = points[b] - points[a]
    if not u.any():
        return None
    u = u / np.linalg.norm(u)
    c = int(np.linalg.norm(np.cross(points - points[a], u), axis=1).argmax())
    n = np.cross(u, points[c] - points[a])
    if np.linalg.norm(n) <= tolerance:
        return None
    height = (points - points[a]) @ (n / np.linalg.norm(n))
    d = int(np.abs(height).argmax())
    if abs(height[d]) <= tolerance:
        return None
    return [a, c, b, d] if height[d] > 0.0 else [a, b, c, d]
