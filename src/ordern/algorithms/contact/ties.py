"""Ties: loops, couplings and mimic joints in a step with contacts, as rows that hold in both directions.

With a row of K for each constraint of the loops (see `closed_loop.constraints`), or for each mimic joint (see
`binding`), the impulses lambda of the ties are eliminated before the contacts are solved for:

    K v' = 0,    v' = v_f + M^-1 (J^T f + K^T lambda)
    lambda = -L^-1 (K v_f + E^T f),    L = K M^-1 K^T,    E = J M^-1 K^T
    u = (u_f - E L^-1 K v_f) + (G - E L^-1 E^T) f

so that the contacts see the robot with its loops closed. One sweep finds G, E and L (`binding`). Rows that depend on
earlier ones have small pivots in L and are left out, as in `multipliers`.

K is that of the start of the step, so that loops are open after it, of order h^2. Steps of Newton's method close the
positions, then the velocities, all with K and L of the start: each takes the opening down by a factor of order h.

    q' <- q' - M^-1 K^T L^-1 r(q'),    v' <- v' - M^-1 K^T L^-1 dr/dt(q', v')

Reference: Featherstone and Orin 2000, eq. (21), for L; P. Deuflhard, Newton Methods for Nonlinear Problems, 2011, sec.
2.1, for Newton's method with one matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ...graph import Scalar, where_less
from ...model import Index, Joints, Output, Tree
from ...records import dataclass
from ...spatial import Factor, Freedoms
from ...spatial.linear import dot
from ..binding import Binding, PerColumn, follower_columns
from ..closed_loop.constraints import loop_jacobian, loop_rate, loop_residual
from ..closed_loop.multipliers import factor_without_dependent
from ..configuration.step import joint_by_joint
from .cone import larger
from .problem import Row

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

    def eliminated(self, bound: Binding, m: int, v: Joints) -> Eliminated:
        """Eliminate the ties of a binding, whose first m columns are those of contacts, at free velocities v."""
        rows, n = bound.rows, len(self)
        L, E = [row[m:] for row in rows[m:]], [row[m:] for row in rows[:m]]
        each: list[list[Scalar]] = [[] for _ in range(n)]  # K, to find rows that are empty
        for i, _ in self.tree.outward():
            for r, column in enumerate(self.columns(i)):
                each[r] += list(column)
        factor, _ = factor_without_dependent(L, _DEPENDENT, each)
        return Eliminated(self, bound, factor, rows, E, self.rates(v))


@dataclass(frozen=True, slots=True)
class Eliminated:
    """The contacts of a robot whose ties hold."""

    ties: Ties
    bound: Binding
    factor: Factor
    whole: Sequence[Sequence[Scalar]]
    E: Sequence[Sequence[Scalar]]
    rates: Sequence[Scalar]
    """K v_f."""

    @property
    def G(self) -> tuple[tuple[Scalar, ...], ...]:
        """The matrix G - E L^-1 E^T of the contacts."""
        m = len(self.E)
        if not len(self.ties):
            return tuple(tuple(row) for row in self.whole)
        known: dict[tuple[int, int], Scalar] = {}
        for r in range(m):
            y = self.factor.solve(tuple(self.E[r]))
            for c in range(r + 1):
                known[r, c] = self.whole[r][c] - dot(self.E[c], y)
        return tuple(tuple(known[max(r, c), min(r, c)] for c in range(m)) for r in range(m))

    def freed(self, rows: Sequence[Row]) -> list[Row]:
        """Return the rows of contacts with the velocities that they have without impulses of contacts."""
        if not len(self.ties):
            return list(rows)
        y, at, found = self.factor.solve(tuple(self.rates)), 0, []
        for row in rows:
            free = tuple(u - dot(self.E[at + k], y) for k, u in enumerate(row.free))
            found.append(replace(row, free=free))
            at += len(free)
        return found

    def forces(self, f: Sequence[Scalar]) -> Freedoms:
        """Return the impulses along all columns of the binding, from those of contacts."""
        if not len(self.ties):
            return Freedoms(f)
        e = list(self.rates)
        for x, row in zip(f, self.E, strict=True):
            e = [y + x * z for y, z in zip(e, row, strict=True)]
        return Freedoms((*f, *(-self.factor.solve(tuple(e)))))

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
        return self.bound.corrected(v, Freedoms((*(0.0 for _ in self.E), *(-self.factor.solve(tuple(e))))))


def _largest(x: Sequence[Scalar]) -> Scalar:
    """Return the largest size of numbers."""
    most: Scalar = 0.0
    for y in x:
        most = larger(most, larger(y, 0.0 - y))
    return most
