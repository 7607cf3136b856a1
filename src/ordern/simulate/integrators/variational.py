"""The structure-preserving method: a variational integrator in order n, with a fixed step.

A step from q with the momentum p, and joint forces F of drives and external forces, is the solution x of

    p + h/2 F(t, q, v) = departure(q, x),        q' = integrate(q, h x)
    p' = arrival(q, x) + h/2 F(t', q', v'),      v' = M(q')^-1 p'

with the momenta of `algorithms.discrete.momentum`: the discrete Euler-Lagrange equations with forces. The map of (q, p)
is symplectic, symmetric in time and of second order. It conserves the momenta that belong to symmetries to rounding,
and the energy stays within a band of width h^2 for exponentially many steps.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from ...arguments import Array
from ...errors import ArgumentError
from ...spatial import Freedoms
from ..run.endings import Ending
from ..run.lengths import LEAST_TIME
from .explicit import require_finite
from .integrator import Integrator, Settings, Step, StepFailedError

if TYPE_CHECKING:
    from ...joints import Joint
    from ...robot import Robot
    from ..run.problem import Problem

__all__ = ["Variational"]


_ROUNDING = (4.0 * 2.0**-52) ** 2
"""A squared correction that is only rounding, relative to the squares of x and of the effect of a unit acceleration."""
_STALLED = 1e-22
"""The same relative to the squares of x and of q / h, for corrections that no longer become smaller."""
_ROUNDS = 60
_NEWTON_ROUNDS = 30


class Variational(Integrator):
    """Discrete mechanics: for long runs whose energy and momentum must not drift."""

    saved = ("_t", "_t_start", "_count", "_q", "_v", "_p", "_force", "_a", "_a_before")

    def __init__(self, problem: Problem, settings: Settings) -> None:
        super().__init__(problem, settings)
        robot = problem.robot
        for c in robot.joints:
            if not _holonomic(c.type):
                raise ArgumentError(
                    f"simulate: the method 'variational' is for joints whose velocities are rates of their positions, "
                    f"but joint {c.name!r} ({type(c.type).__name__}) rolls: it has more positions than velocities; use "
                    "'dormand-prince-8' or another method"
                )
        self._improved = _fast(robot, "step_velocity")
        self._arrival = _fast(robot, "arrival_momentum")
        self._dynamics = _fast(robot, "forward_dynamics", problem.dynamics_method)
        self._force_needs_v = problem.tau.kind == "function" or problem.external.varies
        self._rounds = 0
        self.h = settings.longest

    def start(self, t: float, q: Array, v: Array, h: float | None = None, end: float = inf) -> None:
        """Begin with the momentum M v."""
        self._t = self._t_start = float(t)
        self._count = 0
        self._q, self._v = np.array(q, dtype=float), np.array(v, dtype=float)
        self._p = self.problem.robot.mass_matrix_product(self._q, self._v)
        self._force = self.problem.applied_force(self._t, self._q, self._v)
        self._a = self._acceleration(self._q, self._v, self._force)
        self._a_before = self._a

    def step(self, end: float) -> Step:
        """Take one step of the fixed length, or a shorter one to `end`."""
        t0, q, v, a, force = self._t, self._q, self._v, self._a, self._force
        t1 = self._t_start + (self._count + 1) * self.h
        whole = t1 < end - 1e-6 * self.h
        if not whole:
            t1 = end
        h = self.h if whole else t1 - t0
        if h < LEAST_TIME:
            raise StepFailedError(Ending.STEP_TOO_SMALL, t0, f"the step of {h:g} s at t = {t0:.9g} s is too short")
        self._rounds = 0
        begin = self._p + (0.5 * h) * force
        x = self._velocity(t0, q, begin, v + (0.5 * h) * a + (h / 6.0) * (a - self._a_before), h)
        q1 = self.problem.robot.integrate(q, x, h)
        arrived = self._arrival(q, begin, x, h, self.problem.smoothing)
        p1, v1, force1 = self._ended(t1, q1, arrived, h)
        a1 = self._acceleration(q1, v1, force1)
        require_finite(self.problem, t1, v1, "velocity")
        require_finite(self.problem, t1, q1, "position")
        self._t, self._q, self._v, self._a, self._a_before = t1, q1, v1, a1, a
        self._p, self._force, self._count = p1, force1, self._count + 1
        if not whole:
            self._t_start, self._count = t1, 0
        work = float(0.5 * h * ((force + force1) @ x))
        return Step(t0, t1, q, v, a, q1, v1, a1, work, self._taken(q, q1, x, h), evaluations=self._rounds + 1)

    def _acceleration(self, q: Array, v: Array, force: Array) -> Array:
        if self.problem.has_passive:
            force = force + self.problem.passive_force(q, v)
        return self._dynamics(q, v, force)

    def _taken(self, q: Array, q1: Array, x: Array, h: float) -> float:
        """Return the energy that passive forces dissipate during a step."""
        if not self.problem.has_passive:
            return 0.0
        both = self.problem.passive_force(q, x) + self.problem.passive_force(q1, x)
        return -float(0.5 * h * (both @ x))

    def _velocity(self, t: float, q: Array, p: Array, x: Array, h: float) -> Array:
        """Return the velocity of the step that departs with the momentum p, by the articulated-body iteration."""
        smoothing, before, slow, best = self.problem.smoothing, np.inf, 0, (np.inf, x)
        at = (1.0 + float(q @ q)) / (h * h)
        for _ in range(_ROUNDS):
            y = self._improved(q, p, x, h, smoothing)
            d, x = y - x, y
            self._rounds += 1
            error, scale = float(d @ d), float(x @ x)
            if error <= _ROUNDING * (scale + h * h):
                return x
            if error < best[0]:
                best = error, x
            if not error < 0.64 * before:  # also if it is not a number
                if error <= _STALLED * (scale + at):
                    return x
                slow += 1
                if slow > 3:
                    break
            before = error
        departure = self.problem.robot.kernel("departure_momentum")
        found = self._newton(lambda tries: p - departure(q, tries, h, smoothing), best[1], at)
        if found is not None:
            return found
        raise self._not_converged(
            t,
            f"the step of {h:g} s at t = {t:.9g} s has no solution near the motion: it is too long for these "
            "velocities (bodies must turn by much less than half a turn) or springs; give a shorter `step`",
        )

    def _ended(self, t: float, q: Array, arrived: Array, h: float) -> tuple[Array, Array, Array]:
        """Return momentum, velocity and force at the end of a step; the force may depend on the velocity."""
        problem, solve = self.problem, self.problem.robot.mass_matrix_solve

        def after(v: Array) -> tuple[Array, Array, Array]:
            force = problem.applied_force(t, q, v)
            p = arrived + (0.5 * h) * force
            return p, solve(q, p), force

        if not self._force_needs_v:
            return after(self._v)
        v = solve(q, arrived + (0.5 * h) * self._force)
        before = np.inf
        for _ in range(_ROUNDS):
            found = after(v)
            d, v = found[1] - v, found[1]
            error = float(d @ d)
            if error <= _ROUNDING * float(v @ v) or (not error < before and error <= _STALLED * float(v @ v)):
                return found
            if not error < 0.5 * before:
                break
            before = error
        # the force depends so strongly on v that substitution does not settle
        settled = self._newton(lambda tries: np.array([after(x)[1] - x for x in tries]), v)
        if settled is not None:
            return after(settled)
        raise self._not_converged(
            t,
            f"at t = {t:.9g} s the applied force depends so strongly on the velocity that no velocity fits it; give a "
            "shorter `step`",
        )

    def _newton(self, residual: Callable[[Array], Array], x: Array, least: float = 0.0) -> Array | None:
        """Return the root of a residual near x, or None if it is not found.

        Take the derivatives by differences, from the residuals of a batch of points (k, n). `least` is added to the
        square of x in the test for convergence.
        """
        n = len(x)
        for _ in range(_NEWTON_ROUNDS):
            delta = 1e-7 * max(1.0, float(np.abs(x).max(initial=0.0)))
            missing, *moved = residual(np.vstack([x, x + delta * np.eye(n)]))
            self._rounds += n + 1
            J = (missing - np.array(moved)).T / delta
            if not (np.isfinite(missing).all() and np.isfinite(J).all()):
                return None
            try:
                d = np.linalg.solve(J, missing)
            except np.linalg.LinAlgError:
                return None
            for halving in range(8):  # a shorter correction if the whole one makes the residual larger
                y = x + d * 0.5**halving
                if np.linalg.norm(residual(y[None])) <= np.linalg.norm(missing):
                    break
            moved_by, x = y - x, y
            if float(moved_by @ moved_by) <= _STALLED * (float(x @ x) + least):
                return np.asarray(x)
        return None

    def _not_converged(self, t: float, message: str) -> StepFailedError:
        return StepFailedError(Ending.NOT_CONVERGED, t, message, evaluations=self._rounds)


def _fast(robot: Robot, question: str, method: str | None = None) -> Callable[..., Array]:
    kernel = robot.kernel(question, method)
    return kernel.fast(kernel)


def _holonomic(joint: Joint) -> bool:
    """Return True if a joint has as many velocities as its positions have dimensions."""
    if joint.nq <= joint.nv:
        return True
    q, step = np.array(joint.neutral()), 1e-5
    tries = [[joint.project(Freedoms((q + sign * step * e).tolist())) for sign in (1, -1)] for e in np.eye(joint.nq)]
    J = np.array([(np.array(a, float) - np.array(b, float)) / (2.0 * step) for a, b in tries])
    return bool(np.linalg.matrix_rank(J, tol=1e-3) <= joint.nv)
