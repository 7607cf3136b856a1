"""Forward dynamics of closed loops by the proximal method of multipliers: stiff springs, then their forces as loads.

Constraints are first kept by springs of the stiffness rho, whose forces are then applied as loads lambda, so that the
springs have less to do, and so on:

    (M + rho K^T K) da = f + K^T (lambda + rho s) - M a,      s = c - K a
    a += da,    lambda += rho (s - K da)

Each step multiplies the residual of a constraint by 1 / (1 + rho sigma^2), with sigma the singular values of K M^-1/2;
rho is 1e8 / (the largest sigma^2), so that three to six steps reach rounding as long as the smallest sigma is above a
thousandth of the largest. As a is corrected by da, the rounding of large rho is corrected too. Redundant constraints
need no special treatment: from lambda = 0, the iteration reaches the multipliers of least norm. States that have not
converged after `MOST` steps (nearly dependent or contradictory constraints) are solved by `null-space`.

A constraint between the base and a body is, in M + rho K^T K, more inertia of that body (`held`); M a - f is inverse
dynamics, K^T lambda a load on bodies, K a the rate of residuals at the velocity a. So with such constraints only, a
step is of order n + n_c, and no matrix is formed. Constraints between two moving bodies and couplings, n_o in number,
cost n_o more solves and a system of n_o equations: order n n_o^2 + n_o^3.

Reference: S. Sathya and J. Carpentier, Constrained articulated body dynamics algorithms, 2024; R. Rockafellar,
Augmented Lagrangians and applications of the proximal point algorithm, 1976. Descends from Popov 1974 and
Vereshchagin 1989.
Differs: their loop constraints are eliminated inside of the recursion; here by a small dense system at its end.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

import numpy as np

from ...model import BASE, Frame, Loop
from ...records import dataclass
from ..composed import Array, Ask, model_of
from ..composed import steps as steps_of
from ..registry import algorithm
from . import held as _held  # noqa: F401  (declares its question)
from .equations import equations, flat, solved
from .null_space import solve as by_null_space

__all__ = ["MOST", "proximal", "solve"]

MOST = 30
"""Steps after which a state is given up."""
_STIFFNESS = 1e8
_DONE = 1e-13
"""A step that changes accelerations by less than this part of them is the last."""
_KEPT = 1e-9
"""The largest admissible residual of constraints, relative to their terms."""


@dataclass(frozen=True, slots=True)
class _System:
    """The quantities that a step needs, for n states."""

    ask: Ask
    q: Array
    v: Array
    tau: Array
    external: Array
    moved: dict[str, Array]
    t: Array | None
    ground: Array
    """Rows between the base and a body."""
    bodies: Array
    """The body of each of these rows."""
    loads: Array
    """(n, rows, 6): the wrench of a unit multiplier on the row's body, in the body's frame."""
    others: Array
    """All other rows."""
    K: Array
    """(n, others, nv)"""
    zero: Array
    """The rate of residuals that time alone causes."""

    def rows(self, x: Array) -> Array:
        """Return K x."""
        return self.ask("loop_rate", self.q, x, t=self.t) - self.zero

    def lacking(self, a: Array, y: Array) -> Array:
        """Return f + K^T y - M a."""
        n = len(self.q)
        loads = self.external.copy()
        np.add.at(loads, (np.arange(n)[:, None], self.bodies[None, :]), self.loads * y[:, self.ground, None])
        found = self.tau - self.ask("inverse_dynamics", self.q, self.v, a, external=loads, **self.moved)
        if self.others.size:
            found = found + (np.swapaxes(self.K, -1, -2) @ y[:, self.others, None])[..., 0]
        return np.asarray(found)

    def push(self, y: Array) -> Array:
        """Return K^T y."""
        nothing = np.zeros_like(y)
        return self.lacking(np.zeros_like(self.tau), y) - self.lacking(np.zeros_like(self.tau), nothing)


def solve(
    ask: Ask,
    q: Array,
    v: Array,
    tau: Array,
    external: Array | None = None,
    base_velocity: Array | None = None,
    base_acceleration: Array | None = None,
    t: Array | None = None,
    correction: Array | None = None,
) -> tuple[Array, Array, Array]:
    """Return accelerations (..., nv), multipliers (..., nc) and numbers of steps (...), -1 without convergence."""
    model = model_of(ask)
    given = {"external": external, "base_velocity": base_velocity, "base_acceleration": base_acceleration}
    given |= {"t": t, "correction": correction}
    arrays = {name: np.asarray(x, float) for name, x in {"q": q, "v": v, "tau": tau, **given}.items() if x is not None}
    core = {"external": 2, "t": 0}
    batch = np.broadcast_shapes(*(x.shape[: x.ndim - core.get(name, 1)] for name, x in arrays.items()))
    n = int(np.prod(batch))
    arrays = {name: flat(x, batch, n, core.get(name, 1)) for name, x in arrays.items()}
    system = _system(ask, **{name: x for name, x in arrays.items() if name != "correction"})
    a, lam, steps = _iterate(system, -ask("loop_bias", system.q, system.v, t=system.t) - arrays.get("correction", 0.0))
    lost = np.flatnonzero(steps < 0)
    if lost.size:
        s = solved(equations(ask, **{name: x[lost] for name, x in arrays.items()}), by_null_space)
        a[lost], lam[lost] = s.a, s.multipliers
    return a.reshape(*batch, model.nv), lam.reshape(*batch, model.nc), steps.reshape(batch)


def _system(
    ask: Ask, q: Array, v: Array, tau: Array, external: Array | None = None, t: Array | None = None, **moved: Array
) -> _System:
    n, model = len(q), model_of(ask)
    table = model.loop_table
    on_ground = [x for x in table.loops if BASE in (x.loop.parent, x.loop.child) and x.loop.parent != x.loop.child]
    if model.tables.couplings:
        on_ground = []
    ground = [r for x in on_ground for r in range(x.rows.start, x.rows.stop)]
    others = np.setdiff1d(np.arange(model.nc), ground)
    bodies = [max(x.loop.parent, x.loop.child) for x in on_ground for _ in range(x.rows.start, x.rows.stop)]
    W = ask("loop_wrenches", q, t=t)
    loads = np.concatenate([np.zeros((n, 0, 6)), *(_on_body(ask, q, x.loop, W[:, x.rows]) for x in on_ground)], axis=1)
    K = ask("loop_jacobian", q, t=t)[:, others] if others.size else np.zeros((n, 0, model.nv))
    forces = np.zeros((n, len(model.bodies), 6)) if external is None else external
    zero = ask("loop_rate", q, np.zeros_like(v), t=t)
    where = np.array(ground, int), np.array(bodies, int)
    return _System(ask, q, v, tau, forces, moved, t, *where, loads, others, K, zero)


def _on_body(ask: Ask, q: Array, loop: Loop, W: Array) -> Array:
    """Return wrenches W on a loop's child, in its frame there, as wrenches on the moving body, in the body's frame."""
    A, b = loop.child_placement.R, loop.child_placement.p
    sign = 1.0
    if loop.child == BASE:  # then the child's frame is placed in the world, and the opposite acts on the parent
        P = ask("pose", q, frame=Frame("", loop.parent))
        back = np.swapaxes(P[:, :3, :3], -1, -2)
        A, b, sign = back @ A, (back @ (b - P[:, :3, 3])[..., None])[..., 0][:, None, :], -1.0
    moment, force = W[..., :3] @ np.swapaxes(A, -1, -2), W[..., 3:] @ np.swapaxes(A, -1, -2)
    return np.asarray(sign * np.concatenate([moment + np.cross(b, force), force], axis=-1))


def _iterate(system: _System, c: Array) -> tuple[Array, Array, Array]:
    n, nv = system.tau.shape
    rho = _STIFFNESS / _largest(system, c.shape[1])[:, None]
    solver = _Stiff(system, rho)
    a, lam, steps = np.zeros((n, nv)), np.zeros_like(c), np.full(n, -1)
    s = c - system.rows(a)
    free = np.abs(system.ask("mass_matrix_solve", system.q, system.lacking(a, lam))).max(axis=-1, initial=0.0)
    for k in steps_of(system.ask, MOST):
        da = solver(system.lacking(a, lam + rho * s))
        moved = system.rows(da)
        a, lam = a + da, lam + rho * (s - moved)
        s = c - system.rows(a)
        size = np.maximum(np.abs(a).max(axis=-1, initial=0.0), free)  # of the terms that cancel, where little is left
        near = np.abs(da).max(axis=-1, initial=0.0) <= _DONE * size
        terms = np.abs(c).max(axis=-1, initial=0.0) + np.abs(moved).max(axis=-1, initial=0.0) + size
        done = near & (np.abs(s).max(axis=-1, initial=0.0) <= _KEPT * terms)
        steps[(steps < 0) & done] = k + 1
        if (steps > 0).all():
            break
    return a, lam, steps


def _largest(system: _System, nc: int) -> Array:
    """Estimate the largest eigenvalue of K M^-1 K^T, by three steps of the power method."""
    n = len(system.q)
    y = np.cos(np.arange(nc))[None] + np.zeros((n, 1))
    size = np.ones(n)
    for _ in range(3):
        y = system.rows(system.ask("mass_matrix_solve", system.q, system.push(y)))
        size = np.linalg.norm(y, axis=-1)
        y = y / np.where(size > 0.0, size, 1.0)[:, None]
    return np.where((size > 0.0) & np.isfinite(size), size, 1.0)


class _Stiff:
    """A solver of (M + rho K^T K) y = x."""

    def __init__(self, system: _System, rho: Array) -> None:
        self.system = system
        n, nb = len(system.q), system.external.shape[1]
        self.holds = np.zeros((6, n, nb, 6))
        for b in np.unique(system.bodies):
            rows = np.sqrt(rho)[..., None] * system.loads[:, system.bodies == b]
            if rows.shape[1] > 6:
                rows = np.asarray(np.linalg.qr(rows, mode="r"))
            self.holds[: rows.shape[1], :, b] = np.moveaxis(rows, 1, 0)
        self.held = bool(system.ground.size)
        if system.others.size:
            K, Kt = system.K, np.swapaxes(system.K, -1, -2)
            q = np.broadcast_to(system.q[:, None], (n, K.shape[1], system.q.shape[1]))
            self.Y = self._base(q, K, self.holds[:, :, None])
            self.L = self.Y @ Kt + np.eye(K.shape[1]) / rho[..., None]

    def _base(self, q: Array, x: Array, holds: Array) -> Array:
        ask = self.system.ask
        return ask("held_solve", q, x, *holds) if self.held else ask("mass_matrix_solve", q, x)

    def __call__(self, x: Array) -> Array:
        y = self._base(self.system.q, x, self.holds)
        if not self.system.others.size:
            return y
        z = np.linalg.solve(self.L, self.system.K @ y[..., None])
        return np.asarray(y - (np.swapaxes(self.Y, -1, -2) @ z)[..., 0])


@algorithm(
    "closed_dynamics",
    "proximal",
    paper="Sathya-Carpentier 2024, after Popov-Vereshchagin",
    equations="as in its module",
    order="n + n_c to the ground, n n_c^2 + n_c^3 for others",
    pieces=True,
)
@wraps(solve)
def proximal(*given: Any, **named: Any) -> Array:
    """Return accelerations and multipliers by the proximal method."""
    a, lam, steps = solve(*given, **named)
    return np.concatenate([a, lam, (steps > 0)[..., None].astype(float)], axis=-1)
