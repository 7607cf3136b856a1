"""Products with turns about two parallel axes: R determines only the sum of the angles.

But the second axis is on a cylinder about the first, and its place there determines the first angle.
"""

from __future__ import annotations

import numpy as np

from ...graph import Scalar
from ...records import dataclass
from ...spatial import Pose
from ...spatial.linear import IDENTITY3, ZERO3, Matrix3, Vector3, dot, matmul, matvec, scale, subtract, transpose
from ..closure import Rows
from .displacements import SAME, Group
from .products import Product, common_frame, cone, first_turn, independent, spaces
from .turning import about, across, angle_in, displacement, threaded, tilt, turn_to, unit, vector

__all__ = ["ParallelAxes", "parallel_axes"]


@dataclass(frozen=True, eq=False)
class ParallelAxes(Product):
    """Turns about two parallel axes, then perhaps about one that is not; and shifts along one direction at most."""

    groups: tuple[Group, ...]
    turning: tuple[Group, ...]
    owner: int
    """The group that shifts; -1 if no group does."""
    frame: int
    """In the axes before all turns, 0, or after the two parallel ones, 2."""
    along: Vector3

    def _both(self, R: Matrix3, exact: bool = False) -> Matrix3:
        """Return both parallel turns together."""
        return R if len(self.turning) == 2 else first_turn(self.turning[0], self.turning[2], R, exact)

    def _seen(self, X: Pose, both: Matrix3) -> tuple[Vector3, Scalar]:
        """Return the vector from the first axis to the second, less the shift; and the shift, or the height."""
        g, h, *more = self.turning
        a, start, second = vector(g.axis), vector(g.point), vector(h.point)
        if more:
            end = vector(more[0].point)
            w = subtract(subtract(X.point(end), start), matvec(both, subtract(end, second)))
        else:
            w = subtract(X.point(second), start)
        w = matvec(transpose(both), w) if self.frame else w
        height = dot(a, subtract(w, subtract(second, start)))
        if self.owner < 0:
            return w, height
        height = height * (1.0 / dot(a, self.along))
        return subtract(w, scale(height, self.along)), height

    def rows(self, X: Pose) -> tuple[Rows, Rows]:
        """Return the residuals of the rotation, of the second axis' height, and of its distance from the first."""
        g, h, *more = self.turning
        a = vector(g.axis)
        w, height = self._seen(X, self._both(X.rotation))
        flat, e = across(a, w), across(a, subtract(vector(h.point), vector(g.point)))
        square = dot(e, e)
        turned = (cone(g, more[0], X.rotation),) if more else tilt(X.rotation, a)
        far = (dot(flat, flat) - square) * (0.5 / float(np.sqrt(square)))
        if self.owner < 0:
            return turned, (height, far)
        rise = self.groups[self.owner].rise
        advance = height * dot(a, self.along)
        return turned, ((far, threaded(rise, advance, *self._threaded_angle(X, w))) if rise else (far,))

    def _threaded_angle(self, X: Pose, w: Vector3) -> tuple[Scalar, Scalar]:
        """Return multiples of cosine and sine of the turn that has a thread."""
        g, h, *_ = self.turning
        a = vector(g.axis)
        c, s = turn_to(a, subtract(vector(h.point), vector(g.point)), w)
        if self.groups[self.owner] is g:
            return c, s
        c2, s2 = angle_in(self._both(X.rotation), a)
        return c2 * c + s2 * s, s2 * c - c2 * s

    def elements(self, X: Pose) -> tuple[Pose, ...]:
        """Return the elements: the first turn takes the second axis to its place."""
        g, h, *_ = self.turning
        a = vector(g.axis)
        both = self._both(X.rotation, exact=True)
        w, size = self._seen(X, both)
        w = matvec(both, w) if self.frame else w
        one = about(a, *unit(*turn_to(a, subtract(vector(h.point), vector(g.point)), w)))
        turns = [one, matmul(transpose(one), both), matmul(transpose(both), X.rotation)]
        found = []
        for k, group in enumerate(self.groups):
            shift = scale(size, self.along) if k == self.owner else ZERO3
            turn = turns.pop(0) if group.turns else IDENTITY3
            found.append(displacement(turn, vector(group.point), shift))
        return tuple(found)


def parallel_axes(groups: tuple[Group, ...]) -> ParallelAxes | None:
    """Return the product, if its first two turns are about parallel axes."""
    turning = tuple(g for g in groups if g.turns)
    if len(turning) not in (2, 3) or any(g.turns == 3 for g in turning) or not turning[0].parallel_to(turning[1]):
        return None
    g, h, *more = turning
    apart = np.linalg.norm(np.cross(g.axis, h.point - g.point))
    if apart <= SAME or (more and (h.parallel_to(more[0]) or more[0].rise)):
        return None
    shifting = spaces(groups)
    frame = common_frame(shifting, turning, (0, 2))
    directions = np.concatenate([np.zeros((3, 0)), *(x.directions for x in shifting)], axis=1)
    if frame is None or independent(directions).shape[1] > 1:
        return None
    if not shifting:
        return ParallelAxes(groups, turning, -1, 0, ZERO3)
    if len(shifting) > 1 and any(x.rise for x in turning):
        return None
    along = directions[:, 0]
    if abs(g.axis @ along) <= SAME:
        return None
    return ParallelAxes(groups, turning, shifting[0].owner, frame, vector(along))
