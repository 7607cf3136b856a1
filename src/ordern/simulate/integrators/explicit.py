"""Explicit methods, stepped from Python: for forces that are Python functions, and to test native code against."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ...arguments import Array
from ..run.endings import Ending
from ..run.problem import Problem
from . import rk_step
from .dense import bend
from .integrator import Integrator, Settings, Step, StepFailedError
from .numpy_machine import NumpyMachine
from .rk_step import Point
from .step_control import GROWTH, NEARLY, REMAINDER, SHRINKAGE, combined_error, step_factor
from .tableaus import tableau

__all__ = ["Explicit", "first_step", "not_finite", "require_finite", "too_small"]

_STIFF = ". The motion may be stiff (method='radau'), or a force may jump (list its times as breaks)"


class Explicit(Integrator):
    """One of the `tableaus`: adaptive if it has error estimates, else with a fixed step."""

    saved = ("_t", "h", "_new", "_q", "_v", "_kq", "_kv", "_kw")

    def __init__(self, problem: Problem, settings: Settings, method: str) -> None:
        super().__init__(problem, settings)
        self.tableau = tableau(method)
        self.adaptive = self.tableau.adaptive

    def start(self, t: float, q: Array, v: Array, h: float | None = None, end: float = math.inf) -> None:
        """Begin at this state."""
        self._t, self._q, self._v = float(t), np.array(q), np.array(v)
        before = self.problem.evaluations
        slope = self._machine(0.0).slope(0.0, self._q, self._v)
        self._kq, self._kv, self._kw = slope
        require_finite(self.problem, self._t, slope.v, "acceleration")
        if not self.adaptive:
            h = self.settings.longest
        elif h is None:
            y = Point(self._q, self._v, np.zeros(2))
            h = first_step(self.problem, self.settings, self.tableau.order, self._t, y, slope, end)
        self.h = min(h, self.settings.longest)
        self._new = self.problem.evaluations - before

    def _machine(self, h: float) -> NumpyMachine:
        return NumpyMachine(self.problem, self._t, h, self.settings.rtol, self.settings.atol)

    def step(self, end: float) -> Step:
        """Take one step; the decisions are those of the compiled loop, `compile.timeloops.adaptive`.

        Forces that are not finite at a stage reject an adaptive step, like an error that is too large.
        """
        method, rejected, before = self.tableau, 0, self.problem.evaluations - self._new
        start, slope = Point(self._q, self._v, np.zeros(2)), Point(self._kq, self._kv, self._kw)
        nearly = NEARLY if self.adaptive else REMAINDER
        tried: rk_step.Attempt[Array] | None = None
        bad: StepFailedError | None = None
        while True:
            last = self._t + self.h * nearly >= end
            h, t1 = (end - self._t, end) if last else (self.h, self._t + self.h)
            if self._t + 0.1 * h == self._t and not last:
                failure = bad or stuck(self.problem, self._t, slope.v, tried)
                raise failure.counted(rejected, self.problem.evaluations - before)
            machine = self._machine(h)
            try:
                tried, bad = rk_step.attempt(machine, method, start, slope), None
                if not self.adaptive:
                    require_finite(self.problem, self._t + h, tried.end.v, "velocity")
                    require_finite(self.problem, self._t + h, tried.end.q, "position")
                    return self._take(machine, start, tried, t1, rejected, before)
                error = float(combined_error(tried.squares))
                factor = float(step_factor(error, method.error_order, 1.0 if rejected else GROWTH))
                if error <= 1.0:
                    planned = max(h * factor, self.h) if h < self.h else h * factor
                    self.h = min(planned, self.settings.longest)
                    return self._take(machine, start, tried, t1, rejected, before)
            except StepFailedError as e:
                if e.lingers or e.kind not in (Ending.BAD_FORCE, Ending.NOT_CLOSED) or not self.adaptive:
                    raise
                bad, factor = e, SHRINKAGE
            rejected += 1
            self.h = h * factor

    def _take(
        self,
        machine: NumpyMachine,
        start: Point[Array],
        tried: rk_step.Attempt[Array],
        t1: float,
        rejected: int,
        before: int,
    ) -> Step:
        """Go on to the end of a step."""
        method, t0, a0 = self.tableau, self._t, self._kv
        q, v, projected = self.problem.corrected(t1, tried.end.q, tried.end.v)
        moved = q is not tried.end.q or v is not tried.end.v
        work, taken = tried.end.w.tolist()
        slopes = rk_step.finish(machine, method, replace(tried, end=Point(q, v, tried.end.w)))
        dense = None
        if method.degree:
            powers = [start, *rk_step.dense_coefficients(machine, method, start, slopes)]
            dense = np.array([np.concatenate(list(p)) for p in powers])
            if moved:
                bend(dense, np.concatenate([q - tried.end.q, v - tried.end.v]))
        slope = machine.slope(1.0, q, v) if moved and method.needs_end else slopes[method.stages]
        self._t, self._q, self._v, self._new = t1, q, v, 0
        self._kq, self._kv, self._kw = slope
        count = self.problem.evaluations - before
        ends = (start.q, start.v, a0, q, v, slope.v)
        return Step(t0, t1, *ends, work, taken, dense, rejected, count, projected)


def stuck(problem: Problem, t: float, a: Array, tried: rk_step.Attempt[Array] | None) -> StepFailedError:
    """Return why no step is short enough: the motion is not finite, or too fast for the tolerance."""
    if tried is not None:
        broken = ~(np.isfinite(tried.end.v) & np.isfinite(a))
        if broken.any() or not np.isfinite(tried.end.q).all():
            return not_finite(problem, t, int(np.argmax(broken)) if broken.any() else None)
    return too_small(problem, t, a)


def not_finite(problem: Problem, t: float, index: int | None, rejected: int = 0, count: int = 0) -> StepFailedError:
    """Return the failure of a motion that diverges."""
    name = "" if index is None else f" at joint {problem.joint_of(index)!r}"
    message = f"the motion is not finite after t = {t:.9g} s{name}"
    return StepFailedError(Ending.NOT_FINITE, t, message, index, rejected, count)


def too_small(
    problem: Problem, t: float, a: Array, rejected: int = 0, count: int = 0, hint: str = _STIFF
) -> StepFailedError:
    """Return the failure of error control, with advice."""
    index = int(np.argmax(np.abs(a))) if a.size else None
    name = problem.joint_of(index)
    message = f"no step after t = {t:.9g} s is short enough for the tolerance; joint {name!r} accelerates most{hint}"
    return StepFailedError(Ending.STEP_TOO_SMALL, t, message, index, rejected, count)


def require_finite(problem: Problem, t: float, x: Array, what: str) -> None:
    """Raise if a number is not finite, with the time and the joint."""
    if not np.isfinite(x).all():
        index = int(np.flatnonzero(~np.isfinite(x))[0])
        name = problem.joint_of(index) if len(x) == problem.nv else problem.joint_at(index)
        message = f"the {what} of joint {name!r} is {x[index]} at t = {t:.9g} s"
        raise StepFailedError(Ending.NOT_FINITE, t, message, index)


def first_step(
    problem: Problem, settings: Settings, order: int, t: float, y: Point[Array], k: Point[Array], end: float = math.inf
) -> float:
    """Return a first step, from the sizes of the state and its first two derivatives (Hairer et al. I, sec. II.4).

    It is at most a tenth of the way to the end, and no force is evaluated after the end. If the end is only a few
    roundings of the time away, it is one step to it.
    """
    span = end - t if end > t else math.inf
    if t + 1e-3 * span == t:
        return span

    def size(q: Array, v: Array) -> float:
        scaled = [x / (settings.atol + settings.rtol * np.abs(s)) for x, s in ((q, y.q), (v, y.v))]
        return math.sqrt(float(np.mean(np.concatenate(scaled) ** 2))) if q.size + v.size else 0.0

    with np.errstate(all="ignore"):
        d0, d1 = size(y.q, y.v), size(k.q, k.v)
        h0 = min(1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1, span)
        h0, q1, v1, a1 = _moved(problem, t, y, k, h0)
        d2 = size(problem.position_rate(q1, v1) - k.q, a1 - k.v) / h0
    most = max(d1, d2)
    h1 = max(1e-6, h0 * 1e-3) if most <= 1e-15 else (0.01 / most) ** (1.0 / order)
    return float(min(100.0 * h0, h1 if 0.0 < h1 < math.inf else h0, 0.1 * span))


def _moved(problem: Problem, t: float, y: Point[Array], k: Point[Array], h: float) -> tuple[float, Array, Array, Array]:
    """Return a step of Euler's method, the state after it and the acceleration there; the step is h, or shorter if
    forces are not finite there."""
    while True:
        q, v = problem.project(y.q + h * k.q), y.v + h * k.v
        try:
            return h, q, v, problem.acceleration(t + h, q, v)
        except StepFailedError:
            if t + 0.01 * h == t:
                raise
            h *= 0.01
