"""Inverse kinematics: positions in which frames have given poses.

The residual of a frame is (rotation vector to the target, displacement to the target in its axes), times weights. The
Levenberg-Marquardt method minimises its squares (`ordern.loops.least_squares`): the step is

    x = J^T (J J^T + mu)^-1 r,    q <- integrate(q, x),

with J restricted to the joints that can move: a joint at a limit that the step would exceed is left out, and a step
ends at the limits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import AnyArray, Array, array, positive, random_generator
from ..errors import ArgumentError
from ..joints import Revolute
from ..loops.least_squares import JointLimits, LeastSquares, Search
from ..model import Frame
from ..records import dataclass
from .arguments import limits
from .targets import Targets, targets

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["Reach", "inverse_kinematics"]

_TURN = 2.0 * np.pi
_FLAT = 1e-5
"""A position is singular for a residual if the free joints change less than this part of it."""


@dataclass(frozen=True)
class Reach:
    """The result of inverse kinematics; each array has the shape of the batch."""

    robot: Robot
    reached: AnyArray
    """True if all residuals are within the tolerance."""
    angle: Array
    """The largest angle, in rad, by which a frame misses its target, about axes with a weight."""
    distance: Array
    """The same for the distance, in m."""
    steps: AnyArray
    """The number of steps, including restarts."""
    why: AnyArray
    """"reached"; "limit": joint limits prevent it; "singular": stuck in a local minimum (the target is out of reach, or
    the start was poor); "steps": still converging when the steps were used up."""
    stops: AnyArray
    """(..., nv): the joints that a limit holds."""

    def __str__(self) -> str:
        rows = [f"{count} {text}; off by up to {angle}, {distance}" for count, text, angle, distance in self._missed()]
        return "\n".join([self._headline, *rows])

    @property
    def _headline(self) -> str:
        return f"{int(np.sum(self.reached))} of {int(np.size(self.reached))} reached"

    def _missed(self) -> list[tuple[int, str, str, str]]:
        """Return for each reason: how many targets were missed, the reason, and the largest angle and distance."""
        rows = []
        for why, text in _TEXTS.items():
            here = np.asarray(self.why) == why
            if not here.any():
                continue
            held = self.stops[here].any(axis=0)
            names = [c.name for c in self.robot.independent if held[c.v].any()]
            joints = f" ({', '.join(names)})" if why == "limit" else ""
            off = f"{np.max(self.angle[here]):.3g} rad", f"{np.max(self.distance[here]):.3g} m"
            rows.append((int(here.sum()), f"{text}{joints}", *off))
        return rows

    def _repr_html_(self) -> str:
        """Return the outcome as a table, for notebooks."""
        from ..screen.html import table, titled

        here = np.asarray(self.why) == "reached"
        rows: list[tuple[object, ...]] = []
        if here.any():
            off = f"{np.max(self.angle[here]):.3g} rad", f"{np.max(self.distance[here]):.3g} m"
            rows.append(("reached", int(here.sum()), *off))
        rows += [(text, count, *off) for count, text, *off in self._missed()]
        return titled(f"{self.robot.name}: {self._headline}", table(("", "targets", "angle", "distance"), rows))


_TEXTS = {
    "limit": "held by joint limits",
    "singular": "stuck in a local minimum: out of reach, or a poor start",
    "steps": "still converging when the steps were used up",
}


def inverse_kinematics(
    robot: Robot,
    pose: ArrayLike | Mapping[str, ArrayLike],
    frame: str | Frame | None,
    q0: ArrayLike | None,
    *,
    limits: bool,
    damping: float,
    tolerance: float,
    steps: int,
    weights: ArrayLike | Mapping[str, ArrayLike] | None,
    restarts: int,
    null: ArrayLike | None,
    rng: np.random.Generator | int | None,
) -> tuple[Array, Reach]:
    """See `Robot.inverse_kinematics`."""
    start = array(_middle(robot) if q0 is None else q0, (..., robot.nq), "q0")
    goal = targets(robot, pose, frame, weights, start.shape[:-1])
    solver = _Solver(goal, positive(tolerance, "tolerance"), positive(damping, "damping"), limits)
    counts: tuple[Any, Any] = (steps, restarts)
    if not all(isinstance(n, (int, np.integer)) for n in counts) or steps < 1 or restarts < 0:
        raise ArgumentError(f"steps must be 1 or more and restarts 0 or more, not {steps!r} and {restarts!r}")
    n = len(goal)
    q = np.broadcast_to(start, (*goal.shape, robot.nq)).reshape(n, robot.nq).copy()
    found = solver.solve(q, steps)
    generator = random_generator(rng, "inverse_kinematics")

    def again(part: _Solver, which: Array, k: int) -> Search:
        return part.restarted(robot.random(generator, len(which)), steps, through=bool(k % 2))

    solver.retry(found, restarts, again)
    if null is not None:
        prefer(solver, found, array(null, (..., robot.nq), "null"), steps)
    return _report(solver, found)


def _middle(robot: Robot) -> Array:
    """Return the neutral position; where it is outside the limits or near one, the middle of the range.

    A stretched arm has a singular Jacobian, which is a bad start.
    """
    q, (lower, upper) = robot.neutral(), limits(robot)
    finite = np.isfinite(lower) & np.isfinite(upper)
    lo, hi = (np.where(finite, x, y) for x, y in ((lower, q - 1.0), (upper, q + 1.0)))
    edge = finite & ((q - lo < 0.1 * (hi - lo)) | (hi - q < 0.1 * (hi - lo)))
    return np.asarray(np.where(edge, 0.5 * (lo + hi), q))


class _Solver(LeastSquares):
    """Least squares of the residuals of a batch of targets."""

    stalled, smallest, shrinks = 1e-13, 1e-14, 1e-2

    def __init__(self, goal: Targets, tolerance: float, damping: float, bounded: bool) -> None:
        self.goal, self.robot = goal, goal.robot
        self.tolerance, self.damping, self.bounded = tolerance, damping, bounded
        self.lower, self.upper = limits(goal.robot)
        self.limits = JointLimits(goal.robot, self.lower, self.upper, bounded)
        for c in goal.robot.independent if bounded else ():
            lower, upper = self.lower[c.q], self.upper[c.q]
            if (lower > upper).any():
                raise ArgumentError(f"joint {c.name!r} has no position within its limits {lower} and {upper}")

    def of(self, which: AnyArray) -> _Solver:
        """Return the solver of a part of the batch."""
        part = copy(self)
        part.goal = self.goal.of(which)
        return part

    def residuals(self, q: Array) -> Array:
        """Return the residuals of all targets and loops, (n, m)."""
        return self.goal.residuals(q)

    def solved(self, r: Array) -> AnyArray:
        """Return which residuals are within the tolerance, (n,)."""
        return np.asarray(np.linalg.norm(r, axis=1) <= self.tolerance)

    def hopeless(self, better: AnyArray, gained: AnyArray, tired: AnyArray, mu: Array) -> AnyArray:
        """Return which searches end, (n,): the first stalled step ends one."""
        return (better & ~gained) | (mu > 1e12)

    def step(self, q: Array, r: Array, mu: Array) -> tuple[Array, Array]:
        """Return the damped steps (n, nv), and the squares (n,) that the linear model predicts after them.

        Joints that the step would push beyond their limits are left out, and the rest is solved again.
        """
        J = self.goal.derivatives(q)
        held = self.limits.stopped(q, -(J.swapaxes(1, 2) @ r[..., None])[..., 0])
        size = np.maximum((J * J).sum(axis=(1, 2)), 1e-12)
        eye = (np.maximum(mu, self.smallest) * size)[:, None, None] * np.eye(r.shape[1])

        def damped(free: AnyArray) -> Array:
            Jf = J * free[:, None, :]
            A = Jf @ Jf.swapaxes(1, 2) + eye
            return np.asarray(-(Jf.swapaxes(1, 2) @ np.linalg.solve(A, r[..., None]))[..., 0])

        x = self.within_stops(q, held, damped)
        return x, self.squares(r + (J @ x[..., None])[..., 0])

    def within_stops(self, q: Array, held: AnyArray, step: Callable[[AnyArray], Array]) -> Array:
        """Return a step of the free joints; joints that it would push beyond a limit are held."""
        for _ in range(3):
            x = step(~held)
            more = self.limits.stopped(q, x) & ~held
            if not more.any():
                break
            held = held | more
        return x

    def restarted(self, q: Array, steps: int, through: bool) -> Search:
        """Solve from other positions; with `through`, first without limits, and from there within them.

        Limits cut the space into regions, some of which are small and seldom hit by chance. A search without limits
        ends in other regions.
        """
        if not (through and self.bounded):
            return self.solve(q, steps)
        unbounded = copy(self)
        unbounded.limits = JointLimits(self.robot, self.lower, self.upper, False)
        free = unbounded.solve(q, steps)
        found = self.solve(self.turned(free.q), steps)
        found.steps += free.steps
        return found

    def turned(self, q: Array) -> Array:
        """Return the same position with angles shifted by whole turns into their limits, where possible."""
        q = q.copy()
        for c in self.robot.independent:
            if isinstance(c.type, Revolute):
                x, lower, upper = q[:, c.q_start], self.lower[c.q_start], self.upper[c.q_start]
                turns = np.where(x < lower, np.ceil((lower - x) / _TURN), -np.ceil(np.maximum(x - upper, 0.0) / _TURN))
                inside = (x + _TURN * turns >= lower) & (x + _TURN * turns <= upper)
                q[:, c.q_start] = np.where(inside, x + _TURN * turns, x)
        return q


def prefer(solver: _Solver, found: Search, rest: Array, steps: int) -> None:
    """Move positions that reach their targets as close to `rest` as the targets allow.

    Each step moves along the null space of J towards rest, and then back to the target; it is kept if it is closer.
    """
    robot, n = solver.robot, len(found.q)
    rest = np.broadcast_to(rest, (*solver.goal.shape, robot.nq)).reshape(n, robot.nq)
    on, length = np.flatnonzero(found.done), np.ones(n)
    for _ in range(steps):
        if not on.size:
            break
        part, q = solver.of(on), found.q[on]
        desired = robot.difference(q, rest[on])
        x = _along(part, q, desired)
        trial = part.solve(robot.integrate(q, length[on, None] * x), 20)
        before = np.linalg.norm(desired, axis=1)
        gain = before - np.linalg.norm(robot.difference(trial.q, rest[on]), axis=1)
        better = trial.done & (gain > 0.0)
        found.q[on[better]] = trial.q[better]
        found.steps[on] += trial.steps + 1
        length[on] = np.where(better, np.minimum(1.0, 2.0 * length[on]), 0.5 * length[on])
        still = (better & (gain > 1e-10 * before)) | (~better & (length[on] > 1e-3))
        on = on[still & (np.linalg.norm(x, axis=1) > 1e-9)]


def _along(solver: _Solver, q: Array, desired: Array) -> Array:
    """Return a displacement projected onto the null space of J, with joints at limits held."""
    J = solver.goal.derivatives(q)

    def projected(free: AnyArray) -> Array:
        Jf, wanted = J * free[:, None, :], desired * free
        x = wanted - (np.linalg.pinv(Jf, rcond=1e-10) @ (Jf @ wanted[..., None]))[..., 0]
        return np.where(free, x, 0.0)

    return solver.within_stops(q, solver.limits.stopped(q, desired), projected)


def _report(solver: _Solver, found: Search) -> tuple[Array, Reach]:
    goal, shape = solver.goal, solver.goal.shape
    if goal.robot.nc:  # the closest position with closed loops
        found.q, _ = goal.robot.close(found.q)
    angle, distance = goal.distances(found.q)
    why: Array = np.full(len(found.q), "reached", dtype="<U8")
    stops = np.zeros((len(found.q), goal.robot.nv), bool)
    far = np.flatnonzero(~found.done)
    if far.size:
        q, part = found.q[far], goal.of(far)
        r, J = part.residuals(q), part.derivatives(q)
        unit = r / np.linalg.norm(r, axis=1, keepdims=True)
        pull = -(J.swapaxes(1, 2) @ unit[..., None])[..., 0]
        stops[far] = held = solver.limits.stopped(q, pull)
        size = np.linalg.norm(J, axis=(1, 2))
        left = np.linalg.norm(np.where(held, 0.0, pull), axis=1) <= _FLAT * size
        blocked = np.linalg.norm(np.where(held, pull, 0.0), axis=1) > _FLAT * size
        why[far] = np.where(left, np.where(blocked, "limit", "singular"), "steps")
    each = (x.reshape(shape) for x in (found.done, angle, distance, found.steps, why))
    reached, angle, distance, steps, why = each
    info = Reach(goal.robot, reached, angle, distance, steps, why, stops.reshape(*shape, goal.robot.nv))
    return found.q.reshape(*shape, goal.robot.nq), info
