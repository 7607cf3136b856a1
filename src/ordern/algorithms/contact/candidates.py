"""Which contacts and limits of joints may touch in a step, and their rows.

A contact with the normal velocity sigma_N closes too fast in a step if

    r = sigma_N + phi / h

is negative. It is near, and takes part in the problem, if r is less than

    1 m/s - 4 min(r over all contacts, 0)      for r at the start of the step

by the velocities at the start or by those of the free motion: impulses change velocities by about as much as they stop,
and where contacts only press, velocities stay about as they were. Limits of joints are near below ten times as much, in
rad/s: as if a contact had a lever of 0.1 m. Joints with dry friction always are. Nothing is computed for the others
(`Tree.when`). After the step, `missed` tests that none of them would have needed an impulse: otherwise its speed is
part of the residual."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...graph import Scalar, where_less
from ...model import Field, Index, Joints, Output, Tree, Values
from ...model.contacts import Contacts
from ...spatial import Force, Forces, Freedoms, Motion, Pose
from ..binding import Gains, PerColumn
from ..field_types import Loads, cleared
from .cone import larger, least, smaller
from .geometry import Patch, UnitLoads, patches
from .plate import Point
from .problem import Problem
from .rows import Row, dense_rows, guarded
from .stops import JointRow
from .ties import Eliminated

__all__ = ["Candidates"]

_SLOW = 0.01
"""Contacts that approach more slowly than this, in m/s, do not bounce: they would never come to rest."""
_MARGIN = 1.0
_GAIN = 4.0
"""A contact is near below this speed, plus so many times the largest speed by which one closes too fast."""
_FEW = 4
"""Up to so many rows, the whole matrix G takes less time than channels, though it is computed for all rows."""
_LEVER = 0.1
"""The lever, in m, by which speeds of joints are compared with those of contacts."""
_NEVER = 1e10
"""r of joints without limits."""


Speed = Callable[[Joints, Any], Scalar]
"""A function of the velocities of joints and bodies."""


class Candidates:
    """All contacts and joints of one step: how fast they close, and functions that make their rows."""

    def __init__(self, tree: Tree, contacts: Contacts, gains: Gains, tied: Eliminated, h: Scalar) -> None:
        self._tree, self._contacts, self._gains, self._tied, self._h = tree, contacts, gains, tied, h
        self._speeds: list[tuple[Scalar, Scalar]] = []
        """r of each row, the smallest of its points, by velocities after the free motion and before it."""
        self._builders: list[Callable[[], Row]] = []
        self._after: list[Speed] = []
        """r of each row, from velocities after the step."""
        self._always: list[bool] = []
        """True for rows that are near whatever their r."""
        self._contact_count = 0
        self._joints: Problem | None = None
        """The problem with channels at the joints, if the one that is solved has others."""
        self.depth: Scalar = 0.0
        """The deepest penetration."""

    # ---- contacts

    def add_contacts(self, P: Field[Pose], velocities: tuple[Joints, Joints], surfaces: Sequence[Scalar]) -> None:
        """Add the contacts of bodies with poses P, by velocities after the free motion and before it."""
        contacts = self._contacts
        after, before = (self._body_velocities(v) for v in velocities)
        heights = surfaces[2::3]
        for patch in patches(self._tree, P, contacts, heights):
            self.depth = larger(self.depth, patch.overlap)

            def speed(_: Joints, V: Any, patch: Patch = patch) -> Scalar:
                return _closing(patch, V, self._h)

            def row(patch: Patch = patch) -> Row:
                return self._contact_row(patch, (after, before), surfaces)

            self._add((speed(velocities[0], after), speed(velocities[1], before)), row, speed)
        self._contact_count = len(self._builders)

    def _add(
        self, speeds: tuple[Scalar, Scalar], row: Callable[[], Row], after: Speed, *, always: bool = False
    ) -> None:
        self._speeds.append(speeds)
        self._builders.append(row)
        self._after.append(after)
        self._always.append(always)

    def _contact_row(self, patch: Patch, V: tuple[Field[Motion], Field[Motion]], surfaces: Sequence[Scalar]) -> Row:
        """Return the rows of a contact, or of several with common axes."""
        contacts = self._contacts
        free, start = _along(patch.loads, V[0]), _along(patch.loads, V[1])
        points = []
        for k, lever, gap, above in zip(patch.members, patch.levers, patch.gaps, patch.above, strict=True):
            mu, e, _ = surfaces[3 * k : 3 * k + 3]
            bias = resting = self._bias(gap)
            if contacts.bounces:
                v = Point(3 * k, bias, gap, mu, lever).moved(start)[2]
                bounce = where_less(gap + self._h * v, 0.0, where_less(v, -_SLOW, e * v, bias), bias)
                bias = where_less(0.0, e, bounce, bias)
            c = contacts.pairs[k]
            own = resting if contacts.bounces else None
            moments = contacts.moment_of(k), c.torsional, c.rolling
            points.append(Point(3 * k, bias, gap, mu, lever, above, *moments, own))
        link, freed = self._tied.linked(self._walked(len(free), patch.loads, {}), free)
        return Row.of(freed, start, points, link)

    def _bias(self, gap: Scalar) -> Scalar:
        """Return the bias of a normal: a gap may close in the step, and part of a penetration is pushed apart."""
        rate = gap * (1.0 / self._h)
        least = larger(self._contacts.push * rate, -self._contacts.fastest_push)
        return where_less(gap, 0.0, least, rate)

    def _body_velocities(self, v: Joints) -> Field[Motion]:
        X, S, _, _ = self._gains
        V = self._tree.field(Motion)
        for i, p in self._tree.outward():
            V[i] = X[i] @ V[p] + S[i] @ v[i]
        return V

    def _walked(
        self, n: int, loads: Sequence[tuple[Index, tuple[Force, ...]]], sides: dict[Any, Freedoms]
    ) -> Values[PerColumn]:
        """Return w = (1 - H psi K) J^T of n rows: forces on bodies, or numbers at joints, are passed on to the base.

        w_i = S_i^T z_i,    z_p += X_i^T (z_i - G_i w_i)
        """
        tree, (X, S, G, _) = self._tree, self._gains
        z, w = cleared(tree, Loads(n)), tree.own()
        for body, forces in loads:
            z[body] += Forces(forces)
        for i, p in tree.inward():
            w[i] = tuple(S[i].T @ f for f in z[i].columns)
            if i.key in sides:
                w[i] = tuple(x + sides[i.key] for x in w[i])
            z[p] += X[i].T @ Forces(tuple(f - G[i] @ x for f, x in zip(z[i].columns, w[i], strict=True)))
        return w

    # ---- joints

    def add_joints(
        self, rows: Sequence[JointRow], q: Joints, velocities: tuple[Joints, Joints], limits: tuple[Joints, Joints]
    ) -> None:
        """Add the joints with limits or dry friction: a row for each."""
        for at, one in enumerate(rows, 3 * self._contacts.blocks):
            i, d = one.body, one.freedom
            room = one.room(self._tree, q[i], (limits[0][i], limits[1][i])) if one.limited else None

            def speed(v: Joints, _: Any, i: Index = i, room: Any = room) -> Scalar:
                if room is None:
                    return _NEVER
                u, (down, up) = v[i][0], room
                return _LEVER * smaller(u + down * (1.0 / self._h), up * (1.0 / self._h) - u)

            def row(one: JointRow = one, i: Index = i, d: int = d, at: int = at, room: Any = room) -> Row:
                free, before = (v[i][d] for v in velocities)
                unit = Freedoms(1.0 if k == d else 0.0 for k in range(i.joint.nv))
                link, (freed,) = self._tied.linked(self._walked(1, (), {i.key: unit}), (free,))
                bounds = () if room is None else (0.0 - self._bias(room[0]), self._bias(room[1]))
                return Row.of_joint(freed, before, at, link, one.friction(self._h), *bounds)

            self._add((speed(velocities[0], None), speed(velocities[1], None)), row, speed, always=one.dry)

    # ---- the problem

    def problem(self) -> Problem:
        """Return the problem of the rows that are near."""
        contacts = self._contacts
        near: list[Scalar] = [1.0] * len(self._speeds)
        if not contacts.smooth:  # smoothed contacts push at any distance
            limit = _MARGIN - _GAIN * least([0.0, *(before for _, before in self._speeds)])
            near = [
                1.0 if always else where_less(limit, smaller(*speeds), 0.0, 1.0)
                for speeds, always in zip(self._speeds, self._always, strict=True)
            ]
        if len(near) <= _FEW:
            self._joints = Problem(self._tree, [build() for build in self._builders], near, self._tied.channels)
            rows = dense_rows(self._joints.rows)
            count = sum(len(row.free) for row in rows)
        else:
            rows = [guarded(self._tree, flag, build) for flag, build in zip(near, self._builders, strict=True)]
            count = self._tied.channels
        return Problem(self._tree, rows, near, count, contacts.smooth, contacts.settled)

    def moved(self, v: Joints, p: Sequence[Scalar], s: Sequence[Scalar]) -> Output:
        """Return velocities after impulses with their channels."""
        return self._tied.moved(v, s if self._joints is None else self._joints.channels(p))

    def missed(self, near: Sequence[Scalar], moved: Joints, residual: Scalar) -> Scalar:
        """Return the residual with the speeds at which rows that were left out close too fast after the step."""
        if self._contacts.smooth or self._tree.differentiated:
            return residual
        some: Scalar = 0.0
        for flag in near:
            some = larger(some, flag)
        first = self._contact_count  # joints come after contacts
        residual = self._missed_of(near[:first], self._after[:first], self._body_velocities, some, moved, residual)
        return self._missed_of(near[first:], self._after[first:], None, some, moved, residual)

    def _missed_of(
        self, flags: Sequence[Scalar], speeds: Sequence[Speed], moves: Callable[[Joints], Field[Motion]] | None,
        some: Scalar, moved: Joints, residual: Scalar,
    ) -> Scalar:  # fmt: skip
        """Return the residual with those of contacts or of joints, if some rows are near and some of these are far."""
        every: Scalar = 1.0
        for flag in flags:
            every = smaller(every, flag)

        def tested() -> list[Scalar]:
            V, found = None if moves is None else moves(moved), residual
            for flag, speed in zip(flags, speeds, strict=True):
                found = larger(found, where_less(flag, 0.5, 0.0 - speed(moved, V), 0.0))
            return [found]

        return self._tree.when(where_less(every, 0.5, some, 0.0), tested, [residual])[0]


def _along(loads: UnitLoads, V: Field[Motion], rows: slice = slice(None)) -> tuple[Scalar, ...]:
    """Return the velocity along the axes of a contact or patch."""
    (body, forces), *others = loads
    found = tuple(f.dot(V[body]) for f in forces[rows])
    for body, forces in others:
        found = tuple(x + f.dot(V[body]) for x, f in zip(found, forces[rows], strict=True))
    return found


def _closing(patch: Patch, V: Field[Motion], h: Scalar) -> Scalar:
    """Return the least r of the points of a patch."""
    rate = 1.0 / h
    if len(patch.members) == 1:
        return _along(patch.loads, V, slice(2, 3))[0] + patch.gaps[0] * rate
    normal, about_x, about_y = _along(patch.loads, V, slice(2, 5))
    arms = zip(patch.levers, patch.gaps, strict=True)
    return least([normal + (y * about_x - x * about_y) + gap * rate for (x, y), gap in arms])
