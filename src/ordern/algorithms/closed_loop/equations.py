"""The equations of motion of a robot with loops, as matrices: M a = f + K^T lambda,  K a = c, for many states.

f are the joint forces less the bias forces of velocities, gravity and external forces. c is -k less a correction that
closes loops which are open (Featherstone and Orin 2000, eqs. (18)-(20), where K is L). A solver is a function of (M, f,
K, c) with independent rows K, which `solved` chooses by the decision of `rank`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from ...records import dataclass
from ..composed import Array, Ask
from ..registry import algorithm
from .rank import TOLERANCE, decide, groups

__all__ = ["Ask", "Equations", "Solution", "dense_method", "equations", "flat", "packed", "solved"]

Solver = Callable[[Array, Array, Array, Array], tuple[Array, Array]]
"""A function of M (n, nv, nv), f (n, nv), K (n, r, nv), c (n, r) that returns accelerations and multipliers."""


@dataclass(frozen=True, slots=True)
class Equations:
    """For n states: q (n, nq), f (n, nv), K (n, nc, nv), c (n, nc); and the shape of the batch that they are."""

    ask: Ask
    q: Array
    f: Array
    K: Array
    c: Array
    batch: tuple[int, ...]

    def mass(self) -> Array:
        """Return M, of shape (n, nv, nv)."""
        return self.ask("mass_matrix", self.q)

    def part(self, which: Array) -> Equations:
        """Return the equations of some of the states."""
        return Equations(self.ask, self.q[which], self.f[which], self.K[which], self.c[which], (len(self.q[which]),))


@dataclass(frozen=True, slots=True)
class Solution:
    """Accelerations (n, nv), multipliers (n, nc), and how many constraints are independent, (n,)."""

    a: Array
    multipliers: Array
    rank: Array

    def put(self, which: Array, other: Solution) -> None:
        """Replace some states."""
        self.a[which], self.multipliers[which], self.rank[which] = other.a, other.multipliers, other.rank


def equations(
    ask: Ask,
    q: Array,
    v: Array,
    tau: Array,
    external: Array | None = None,
    base_velocity: Array | None = None,
    base_acceleration: Array | None = None,
    t: Array | None = None,
    correction: Array | None = None,
) -> Equations:
    """Return the equations of motion of a robot at some states; arguments broadcast."""
    q, v, tau = (np.asarray(x, np.float64) for x in (q, v, tau))
    more = {"external": external, "base_velocity": base_velocity, "base_acceleration": base_acceleration}
    f = tau - ask("bias_force", q, v, **more)
    c = -ask("loop_bias", q, v, t=t)
    if correction is not None:
        c = c - correction
    batch = np.broadcast_shapes(f.shape[:-1], c.shape[:-1])
    n = math.prod(batch)
    K = ask("loop_jacobian", q, t=t)
    return Equations(ask, flat(q, batch, n), flat(f, batch, n), flat(K, batch, n, 2), flat(c, batch, n), batch)


def flat(x: Array, batch: tuple[int, ...], n: int, core: int = 1) -> Array:
    """Return an array with one leading dimension for all states of a batch."""
    inner = x.shape[x.ndim - core :]
    return np.broadcast_to(x, (*batch, *inner)).reshape(n, *inner)


def solved(E: Equations, solver: Solver, tolerance: float = TOLERANCE, rank: int | None = None) -> Solution:
    """Return accelerations and the shortest multipliers by a solver, which gets independent rows.

    Where all rows are independent they are K itself; where they are not, orthonormal rows that forbid the same.
    """
    n, nc, nv = E.K.shape
    M, found = E.mass(), decide(E.K, tolerance, rank)
    out = Solution(np.full((n, nv), np.nan), np.full((n, nc), np.nan), found.rank)
    for r, which in groups(found.rank):
        if r == nc:
            out.a[which], out.multipliers[which] = solver(M[which], E.f[which], E.K[which], E.c[which])
            continue
        e = found.sides(which, r, E.c[which])
        out.a[which], mu = solver(M[which], E.f[which], found.rows(which, r), e)
        out.multipliers[which] = found.multipliers(which, r, mu)
    return out


def dense_method(name: str, *, published: str, order: str) -> Callable[[Solver], Solver]:
    """Declare a solver of the dense equations as a method of closed dynamics; `published` has its equations."""

    def declare(solver: Solver) -> Solver:
        @wraps(equations)
        def method(*given: Any, **named: Any) -> Array:
            E = equations(*given, **named)
            return packed(E, solved(E, solver))

        paper = "Featherstone-Orin 2000"
        algorithm("closed_dynamics", name, paper=paper, equations=published, order=order, pieces=True)(method)
        return solver

    return declare


def packed(E: Equations, s: Solution) -> Array:
    """Pack a solution as the result of "closed_dynamics": a, lambda, and 1 if all rows are independent, else 0."""
    independent = (s.rank == E.K.shape[1]).astype(s.a.dtype)[:, None]
    joined = np.concatenate([s.a, s.multipliers, independent], axis=-1)
    return joined.reshape(*E.batch, joined.shape[-1])
