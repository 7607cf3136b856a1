"""Joint limits in a simulation: noticed, the end of the run, or hard stops that joints bounce off and rest on.

A hard stop acts as a unilateral constraint. With u the velocities away from the stops, A = E^T M^-1 E their inverse
inertia and p >= 0 the impulses, an impact is Newton's law, u+ + e min(u, 0) = u + A p + e min(u, 0) >= 0, complementary
to p: for a single joint, v+ = v - (1 + e) M^-1 e_j v_j / (M^-1)_jj. A joint that is pushed onto its stop rests there,
held by a force, until that force would have to pull. With closed loops M^-1 is what these leave of it: the response to
an impulse that all loops share in. The coordinate of a joint that closes a loop is a function of q. On closed positions
its rate is E v too, with a row E(q) of the matrix that leads from the tree's velocities to those of such joints; its
acceleration is E a + (dE/dt) v.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, final

import numpy as np

from ...arguments import Array
from ...errors import ArgumentError
from ...joints.limitable import own_rates
from ...loops.limits import limited_coordinates
from ...records import dataclass
from ..integrators.integrator import StepFailedError
from ..results.report import Violation
from ..run.endings import Ending
from ..run.saved import Saved
from .stop_projection import spread

if TYPE_CHECKING:
    from ...robot import Robot
    from ..run.chunk import Chunk
    from ..run.problem import Problem

__all__ = ["MODES", "REST", "Excess", "Stop", "complementary", "impact", "limit_stops", "require_velocity", "stops_of"]


MODES = ("ignore", "stop", "bounce")
TOUCHES = 1e-11
"""A joint that closes a loop and is no further inside of a limit, in rad and m, is at it: loops are closed to 1e-12."""
REST = 1e-5
"""A joint that leaves its stop slower than this (rad/s, m/s) does not leave it."""


_BEYOND = 1e-9
"""A smaller excess over a limit, as a part of the range (in rad, m without one), is rounding and no violation."""


@final
@dataclass(frozen=True, slots=True)
class Stop:
    """A limit of one coordinate of a joint of the tree, or of a joint that closes a loop."""

    joint: str
    q: int
    """The coordinate's place in q; of a joint that closes a loop, among the joint's own."""
    v: int
    """The place of its rate in v, or among the joint's own; -1 if it is no velocity's integral."""
    side: int
    """1: a lower limit, -1: an upper one."""
    bound: float
    problem: Problem | None = None
    """The mechanism whose loop the joint closes; None for a joint of the tree, whose coordinate is one of q."""

    @property
    def own(self) -> bool:
        """True if the coordinate is one of q, and can be set."""
        return self.problem is None

    @property
    def rounding(self) -> float:
        """Velocities below this part of the terms that they are the sum of are zero."""
        return 1e-13 if self.own else 1e-11

    def inside(self, q: Array) -> float:
        """Return how far a position is inside of the limit; well inside while the loop is open."""
        at: Array | None = q
        if self.problem is not None:
            at = self.problem.turns.here(self.problem.now.robot, q, self.joint)
        return 1.0 if at is None else float(self.side * (at[self.q] - self.bound))

    def reached(self, q: Array) -> bool:
        """Tell whether a position is at the limit, or beyond."""
        return self.inside(q) <= (0.0 if self.own else TOUCHES)

    @property
    def name(self) -> str:
        """The limit, in words."""
        return f"{'lower' if self.side > 0 else 'upper'} limit of {self.joint}"


def stops_of(robot: Robot) -> list[Stop]:
    """Return all limits of the joints of the tree."""
    stops = []
    for c in robot.independent:
        limited = np.isfinite([*c.lower, *c.upper]).any()
        for i, rate in enumerate(own_rates(c.type) if limited else ()):
            k = c.q_start + i
            v = c.v_start + rate if rate >= 0 else -1
            for side, bound in ((1, c.lower[i]), (-1, c.upper[i])):
                if np.isfinite(bound):
                    stops.append(Stop(c.name, k, v, side, float(bound)))
    return stops


def _loop_stops(problem: Problem) -> list[Stop]:
    """Return all limits of joints that close loops."""
    robot = problem.robot
    every = robot if all(x.active for x in robot.loops) else robot.with_loops([x.name for x in robot.loops])
    starts = {x.loop.name: x.v.start for x in every.loop_table.loops}
    return [
        Stop(x.loop, x.index, x.v - starts[x.loop] if x.v >= 0 else -1, side, float(bound), problem)
        for x in limited_coordinates(every)
        for side, bound in ((1, x.lower), (-1, x.upper))
        if math.isfinite(bound)
    ]


def limit_stops(problem: Problem, mode: str, q0: Array) -> list[Stop]:
    """Return the stops that a run has to watch; raise if it cannot start at q0."""
    if mode == "ignore":
        return []
    stops = stops_of(problem.robot) + (_loop_stops(problem) if problem.constrained else [])
    problem.turns.renew(problem.now.robot, q0)
    for s in stops:
        if s.inside(q0) < (0.0 if s.own else -TOUCHES):
            who = "joint" if s.own else "the joint of loop"
            place = f"at {q0[s.q]:g}," if s.own else f"{-s.inside(q0):.3g}"
            raise ArgumentError(
                f"q0: {who} {s.joint!r} starts {place} beyond its {'lower' if s.side > 0 else 'upper'} limit "
                f"{s.bound:g}; with limits={mode!r} a run starts within the limits"
            )
        if mode == "bounce":
            require_velocity(s)
    return stops


def require_velocity(s: Stop) -> None:
    """Raise if a joint cannot bounce off a stop."""
    if s.v < 0:
        raise ArgumentError(
            f"limits='bounce': coordinate {s.q} of {'joint' if s.own else 'loop'} {s.joint!r} has a limit, but no "
            "velocity of its own to be reversed; use limits='stop' or 'ignore'"
        )


def impact(
    problem: Problem, stops: list[Stop], t: float, q: Array, v: Array, restitution: float
) -> tuple[Array, Array]:
    """Return the velocities after impacts of all joints that touch their stops, and those away from the stops."""
    E = problem.stop_rows(stops, q)
    response = problem.stop_response(q, E, t)
    A, u = response @ E.T, E @ v
    p = complementary(A, u + restitution * np.minimum(u, 0.0))
    after = v + p @ response
    away, size = E @ after, np.abs(E) @ np.abs(v) + p @ np.abs(A)
    for k, s in enumerate(stops):
        if p[k] > 0.0:  # the result of the law, without rounding
            away[k] = -restitution * u[k]
        elif abs(away[k]) <= s.rounding * size[k] or (A[k, k] == 0.0 and abs(away[k]) <= REST):
            away[k] = 0.0
        elif away[k] < 0.0 and A[k, k] == 0.0:
            raise StepFailedError(Ending.BLOCKED, t, _no_way_back(s, t, -float(away[k])))
        if s.own:
            after[s.v] = s.side * away[k]
    return after, away


def _no_way_back(s: Stop, t: float, speed: float) -> str:
    return (
        f"the {s.name} is reached at t = {t:.9g} s with {speed:.3g} (rad/s, m/s), and nothing can stop it: its loops "
        "leave it no freedom, as time drives them; use limits='stop' or 'ignore', or another drive"
    )


def complementary(A: Array, b: Array) -> Array:
    """Return p >= 0 with A p + b >= 0 and zero products, for a positive A: Murty's least-index pivoting."""
    n = len(b)
    active = np.zeros(n, dtype=bool)
    scale = 1e-14 * (np.abs(b).max(initial=0.0))
    p = np.zeros(n)
    for _ in range(2**n + 1):
        p[:] = 0.0
        if active.any():
            p[active] = spread(A[np.ix_(active, active)], -b[active])
        w = A @ p + b
        wrong = np.flatnonzero(np.where(active, p < 0.0, w < -scale))
        if not wrong.size:
            return p
        active[wrong[0]] = not active[wrong[0]]
    return np.maximum(p, 0.0)


class Excess(Saved):
    """The excess of each coordinate over its limits, over all steps."""

    saved = ("first", "worst", "when")

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.first = np.full(robot.nq, np.nan)
        self.worst = np.zeros(robot.nq)
        self.when = np.full(robot.nq, np.nan)
        span = np.asarray(robot.upper) - np.asarray(robot.lower)
        self._least = _BEYOND * np.where(np.isfinite(span) & (span > 0.0), span, 1.0)

    def see(self, chunk: Chunk) -> None:
        """Note the ends of steps."""
        self.note(chunk.t, chunk.q)

    def note(self, t: Array, q: Array) -> None:
        """Note states at times, (k,) and (k, nq)."""
        if not len(t) or not self.robot.nq:
            return
        beyond = np.maximum(self.robot.lower - q, q - self.robot.upper)
        out = beyond > self._least
        left = out.any(axis=0)
        if not left.any():
            return
        new, most = left & np.isnan(self.first), beyond.argmax(axis=0)
        self.first[new] = t[out.argmax(axis=0)[new]]
        far = beyond[most, np.arange(len(most))]
        worse = left & (far > self.worst)
        self.worst[worse], self.when[worse] = far[worse], t[most[worse]]

    def report(self) -> dict[str, Any]:
        """Return the joints that went beyond their limits."""
        found = []
        for c in self.robot.independent:
            for k in range(c.q_start, c.q_start + c.type.nq):
                if self.worst[k] > 0.0:
                    found.append(Violation(c.name, k, float(self.first[k]), float(self.worst[k]), float(self.when[k])))
        return {"violations": found}
