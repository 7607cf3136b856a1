"""Products with known rotations: about no axis, one or two axes, or a ball, with any shifts between.

R is a turn about a, then about b, if it keeps the angle between them: a.Rb = a.b. Then the first turn takes b to Rb,
the second turn is the rest, and the conditions on positions are linear.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...graph import Scalar, atan2
from ...records import dataclass
from ...spatial import Factor, Pose
from ...spatial.linear import (
    IDENTITY3,
    ZERO3,
    Matrix3,
    Vector3,
    add,
    cross,
    dot,
    matmul,
    matvec,
    scale,
    subtract,
    transpose,
)
from ..closure import Rows, unturned
from .displacements import SAME, Group, complement, product_rank
from .products import Product, Space, common_frame, cone, first_turn, independent, spaces
from .turning import angle_in, displacement, threaded, tilt, vector

__all__ = ["KnownTurns", "known_turns"]


@dataclass(frozen=True, eq=False)
class KnownTurns(Product):
    """Turns about no axis, one or two axes, or a ball; with any shifts before, between and behind them."""

    groups: tuple[Group, ...]
    turning: tuple[Group, ...]
    spaces: tuple[Space, ...]
    frame: int
    """The axes in which all shifts have constant directions; -1 if there are no such axes."""
    normals: tuple[Vector3, ...]
    """The directions perpendicular to all shifts, in these axes."""
    threads: tuple[tuple[int, Vector3], ...]
    """The turns with a thread, each with a vector whose product with a position is the advance."""
    pair: tuple[tuple[int, Vector3], tuple[int, Vector3]] | None
    """If there is no such frame: two directions of shifts, each with its axes, that span all."""

    def turns(self, R: Matrix3, exact: bool = False) -> list[Matrix3]:
        """Return the axes after no turn, after the first, ... after all of them."""
        if len(self.turning) < 2:
            return [IDENTITY3, R][: len(self.turning) + 1]
        g, h = self.turning
        return [IDENTITY3, first_turn(g, h, R, exact), R]

    def position(self, X: Pose, turns: Sequence[Matrix3]) -> Vector3:
        """Return the sum of all shifts, in the axes before all turns."""
        if not self.turning:
            return X.position
        start, end = vector(self.turning[0].point), vector(self.turning[-1].point)
        there = subtract(X.point(end), start)
        return subtract(there, matvec(turns[1], subtract(end, start))) if len(self.turning) > 1 else there

    def rows(self, X: Pose) -> tuple[Rows, Rows]:
        """Return the residuals of the rotation, then of the position."""
        turns = self.turns(X.rotation)
        w = self.position(X, turns)
        if self.pair is not None:
            (f, u), (g, v) = self.pair
            normal = cross(matvec(turns[f], u), matvec(turns[g], v))
            return self._turned(X.rotation), (dot(normal, w),)
        if self.frame > 0:
            w = matvec(transpose(turns[self.frame]), w)
        threads = (threaded(self.turning[k].rise, dot(n, w), *self._angle(k, turns)) for k, n in self.threads)
        return self._turned(X.rotation), (*(dot(n, w) for n in self.normals), *threads)

    def _turned(self, R: Matrix3) -> Rows:
        if not self.turning:
            return unturned(R)
        if len(self.turning) == 2:
            return (cone(*self.turning, R),)
        return tilt(R, vector(self.turning[0].axis)) if self.turning[0].turns == 1 else ()

    def _angle(self, k: int, turns: Sequence[Matrix3]) -> tuple[Scalar, Scalar]:
        """Return multiples of cosine and sine of a turn."""
        step = turns[k + 1] if k == 0 else matmul(transpose(turns[k]), turns[k + 1])
        return angle_in(step, vector(self.turning[k].axis))

    def elements(self, X: Pose) -> tuple[Pose, ...]:
        """Return the turns, and by least squares the shifts."""
        turns = self.turns(X.rotation, exact=True)
        shifts = self._shifts(self.position(X, turns), turns)
        found, frame = [], 0
        for g, shift in zip(self.groups, shifts, strict=True):
            if g.turns:
                turn = matmul(transpose(turns[frame]), turns[frame + 1])
                found.append(displacement(turn, vector(g.point), shift))
                frame += 1
            else:
                found.append(Pose(IDENTITY3, shift))
        return tuple(found)

    def _shifts(self, w: Vector3, turns: Sequence[Matrix3]) -> list[Vector3]:
        """Split the sum w of all shifts into the shifts of each group.

        A thread along whose axis others shift too is taken to be within half a turn of its start.
        """
        found = [ZERO3] * len(self.groups)
        measured = [k for k, _ in self.threads]
        for k, g in enumerate(self.turning):
            if g.rise and k not in measured:
                c, s = self._angle(k, turns)
                advance = scale(g.rise * atan2(s, c), vector(g.axis))
                found[self.groups.index(g)] = advance
                w = subtract(w, matvec(turns[k], advance))
        kept = [self.turning[k] for k in measured]
        columns = [
            (x.owner, x.frame, vector(u))
            for x in self.spaces
            for u in (x.directions if self.groups[x.owner] in kept else self.groups[x.owner].shifts).T
        ]
        D = [matvec(turns[f], u) for _, f, u in columns]
        sizes = Factor.of(tuple(tuple(dot(x, y) for y in D) for x in D)).solve(tuple(dot(x, w) for x in D))
        for (owner, _, u), size in zip(columns, sizes, strict=True):
            found[owner] = add(found[owner], scale(size, u))
        return found


def known_turns(groups: tuple[Group, ...]) -> KnownTurns | None:
    """Return the product if it has at most two axes, or one ball and no axis."""
    turning = tuple(g for g in groups if g.turns)
    if len(turning) > 2:
        return None
    if len(turning) == 2 and (any(g.turns == 3 for g in turning) or turning[0].parallel_to(turning[1])):
        return None
    shifting = spaces(groups)
    frame = common_frame(shifting, turning, range(len(turning) + 1))
    if frame is not None:
        normals, threads = _linear(groups, turning, shifting)
        return KnownTurns(groups, turning, tuple(shifting), frame, normals, threads, None)
    if any(g.rise for g in turning):
        return None
    missing = 6 - product_rank(groups) - (0, (2 if turning[0].turns == 1 else 0), 1)[len(turning)]
    pair = _pair(shifting) if missing == 1 else None
    if missing not in (0, 1) or (missing and pair is None):
        return None
    return KnownTurns(groups, turning, tuple(shifting), -1 if pair else 0, (), (), pair)


def _linear(
    groups: Sequence[Group], turning: Sequence[Group], shifting: Sequence[Space]
) -> tuple[tuple[Vector3, ...], tuple[tuple[int, Vector3], ...]]:
    """Return the normals to all shifts, and for each thread along whose axis nothing else shifts, its measure."""
    free = np.concatenate([np.zeros((3, 0)), *(groups[x.owner].shifts for x in shifting)], axis=1)
    B = independent(free)
    bound = []
    for k, g in enumerate(turning):
        if g.rise and np.linalg.norm(g.axis - B @ np.linalg.lstsq(B, g.axis, rcond=None)[0]) > SAME:
            B = np.column_stack([B, g.axis])
            bound.append(k)
    duals = np.linalg.pinv(B)[B.shape[1] - len(bound) :] if bound else np.zeros((0, 3))
    threads = tuple((k, vector(n)) for k, n in zip(bound, duals, strict=True))
    return tuple(vector(n) for n in complement(B).T), threads


def _pair(shifting: Sequence[Space]) -> tuple[tuple[int, Vector3], tuple[int, Vector3]] | None:
    """Return two directions of shifts in different axes."""
    columns = [(x.frame, vector(u)) for x in shifting for u in x.directions.T]
    return next(((x, y) for k, x in enumerate(columns) for y in columns[:k] if x[0] != y[0]), None)
