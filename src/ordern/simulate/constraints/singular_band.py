"""Motion through singular positions, where constraints depend on each other that usually do not.

There a mechanism has more freedoms, and branches of its motions meet. Near such a position, the accelerations that weak
constraints need are quotients of two small numbers. Its error decides on which branch the motion goes on, or ends
in nonsense. But the motion itself is smooth, and so are the joint forces f_c = K^T lambda of the constraints. So in a
narrow band, where the smallest singular value of K is below a part `BAND` of what it was at its largest, weak
constraints are replaced by these forces as they were at the entrance:

    M a + C = tau + f_c + K_s^T mu,    K_s a = c_s        with K_s the strong ones

and what f_c would do to the energy, since it does not turn with the motion, is taken back along the velocity.

The band is crossed in a time of order BAND, in which f_c changes by this order, velocities are off by its square, and
positions by its third power: far less than branches are apart at the exit, where all loops are closed again by the
nearest state. So the motion goes on in the branch that it came by.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ...arguments import Array
from ..run.endings import Ending
from ..run.problem import MIDDLE, OPEN
from ..run.sampling import cut
from ..run.watchers import Found, Phase, Watcher
from .dead_point import dead_point, locked

if TYPE_CHECKING:
    from ..integrators.integrator import StepFailedError
    from ..run.chunk import Chunk
    from ..run.run import Run
    from .constraints import Constraints

__all__ = ["BAND", "SingularBand", "weak_rank"]


BAND = 5e-4
"""Errors of a step are magnified by its square, those of the band itself grow by its fourth power."""
_WEAK = 0.1
"""Singular values above this part of the usual smallest one are not weak."""
_FAR, _LOOKS_AHEAD = 0.1, 4
"""A motion is far from singular positions if singular values are above this part of the largest so far, at so many
times until the next sample of a controller."""
_SOON, _TRIES = 1e-6, 16
"""In s, how far from a singular position others are looked for, and how often that is doubled."""
_AT_DEAD_POINTS = (Ending.STEP_TOO_SMALL, Ending.NOT_CLOSED, Ending.NOT_CONVERGED, Ending.NOT_FINITE)


class SingularBand:
    """Watches for the band around singular positions, and takes the run through it. A tree has none."""

    def __init__(self, run: Run) -> None:
        self.run, self.problem, self.loops = run, run.problem, run.loops
        self._inside = False
        """True if the last steps began in the band."""
        self._rate = np.zeros(run.problem.nv)
        """Accelerations at the end of the last step that a watcher cut, as its polynomials have them."""
        self.watchers: list[Watcher] = []
        if run.problem.constrained:
            name, phase, over = "singular position", Phase.STRUCTURE, self._away_over
            self.watchers.append(Watcher(name, self._away, self._reached, 0, phase, shown=False, over=over))

    @property
    def inside(self) -> bool:
        """True if the steps of the last chunk were in the band, at least at their start."""
        return self._inside or self.problem.crossing is not None

    def _away(self, t: float, q: Array, v: Array) -> float:
        """Return how far the motion is outside of the band of a singular position."""
        return float(self._away_over(np.array([t]), q[None], v[None])[0])

    def _away_over(self, t: Array, q: Array, v: Array) -> Array:
        """Return the same at times (n,) and states (n, nq), (n, nv)."""
        problem = self.problem
        if not problem.usual.rank:
            return np.ones(len(t))
        edge = BAND if problem.crossing is None else 2.0 * BAND  # so that rounding does not lead out again at once
        return problem.usual.margin(q, t, edge * self.loops.largest)

    def is_near(self, t: float, q: Array) -> bool:
        """Tell whether a position is in the band around a singular one."""
        usual = self.problem.usual
        return bool(usual.rank) and float(usual.smallest(q[None], t)[0]) < BAND * self.loops.largest

    def far(self, t: float, q: Array, v: Array) -> bool:
        """Tell whether a motion at this velocity does not come near the band before the next sample of a controller.

        Then compiled steps go on to that sample, and call the controller, before watchers look at them.
        """
        problem = self.problem
        if problem.crossing is not None or self._inside or not problem.usual.rank:
            return not self.inside
        ahead = np.linspace(0.0, problem.tau.longest or 0.0, _LOOKS_AHEAD)
        at = self.run.robot.integrate(q, ahead[:, None] * v)
        return bool((problem.usual.margin(at, t + ahead, _FAR * self.loops.largest) > 0.0).all())

    def look_around(self) -> None:
        """Start, or go on with other constraints. At a singular position, weak constraints are left out.

        No forces of them are known there; or they lock the mechanism.
        """
        run, problem, singular = self.run, self.problem, self.loops.singular
        if not singular or singular[-1].time != run.t:
            return
        problem.solve_compiled()
        problem.cross(singular[-1].rank, np.zeros(problem.nv), np.zeros(problem.now.nc))
        if problem.usual.is_locked(run.q, run.t):
            run.stop(Ending.LOCKED, locked(problem.usual, run.q, run.t, singular[-1].rank))

    def _reached(self, run: Run) -> None:
        self.cross(not self._inside)

    def cross(self, entering: bool) -> None:
        """Enter the band of a singular position, or leave it."""
        run, problem, t = self.run, self.problem, self.run.t
        if entering and problem.crossing is None:
            self._enter(t, run.q, run.v)
        elif not entering and problem.crossing is not None:  # too long in there
            problem.leave_singular()
            run.q, run.v, gained = problem.corrected(t, run.q, run.v)
            self.loops.add_projected(gained)
        self._inside = False
        run.renew()
        run.stops.restart(t, run.q, run.v)  # watchers were searched beyond this moment

    def _enter(self, t: float, q: Array, v: Array) -> None:
        """Replace weak constraints by the forces that all have here, or that they tend to along the motion."""
        problem = self.problem
        force = problem.applied_force(t, q, v) + problem.passive_force(q, v)
        held = problem.held_force(t, q, v, force) if problem.held else 0.0
        multipliers = problem.now.rows.multipliers(q, v, force + held, problem.dynamics_method)
        if problem.beside is None:
            push = 1.0 * self._push(t, q, v)
        else:
            places = zip(MIDDLE, problem.beside, strict=True)
            push = np.asarray(sum(w * self._push(t, x, problem.kept(t, x, v)) for w, x in places))
        problem.cross(weak_rank(problem.usual, q, t, self.loops.largest), push, multipliers)

    def _push(self, t: float, q: Array, v: Array) -> Array:
        """Return the joint forces of constraints at a state."""
        problem = self.problem
        force = problem.applied_force(t, q, v) + problem.passive_force(q, v)
        return problem.loop_force(t, q, v, problem.dynamics(q, v, force, t), force)

    def cut(self, chunk: Chunk, last: Found, watcher: Watcher) -> Chunk:
        """Return the steps up to a sign change: at the exit of a singular position all constraints count again."""
        problem = self.problem
        self._inside = problem.crossing is not None
        if watcher in self.watchers:
            problem.solve_compiled()
            if self._inside:
                problem.leave_singular()
        stop = watcher.subject if watcher in self.run.stops.watchers else None
        problem.reaching = () if stop is None else (stop,)
        problem.turns.look(problem.usual.robot, np.concatenate([chunk.q[: last.step], last.q[None]]))
        usual = problem.usual
        leaped = problem.crossing is None and self.is_near(last.t, last.q)
        if leaped:  # into the band in one step: weak constraints cannot correct the state there
            problem.now = usual.with_rank(weak_rank(usual, last.q, last.t, self.loops.largest))
        try:
            chunk = cut(problem, chunk, last)
        finally:
            problem.reaching = ()
            if leaped:
                problem.now = usual
        if len(chunk):
            powers = np.arange(chunk.dense.shape[1])
            speeds = chunk.dense[-1, :, problem.nq : problem.nq + problem.nv]
            self._rate = (powers @ speeds) / (chunk.edges[-1] - chunk.edges[-2])
        return chunk

    def before_strike(self) -> bool:
        """Prepare an impact: at a singular position too, all constraints share in it. Tell whether it is at one."""
        run, problem, edge = self.run, self.problem, BAND * self.loops.largest
        near = self.is_near(run.t, run.q)
        if problem.crossing is not None and near:
            problem.leave_singular()  # and the state as it is: weak constraints cannot correct it there
        elif problem.crossing is not None:
            self.cross(False)
        if near:
            problem.beside = self._positions_beside(run.t, run.q, run.v, self._rate, edge)
        return near

    def after_strike(self, near: bool) -> None:
        """Go on after an impact."""
        if near:
            self._enter(self.run.t, self.run.q, self.run.v)
            self.run.stops.restart(self.run.t, self.run.q, self.run.v)

    def _positions_beside(self, t: float, q: Array, v: Array, a: Array, edge: float) -> Array | None:
        """Return positions (4, nq) of the motion around a singular one, in which constraints are independent."""
        usual, step = self.problem.usual, _SOON
        for _ in range(_TRIES):
            h = step * np.array([[-2.0], [-1.0], [1.0], [2.0]])
            found, off = usual.closed(self.run.robot.integrate(q, h * v + 0.5 * h * h * a), t)
            if (off <= OPEN).all() and (usual.smallest(found, t) > edge).all():
                return found
            step *= 2.0
        return None

    def explain(self, e: StepFailedError, message: str) -> str:
        """Return the message of a failed step; at a dead point it names the loops."""
        run, usual = self.run, self.problem.usual
        why = dead_point(usual, run.q, run.t, self.loops.largest) if e.kind in _AT_DEAD_POINTS else ""
        if not why:
            return message
        short = f"no step after t = {e.t:.9g} s is short enough"
        return f"{short if e.kind is Ending.STEP_TOO_SMALL else message}: {why}"


def weak_rank(now: Constraints, q: Array, t: float, usual: float) -> int:
    """Return how many constraints are strong: singular values before the widest gap below the usual ones."""
    sigma = now.sigma(q, t)
    best, rank = 0.0, now.rank - 1
    for k in range(now.rank):
        if sigma[k] < _WEAK * usual:
            gap = (sigma[k - 1] if k else math.inf) / max(sigma[k], 1e-300)
            if gap > best:
                best, rank = gap, k
    return rank
