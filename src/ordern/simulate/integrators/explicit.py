"""Explicit methods, stepped from Python: for forces that are Python functions, and as the oracle of native code."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..run.endings import Ending
from ..run.problem import Problem
from . import rk_step
from .dense import bend
from .integrator import Array, Integrator, Settings, Step, StepFailedError
from .numpy_machine import NumpyMachine
from .rk_step import Point
from .step_control import GROWTH, NEARLY, SHRINKAGE, combined_error, step_factor
from .tableaus import tableau

__all__ = ["Explicit", "first_step", "stuck"]

REMAINDER = 1.0 + 1e-6
"""What is left after a fixed step and is less than this part of it is not worth a step of its own."""


class Explicit(Integrator):
    """One of the `tableaus`: of fixed step, or adaptive where it has estimates of its error."""

    def __init__(self, problem: Problem, settings: Settings, method: str) -> None:
        super().__init__(problem, settings)
        self.tableau = tableau(method)
        self.name, self.order = self.tableau.name, self.tableau.order  # type: ignore[misc]
        self.adaptive = self.tableau.adaptive  # type: ignore[misc]

    def start(self, t: float, q: Array, v: Array, h: float | None = None, end: float = math.inf) -> None:
        """Begin at this state."""
        self._t, self._y = float(t), Point(np.array(q), np.array(v), np.zeros(2))
        before = self.problem.evaluations
        self._slope = self._machine(0.0).slope(0.0, self._y.q, self._y.v)
        require_finite(self.problem, self._t, self._slope.v, "acceleration")
        most = self.settings.step
        if self.adaptive:
            if h is None:
                h = first_step(self.problem, self.settings, self.order, self._t, self._y, self._slope, end)
            self._h = h if most is None else min(h, most)
        else:
            assert most is not None
            self._h = most
        self._new = self.problem.evaluations - before

    def _machine(self, h: float) -> NumpyMachine:
        return NumpyMachine(self.problem, self._t, h, self.settings.rtol, self.settings.atol)

    @property
    def h(self) -> float:
        """The step size that it would try next."""
        return self._h

    def step(self, end: float) -> Step:
        """One accepted step; decisions are those of the compiled loop, `compile.timeloops.adaptive`.

        Forces that are not finite at a stage reject an adaptive step, like an error that is too large.
        """
        method, rejected, before = self.tableau, 0, self.problem.evaluations - self._new
        nearly = NEARLY if self.adaptive else REMAINDER
        tried: rk_step.Attempt[Array] | None = None
        bad: StepFailedError | None = None
        while True:
            last = self._t + self._h * nearly >= end
            h = end - self._t if last else self._h
            if self._t + 0.1 * h == self._t and not last:
                if bad is not None:
                    raise bad.counted(rejected, self.problem.evaluations - before)
                raise stuck(self.problem, self._t, self._slope.v, tried, rejected, self.problem.evaluations - before)
            machine = self._machine(h)
            try:
                tried = rk_step.attempt(machine, method, self._y, self._slope)
                if self.adaptive:
                    error = float(combined_error(tried.squares))
                    factor = float(step_factor(error, method.error_order, 1.0 if rejected else GROWTH))
                    if error <= 1.0:
                        self._h = max(h * factor, self._h) if h < self._h else h * factor
                        if self.settings.step is not None:
                            self._h = min(self._h, self.settings.step)
                        return self._take(machine, tried, end if last else self._t + h, rejected, before)
                    bad = None
            except StepFailedError as e:
                if e.lingers or e.kind not in (Ending.BAD_FORCE, Ending.NOT_CLOSED) or not self.adaptive:
                    raise
                bad, factor = e, SHRINKAGE
            if not self.adaptive:
                assert tried is not None
                require_finite(self.problem, self._t + h, tried.end.v, "velocity")
                require_finite(self.problem, self._t + h, tried.end.q, "position")
                return self._take(machine, tried, end if last else self._t + h, rejected, before)
            rejected += 1
            self._h = h * factor

    def _take(
        self, machine: NumpyMachine, tried: rk_step.Attempt[Array], t1: float, rejected: int, before: int
    ) -> Step:
        """Go on to the end of a step."""
        method, y, k = self.tableau, self._y, self._slope
        q, v, projected = self.problem.corrected(t1, tried.end.q, tried.end.v)
        moved = q is not tried.end.q or v is not tried.end.v
        end = Point(q, v, tried.end.w)
        slopes = rk_step.finish(machine, method, replace(tried, end=end))
        dense = None
        if method.degree:
            powers = [y, *rk_step.dense_coefficients(machine, method, y, slopes)]
            dense = np.array([np.concatenate(list(p)) for p in powers])
            if moved:
                bend(dense, np.concatenate([q - tried.end.q, v - tried.end.v]))
        slope = machine.slope(1.0, q, v) if moved and method.needs_end else slopes[method.stages]
        work, taken, count = float(end.w[0]), float(end.w[1]), self.problem.evaluations - before
        step = Step(self._t, t1, y.q, y.v, k.v, q, v, slope.v, work, taken, dense, rejected, count, projected)
        self._t, self._y, self._slope, self._new = t1, Point(q, v, np.zeros(2)), slope, 0
        return step

    def state(self) -> dict[str, NDArray[Any]]:
        """Time, state, its rates, the step size."""
        y, k = self._y, self._slope
        numbers = np.array([self._t, self._h, float(self._new)])
        return {"numbers": numbers, "q": y.q, "v": y.v, "kq": k.q, "kv": k.v, "kw": k.w}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Continue from there."""
        t, h, new = state["numbers"].tolist()
        self._t, self._h, self._new = t, h, int(new)
        self._y = Point(np.array(state["q"]), np.array(state["v"]), np.zeros(2))
        self._slope = Point(*(np.array(state[name]) for name in ("kq", "kv", "kw")))


def stuck(
    problem: Problem, t: float, a: Array, tried: rk_step.Attempt[Array] | None, rejected: int, count: int
) -> StepFailedError:
    """Why no step is short enough: numbers that are not finite, or a motion that is too fast for the tolerance."""
    if tried is not None:
        broken = ~(np.isfinite(tried.end.v) & np.isfinite(a))
        if broken.any() or not np.isfinite(tried.end.q).all():
            return not_finite(problem, t, int(np.argmax(broken)) if broken.any() else None, rejected, count)
    return too_small(problem, t, a, rejected, count)


def not_finite(problem: Problem, t: float, index: int | None, rejected: int, count: int) -> StepFailedError:
    """The failure of a motion that runs away."""
    name = "" if index is None else f" at joint {problem.joint_of(index)!r}"
    message = f"the motion is not finite after t = {t:.9g} s{name}"
    return StepFailedError(Ending.NOT_FINITE, t, message, index, rejected, count)


def too_small(problem: Problem, t: float, a: Array, rejected: int, count: int) -> StepFailedError:
    """The failure of error control."""
    index = int(np.argmax(np.abs(a))) if a.size else None
    message = (
        f"no step after t = {t:.9g} s is short enough for the tolerance; joint {problem.joint_of(index)!r} accelerates "
        "most. The motion may be stiff (method='radau'), or a force may jump (list its times as breaks)"
    )
    return StepFailedError(Ending.STEP_TOO_SMALL, t, message, index, rejected, count)


def require_finite(problem: Problem, t: float, x: Array, what: str) -> None:
    """Stop where a number is not finite, naming time and joint."""
    if not np.isfinite(x).all():
        index = int(np.flatnonzero(~np.isfinite(x))[0])
        name = problem.joint_of(index) if len(x) == problem.nv else problem.joint_at(index)
        raise StepFailedError(
            Ending.NOT_FINITE, t, f"the {what} of joint {name!r} is {x[index]} at t = {t:.9g} s", index
        )


def first_step(
    problem: Problem, settings: Settings, order: int, t: float, y: Point[Array], k: Point[Array], end: float = math.inf
) -> float:
    """A step to begin with, from the sizes of the state and its first two derivatives (Hairer et al. I, sec. II.4).

    At most a tenth of the way to the end; and nothing is asked of forces beyond it. An end that is but some roundings
    of the time away is one step.
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
    """A state a little later, as it would be by the rates, and its acceleration: with a shorter step where forces are
    not finite."""
    while True:
        q, v = problem.project(y.q + h * k.q), y.v + h * k.v
        try:
            return h, q, v, problem.acceleration(t + h, q, v)
        except StepFailedError:
            if t + 0.01 * h == t:
                raise
            h *= 0.01
