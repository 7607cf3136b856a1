"""The convex hull of points in space, by the quickhull algorithm (Barber, Dobkin, Huhdanpaa 1996)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["convex_hull"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
_THIN = 1e-11
"""Points closer to a face than this, relative to the size of the whole, lie on it."""


def convex_hull(points: Array) -> Indices:
    """Return the triangles of the hull, counter-clockwise from outside; empty if all points lie in a plane."""
    start = _simplex(points)
    if start is None:
        return np.zeros((0, 3), np.int64)
    hull = _Hull(points, start)
    while hull.grow():
        pass
    return np.array(sorted(hull.outside), np.int64)


def _tolerance(points: Array) -> float:
    return _THIN * float(np.ptp(points, axis=0).max())


def _simplex(points: Array) -> list[int] | None:
    """Return four points that span space: each as far as possible from the ones before it."""
    a = int(points[:, 0].argmin())
    b = int(np.linalg.norm(points - points[a], axis=1).argmax())
    u = points[b] - points[a]
    if not u.any():
        return None
    u = u / np.linalg.norm(u)
    c = int(np.linalg.norm(np.cross(points - points[a], u), axis=1).argmax())
    n = np.cross(u, points[c] - points[a])
    if np.linalg.norm(n) <= _tolerance(points):
        return None
    height = (points - points[a]) @ (n / np.linalg.norm(n))
    d = int(np.abs(height).argmax())
    if abs(height[d]) <= _tolerance(points):
        return None
    return [a, c, b, d] if height[d] > 0.0 else [a, b, c, d]


class _Hull:
    """Faces, and for each the points above it that no other face has."""

    def __init__(self, points: Array, simplex: list[int]) -> None:
        self.points = points
        self.tolerance = _tolerance(points)
        self.plane: dict[tuple[int, int, int], Array] = {}
        self.outside: dict[tuple[int, int, int], Indices] = {}
        a, b, c, d = simplex
        faces = [(a, b, c), (a, c, d), (a, d, b), (b, d, c)]
        self.add(faces, np.setdiff1d(np.arange(len(points)), simplex))

    def add(self, faces: list[tuple[int, int, int]], free: Indices) -> None:
        """Add faces, and assign the free points to them."""
        for face in faces:
            p, q, r = self.points[list(face)]
            n = np.cross(q - p, r - p)
            n = n / (np.linalg.norm(n) or 1.0)
            self.plane[face] = np.array([*n, -(n @ p)])
            above = self.points[free] @ n - n @ p > self.tolerance
            self.outside[face], free = free[above], free[~above]

    def grow(self) -> bool:
        """Extend the hull to the farthest point above some face; return False if there is no such point."""
        face = next((f for f, above in self.outside.items() if len(above)), None)
        if face is None:
            return False
        above = self.outside[face]
        eye = int(above[(self.points[above] @ self.plane[face][:3]).argmax()])
        known = list(self.plane)
        heights = np.array([self.plane[f] for f in known]) @ np.array([*self.points[eye], 1.0])
        seen = [f for f, height in zip(known, heights, strict=True) if height > self.tolerance]
        edges = {edge for f in seen for edge in (f[:2], f[1:], (f[2], f[0]))}
        free = np.concatenate([self.outside[f] for f in seen])
        for f in seen:
            del self.plane[f], self.outside[f]
        rim = [(a, b) for a, b in sorted(edges) if (b, a) not in edges]
        self.add([(a, b, eye) for a, b in rim], free[free != eye])
        return True
