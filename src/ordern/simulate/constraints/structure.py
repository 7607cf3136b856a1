"""A robot with one set of closed loops, as a simulation needs it: accelerations, responses, and the way back.

Positions that a step has left a little open are closed by Newton's method in the metric of the mass matrix,

    K x = -r,    x^T M x least,    q <- integrate(q, x),

and velocities go to the nearest ones in kinetic energy that keep the loops closed, K v = -dr/dt. Stages of a step are
off the manifold by far more than its end. There, constraints that are redundant seem not to be, and would lock the
mechanism. So the rank is that of closed positions near the start, and is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...algorithms.closed_loop import null_space, reduced
from ...algorithms.closed_loop.equations import Equations, flat, solved
from ...algorithms.closed_loop.rank import TOLERANCE, decide
from ...loops.dynamics import closed_dynamics, compiles, correction, usual_method
from ...loops.kernels import asking, worst_of
from ...loops.mobility import null_motions
from ...loops.nearby import MOST, Constraints, neighbours

if TYPE_CHECKING:
    from ...robot import Robot
    from .stop_projection import Holding

__all__ = ["CLOSED", "Structure", "listed", "usual_rank"]

Array = NDArray[Any]

CLOSED = 1e-12
"""Residuals up to this, in rad and m, are left as they are."""
_ROUNDS = 12
_TOO_MANY = 3000
"""Velocities of a robot whose start is taken as it is: along all its motions neighbours would take too long."""
_DROP = 1e-6
"""Of robots with redundant constraints: relative pivots below this are those of redundant ones, off the manifold."""
_CLEAR = 1e-4
"""If all others are above this, nothing was mistaken."""


class Structure:
    """A robot whose active loops are closed; with none of them it is a tree."""

    def __init__(self, robot: Robot, rank: int) -> None:
        self.robot, self.rank, self.nc = robot, rank, robot.nc
        self.redundant = rank < robot.nc
        self.rows: Mapping[str, slice] = robot.loop_rows
        """Which constraints each loop has."""
        self.timed = any(x.type.timed for x in robot.loop_table.loops)
        """Whether time alone moves some loop."""
        self.passive = any(x.is_passive for x in robot.loops if x.active)
        self._ask = asking(robot)
        self._compiled = bool(robot.nc) and usual_method(robot) == "multipliers" and compiles(robot)
        self._no_force = np.zeros(robot.nv)
        self._no_change = np.zeros(robot.nc)

    def with_rank(self, rank: int) -> Structure:
        """The same loops, of whose constraints this many count."""
        return Structure(self.robot, rank)

    def time(self, t: Any) -> Any:
        """The time, if it matters."""
        return t if self.timed else None

    # ---- motion

    def acceleration(self, q: Array, v: Array, force: Array, t: Any, method: str | None, pull: Any) -> Array:
        """Accelerations by joint forces; `pull` is (alpha, beta) of Baumgarte's stabilisation, or None."""
        robot, t = self.robot, self.time(t)
        if not self.nc or (not self.redundant and pull is None):
            return robot.forward_dynamics(q, v, force, method=method, t=t, check=False)
        if not self.redundant:
            return closed_dynamics(robot, q, v, force, method=method, t=t, stabilise=pull).a
        if self._compiled and method in (None, "multipliers"):
            more = {"t": t, "correction": correction(robot, q, v, t, pull)}
            x = self._dropping("closed_dynamics", (q, v, force), more)
            if x is not None:
                return x
        return closed_dynamics(robot, q, v, force, method=method, t=t, stabilise=pull, rank=self.rank, check=False).a

    def _dropping(self, question: str, arguments: tuple[Array, ...], more: dict[str, Any]) -> Array | None:
        """By compiled code that leaves redundant rows out; None unless it is clear which ones these are."""
        given = {name: y for name, y in {**more, "drop": _DROP}.items() if y is not None}
        x = self.robot.kernel(question, "multipliers", present=tuple(given))(*arguments, *given.values())
        nv = self.robot.nv
        left_out = (x[..., nv:-1] == 0.0).sum(axis=-1)
        # stages of a step are open by more than states are: how far is for the integrator to say
        if np.all(np.abs(x[..., -1]) > _CLEAR) and np.all(left_out == self.nc - self.rank):
            found: Array = x[..., :nv]
            return found
        return None

    def solve(self, q: Array, x: Array | None, c: Array | None, t: Any) -> Array:
        """M a = x + K^T lambda, K a = c, of shape (..., nv): responses to impulses, and smallest corrections."""
        robot, t = self.robot, self.time(t)
        x = self._no_force if x is None else x
        if not self.nc:
            return robot.mass_matrix_solve(q, x)
        c = self._no_change if c is None else c
        if self._compiled:
            if self.redundant:
                found = self._dropping("closed_solve", (q, x, c), {"t": t})
                if found is not None:
                    return found
            else:
                kernel = robot.kernel("closed_solve", present=() if t is None else ("t",))
                answer = kernel(q, x, c) if t is None else kernel(q, x, c, t)
                if np.all(answer[..., -1] > reduced.SMALLEST_PIVOT):
                    plain: Array = answer[..., : robot.nv]
                    return plain
        return self._by_pieces(q, x, c, t)

    def _by_pieces(self, q: Array, x: Array, c: Array, t: Any) -> Array:
        K = self.jacobian(q, t)
        batch = np.broadcast_shapes(q.shape[:-1], x.shape[:-1], c.shape[:-1])
        n = int(np.prod(batch))
        E = Equations(self._ask, flat(q, batch, n), flat(x, batch, n), flat(K, batch, n, 2), flat(c, batch, n), batch)
        rank = self.rank if self.redundant else None
        if usual_method(self.robot) == "multipliers":
            a = reduced.solve(E, TOLERANCE, rank).a
        else:
            a = solved(E, null_space.solve, TOLERANCE, rank).a
        return a.reshape(*batch, self.robot.nv)

    # ---- the way back

    def residual(self, q: Array, t: Any) -> Array:
        """By how much loops are open, (..., nc)."""
        return self.robot.loop_residual(q, t=self.time(t))

    def rate(self, q: Array, v: Array, t: Any) -> Array:
        """How fast they open, (..., nc)."""
        return self.robot.loop_rate(q, v, t=self.time(t))

    def correction(self, q: Array, r: Array, t: Any) -> Array:
        """The smallest change of positions, (..., nv), that takes residuals back."""
        return self.solve(q, None, -r, t)

    def closed(self, q: Array, t: Any) -> tuple[Array, Array]:
        """Positions (n, nq) at times t (n,), closed; and by how much each is still open."""
        q = np.array(q)
        t = np.broadcast_to(np.asarray(t, float), (len(q),))
        off = _largest(self.residual(q, t))
        todo = np.flatnonzero(off > CLOSED)
        for _ in range(_ROUNDS):
            if not todo.size:
                break
            x = self.correction(q[todo], self.residual(q[todo], t[todo]), t[todo])
            new = self.robot.integrate(q[todo], x)
            now = _largest(self.residual(new, t[todo]))
            better = now < off[todo]
            q[todo[better]], off[todo[better]] = new[better], now[better]
            todo = todo[better & (now > CLOSED)]
        return q, off

    def kept(self, q: Array, v: Array, t: Any) -> Array:
        """Velocities (n, nv) that keep loops closed, next to v."""
        return np.asarray(v + self.solve(q, None, -self.rate(q, v, t), t)) if self.nc else v

    def one(self, q: Array, t: float, hold: Holding | None = None) -> tuple[Array, float]:
        """One position, closed, and by how much it is still open; `hold` are stops at which joints are to be."""
        r = self.residual(q, t)
        off = max(float(np.abs(r).max(initial=0.0)), hold.off(q) if hold is not None else 0.0)
        for _ in range(_ROUNDS):
            if off <= CLOSED:
                break
            x = self.correction(q, r, t)
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
        """The loop with the largest of these numbers (..., nc), and that number."""
        return worst_of(self.rows, rows)

    def listed(self, names: list[str]) -> str:
        """Loops in words."""
        return listed("loop", names)

    # ---- singular positions

    def jacobian(self, q: Array, t: Any) -> Array:
        """K: (..., nc, nv), with which K v are the rates of residuals by velocities."""
        return self._ask("loop_jacobian", q, t=self.time(t))

    def narrow(self, q: Array, t: Any) -> Array:
        """A matrix (..., nc, m) with K's singular values and combinations of rows, perhaps of fewer columns."""
        return self.jacobian(q, t)

    def sigma(self, q: Array, t: Any) -> Array:
        """The singular values of K, (..., m), the largest first."""
        return np.asarray(np.linalg.svd(self.narrow(q, t), compute_uv=False))

    def smallest(self, q: Array, t: Any) -> Array:
        """(n,): of the singular values of K that usually count, the smallest."""
        return np.asarray(self.sigma(q, t)[:, self.rank - 1]) if self.rank else np.ones(len(q))

    def size(self, q: Array, t: Any) -> float:
        """The largest singular value of K at one position."""
        return float(self.sigma(q, t)[0])

    def bias(self, q: Array, v: Array, t: Any) -> Array:
        """How fast the rates of residuals change while velocities do not, (..., nc)."""
        return self._ask("loop_bias", q, v, t=self.time(t))

    def neighbours(self, q: Array, t: float) -> Array:
        """Closed positions (n, nq) next to one."""
        of = Constraints(
            self.robot,
            lambda x: self.jacobian(x, t),
            lambda x: self.residual(x, t),
            lambda x, v: self.bias(x, v, t),
        )
        return neighbours(of, q, null_motions(self.jacobian(q[None], t))[1][0])

    def is_locked(self, q: Array, t: float) -> bool:
        """Whether no motion leads away from a singular position."""
        few = self.robot.nv - int(decide(self.narrow(q[None], t)).rank[0]) <= MOST
        return few and not self.timed and not len(self.neighbours(q, t))


def listed(what: str, names: list[str]) -> str:
    """Names of things in words."""
    quoted = [repr(x) for x in names]
    if len(quoted) == 1:
        return f"{what} {quoted[0]}"
    return f"{what}s {', '.join(quoted[:-1])} and {quoted[-1]}"


def _largest(rows: Array) -> Array:
    return np.asarray(np.abs(rows).max(axis=-1, initial=0.0))


def usual_rank(now: Structure, q: Array, t: float = 0.0) -> int:
    """How many constraints are independent at closed positions near q, the most of all that are tried.

    That is the rank at q, unless q is singular.
    """
    if not now.nc:
        return 0
    most = int(decide(now.narrow(q[None], t)).rank[0])
    if most == min(now.nc, now.robot.nv) or now.robot.nv > _TOO_MANY:
        return most
    near = now.neighbours(q, t)
    if len(near):
        return max(most, int(decide(now.narrow(near, t)).rank.max()))
    _, (N,) = null_motions(now.jacobian(q[None], t))
    if not N.shape[1]:
        return most
    beside = now.robot.integrate(q, 1e-3 * N.T)  # it is locked: off the closed position itself, all count
    return max(most, int(decide(now.narrow(beside, t)).rank.max()))
