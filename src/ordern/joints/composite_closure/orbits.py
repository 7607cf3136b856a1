"""Orbits: the sets of points to which groups of displacements take a point - circles, cylinders, spheres, tori.

If a ball comes after joints in series, all rotations are free, and their only constraint is on the ball's centre. An
orbit has residuals that vanish on it and nowhere else, and finds the elements that lead to a point of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...arguments import Array
from ...graph import Jet, Scalar, cos, sin, sqrt, where_less
from ...records import dataclass
from ...spatial import Pose
from ...spatial.linear import IDENTITY3, ZERO3, Vector3, add, cross, dot, negative, scale, subtract
from ..closure import Rows
from .displacements import SAME, Group, complement
from .turning import about, across, displacement, threaded, turn_to, unit, vector

__all__ = ["Orbit", "between", "orbit", "spare"]


class Orbit(ABC):
    """All places to which elements of one or two groups, one after the other, take a point."""

    @abstractmethod
    def rows(self, x: Vector3) -> Rows:
        """Return residuals of a point x that vanish on the orbit."""

    @abstractmethod
    def elements(self, x: Vector3) -> tuple[Pose, ...]:
        """Return one element of each group that together take the point to x, on the side of the neutral position."""

    def reach_margin(self, x: Vector3) -> Rows:
        """Return numbers that are below zero if x has no residual, but lies beyond the edge of the orbit."""
        return ()


def orbit(groups: Sequence[Group], point: Array) -> Orbit | None:
    """Return the orbit of a point; None where no closed form is known."""
    if len(groups) == 1:
        return _of_one(groups[0], point)
    if len(groups) != 2:
        return None
    kinds = tuple(_kind(g) for g in groups)
    if sorted(kinds) == ["shift", "turn"]:
        first = kinds[0] == "turn"
        turn, shift = groups if first else reversed(groups)
        return _scaled(TurnAndShift(_axis(turn), vector(shift.shifts[:, 0]), vector(point), first), groups, point)
    if kinds == ("turn", "turn"):
        return _two_turns(groups, point)
    return None


def between(A: Scalar, B: Scalar, k: Scalar, start: float) -> tuple[Scalar, Scalar]:
    """Return cosine and sine of the angle with A cos + B sin = k; of two solutions, the one that is zero for k = A.

    `start` is B where the angle is zero: its sign selects one of the two.
    """
    square = A * A + B * B
    left = square - k * k
    root = sqrt(where_less(left, 0.0, 0.0, left)) * (1.0 if start < 0.0 else -1.0 if start > 0.0 else 1.0)
    return (A * k - B * root) / square, (B * k + A * root) / square


def spare(A: float, B: float, k: Scalar) -> Scalar:
    """Return a number that is below zero if no angle has A cos + B sin = k, and at most one."""
    return 1.0 - k * k * (1.0 / (A * A + B * B))


@dataclass(frozen=True)
class _Line:
    """An axis: its direction and a point of it."""

    axis: Vector3
    at: Vector3


def _axis(g: Group) -> _Line:
    return _Line(vector(g.axis), vector(g.point))


def _kind(g: Group) -> str:
    if g.freedoms != 1 or g.rise:
        return ""
    return "turn" if g.turns else "shift"


def _of_one(g: Group, point: Array) -> Orbit | None:
    if g.turns == 3:
        return None if g.shifts.shape[1] else Sphere(vector(g.point), vector(point))
    if g.turns == 0:
        return None
    radius = np.linalg.norm(np.cross(g.axis, point - g.point))
    return Axial(_axis(g), vector(point), g.shifts.shape[1], g.rise, bool(radius > SAME))


@dataclass(frozen=True)
class Axial(Orbit):
    """About one axis, and perhaps along it or across it: a circle, a helix, a cylinder, a plane, a line."""

    line: _Line
    point: Vector3
    shifts: int
    """The number of pure translations: 0, 1 along the axis, or 2 across it."""
    rise: float
    off: bool
    """True if the point is not on the axis."""

    def rows(self, x: Vector3) -> Rows:
        """Return the distances of x from the orbit."""
        a, at = self.line.axis, self.line.at
        height = dot(a, subtract(x, self.point))
        if self.shifts == 2:
            return (height,)
        if not self.off:
            one, two = (vector(n) for n in complement(np.array([a]).T).T)
            apart = subtract(x, self.point)
            return (dot(one, apart), dot(two, apart))
        y, e = subtract(x, at), subtract(self.point, at)
        round_it = _circle(a, y, across(a, e))
        if self.rise:
            return (round_it, threaded(self.rise, height, *turn_to(a, e, y)))
        return (round_it,) if self.shifts else (height, round_it)

    def elements(self, x: Vector3) -> tuple[Pose, ...]:
        """Return the turn that takes the point next to x, and the shift along the axis."""
        a, at = self.line.axis, self.line.at
        height = dot(a, subtract(x, self.point))
        if self.off:
            c, s = unit(*turn_to(a, subtract(self.point, at), subtract(x, at)))
        else:
            c, s = cos(height * (1.0 / self.rise)), sin(height * (1.0 / self.rise))
        moves = self.shifts == 1 or self.rise
        return (displacement(about(a, c, s), at, scale(height, a) if moves else ZERO3),)


@dataclass(frozen=True)
class Sphere(Orbit):
    """About a centre."""

    centre: Vector3
    point: Vector3

    def rows(self, x: Vector3) -> Rows:
        """Return (|y|^2 - r^2) / (2 r)."""
        y, e = subtract(x, self.centre), subtract(self.point, self.centre)
        square = dot(e, e)
        return ((dot(y, y) - square) * (0.5 / sqrt(square)),)

    def elements(self, x: Vector3) -> tuple[Pose, ...]:
        """Raise: many turns lead there."""
        raise NotImplementedError


@dataclass(frozen=True)
class TurnAndShift(Orbit):
    """A turn and a shift along a line, in either order.

    A shift that a turn carries reaches a hyperboloid; a turn that a shift carries, an oblique cylinder. Where the shift
    is perpendicular to the axis, both reach part of a plane. With s the shift vector, the turn relates the point x, or
    x less s, to the point at the start: `_ends` puts both cases in one form, turn(near + s) = far.
    """

    line: _Line
    along: Vector3
    point: Vector3
    turn_first: bool
    size: float = 1.0

    def _ends(self, x: Vector3) -> tuple[Vector3, Vector3]:
        """Return far and near, from the point of the axis; without `turn_first` both turn and s are inverse."""
        y, e = subtract(x, self.line.at), self._start
        return (y, e) if self.turn_first else (e, y)

    @property
    def _start(self) -> Vector3:
        return subtract(self.point, self.line.at)

    def _shift(self, far: Vector3, near: Vector3) -> Vector3:
        """Return the vector s."""
        a, u = self.line.axis, self.along
        if not _is_across(a, u):
            return scale(dot(a, subtract(far, near)) * (1.0 / dot(a, u)), u)
        left = self._left(far, near)
        root = sqrt(where_less(left, 0.0, 0.0, left))
        return scale((root if dot(self._start, u) >= 0.0 else 0.0 - root) - dot(near, u), u)

    def _left(self, far: Vector3, near: Vector3) -> Scalar:
        """Return, for a shift perpendicular to the axis, the square of the component of near + s along it."""
        a, along = self.line.axis, dot(near, self.along)
        return along * along - _square(a, near) + _square(a, far)

    def rows(self, x: Vector3) -> Rows:
        """Return the height over the plane; or the difference of the squared distances from the axis."""
        a, (far, near) = self.line.axis, self._ends(x)
        if _is_across(a, self.along):
            return (dot(a, subtract(subtract(x, self.line.at), self._start)),)
        apart = _square(a, far) - _square(a, add(near, self._shift(far, near)))
        return (apart * ((1.0 if self.turn_first else -1.0) / self.size),)

    def elements(self, x: Vector3) -> tuple[Pose, ...]:
        """Return the turn and the shift, in their order."""
        a, (far, near) = self.line.axis, self._ends(x)
        s = self._shift(far, near)
        there = add(near, s)
        start, end = (there, far) if self.turn_first else (far, there)
        turn = displacement(about(a, *unit(*turn_to(a, start, end))), self.line.at, ZERO3)
        return (turn, Pose(IDENTITY3, s)) if self.turn_first else (Pose(IDENTITY3, negative(s)), turn)

    def reach_margin(self, x: Vector3) -> Rows:
        """Limit the part of the plane: a turned line stays away from the axis, a shifted circle near its line."""
        a, e = self.line.axis, self._start
        square = -self._left(ZERO3, e) if self.turn_first else _square(a, e)
        if not _is_across(a, self.along) or square <= SAME**2:
            return ()
        return (self._left(*self._ends(x)) * (1.0 / square),)


@dataclass(frozen=True)
class TwoTurns(Orbit):
    """A turn, carried by a turn: a torus; a sphere where the axes meet, and a plane where they are parallel.

    Seen from the first axis, the point is at z, with a.z = a.y; and it is on the circle of the second, in its plane
    and at its distance from c: b.z and |z - f| are known. As |z| = |y|, these are three linear equations for z.
    """

    first: _Line
    second: _Line
    point: Vector3
    how: str
    inverse: tuple[Vector3, Vector3, Vector3] | None
    size: float = 1.0

    def rows(self, x: Vector3) -> Rows:
        """Return |z|^2 - |y|^2; or the height over the plane; or the distance from the sphere."""
        a, at = self.first.axis, self.first.at
        y, e = subtract(x, at), subtract(self.point, at)
        if self.how == "parallel":
            return (dot(a, subtract(y, e)),)
        if self.how == "meeting":
            return Sphere(at, self.point).rows(x)
        z = self._seen(y)
        return ((dot(z, z) - dot(y, y)) * (1.0 / self.size),)

    def _seen(self, y: Vector3) -> Vector3:
        """Return the point before the first turn, from the point of the first axis."""
        a, b = self.first.axis, self.second.axis
        f, e = subtract(self.second.at, self.first.at), subtract(self.point, self.first.at)
        g = subtract(e, f)
        if self.how == "parallel":
            A, B, k = self._elbow(y)
            c, s = between(A, B, k, B)
            more = across(a, g)
            return add(f, add(scale(dot(a, g), a), add(scale(c, more), scale(s, cross(a, more)))))
        if self.how == "meeting":
            n = cross(a, b)
            base, left = self._crossed(y)
            root = sqrt(where_less(left, 0.0, 0.0, left))
            return add(base, scale(root if dot(e, n) >= 0.0 else 0.0 - root, n))
        assert self.inverse is not None
        known = (dot(a, y), dot(b, e), 0.5 * (dot(y, y) + dot(f, f) - dot(g, g)))
        x, w, z = (dot(row, known) for row in self.inverse)
        return (x, w, z)

    def _elbow(self, y: Vector3) -> tuple[float, float, Scalar]:
        """Return A, B and k of the equation A cos + B sin = k for the second turn, about a parallel axis."""
        a, e = self.first.axis, subtract(self.point, self.second.at)
        flat, more = across(a, subtract(self.second.at, self.first.at)), across(a, e)
        k = 0.5 * (_square(a, y) - dot(flat, flat) - dot(more, more))
        return float(dot(flat, more)), float(dot(flat, cross(a, more))), k

    def _crossed(self, y: Vector3) -> tuple[Vector3, Scalar]:
        """Return, for axes that meet, the part of z in their plane, and its squared coefficient along their normal."""
        a, b = self.first.axis, self.second.axis
        n = cross(a, b)
        ab, nn = dot(a, b), dot(n, n)
        p, q = dot(a, y), dot(b, subtract(self.point, self.first.at))
        base = add(scale((p - ab * q) * (1.0 / nn), a), scale((q - ab * p) * (1.0 / nn), b))
        return base, (dot(y, y) - dot(base, base)) * (1.0 / nn)

    def reach_margin(self, x: Vector3) -> Rows:
        """Return the margin: an arm reaches a ring of the plane, or a belt of the sphere."""
        y = subtract(x, self.first.at)
        if self.how == "parallel":
            return (spare(*self._elbow(y)),)
        a, b, e = self.first.axis, self.second.axis, subtract(self.point, self.first.at)
        if self.how != "meeting" or max(abs(dot(a, b)), abs(dot(b, e))) <= SAME:
            return ()
        n = cross(a, b)
        return (self._crossed(y)[1] * (dot(n, n) / dot(e, e)),)

    def elements(self, x: Vector3) -> tuple[Pose, ...]:
        """Return the two turns."""
        y = subtract(x, self.first.at)
        z = self._seen(y)
        f = subtract(self.second.at, self.first.at)
        one = about(self.first.axis, *unit(*turn_to(self.first.axis, z, y)))
        start, end = subtract(self.point, self.second.at), subtract(z, f)
        two = about(self.second.axis, *unit(*turn_to(self.second.axis, start, end)))
        return displacement(one, self.first.at, ZERO3), displacement(two, self.second.at, ZERO3)


def _two_turns(groups: Sequence[Group], point: Array) -> Orbit:
    g, h = groups
    first, second = _axis(g), _axis(h)
    n = np.cross(g.axis, h.axis)
    sine = float(np.linalg.norm(n))
    if sine <= SAME:
        return TwoTurns(first, second, vector(point), "parallel", None)
    apart = (h.point - g.point) @ n / sine
    if abs(apart) <= SAME:  # both pass through the point where they meet
        s, _ = np.linalg.lstsq(np.column_stack([g.axis, -h.axis]), h.point - g.point, rcond=None)[0]
        centre = vector(g.point + s * g.axis)
        return TwoTurns(_Line(first.axis, centre), _Line(second.axis, centre), vector(point), "meeting", None)
    inverse = np.linalg.inv(np.array([g.axis, h.axis, h.point - g.point]))
    x, y, z = (vector(row) for row in inverse)
    return _scaled(TwoTurns(first, second, vector(point), "skew", (x, y, z)), groups, point)


def _scaled(found: TurnAndShift | TwoTurns, groups: Sequence[Group], point: Array) -> Orbit:
    """Return the orbit with a residual in metres near it: divided by its slope at some point."""
    rng = np.random.default_rng(3)
    slopes = []
    for _ in range(5):
        x = vector(point)
        for g in reversed(groups):
            x = g.element(rng).point(x)
        jets = [tuple(Jet(y, 1.0 if j == k else 0.0) for j, y in enumerate(x)) for k in range(3)]
        rows = [found.rows((y[0], y[1], y[2]))[0] for y in jets]
        slopes.append(float(np.linalg.norm([row.rate for row in rows])))
    size = sorted(slopes)[2]
    return replace(found, size=size) if size > 0.0 else found


def _is_across(a: Vector3, u: Vector3) -> bool:
    return bool(abs(dot(a, u)) <= SAME)


def _square(a: Vector3, x: Vector3) -> Scalar:
    """Return the squared distance from the axis."""
    flat = across(a, x)
    return dot(flat, flat)


def _circle(a: Vector3, y: Vector3, e: Vector3) -> Scalar:
    """Return the distance of y from the cylinder about an axis through e, in metres near it; e is across the axis."""
    square = dot(e, e)
    return (_square(a, y) - square) * (0.5 / sqrt(square))
