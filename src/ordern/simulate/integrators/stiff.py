"""The equations of motion for implicit methods: rates of several states at once, and their Jacobian."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...arguments import Array
from ...records import dataclass
from ..contacts.compliant import Compliant

if TYPE_CHECKING:
    from ..run.problem import Problem

__all__ = ["Eliminated", "Field", "Jacobian"]

Numbers = NDArray[Any]

_DIFFERENCE = 1.5e-8
"""The square root of the rounding error: the displacement for differences, in radians or metres, or relative."""


@dataclass(frozen=True, slots=True)
class Eliminated:
    """(c - J)^-1, with positions eliminated; see `Jacobian.eliminate`."""

    K: Numbers
    coupling: Numbers
    """J_vq K."""
    J_qv: Array
    inverse: Numbers

    def solve(self, r: Numbers) -> Numbers:
        """Return the solution of (c - J) x = r."""
        nq = len(self.K)
        v = self.inverse @ (r[nq:] + self.coupling @ r[:nq])
        return np.concatenate([self.K @ (r[:nq] + self.J_qv @ v), v])


@dataclass(frozen=True, slots=True)
class Jacobian:
    """The derivatives of the rates of y = (q, v) by y."""

    matrix: Array
    nq: int

    def eliminate(self, c: complex) -> Eliminated:
        """Return (c - J)^-1 by blocks, S = c - J_vv - J_vq K J_qv with K = (c - J_qq)^-1; K is 1/c for flat joints."""
        n, J = self.nq, self.matrix
        qq = J[:n, :n]
        K = np.linalg.inv(c * np.eye(n) - qq) if qq.any() else np.eye(n) / c
        coupling = J[n:, :n] @ K
        S = c * np.eye(len(J) - n) - J[n:, n:] - coupling @ J[:n, n:]
        return Eliminated(K, coupling, J[:n, n:], np.linalg.inv(S))


class Field:
    """The rates of y = (q, v), for several states in one call of the compiled functions."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def rates(self, t: Array, y: Array) -> Array:
        """Return dy/dt of states (k, nq + nv) at times (k,)."""
        problem = self.problem
        q, v = self._split(y)
        problem.evaluations += len(y)
        force = self._applied(t, q, v)
        if problem.has_passive:
            force = force + problem.passive_force(q, v)
        return np.concatenate([problem.position_rate(q, v), problem.dynamics(q, v, force, t)], axis=1)

    def works(self, t: Array, y: Array) -> Array:
        """Return the power of the applied forces and the loss to passive forces, of states at times: (2, k)."""
        problem = self.problem
        q, v = self._split(y)
        force, passive = self._applied(t, q, v), problem.passive_force(q, v)
        applied = np.einsum("ki,ki->k", force, v)
        if problem.timed:
            a = problem.dynamics(q, v, force + passive, t)
            applied = applied + problem.loop_power(q, v, a, force + passive)
        return np.stack([applied, -np.einsum("ki,ki->k", passive, v)])

    def _split(self, y: Array) -> tuple[Array, Array]:
        nq = self.problem.nq
        return np.ascontiguousarray(y[:, :nq]), np.ascontiguousarray(y[:, nq:])

    def _applied(self, t: Array, q: Array, v: Array) -> Array:
        """Return the joint forces of drives and external forces; functions are called state by state."""
        problem = self.problem
        tau, external = problem.tau, problem.external
        if external.varies or tau.kind == "function":
            return np.array([problem.applied_force(float(t[k]), q[k], v[k]) for k in range(len(q))]).reshape(v.shape)
        times = t if tau.kind == "table" else t[:1]
        force = np.array([tau(float(s), q[0], v[0]) for s in times])
        force = np.broadcast_to(force, v.shape)
        return force if external.absent else force + external.joint_force(float(t[0]), q, v)

    def jacobian(self, t: float, y: Array, f: Array) -> Jacobian:
        """Return the Jacobian: with compliant contacts by compiled derivatives, else by differences in one batch."""
        if self._is_smooth():
            return self._derived(y, f)
        moved = y + np.diag(_DIFFERENCE * np.maximum(1.0, np.abs(y)))
        apart = np.diag(moved) - y
        found = self.rates(np.full(len(y), t), moved)
        return Jacobian(((found - f) / apart[:, None]).T.copy(), self.problem.nq)

    def _is_smooth(self) -> bool:
        """Tell whether all forces have compiled derivatives, and contacts are stiff enough to need them."""
        p = self.problem
        known = p.tau.kind in ("none", "constant", "table", "sampled") and p.external.absent
        plain = not p.constrained and not p.held and p.robot.variation is None
        return known and plain and p.touching is not None and p.touching.model == "compliant"

    def _derived(self, y: Array, f: Array) -> Jacobian:
        """Return the Jacobian from derivatives of the texts of dynamics, of passive forces and of contacts."""
        problem, n = self.problem, self.problem.nq
        robot, q, v, a = problem.robot, y[:n], y[n:], f[n:]
        unit = np.eye(len(y))
        dq, dv = unit[:, :n].copy(), unit[:, n:].copy()
        assert isinstance(problem.touching, Compliant)
        force = problem.touching.jacobian(q, v).T
        if robot.passive_question:
            force = force + robot.kernel(f"push {robot.passive_question} by q v")(q, v, problem.smoothing, dq, dv)
        moved = robot.kernel("push forward_dynamics by q v")(q, v, a, dq, dv) + robot.mass_matrix_solve(q, force)
        rates = robot.kernel("push position_rate by q v")(q, v, dq, dv)
        return Jacobian(np.concatenate([rates, moved], axis=1).T.copy(), n)
