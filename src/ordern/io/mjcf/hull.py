"""The convex hull of points in space, by Quickhull: the farthest point above a face extends the hull so far.

A point outside sees a patch of faces. They are removed, and faces between the rim of the patch and the point are added.
Points in single precision are not quite in the planes that they share, so that the rim may pass a corner twice. Faces
therefore know their neighbours by their edges, not by their corners: then the surface stays closed, whatever rounding
does.

Reference: C. B. Barber, D. P. Dobkin and H. Huhdanpaa, The Quickhull algorithm for convex hulls, ACM TOMS 22 (1996).
"""

from __future__ import annotations

import math
from collections import deque

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
    hull = _Hull(points, start, tolerance)
    while hull.waiting:
        hull.extend()
    faces = np.array([face.corners for face in hull.all if face.alive])
    return faces[np.lexsort(faces.T[::-1])]


class _Face:
    """A triangle: its plane, its neighbours, and the points that are above it and belong to it."""

    __slots__ = ("above", "alive", "corners", "neighbours", "plane")

    def __init__(self, rows: list[list[float]], a: int, b: int, c: int) -> None:
        (px, py, pz), (qx, qy, qz), (rx, ry, rz) = rows[a], rows[b], rows[c]
        ux, uy, uz, wx, wy, wz = qx - px, qy - py, qz - pz, rx - px, ry - py, rz - pz
        x, y, z = uy * wz - uz * wy, uz * wx - ux * wz, ux * wy - uy * wx
        length = math.sqrt(x * x + y * y + z * z) or 1.0
        x, y, z = x / length, y / length, z / length
        self.corners = (a, b, c)
        self.plane = (x, y, z, -(x * px + y * py + z * pz))
        """Its unit normal, and the height of the origin above it."""
        self.neighbours: list[_Face] = []
        """The faces across the edges that start at each corner."""
        self.above: Indices = _NOTHING
        self.alive = True


_NOTHING = np.zeros(0, np.int64)
_MOST = 100_000
"""Points whose heights are computed at once."""


class _Hull:
    """The hull so far."""

    def __init__(self, points: Array, start: list[int], tolerance: float) -> None:
        self.points, self.rows, self.tolerance = points, points.tolist(), tolerance
        a, b, c, d = start
        self.all = [_Face(self.rows, *corners) for corners in ((a, b, c), (a, c, d), (a, d, b), (b, d, c))]
        edges = {edge: face for face in self.all for edge in _edges(face)}
        for face in self.all:
            face.neighbours = [edges[j, i] for i, j in _edges(face)]
        self.waiting: deque[_Face] = deque()
        """Faces with points above them, or that had some when they were added."""
        self._assign(np.arange(len(points)), self.all)

    def extend(self) -> None:
        """Extend the hull by the highest point above the next face."""
        face = self.waiting.popleft()
        if not face.alive:
            return
        k = int(face.above[(self.points[face.above] @ face.plane[:3]).argmax()])
        seen, rim = self._seen(face, k)
        added, starts = [], dict[int, list[_Face]]()
        for i, j, outer, edge in rim:
            new = _Face(self.rows, i, j, k)
            new.neighbours = [outer, new, new]
            outer.neighbours[edge] = new
            added.append(new)
            starts.setdefault(i, []).append(new)
        for new in added:  # the edge from j to k is that of the face that starts at j
            following = starts[new.corners[1]].pop()
            new.neighbours[1], following.neighbours[2] = following, new
        self.all += added
        self._assign(np.concatenate([one.above for one in seen]), added)

    def _seen(self, start: _Face, k: int) -> tuple[list[_Face], list[tuple[int, int, _Face, int]]]:
        """Remove the faces that a point sees; return them, and the edges around them with the faces outside."""
        x, y, z = self.rows[k]
        start.alive = False
        seen, stays = [start], set[int]()
        rim: list[tuple[int, int, _Face, int]] = []
        for face in seen:
            for n, outer in enumerate(face.neighbours):
                if not outer.alive:
                    continue
                a, b, c, d = outer.plane
                if id(outer) not in stays and a * x + b * y + c * z + d > self.tolerance:
                    outer.alive = False
                    seen.append(outer)
                else:
                    stays.add(id(outer))
                    i, j = face.corners[n], face.corners[(n + 1) % 3]
                    rim.append((i, j, outer, outer.corners.index(j)))  # there, the edge is from j to i
        return seen, rim

    def _assign(self, orphans: Indices, faces: list[_Face]) -> None:
        """Give each of these points to the face of these that it is highest above; forget those that are inside."""
        if not len(orphans):
            return
        planes = np.array([face.plane for face in faces]).T
        best = np.concatenate(
            [self._highest(part, planes) for part in np.split(orphans, range(_MOST, len(orphans), _MOST))]
        )
        for n in set(best.tolist()) - {-1}:
            faces[n].above = orphans[best == n]
            self.waiting.append(faces[n])

    def _highest(self, some: Indices, planes: Array) -> Indices:
        """Return the plane that each of these points is highest above; -1 for those that are above no plane."""
        heights = self.points[some] @ planes[:3] + planes[3]
        best: Indices = heights.argmax(axis=1)
        best[heights.max(axis=1) <= self.tolerance] = -1
        return best


def _edges(face: _Face) -> list[tuple[int, int]]:
    a, b, c = face.corners
    return [(a, b), (b, c), (c, a)]


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
