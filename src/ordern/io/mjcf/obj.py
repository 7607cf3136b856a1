"""Wavefront OBJ files, as MuJoCo takes them: the first group that has faces, its polygons split into triangles.

Which triangles a polygon becomes matters where it is not flat, and for masses of the kind "legacy". MuJoCo reads these
files by the library tinyobjloader, and this module does what that does, in single precision and with its peculiarities:
a quadrilateral is split along its shorter diagonal, larger polygons by cutting ears, and a polygon with more than 100
corners is left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...arguments import Array

__all__ = ["read_obj", "triangles"]

Single = NDArray[np.float32]
Indices = NDArray[np.int64]
Triangle = tuple[int, int, int]

_LINE = re.compile(r"\r\n|\r|\n")
_GROUP = re.compile(r"[ \t]*([og])[ \t]")
_HALF = np.float32(0.5)
_MOST_CORNERS = 100


def read_obj(data: bytes) -> tuple[Array, Indices]:
    """Return the vertices of all groups, and the triangles of the first group with any; `ValueError` for broken text.

    Without faces there are no triangles, and the mesh is the hull of the vertices.
    """
    vertices: list[list[float]] = []
    group: list[list[int]] = []
    faces: list[Triangle] | None = None
    drawn = False  # whether the group has lines, which make it one even without faces

    for line in _LINE.split(data.decode("utf-8", "replace")):
        words = line.split()
        kind = words[0] if words else ""
        if kind == "v":
            x, y, z = map(float, words[1:4])
            vertices.append([x, y, z])
        elif kind == "f":
            corners = [int(word.split("/")[0]) for word in words[1:]]
            group.append([_index(k, len(vertices)) for k in corners])
        elif kind == "l":
            drawn = True
        elif (mark := _GROUP.match(line)) and faces is None:
            faces = _split(group, vertices)
            if drawn and not faces and mark[1] == "o":
                raise ValueError("the first group has lines and no faces")
            faces = faces or None
            group, drawn = [], False
    if faces is None:
        faces = _split(group, vertices)
        if drawn and not faces:
            raise ValueError("the group has lines and no faces")
    return np.array(vertices, float).reshape(-1, 3), np.array(faces, np.int64).reshape(-1, 3)


def _index(k: int, count: int) -> int:
    """Return the index of a vertex; files count from 1, or backward from -1."""
    if k == 0 or k < -count:
        raise ValueError
    return k - 1 if k > 0 else count + k


def _split(group: Sequence[Sequence[int]], vertices: Sequence[Sequence[float]]) -> list[Triangle]:
    """Return the triangles of a group. Faces of two corners and less, or of too many, are left out."""
    if not group:
        return []
    with np.errstate(all="ignore"):
        points = np.array(vertices, float).reshape(-1, 3).astype(np.float32)
        found: list[Triangle] = []
        for face in group:
            if len(face) == 3:
                found.append((face[0], face[1], face[2]))
            elif 3 < len(face) <= _MOST_CORNERS:
                if max(face) >= len(points):
                    raise ValueError
                found.extend((face[a], face[b], face[c]) for a, b, c in triangles(points[list(face)]))
    return found


def triangles(points: Single) -> list[Triangle]:
    """Return the triangles of a polygon with corners (n, 3), by the numbers of the corners."""
    if len(points) == 4:
        return _quadrilateral(points)
    return _ears(*points.T[_plane(points)])


def _quadrilateral(p: Single) -> list[Triangle]:
    """Split a quadrilateral along its shorter diagonal; from corner 1 to 3 if both are equally long."""
    a, b = p[2] - p[0], p[3] - p[1]
    if a[0] * a[0] + a[1] * a[1] + a[2] * a[2] < b[0] * b[0] + b[1] * b[1] + b[2] * b[2]:
        return [(0, 1, 2), (0, 2, 3)]
    return [(0, 1, 3), (1, 2, 3)]


def _plane(p: Single) -> list[int]:
    """Return the two axes in whose plane the first corner that is not straight looks largest."""
    for k in range(len(p)):
        a, b, c = (p[(k + j) % len(p)] for j in range(3))
        x, y, z = np.abs(np.cross(b - a, c - b))
        if max(x, y, z) > np.finfo(np.float32).eps:
            if x > y and x > z:
                return [1, 2]
            return [0, 1] if z > x and z > y else [0, 2]
    return [1, 2]


def _ears(x: Single, y: Single) -> list[Triangle]:
    """Cut off corner after corner, where no other corner is in the way.

    The triangle of a corner's first edge and the origin decides if the corner points inward, which is right only for
    polygons around the origin. Corners that cannot be cut off are left out of the mesh.
    """
    left, found = list(range(len(x))), []
    at, tries, before = 0, len(left), len(left)
    while len(left) > 3 and tries > 0:  # a corner that is cut off at the last try ends the search
        n = len(left)
        at %= n
        tries = tries - 1 if n == before else n
        before = n
        i, j, k = (left[(at + step) % n] for step in range(3))
        turn = (x[j] - x[i]) * (y[k] - y[j]) - (y[j] - y[i]) * (x[k] - x[j])
        area = (x[i] * y[j] - y[i] * x[j]) * _HALF
        others = [left[(at + step) % n] for step in range(3, n)]
        if turn * area < 0.0 or any(_inside(x[[i, j, k]], y[[i, j, k]], x[o], y[o]) for o in others):
            at += 1
            continue
        found.append((i, j, k))
        del left[(at + 1) % n]
    return [*found, (left[0], left[1], left[2])] if len(left) == 3 else found


def _inside(x: Single, y: Single, px: np.float32, py: np.float32) -> bool:
    """Return whether a point is in a triangle: a ray to the right crosses an odd number of its edges."""
    inside = False
    for i, j in ((0, 2), (1, 0), (2, 1)):
        if (y[i] > py) != (y[j] > py) and px < (x[j] - x[i]) * (py - y[i]) / (y[j] - y[i]) + x[i]:
            inside = not inside
    return inside
