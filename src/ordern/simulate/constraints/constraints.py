"""The constraints of a mechanism: rows K(q) v = -dr/dt, of which a known number counts.

Positions that a step has left a little open are closed by Newton's method in the metric of the mass matrix,

    K x = -r,    x^T M x least,    q <- integrate(q, x),

and velocities go to the nearest ones in kinetic energy that keep the rows, K v = -dr/dt. Stages of a step are off the
manifold by far more than its end. There, redundant constraints seem independent, and would lock the mechanism. So the
rank is that of closed positions near the start, and is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, final

import numpy as np

from ...algorithms.closed_loop import null_space, reduced
from ...algorithms.closed_loop.equations import Equations, flat, solved
from ...algorithms.closed_loop.rank import TOLERANCE, decide
from ...arguments import Array
from ...loops.dynamics import usual_method
from ...loops.kernels import asking, worst_of
from ...loops.mobility import null_motions
from ...loops.nearby import MOST, neighbours
from ...loops.nearby import Constraints as Nearby

if TYPE_CHECKING:
    from ...robot import Robot
    from ..run.problem import Problem
    from .stop_projection import Holding

__all__ = ["CLOSED", "OPEN", "ROUNDS", "Constraints", "Mechanism", "Rows", "listed"]


CLOSED = 1e-12
"""Residuals up to this, in rad and m, are left as they are."""
OPEN = 1e-9
"""A state that is closed no better than this, in rad and m, is no state of the mechanism."""
ROUNDS = 12
"""The most iterations of Newton's method that close a position."""
_TOO_MANY = 3000
"""A robot with more velocities starts with its rank as it is: neighbours along all motions would take too long."""


class Rows(Protocol):
    """Constraint rows of a robot, as compiled functions of positions (..., nq), velocities (..., nv) and times."""

    robot: Robot
    nc: int
    names: Mapping[str, slice]
    """The rows of each loop, coupling or contact."""
    timed: bool
    """True if some row moves with time alone."""
    passive: bool
    """True if joints that close loops have springs, dampers or friction."""
    ranked: ClassVar[bool]
    """True if `solve` and `acceleration` can leave dependent rows out."""
    locked: ClassVar[float]
    """A joint whose response to an impulse is below this part of the response without rows cannot move."""

    def residual(self, q: Array, t: Any) -> Array:
        """Return r, by how much rows are open, (..., nc)."""

    def rate(self, q: Array, v: Array, t: Any) -> Array:
        """Return dr/dt, (..., nc)."""

    def bias(self, q: Array, v: Array, t: Any) -> Array:
        """Return the rate of dr/dt at constant velocities, (..., nc)."""

    def jacobian(self, q: Array, t: Any) -> Array:
        """Return K, (..., nc, nv)."""

    def narrow(self, q: Array, t: Any) -> Array:
        """Return a matrix (..., nc, m) with the singular values and left vectors of K, perhaps with fewer columns."""

    def sigma(self, q: Array, t: Any) -> Array:
        """Return the singular values of K, (..., m), the largest first."""

    def lower_bound(self, q: Array, rank: int) -> Array | None:
        """Return a bound below the smallest singular value, (n,), where it is cheap and positive; else None."""

    def acceleration(
        self, q: Array, v: Array, force: Array, t: Any, method: str | None, pull: Any, rank: int
    ) -> Array | None:
        """Return accelerations by joint forces; `pull` is (alpha, beta) of Baumgarte's stabilisation, or None.

        Return None where the rank is not clear.
        """

    def solve(self, q: Array, x: Array, c: Array, t: Any, rank: int, positions: bool) -> Array | None:
        """Solve M a = x + K^T lambda, K a = c; return None where the rank is not clear.

        With `positions`, rows that bind velocities alone may give way.
        """

    def multipliers(self, q: Array, v: Array, force: Array, method: str) -> Array:
        """Return lambda at a state, (nc,), where something depends on it; else an empty array."""

    def usual_method(self) -> str:
        """Return the method of forward dynamics that is used unless one is given."""

    def whole(self, name: str) -> str:
        """Return the words for rows that stay open, such as "loop 'pin' cannot be closed"."""

    def listed(self, names: list[str]) -> str:
        """Return names in words."""


class Mechanism(Protocol):
    """A robot with named sets of rows, each of which may be closed or open."""

    of: ClassVar[str]
    """The sets, in a report: "loops" or "contacts"."""

    @property
    def robot(self) -> Robot:
        """The robot of the run."""

    @property
    def closed(self) -> tuple[bool, ...]:
        """For each set, True if it is closed at the start."""

    @property
    def grounded(self) -> bool:
        """True if some set may take momentum to the ground."""

    def rows(self, closed: tuple[bool, ...]) -> Rows:
        """Return the rows of the sets that are closed."""

    def extra(self, problem: Problem) -> dict[str, tuple[int, ...]]:
        """Return the names of further series of the result, and the shapes of their entries."""

    def series(self, problem: Problem, t: Array, q: Array, v: Array, a: Array, tau: Array) -> tuple[Array, ...]:
        """Return these series at states (k, nq), (k, nv)."""


@final
class Constraints:
    """Rows, of which `rank` count. If `strong`, these are the strong ones near a singular position."""

    def __init__(self, rows: Rows, rank: int, strong: bool = False) -> None:
        self.rows, self.robot, self.rank, self.strong = rows, rows.robot, rank, strong
        self.nc, self.timed, self.passive = rows.nc, rows.timed, rows.passive
        self.residual, self.rate, self.bias, self.jacobian = rows.residual, rows.rate, rows.bias, rows.jacobian
        self.narrow, self.sigma, self.listed = rows.narrow, rows.sigma, rows.listed
        self._at_once = strong and not rows.ranked
        self.sparing = False
        """True if single states are solved by pieces, so that nothing is compiled besides the steps."""
        self._no_force, self._no_change = np.zeros(rows.robot.nv), np.zeros(rows.nc)

    @classmethod
    def near(cls, rows: Rows, q: Array, t: float = 0.0) -> Constraints:
        """Return constraints of the rank that they have at closed positions near q."""
        return cls(rows, cls(rows, 0)._usual_rank(q, t))

    def with_rank(self, rank: int) -> Constraints:
        """Return the same rows, of which this many count."""
        return Constraints(self.rows, rank, True)

    # ---- motion

    def acceleration(self, q: Array, v: Array, force: Array, t: Any, method: str | None, pull: Any) -> Array:
        """Return accelerations by joint forces; `pull` is (alpha, beta) of Baumgarte's stabilisation, or None."""
        spare = self._at_once or (self.sparing and q.ndim == 1 and pull is None)
        found = None if spare else self.rows.acceleration(q, v, force, t, method, pull, self.rank)
        if found is None:
            return self._by_pieces(q, force - self.robot.bias_force(q, v), -self.bias(q, v, t), t)
        return found

    def solve(self, q: Array, x: Array | None, c: Array | None, t: Any, positions: bool = False) -> Array:
        """Solve M a = x + K^T lambda, K a = c, (..., nv): responses to impulses, and smallest corrections."""
        x = self._no_force if x is None else x
        if not self.nc:
            return self.robot.mass_matrix_solve(q, x)
        c = self._no_change if c is None else c
        spare = self._at_once or (self.sparing and q.ndim == x.ndim == c.ndim == 1)
        found = None if spare else self.rows.solve(q, x, c, t, self.rank, positions)
        return self._by_pieces(q, x, c, t) if found is None else found

    def _by_pieces(self, q: Array, x: Array, c: Array, t: Any) -> Array:
        """Solve with all rows at once, of which the strongest count."""
        K = self.jacobian(q, t)
        batch = np.broadcast_shapes(q.shape[:-1], x.shape[:-1], c.shape[:-1])
        n = int(np.prod(batch))
        ask = asking(self.robot)
        E = Equations(ask, flat(q, batch, n), flat(x, batch, n), flat(K, batch, n, 2), flat(c, batch, n), batch)
        rank = self.rank if self.rank < self.nc else None
        if usual_method(self.robot) == "multipliers":
            a = reduced.solve(E, TOLERANCE, rank).a
        else:
            a = solved(E, null_space.solve, TOLERANCE, rank).a
        return a.reshape(*batch, self.robot.nv)

    # ---- projection

    def closed(self, q: Array, t: Any) -> tuple[Array, Array]:
        """Close positions (n, nq) at times t (n,); return them, and by how much each is still open."""
        q = np.array(q)
        t = np.broadcast_to(np.asarray(t, float), (len(q),))
        off = _largest(self.residual(q, t))
        todo = np.flatnonzero(off > CLOSED)
        for _ in range(ROUNDS):
            if not todo.size:
                break
            x = self.solve(q[todo], None, -self.residual(q[todo], t[todo]), t[todo], True)
            new = self.robot.integrate(q[todo], x)
            now = _largest(self.residual(new, t[todo]))
            better = now < off[todo]
            q[todo[better]], off[todo[better]] = new[better], now[better]
            todo = todo[better & (now > CLOSED)]
        return q, off

    def kept(self, q: Array, v: Array, t: Any) -> Array:
        """Return the velocities next to v that keep the rows, of the shape of v."""
        return np.asarray(v + self.solve(q, None, -self.rate(q, v, t), t)) if self.nc else v

    def one(self, q: Array, t: float, hold: Holding | None = None) -> tuple[Array, float]:
        """Close one position; return it, and by how much it is still open. `hold` are stops at which joints stay."""
        r = self.residual(q, t)
        off = max(float(np.abs(r).max(initial=0.0)), hold.off(q) if hold is not None else 0.0)
        for _ in range(ROUNDS):
            if off <= CLOSED:
                break
            x = self.solve(q, None, -r, t, True)
            if hold is not None:
                x = hold.position(q, x)
            new = self.robot.integrate(q, x)
            r = self.residual(new, t)
            now = max(float(np.abs(r).max()), hold.off(new) if hold is not None else 0.0)
            if not now < off:
                break
            q, off = new, now
        return q, off

    def worst(self, rows: Array) -> tuple[str, float]:
        """Return the set of rows with the largest of these numbers (..., nc), and that number."""
        return worst_of(self.rows.names, rows)

    # ---- singular positions

    def smallest(self, q: Array, t: Any) -> Array:
        """Return the smallest singular value of K that usually counts, (n,), or a positive bound below it."""
        if not self.rank:
            return np.ones(len(q))
        bound = self.rows.lower_bound(q, self.rank)
        return np.asarray(self.sigma(q, t)[:, self.rank - 1]) if bound is None else bound

    def margin(self, q: Array, t: Any, least: float) -> Array:
        """Return how far `smallest` is above a number, (n,); of positions far from it something smaller."""
        if self.rank < self.nc or not self.rank or len(q) == 1:
            return self.smallest(q, t) - least
        K = self.narrow(q, t)
        try:
            inverse = np.linalg.inv(K @ np.swapaxes(K, -1, -2))
        except np.linalg.LinAlgError:
            return self.smallest(q, t) - least
        total = np.einsum("nii->n", inverse)  # of all 1 / sigma^2
        bound = np.where(total > 0.0, total, np.inf) ** -0.5
        near = np.flatnonzero(~(bound > 2.0 * least))
        if near.size:
            bound[near] = self.smallest(q[near], np.broadcast_to(t, (len(q),))[near])
        return np.asarray(bound - least)

    def neighbours(self, q: Array, t: float) -> Array:
        """Return closed positions (n, nq) next to one."""
        of = Nearby(
            self.robot,
            lambda x: self.jacobian(x, t),
            lambda x: self.residual(x, t),
            lambda x, v: self.bias(x, v, t),
        )
        return neighbours(of, q, null_motions(self.jacobian(q[None], t))[1][0])

    def is_locked(self, q: Array, t: float) -> bool:
        """Tell whether no motion leads away from a singular position."""
        few = self.robot.nv - int(decide(self.narrow(q[None], t)).rank[0]) <= MOST
        return few and not self.timed and not len(self.neighbours(q, t))

    def _usual_rank(self, q: Array, t: float) -> int:
        """Return how many rows are independent at closed positions near q, the most of all that are tried.

        That is the rank at q, unless q is singular.
        """
        if not self.nc:
            return 0
        most = int(decide(self.narrow(q[None], t)).rank[0])
        if most == min(self.nc, self.robot.nv) or self.robot.nv > _TOO_MANY:
            return most
        near = self.neighbours(q, t)
        if len(near):
            return max(most, int(decide(self.narrow(near, t)).rank.max()))
        _, (N,) = null_motions(self.jacobian(q[None], t))
        if not N.shape[1]:
            return most
        beside = self.robot.integrate(q, 1e-3 * N.T)  # it is locked: off the closed position itself, all count
        return max(most, int(decide(self.narrow(beside, t)).rank.max()))


def listed(what: str, names: list[str]) -> str:
    """Return names of things in words."""
    quoted = [repr(x) for x in names]
    if len(quoted) == 1:
        return f"{what} {quoted[0]}"
    return f"{what}s {', '.join(quoted[:-1])} and {quoted[-1]}"


def _largest(rows: Array) -> Array:
    return np.asarray(np.abs(rows).max(axis=-1, initial=0.0))
