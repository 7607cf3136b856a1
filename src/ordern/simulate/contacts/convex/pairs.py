"""Two convex shapes, or one and the ground: the normal, the points and the depth of their contact.

coal finds the normal, by GJK where shapes are apart and EPA where they overlap. Of curved shapes it is good to 1e-3 or
better, and Newton's method makes it exact. The points follow from the normal, by `regions` and `averaging`.

Reference: E. G. Gilbert, D. W. Johnson and S. S. Keerthi 1988 (GJK); G. van den Bergen 2001 (EPA).
"""

from __future__ import annotations

import math

import numpy as np

from ....arguments import Array
from ....errors import OrdernError
from ....model.contacts import Ground, ModelContact
from ....records import dataclass
from ...results.tables import library
from .averaging import averaged
from .regions import overlap
from .shapes import TILT, ConvexShape, shape_of

__all__ = ["ConvexPair", "Patch"]

_STEEP = 3.0 * TILT
"""Corners that rise more steeply from the plane of contact are left out."""
_FLAT = 1e-5
"""Corners that rise less steeply are on a common edge or face, for Newton's method."""
_FAR = 0.01
"""Beyond this part of the smaller shape's radius, shapes do not touch: there, the distance alone is computed."""
_ON_FACE = 1e-6
"""A normal that differs by less from that of a face is the one of the face."""
_APART = 2e-3
"""Shapes that are nearer than this part of the smaller one's radius are moved apart for the normal."""
_CORRECTED, _ROUNDS, _TURNED = 0.03, 5, 1e-9
"""Newton's method turns normals by at most this angle, in rad, in so many rounds; one that turns it by less is last."""
_STRAIGHT = 1e-12
"""Directions whose cosine differs from 1 by less are on one edge."""
_NO_TURNING = np.zeros((3, 3))
Pose = tuple[Array, Array]


@dataclass(frozen=True, slots=True)
class Patch:
    """A contact at one position."""

    axes: Array
    """Two directions along the surface, then the normal, from the second shape to the first, as rows (3, 3)."""
    depth: float
    """Averaged; negative where the shapes are apart."""
    points: Array
    """Where the force acts, (m, 3), in the world."""
    w: Array
    """The parts of the points in the force, (m,)."""
    S: Array
    """The derivatives of these parts by the depths of the points, (m, m)."""


class ConvexPair:
    """The contact of two convex shapes, or of one with the plane of the ground."""

    def __init__(self, contact: ModelContact, ground: Ground | None) -> None:
        self.name, self.first = contact.name, shape_of(contact.first)
        self.second: ConvexShape | None = None
        self._axes = np.eye(3)
        if contact.second is None:
            assert ground is not None
            self._axes = np.array(ground.axes)
            return
        self.second = shape_of(contact.second)
        self._curved = self.first.curved or self.second.curved
        size = min(self.first.radius, self.second.radius)
        self._far, self._apart = _FAR * size, _APART * size
        self._last: Array | None = None
        self._coal = coal = library("coal", "a contact of convex shapes", "convex")
        self._geometry = self.first.geometry(coal), self.second.geometry(coal)
        self._request = request = coal.DistanceRequest()
        request.gjk_tolerance, request.epa_tolerance = 1e-10, 1e-8
        request.gjk_max_iterations, request.epa_max_iterations = 1000, 500
        self._places = coal.Transform3s(), coal.Transform3s()

    def patch(self, first: Pose, second: Pose | None, height: float) -> Patch:
        """Return the contact at poses (rotation, position) of both shapes, or at a height of the ground."""
        if self.second is None or second is None:
            n = self._axes[2]
            at = _near(_corners(self.first, first, -n), self._axes, n * height, 1.0)
            return _shared(self._axes, n * height, at[:, :2], -at[:, 2])
        d, n, x = self._nearest(first, second)
        if d > self._far:
            return Patch(_completed(n), -d, x[None], np.ones(1), np.zeros((1, 1)))
        n = self._corrected(n, first, second)
        axes = _completed(n)
        upper = _near(_corners(self.first, first, -n), axes, x, 1.0)
        lower = _near(_corners(self.second, second, n), axes, x, -1.0)
        at, depths = overlap(upper, lower, self.first.across + self.second.across)
        if not len(depths):
            at, depths = np.zeros((1, 2)), np.array([lower[:, 2].max() - upper[:, 2].min()])
        return _shared(axes, x, at, depths)

    def _nearest(self, first: Pose, second: Pose) -> tuple[float, Array, Array]:
        """Return the signed distance, the normal, and a point between the shapes.

        Where they nearly touch or overlap, the normal is that of the shapes after they are moved apart along it: the
        one of surfaces that touch is the quotient of two small numbers.
        """
        d, n, x = self._distance(first, second)
        if d >= self._apart:
            return d, n, x
        if not n.any():  # coal finds none for surfaces that touch
            n = first[1] - second[1] if self._last is None else self._last
            n = n / max(float(np.sqrt(n @ n)), 1e-300)
        by = (self._apart - d) * n
        _, m, y = self._distance((first[0], first[1] + by), second)
        if m.any() and m @ n > 0.0:
            n, x = m, y - 0.5 * by
        if not np.isfinite(n).all() or not n.any():
            raise OrdernError(f"contact {self.name!r}: coal finds no normal between its shapes")
        self._last = n
        return d, n, x

    def _distance(self, first: Pose, second: Pose) -> tuple[float, Array, Array]:
        """Return the signed distance, the normal and the middle of the nearest points, by coal; zeros if it fails."""
        for place, (R, p) in zip(self._places, (first, second), strict=True):
            place.setRotation(R)
            place.setTranslation(p)
        found = self._coal.DistanceResult()
        (A, B), (a, b) = self._geometry, self._places
        d = float(self._coal.distance(A, a, B, b, self._request, found))
        n, x = -np.array(found.normal), 0.5 * (found.getNearestPoint1() + found.getNearestPoint2())
        length = float(np.sqrt(n @ n))
        if not (np.isfinite(length) and np.isfinite(x).all() and length and np.isfinite(d)):
            return 0.0, np.zeros(3), 0.5 * (first[1] + second[1])
        return d, n / length, np.asarray(x)

    def _corrected(self, n: Array, first: Pose, second: Pose) -> Array:
        """Return the normal across which the farthest points of both shapes lie above each other.

        Where it is that of a face, it is computed from the face. Else, with the farthest points a of the first and b of
        the second shape, H the sum of their derivatives, T and U the directions of edges on which they lie, and
        g = n . (a - b), a turn e of the normal and steps y and z along the edges solve

            (H + g) e - T y + U z = a - b,   T . (n + e) = 0,   U . (n + e) = 0      across n
        """
        assert self.second is not None
        found, most = n, _CORRECTED if self._curved else _ON_FACE
        for _ in range(_ROUNDS if self._curved else 1):
            a, T, H = _feature(self.first, first, -found)
            b, U, J = _feature(self.second, second, found)
            faces = [_across(found, *x) for x in (T, U) if len(x) == 2]
            if faces:
                nearest = min(faces, key=lambda face: float(np.abs(face - found).max()))
                return nearest if np.abs(nearest - found).max() < _ON_FACE else found
            e = _turn(found, a - b, H + J, T, U)
            if e is None or not np.abs(found + e - n).max() < most:
                return n
            found = found + e
            found = found / np.sqrt(found @ found)
            if np.abs(e).max() < _TURNED:
                break
        return found


def _turn(n: Array, apart: Array, H: Array, T: list[Array], U: list[Array]) -> Array | None:
    """Return the turn of a normal; None if the edges do not meet."""
    Q, edges, signs = _completed(n)[:2], [*T, *U], [-1.0] * len(T) + [1.0] * len(U)
    if len(edges) == 2:
        u, w = (x / np.sqrt(x @ x) for x in edges)
        if np.abs(u - (u @ w) * w).max() < _FLAT:  # side by side: they are one
            edges, signs = [u], [0.0]
    M, r, k = np.zeros((4, 4)), np.zeros(4), 2 + len(edges)
    M[:2, :2] = Q @ H @ Q.T + float(n @ apart) * np.eye(2)
    r[:2] = Q @ apart
    for i, x in enumerate(edges, 2):
        M[:2, i] = M[i, :2] = Q @ x
        r[i] = -(x @ n)
    try:
        found = np.linalg.solve(M[:k, :k], r[:k])
    except np.linalg.LinAlgError:
        return None
    along = [s * y for s, y in zip(signs, found[2:].tolist(), strict=True) if s]
    return np.asarray(found[:2] @ Q) if all(-_FLAT <= y <= 1.0 + _FLAT for y in along) else None


def _corners(shape: ConvexShape, pose: Pose, d: Array) -> Array:
    """Return the corners of a shape that may be farthest in a direction, in the world."""
    R, p = pose
    return np.asarray(p + shape.farthest(d @ R) @ R.T)


def _near(corners: Array, axes: Array, x: Array, side: float) -> Array:
    """Return corners near the plane of contact, along the axes at x; `side` is 1 for the shape above the plane."""
    at = (corners - x) @ axes.T
    height = side * at[:, 2]
    k = int(np.argmin(height))
    reach = np.hypot(at[:, 0] - at[k, 0], at[:, 1] - at[k, 1])
    return np.asarray(at[height - height[k] <= _STEEP * reach])


def _feature(shape: ConvexShape, pose: Pose, d: Array) -> tuple[Array, list[Array], Array]:
    """Return the farthest point, vectors along the edge (one) or face (two) that it is on, and its derivative.

    That of an edge goes to its other end.
    """
    corners, R = _corners(shape, pose, d), pose[0]
    H = R @ shape.turning(d @ R) @ R.T if shape.curved else _NO_TURNING
    if len(corners) == 1:
        return corners[0], [], H
    far = corners @ d
    k = int(np.argmax(far))
    off = corners - corners[k]
    reach = np.sqrt((off * off).sum(axis=1))
    on = np.flatnonzero((far[k] - far <= _FLAT * reach) & (reach > 0.0))
    if len(on) < 2:
        return corners[k], list(off[on]), H
    long = int(on[np.argmax(reach[on])])
    sines = 1.0 - np.abs(off[on] @ off[long]) / (reach[on] * reach[long])
    j = int(np.argmax(sines))
    return corners[k], [off[long], off[on[j]]] if sines[j] > _STRAIGHT else [off[long]], H


def _across(n: Array, u: Array, w: Array) -> Array:
    """Return the normal of the face with two directions, on the side of n."""
    (a, b, c), (x, y, z) = u.tolist(), w.tolist()
    m = np.array([b * z - c * y, c * x - a * z, a * y - b * x])
    m /= np.sqrt(m @ m)
    return np.asarray(m if m @ n > 0.0 else -m)


def _shared(axes: Array, x: Array, at: Array, depths: Array) -> Patch:
    """Return the contact from the corners of the region of overlap, along the axes at x."""
    found = averaged(at, depths, TILT)
    points = x + at[found.kept] @ axes[:2]
    return Patch(axes, found.depth, points, found.w, found.S)


def _completed(n: Array) -> Array:
    """Return two directions across n, and n, as rows; as `algorithms.contact.geometry` does."""
    x, y, z = n.tolist()
    a, b, c = (0.0, -z, y) if x * x < 0.5 else (z, 0.0, -x)
    k = 1.0 / math.sqrt(a * a + b * b + c * c)
    a, b, c = k * a, k * b, k * c
    return np.array([[a, b, c], [y * c - z * b, z * a - x * c, x * b - y * a], [x, y, z]])
