"""Ties: loops, couplings and mimic joints in a step with contacts, as rows that hold in both directions.

With a row of K for each constraint of the loops (see `closed_loop.constraints`), or for each mimic joint (see
`binding`), the impulses lambda of the ties are eliminated before the contacts are solved for:

    K v' = 0,    v' = v_f + M^-1 (J^T f + K^T lambda)
    lambda = -L^-1 (K v_f + E^T f),    L = K M^-1 K^T,    E = J M^-1 K^T
    u = (u_f - E L^-1 K v_f) + (G - E L^-1 E^T) f

so that the contacts see the robot with its loops closed: the sums E^T f are channels of the contacts (`rows`), with
into = E and out = -E L^-1. Rows that depend on earlier ones have small pivots in L and are left out, as in
`multipliers`.

K is that of the start of the step, so that loops are open after it, of order h^2. Steps of Newton's method close the
positions, then the velocities, all with K and L of the start: each takes the opening down by a factor of order h.

    q' <- q' - M^-1 K^T L^-1 r(q'),    v' <- v' - M^-1 K^T L^-1 dr/dt(q', v')

Reference: Featherstone and Orin 2000, eq. (21), for L; P. Deuflhard, Newton Methods for Nonlinear Problems, 2011, sec.
2.1, for Newton's method with one matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...graph import Scalar, where_less
from ...model import Index, Joints, Output, Tree, Values
from ...records import dataclass
from ...spatial import Factor, Freedoms
from ...spatial.linear import dot
from ..binding import Binding, Gains, PerColumn, follower_columns, responded
from ..closed_loop.constraints import loop_jacobian, loop_rate, loop_residual
from ..closed_loop.multipliers import factor_without_dependent
from ..configuration.step import joint_by_joint
from .cone import larger
from .rows import Link

__all__ = ["Eliminated", "Ties"]

_DEPENDENT = 1e-9
"""Rows whose pivot is a smaller part of their diagonal in L depend on others. Files with five digits have redundant
loops with pivots of 1e-11."""
_ROUNDS = 2
"""Steps of Newton's method that close loops after a step."""
_CLOSED = 1e-9
"""Loops that are open by less, in m or rad, are closed: which of two steps has less rounding says nothing."""


@dataclass(frozen=True, slots=True)
class Ties:
    """The rows of all loops, couplings and mimic joints at the start of a step."""

    tree: Tree
    loops: Sequence[Sequence[Scalar]]
    """Rows of K, with a number for each freedom of the robot."""

    @classmethod
    def of(cls, tree: Tree, q: Joints) -> Ties:
        """Return the rows at position q."""
        n, nv = tree.model.nc, tree.model.nv
        K = loop_jacobian(tree, q, tree.zeros("scalar")).scalars if n else ()
        return cls(tree, [K[nv * r : nv * r + nv] for r in range(n)])

    def __len__(self) -> int:
        return len(self.loops) + self.tree.couplings

    def columns(self, i: Index) -> PerColumn:
        """Return the columns of K^T at the joint of a body."""
        here = self.tree.model.joints[i.key].v
        found = tuple(Freedoms(row[here]) for row in self.loops)
        return (*found, *follower_columns(i)) if self.tree.couplings else found

    def rates(self, v: Joints) -> list[Scalar]:
        """Return K v."""
        found: list[Scalar] = [0.0] * len(self)
        for i, _ in self.tree.outward():
            for r, column in enumerate(self.columns(i)):
                found[r] = found[r] + dot(column, v[i])
        return found

    def eliminated(self, gains: Gains, v: Joints) -> Eliminated:
        """Eliminate the ties of a tree, at free velocities v."""
        bound = Binding.of(self.tree, gains, len(self), self.columns)
        each: list[list[Scalar]] = [[] for _ in range(len(self))]  # K, to find rows that are empty
        for i, _ in self.tree.outward():
            for r, column in enumerate(self.columns(i)):
                each[r] += list(column)
        factor, _ = factor_without_dependent(bound.rows, _DEPENDENT, each)
        return Eliminated(self, bound, factor, self.rates(v))


@dataclass(frozen=True, slots=True)
class Eliminated:
    """The contacts of a robot whose ties hold."""

    ties: Ties
    bound: Binding
    factor: Factor
    rates: Sequence[Scalar]
    """K v_f."""

    @property
    def channels(self) -> int:
        """The number of channels: the freedoms of all joints, then the ties."""
        return sum(len(i.armature) for i, _ in self.ties.tree.outward()) + len(self.ties)

    def linked(self, row: Values[PerColumn], free: Sequence[Scalar]) -> tuple[Link, Sequence[Scalar]]:
        """Return the channels of a row, by its w, and its velocities without impulses of contacts."""
        D, at = self.bound.gains[3], 0
        places: list[int] = []
        into: list[list[Scalar]] = [[] for _ in free]
        out: list[list[Scalar]] = [[] for _ in free]
        E: list[list[Scalar]] = [[0.0] * len(self.ties) for _ in free]
        for i, _ in self.ties.tree.outward():
            w = row[i]
            solved = [D[i].solve(x) for x in w]
            E = [
                [e + dot(y, x) for e, x in zip(r, self.bound.w[i], strict=True)] for r, y in zip(E, solved, strict=True)
            ]
            for k in range(len(i.armature)):
                if any(not isinstance(x[k], float) or x[k] for x in (*w, *solved)):  # between the row and the base
                    places.append(at + k)
                    for r, (x, y) in enumerate(zip(w, solved, strict=True)):
                        into[r].append(x[k])
                        out[r].append(y[k])
            at += len(i.armature)
        if len(self.ties):
            moved = [tuple(0.0 - x for x in self.factor.solve(tuple(e))) for e in E]
            places += range(at, at + len(self.ties))
            into, out = ([[*x, *e] for x, e in zip(a, b, strict=True)] for a, b in ((into, E), (out, moved)))
            free = [u + dot(x, self.rates) for u, x in zip(free, moved, strict=True)]
        return Link(tuple(places), tuple(map(tuple, into)), tuple(map(tuple, out))), free

    def moved(self, v: Joints, s: Sequence[Scalar]) -> Output:
        """Return the velocities after impulses of contacts, with channels s, and of ties."""
        n = len(self.ties)
        joints, e = list(s[: len(s) - n]), [x + y for x, y in zip(self.rates, s[len(s) - n :], strict=True)]
        force, place, at = -self.factor.solve(tuple(e)), dict[Any, int](), 0
        for i, _ in self.ties.tree.outward():
            place[i.key] = at
            at += len(i.armature)

        def load(i: Index, _: Index) -> Freedoms:
            here = joints[place[i.key] : place[i.key] + len(i.armature)]
            return Freedoms(y + dot([x[k] for x in self.bound.w[i]], force) for k, y in enumerate(here))

        return responded(self.ties.tree, self.bound.gains, v, load)

    def closed(self, q: Output, v: Output) -> tuple[Output, Output, Scalar, Scalar]:
        """Return positions and velocities with closed loops; how far these are open, and how fast they open."""
        tree, n = self.ties.tree, len(self.ties.loops)
        if not n:
            return q, v, 0.0, 0.0
        t = tree.zeros("scalar")
        q, gap = self._closer("q", q, lambda x: loop_residual(tree, x, t), self._moved)
        v, rate = self._closer("v", v, lambda x: loop_rate(tree, q, x, t), self._corrected)
        return q, v, gap, rate

    def _closer(
        self, kind: str, x: Output, error: Callable[[Output], Freedoms], step: Callable[[Output, Freedoms], Output]
    ) -> tuple[Output, Scalar]:
        """Return numbers after steps of Newton's method, and the largest error; a step that doubles it is not taken.

        A row that is left out may grow a little while the others shrink.
        """
        e = error(x)
        most = _largest(e)
        for _ in range(_ROUNDS):
            new = step(x, e)
            there = error(new)
            after, bound = _largest(there), 2.0 * most + _CLOSED

            def part(i: Index, new: Output = new, old: Output = x, after: Scalar = after, bound: Scalar = bound) -> Any:
                return Freedoms(where_less(bound, after, b, a) for a, b in zip(new[i], old[i], strict=True))

            x = joint_by_joint(self.ties.tree, kind, part)
            e = Freedoms(where_less(bound, after, b, a) for a, b in zip(there, e, strict=True))
            most = where_less(bound, after, most, after)
        return x, most

    def _moved(self, q: Output, r: Freedoms) -> Output:
        """Return positions after a step of Newton's method."""
        tree = self.ties.tree
        change = self._corrected(joint_by_joint(tree, "v", lambda i: Freedoms((0.0,) * i.joint.nv)), r)
        return joint_by_joint(tree, "q", lambda i: i.joint.integrate(q[i], change[i]))

    def _corrected(self, v: Output, e: Freedoms) -> Output:
        """Return velocities less M^-1 K^T L^-1 e."""
        return self.bound.corrected(v, -self.factor.solve(tuple(e)))


def _largest(x: Sequence[Scalar]) -> Scalar:
    """Return the largest size of numbers."""
    most: Scalar = 0.0
    for y in x:
        most = larger(most, larger(y, 0.0 - y))
    return most
