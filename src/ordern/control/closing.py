"""Motions that keep loops closed: some joints lead, and the loops determine how the others, F, follow.

A robot with loops has fewer freedoms than its tree has velocities. As many velocities are prescribed as it has
freedoms: the velocities of the leading joints L. The positions of the others come from Newton's method, which starts
from positions nearby. With K_F the columns of the loops' Jacobian K that belong to the followers,

    r(q, t) = 0,    K_F v_F = -(K_L v_L + dr/dt),    K_F a_F = -(K_L a_L + k(q, v)).

Joints with motors lead where possible. Where loops depend on each other, K_F has more rows than columns, and a
least-squares solution is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import AnyArray, Array
from ..errors import ArgumentError, LoopError
from ..joints.limitable import own_rates
from ..loops.kernels import asking, worst_loop
from ..loops.mobility import null_motions
from .trajectory import Motion

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["Closing", "closings", "loop_functions", "require_kept"]

_ROUNDS = 12
_CLOSED, _ENOUGH = 1e-13, 1e-10
"""Residuals, in rad and m, at which Newton's method stops, and below which a loop counts as closed."""
_OPEN = 1e-6
"""The largest part of its terms by which a given velocity or acceleration may open loops."""
_LEADS = 1e-3
"""A joint leads if it moves by at least this in a motion of length one that the earlier leaders do not determine."""
_SINGULAR = 1e-7
"""A position is singular if the smallest singular value of K_F is below this part of the largest."""


def loop_functions(robot: Robot) -> Callable[..., Array]:
    """Return a function that evaluates the loop equations by name; it passes the time on only if loops depend on it."""
    evaluate = asking(robot)
    if robot.loop_table.timed:
        return evaluate

    def without_time(question: str, *arguments: Any, t: Any = None) -> Array:
        return evaluate(question, *arguments)

    return without_time


class Closing:
    """Solves for positions, velocities and accelerations of the followers from the motion of the leaders.

    `leads` (nv,) flags the velocities that lead.
    """

    def __init__(self, robot: Robot, leads: AnyArray) -> None:
        self.robot, self.leads, self.follows = robot, leads, np.flatnonzero(~leads)
        self.leads_q = np.zeros(robot.nq, bool)
        for c in robot.independent:
            own = [rate >= 0 and leads[c.v_start + rate] for rate in own_rates(c.type)]
            self.leads_q[c.q] = True if c.nv and leads[c.v].all() else own
        self.evaluate = loop_functions(robot)

    def position(self, guess: Array, wanted: Array, t: Array) -> tuple[Array, Array]:
        """Return closed positions (n, nq) near a guess, with the leaders as `wanted`, and the residuals left (n,)."""
        q = np.where(self.leads_q, wanted, guess)
        r = self.evaluate("loop_residual", q, t=t)
        off, todo = _largest(r), np.arange(len(q))
        for _ in range(_ROUNDS):
            todo = todo[off[todo] > _CLOSED]
            if not todo.size:
                break
            K = self.evaluate("loop_jacobian", q[todo], t=t[todo])
            x = np.zeros((len(todo), self.robot.nv))
            x[:, self.follows] = -self._solved(K, r[todo])
            new = np.where(self.leads_q, q[todo], self.robot.integrate(q[todo], x))
            left = self.evaluate("loop_residual", new, t=t[todo])
            better = (now := _largest(left)) < off[todo]  # at the end rounding takes turns
            here = todo[better]
            q[here], r[here], off[here] = new[better], left[better], now[better]
            todo = here
        return q, off

    def rates(self, q: Array, v: Array, a: Array, t: Array) -> tuple[Array, Array]:
        """Return velocities and accelerations (n, nv) that keep loops closed; the leaders move as given."""
        K = self.evaluate("loop_jacobian", q, t=t)
        v, a = np.where(self.leads, v, 0.0), np.where(self.leads, a, 0.0)
        v[:, self.follows] = -self._solved(K, self.evaluate("loop_rate", q, v, t=t))
        k = self.evaluate("loop_bias", q, v, t=t)
        a[:, self.follows] = -self._solved(K, (K @ a[..., None])[..., 0] + k)
        return v, a

    def motion(self, guess: Array, wanted: Motion, t: Array) -> Motion:
        """Return the motion near a guess (n, nq) in which the leaders move as `wanted`."""
        q, off = self.position(guess, wanted.q, t)
        if off.size and not off.max() <= _ENOUGH:
            k = int(np.argmax(off))
            raise LoopError(self.complaint(q[k], float(t[k])))
        return Motion(q, *self.rates(q, wanted.v, wanted.a, t))

    def regular(self, q: Array, t: Array) -> Array:
        """Return (n,) whether the leaders determine the motion of the followers in these positions."""
        if not self.follows.size:
            return np.ones(len(q), bool)
        s = np.linalg.svd(self.evaluate("loop_jacobian", q, t=t)[..., self.follows], compute_uv=False)
        return np.asarray(s[:, self.follows.size - 1] > _SINGULAR * s[:, 0])

    def complaint(self, q: Array, t: float) -> str:
        """Return the message for a time at which loops cannot be closed."""
        name, off = worst_loop(self.robot, self.evaluate("loop_residual", q[None], t=np.array([t])))
        led = ", ".join(c.name for c in self.robot.independent if self.leads[c.v].any())
        if off <= _ENOUGH:
            return (
                f"at t = {t:.6g} s {self.robot.name!r} is in a singular position: the joints that lead "
                f"({led or 'none'}) do not determine how the others move; take another way, or lead by other joints "
                "(`robot.with_actuated`)"
            )
        return (
            f"at t = {t:.6g} s loop {name!r} of {self.robot.name!r} cannot be kept closed (it is open by {off:.3g} rad "
            f"or m) while {led or 'no joint'} leads: the mechanism ends there, or passes a singular position"
        )

    def _solved(self, K: Array, right: Array) -> Array:
        """Return K_F^+ right, (n, m)."""
        F = K[..., self.follows]
        if F.shape[1] == F.shape[2]:
            try:
                return np.asarray(np.linalg.solve(F, right[..., None])[..., 0])
            except np.linalg.LinAlgError:
                pass  # a singular position: the least-squares solution follows
        return np.asarray((np.linalg.pinv(F, rcond=1e-9) @ right[..., None])[..., 0])


def closings(robot: Robot, q: Array, t: Array, way: Array | None = None) -> Iterator[Closing]:
    """Yield choices of leaders that determine all motions in closed positions q (n, nq).

    Joints with motors come first; among them, the joints that move most in the motions that loops allow, or that have
    the longest `way` (nv,) to go.
    """
    for name, rows in robot.loop_rows.items():
        if not all(robot.loop_holonomic[rows]):
            raise ArgumentError(
                f"{name!r} of {robot.name!r} binds velocities only, as rolling does, so that positions do not define a "
                "trajectory: simulate the robot, or open the loop (`robot.with_loops`)"
            )
    rank, motions = null_motions(loop_functions(robot)("loop_jacobian", q, t=t))
    seen: set[bytes] = set()
    for weight in [np.ones(robot.nv)] if way is None else [np.ones(robot.nv), way]:
        for k in np.flatnonzero(rank == rank.max()):
            leads = _leaders(robot, motions[k], weight)
            if leads is not None and leads.tobytes() not in seen:
                seen.add(leads.tobytes())
                yield Closing(robot, leads)


def _leaders(robot: Robot, N: Array, weight: Array) -> Array | None:
    """Return (nv,) which velocities determine all motions N (nv, f); None if there are no such joints."""
    leads = np.zeros(robot.nv, bool)
    Q = np.zeros((0, N.shape[1]))  # orthonormal rows: the motions that leaders determine
    driven: list[slice] = []
    free: list[slice] = []
    whole: list[slice] = []
    for c in robot.independent:
        if c.type.nq == c.type.nv and own_rates(c.type) == [*range(c.nv)]:
            own = driven if c.name in robot.actuated else free
            own += [slice(k, k + 1) for k in range(c.v_start, c.v.stop)]
        elif c.nv:
            whole.append(c.v)
    for left in (driven, free, whole):
        while left and len(Q) < N.shape[1]:
            rest = [N[at] - N[at] @ Q.T @ Q for at in left]
            size = [float(np.linalg.svd(x, compute_uv=False)[-1]) if len(x) <= x.shape[1] else 0.0 for x in rest]
            best = max(range(len(left)), key=lambda j: (size[j] > _LEADS, size[j] * weight[left[j]].max()))
            if not size[best] > _LEADS or len(Q) + len(rest[best]) > N.shape[1]:
                break
            leads[left[best]] = True
            Q = np.concatenate([Q, np.linalg.qr(rest[best].T)[0].T])
            del left[best]
    return leads if len(Q) == N.shape[1] else None


def require_kept(robot: Robot, what: str, q: Array, v: Array, a: Array | None, t: float) -> None:
    """Raise unless a velocity that was given, or an acceleration at it, keeps loops closed."""
    evaluate = loop_functions(robot)
    if a is None:
        opening, terms = evaluate("loop_rate", q, v, t=t), evaluate("loop_jacobian", q, t=t) * v
    else:
        terms = evaluate("loop_jacobian", q, t=t) * a
        opening = terms.sum(axis=-1) + evaluate("loop_bias", q, v, t=t)
    name, off = worst_loop(robot, opening)
    if off > _OPEN * (1.0 + np.abs(terms).max(initial=0.0)):
        hint = "project_velocity(q, v)" if a is None else "project_acceleration(q, v, a)"
        raise ArgumentError(
            f"{what} would open loop {name!r} of {robot.name!r} (by {off:.3g}); `robot.{hint}` keeps it closed"
        )


def _largest(rows: Array) -> Array:
    return np.asarray(np.abs(rows).max(axis=-1, initial=0.0))
