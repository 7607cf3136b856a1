"""Accepted steps in arrays, as the driver works with them, and what makes them: Python or machine code."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...arguments import Array
from ...errors import ArgumentError
from ...records import dataclass
from ..forces import Tabled
from ..integrators.dense import bend, hermite
from ..integrators.explicit import first_step, not_finite, too_small
from ..integrators.integrator import Integrator, Settings, Step, StepFailedError
from ..integrators.native import MOST_HELD, Closing, Native
from ..integrators.rk_step import Point
from .endings import Ending
from .problem import Problem
from .saved import Saved

if TYPE_CHECKING:
    from ...compile.timeloops.law_program import Law
    from ..constraints.limits import Stop
    from ..forces import Applied

__all__ = ["Chunk", "Compiled", "Runner", "Stepwise"]


_LONGEST = 0.1
"""Seconds of wall time after which compiled steps take no further sample in the same chunk."""


@dataclass(frozen=True)
class Chunk:
    """Steps one after the other: a row for each, of its end."""

    start: float
    t: Array
    q: Array
    v: Array
    a: Array
    tau: Array
    """Applied at the ends, by the law within the steps."""
    work: Array
    """In each step."""
    taken: Array
    """By passive forces, in each step."""
    dense: Array
    """(k, m, nq + nv + 2): coefficients in powers of the part of the step of q, v, work and what was taken; m is 0
    where nobody asks for them."""
    projected: Array
    """The energy that closing loops gave at the ends of steps, in each."""
    rejected: int
    evaluations: int
    failure: StepFailedError | None = None

    def __len__(self) -> int:
        return len(self.t)

    @property
    def edges(self) -> Array:
        """The times at which steps begin and end, (k + 1,)."""
        return np.concatenate([[self.start], self.t])

    def first(self, k: int) -> Chunk:
        """The first k steps; what all of them cost is kept."""
        names = ("t", "q", "v", "a", "tau", "work", "taken", "dense", "projected")
        return replace(self, **{name: getattr(self, name)[:k] for name in names}, failure=None)


class Runner(ABC, Saved):
    """Takes several steps at a time. Its state is everything that the next step depends on."""

    native = False

    @abstractmethod
    def start(self, t: float, q: Array, v: Array, h: float | None, end: float = np.inf) -> None:
        """Begin at this state, with a first step to try or None; no force is asked for beyond the end."""

    @abstractmethod
    def run(self, end: float, most: int, limit: float) -> Chunk:
        """Take up to `most` steps towards the end of the piece; fewer only if it is reached, or there is a failure.

        If `limit` is later, the runner may go on towards it through further pieces; it then samples the controller at
        their starts.
        """

    def rests(self, stops: Sequence[Stop]) -> bool:
        """Tell whether it can take steps in which joints rest on these stops."""
        return True

    @property
    @abstractmethod
    def h(self) -> float | None:
        """The step that it would try next."""

    @property
    def samples(self) -> bool:
        """True if compiled code computes the forces of a sampled controller, so that steps may be taken back."""
        return False


class Stepwise(Runner):
    """An integrator, called step by step."""

    def __init__(self, integrator: Integrator) -> None:
        self.integrator, self.problem = integrator, integrator.problem

    def start(self, t: float, q: Array, v: Array, h: float | None, end: float = np.inf) -> None:
        """Begin at this state."""
        self._t = t
        self.integrator.start(t, q, v, h, end)

    @property
    def h(self) -> float | None:
        """The step that it would try next."""
        return self.integrator.h

    def run(self, end: float, most: int, limit: float) -> Chunk:
        """Steps, stacked."""
        taken: list[Step] = []
        failure = None
        start, t = self._t, self._t
        while t < end and len(taken) < most:
            before = self.integrator.state()
            try:
                taken.append(self.integrator.step(end))
            except StepFailedError as e:
                failure = e
                break
            except KeyboardInterrupt:  # the steps before are kept, and a checkpoint can go on from there
                self.integrator.restore(before)
                failure = interrupted(t)
                break
            t = taken[-1].t1
        self._t = t
        return self._stacked(start, taken, failure)

    def _stacked(self, start: float, taken: list[Step], failure: StepFailedError | None) -> Chunk:
        problem, n = self.problem, len(taken)
        rows = {
            name: np.array([getattr(s, name) for s in taken]).reshape(n, size)
            for name, size in (("q1", problem.nq), ("v1", problem.nv), ("a1", problem.nv))
        }
        t = np.array([s.t1 for s in taken])
        tau = problem.tau.over(t, rows["q1"], rows["v1"])
        return Chunk(
            start,
            t,
            rows["q1"],
            rows["v1"],
            rows["a1"],
            tau,
            work=np.array([s.work for s in taken]),
            taken=np.array([s.dissipated for s in taken]),
            dense=self._dense(taken),
            projected=np.array([s.projected for s in taken]),
            rejected=sum(s.rejected for s in taken) + (failure.rejected if failure else 0),
            evaluations=sum(s.evaluations for s in taken) + (failure.evaluations if failure else 0),
            failure=failure,
        )

    def _dense(self, taken: list[Step]) -> Array:
        problem, n = self.problem, len(taken)
        width = problem.nq + problem.nv + 2
        if not n:
            return np.zeros((0, 1, width))
        if taken[0].dense is not None:
            dense = np.array([s.dense for s in taken])
            if dense.shape[2] == width:
                return dense
            works = _works(problem, taken)
            full = np.zeros((n, max(dense.shape[1], 4), width))
            full[:, : dense.shape[1], :-2], full[:, :4, -2:] = dense, works
            return full
        ends = [[np.array([getattr(s, f"{name}{k}") for s in taken]) for name in "qva"] for k in (0, 1)]
        values = [np.concatenate([q, v], axis=1) for q, v, _ in ends]
        rates = [np.concatenate([problem.position_rate(q, v), a], axis=1) for q, v, a in ends]
        h = np.array([s.t1 - s.t0 for s in taken])
        return np.concatenate([hermite(h, values[0], rates[0], values[1], rates[1]), _works(problem, taken)], axis=2)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the state of the integrator."""
        return {"t": np.array(self._t), **{f"integrator.{k}": x for k, x in self.integrator.state().items()}}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Continue from there."""
        self._t = float(state["t"])
        inner = {k.removeprefix("integrator."): x for k, x in state.items() if k.startswith("integrator.")}
        self.integrator.restore(inner)


def _works(problem: Problem, taken: list[Step]) -> Array:
    """Works within steps as cubics: from what each step has in all, and the powers at its ends."""
    powers = np.array(
        [[problem.powers(*at) for at in ((s.t0, s.q0, s.v0, s.a0), (s.t1, s.q1, s.v1, s.a1))] for s in taken],
        dtype=float,
    )
    total = np.array([[s.work, s.dissipated] for s in taken])
    h = np.array([s.t1 - s.t0 for s in taken])
    return hermite(h, np.zeros_like(total), powers[:, 0], total, powers[:, 1])


class Compiled(Runner):
    """Machine code that takes all steps between two breaks of the forces by itself."""

    native = True
    saved = ("_t", "_h", "_q", "_v", "_new")

    def __init__(
        self,
        problem: Problem,
        settings: Settings,
        method: str,
        between: bool = True,
        closing: Closing | None = None,
        holds: bool = False,
        law: Law | None = None,
    ) -> None:
        """`between` is whether anybody looks at the motion within steps: three more evaluations of each by DP8.

        `closing` describes the loops that steps keep closed; if it `holds`, joints may rest on stops. `law` is that of
        the controller, if steps compute it.
        """
        self.problem, self.settings, self._between = problem, settings, between
        self._new_loop = partial(
            Native,
            problem.robot,
            method,
            dynamics=problem.dynamics_method,
            rtol=settings.rtol,
            atol=settings.atol,
            max_step=np.inf if settings.step is None else settings.step,
            smoothing=problem.smoothing,
            external=not problem.external.absent,
            closing=closing,
            holds=holds,
        )
        self._loop = self._new_loop(law=law)
        self._started = False
        self.unclear = False
        """True if the next step needs a decision about loops that compiled code does not make."""
        self._adaptive = self._loop.method.adaptive

    def start(self, t: float, q: Array, v: Array, h: float | None, end: float = np.inf) -> None:
        """Begin at this state."""
        self._t, self._q, self._v = float(t), np.array(q), np.array(v)
        self._new, self.unclear = 0, False
        if self._started:
            self._renew_law()
        self._started = True
        if not self._adaptive:
            h = self.settings.step
        elif h is None:
            before = self.problem.evaluations
            a, power, taken = self.problem.rates(self._t, self._q, self._v)
            if not np.isfinite(a).all():
                raise not_finite(self.problem, self._t, int(np.argmin(np.isfinite(a))), 0, 1)
            slope = Point(self.problem.position_rate(self._q, self._v), a, np.array([power, taken]))
            y = Point(self._q, self._v, np.zeros(2))
            h = first_step(self.problem, self.settings, self._loop.method.order, self._t, y, slope, end)
            self._new = self.problem.evaluations - before
        assert h is not None
        self._h = h if self.settings.step is None else min(h, self.settings.step)

    def _renew_law(self) -> None:
        """Take over the numbers of a controller, which the effect of an event may have changed."""
        before = self._loop.law
        if before is None:
            return
        law = self.problem.tau.law()
        if law is None:
            raise ArgumentError(
                "tau: the controller got a goal or a part during the run that compiled code cannot follow; give "
                "native=False"
            )
        if law.program == before.program and all(law.requests[name] is x for name, x in before.requests.items()):
            self._loop.use(law)
        else:
            self._loop = self._new_loop(law=law)

    @property
    def h(self) -> float | None:
        """The step that it would try next."""
        return self._h

    def run(self, end: float, most: int, limit: float) -> Chunk:
        """Call the compiled loop."""
        start, nq, nv = self._t, self.problem.nq, self.problem.nv
        before = (start, self._q, self._v)
        law = self._loop.law
        tau, slant, since = line(self.problem.tau, start, end) if law is None or law.period else _no_force(nv, start)
        external = self.problem.external.line(since)
        samples = _Samples(self.problem, tau, limit)
        s = self._loop.advance(
            *(start, self._q, self._v, self._h, end, tau, slant, since, most, self._between, external),
            renew=samples if limit > end and law is None else None,
            held=[s.v for s in self.problem.held],
            limit=limit,
        )
        n, renewals = len(s.t), list(s.renewals)
        if n:
            self._t, self._q, self._v, self._h = float(s.t[-1]), s.q[-1], s.v[-1], s.h
        self.unclear = s.status == "unclear"
        failure, count = samples.failure, s.evaluations + self._new
        self._new = 0
        if s.status == "not-finite":
            failure = not_finite(self.problem, self._t, s.index, 0, 0)
        elif s.status == "too-small":
            failure = too_small(self.problem, self._t, s.a[-1] if n else s.a0, 0, 0)
        dense = s.dense
        work, taken = (_differences(sums, renewals) for sums in (s.work, s.dissipated))
        forces, at_starts = self._forces(start, s, samples, slant, since)
        if not self._between:
            dense = np.empty((n, 0, nq + nv + 2))
        elif dense is None:
            if at_starts is None:
                at_starts = np.concatenate([self.problem.tau(*before)[None], forces[:-1]])[:n]
            dense = self._hermite(before, s, (at_starts, forces), np.stack([work, taken], axis=1))
        elif s.before is not None:
            change = np.concatenate([s.q - s.before[0], s.v - s.before[1]], axis=1)
            bend(np.moveaxis(dense, 1, 0), change)
        good = n if self._adaptive else _finite_rows(s.q, s.v)
        chunk = Chunk(
            start,
            s.t,
            s.q,
            s.v,
            s.a,
            forces,
            work=work,
            taken=taken,
            dense=dense.reshape(n, dense.shape[1], nq + nv + 2),
            projected=self._projected(s),
            rejected=int(s.rejected.sum()) + s.failed,
            evaluations=count,
            failure=failure,
        )
        if good == n:
            return chunk
        bad = np.flatnonzero(~np.isfinite(s.v[good]))
        return replace(
            chunk.first(good), failure=not_finite(self.problem, chunk.t[good], int(bad[0]) if bad.size else None, 0, 0)
        )

    def _forces(
        self, start: float, s: Any, samples: _Samples, slant: Array, since: float
    ) -> tuple[Array, Array | None]:
        """Return the drives' forces at the ends of steps and at their starts; None if these are the ends before."""
        if s.tau is None:
            held = np.repeat(samples.tau, np.diff([0, *s.renewals, len(s.t)]), axis=0)
            if not slant.any():
                return held, held
            starts = np.concatenate([[start], s.t[:-1]])[: len(s.t)]
            return held + (s.t - since)[:, None] * slant, held + (starts - since)[:, None] * slant
        if not self.samples:
            return s.tau, None
        self.problem.end = s.t_end
        if len(s.t):
            self.problem.tau.return_to(float(s.t[-2] if len(s.t) > 1 else start), s.tau[-1])
        return s.tau, s.tau

    def _projected(self, s: Any) -> Array:
        """Return the energies that closing loops gave at the ends of steps."""
        if s.before is None or not len(s.t):
            return np.zeros(len(s.t))
        robot = self.problem.robot
        after, before = (robot.kinetic_energy(q, v) + robot.potential_energy(q) for q, v in ((s.q, s.v), s.before))
        return np.asarray(after - before)

    def rests(self, stops: Sequence[Stop]) -> bool:
        """Tell whether these are few, of joints of the tree; nor may time do work on the loops."""
        few = self._loop.holds and len(stops) <= MOST_HELD and not self.problem.timed
        return not stops or (few and all(s.own for s in stops))

    @property
    def samples(self) -> bool:
        """True if compiled code computes the forces of a sampled controller."""
        return self._loop.law is not None and self._loop.law.period is not None

    @property
    def at(self) -> tuple[float, Array, Array, float]:
        """The time, the state, and the step that it would try next."""
        return self._t, self._q, self._v, self._h

    def _hermite(self, before: tuple[float, Array, Array], s: Any, forces: tuple[Array, Array], works: Array) -> Array:
        """Within steps of methods that say nothing about it: cubics by values and rates at both ends."""
        problem, n = self.problem, len(s.t)
        if not n:
            return np.empty((0, 4, problem.nq + problem.nv + 2))
        t, q, v = (np.concatenate([np.asarray(x)[None], y]) for x, y in zip(before, (s.t, s.q, s.v), strict=True))
        external, speeds = problem.external_force(t, q, v), problem.position_rate(q, v)
        passive = problem.passive_force(q, v)
        taken = -np.sum(passive * v, axis=1)
        values, rates = [], []
        for k, a, force, work in ((0, s.a_start, forces[0], np.zeros_like(works)), (1, s.a, forces[1], works)):
            part = slice(k, n + k)
            applied = force + external[part]
            power = np.sum(applied * v[part], axis=1)
            if problem.timed:
                power = power + problem.loop_power(q[part], v[part], a, applied + passive[part])
            values.append(np.concatenate([q[part], v[part], work], axis=1))
            rates.append(np.concatenate([speeds[part], a, power[:, None], taken[part, None]], axis=1))
        return hermite(np.diff(t), values[0], rates[0], values[1], rates[1])


class _Samples:
    """Samples the controller at the end of a piece, while compiled steps go on towards a limit."""

    def __init__(self, problem: Problem, tau: Array, limit: float) -> None:
        self.problem, self.limit, self.tau = problem, limit, [tau]
        self.failure: StepFailedError | None = None
        self._until = time.perf_counter() + _LONGEST

    def __call__(self, t: float, q: Array, v: Array) -> tuple[Array, float] | None:
        """Return the joint forces of the piece that begins here, and its end; None where the steps end."""
        problem = self.problem
        if t >= self.limit or time.perf_counter() > self._until:
            return None
        if problem.calm is not None and not problem.calm(t, q, v):
            return None
        try:
            problem.tau.enter(t, q, v)
        except StepFailedError as e:
            self.failure = e
            return None
        except KeyboardInterrupt:
            self.failure = interrupted(t)
            return None
        problem.end = min(self.limit, problem.tau.next_break(t))
        self.tau.append(problem.tau(t, q, v))
        return self.tau[-1], problem.end


def _differences(sums: Array, renewals: list[int]) -> Array:
    """Return the works of steps from sums that begin anew with these steps."""
    found = np.diff(sums, prepend=0.0)
    taken = [k for k in renewals if k < len(sums)]  # after the last renewal, the first step may have failed
    found[taken] = sums[taken]
    return found


def _no_force(nv: int, t: float) -> tuple[Array, Array, float]:
    """Return zeros for the forces that a law computes, as value, slant and the time of the value."""
    return np.zeros(nv), np.zeros(nv), t


def interrupted(t: float) -> StepFailedError:
    """Return the failure of a run that the user interrupts."""
    return StepFailedError(Ending.INTERRUPTED, t, f"interrupted at t = {t:.9g} s")


def line(tau: Applied, start: float, end: float) -> tuple[Array, Array, float]:
    """Forces of the current piece as value + (t - since) * slant."""
    nothing = np.zeros(tau.robot.nv)
    value = tau(start, nothing, nothing)
    return tau.table.line(tau.table.piece(start)) if isinstance(tau, Tabled) else (value, nothing, start)


def _finite_rows(q: Array, v: Array) -> int:
    """How many rows come before the first that is not finite."""
    bad = np.flatnonzero(~(np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1)))
    return int(bad[0]) if bad.size else len(q)
