"""One run: pieces between breaks of the forces, chunks of steps, events, impacts, books, checkpoints."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..constraints.joint_stops import Contact
from ..constraints.limits import Excess, Stop
from ..events import SAME_MOMENT, Event, Found, Tracker
from ..integrators.dense import Closing, Dense, Segment
from ..integrators.integrator import StepFailedError
from ..results.report import Report, warn
from .balance import Balance, conserved
from .chunk import Chunk, Runner
from .endings import Ending
from .event_record import Happened
from .log import Log
from .problem import Problem
from .sampling import cut, sampled

if TYPE_CHECKING:
    from ..options import SimulationOptions
    from ..results.result import Result
    from .checkpoint import Block, Checkpoint

__all__ = ["Run"]

Array = NDArray[np.float64]

_SAVE_EVERY = 0.5
"""Seconds between two checkpoints."""
_SAVE_STEPS = 20_000
"""Steps between two checkpoints, at most."""
_STEPWISE, _WATCHED, _FREE = 64, 64, 2048
"""Steps in a chunk: from Python, with events that may end it, and without."""
_SOON = 4
"""Steps in the first chunk from Python after an event, as the next one may be near; then twice as many each time."""


class Run:
    """The state of a run, and what it has written down."""

    def __init__(
        self,
        problem: Problem,
        runner: Runner,
        resting: Runner | None,
        state: tuple[Array, Array],
        end: float,
        times: Array | None,
        stops: list[Stop],
        options: SimulationOptions,
        began: float,
        compiling: float = 0.0,
    ) -> None:
        self.problem, self.robot, self.end, self.times = problem, problem.robot, end, times
        self._usual, self._resting, self.runner = runner, resting, runner
        self.t, (self.q, self.v) = 0.0, state
        self.options, self._began, events = options, began, options.events
        own = self.own_events()
        self._watch = Tracker(self.robot, (*events, *own), max(1, options.order // 2))
        self.user, self._own = len(events), len(own)
        self.contact = Contact(problem, self._watch, stops, options.limits, options.restitution)
        self.log = Log(problem.nq, problem.nv, tuple(problem.extra.values()))
        self.balance = Balance(self.robot, conserved(self.robot, problem.external.absent))
        self.excess = Excess(self.robot)
        self.steps = self.rejected = self.evaluations = self.next_time = self.impacts = 0
        self.wall, self._compiling = 0.0, compiling
        self._fresh, self._h = True, float("nan")
        self.stopped: Ending | None = None
        self.message = ""
        watched = bool(events or stops or own)
        self._most = (_WATCHED if watched else _FREE) if runner.native else _STEPWISE
        self._ahead = _SOON

    # ---- the loop

    def go(self, path: str | os.PathLike[str] | None, key: str, progress: Callable[[float], Any] | None) -> Result:
        """Run to the end, or go on from a checkpoint to it."""
        if path is None:
            self._begin()
            self._loop(None, progress)
            return self._result()
        from .checkpoint import Checkpoint

        with Checkpoint.open(path, key) as saved:
            blocks, state = saved.load()
            if state:
                self._restore(blocks, state)
            else:
                self._begin()
            if not self.stopped and self._loop(saved, progress):
                self._save(saved)
        return self._result()

    def _begin(self) -> None:
        """The first row, and contacts that the run starts with."""
        problem, robot = self.problem, self.robot
        self.balance.start(self.q, self.v)
        self.begun()
        try:
            problem.enter(0.0, self.q, self.v)
            tau = problem.tau(0.0, self.q, self.v)
            a = problem.acceleration(0.0, self.q, self.v)
            self.evaluations += 1
        except StepFailedError as e:
            tau = a = np.full(robot.nv, np.nan)
            self._fail(e)
        self.excess.see(np.zeros(1), self.q[None])
        if self.times is None or self.times[0] == 0.0:
            self.next_time = 0 if self.times is None else 1
            self._row(0.0, self.q, self.v, a, tau)
        if not self.stopped:
            try:
                self._touch(self.contact.begin(self.t, self.q, self.v))
            except StepFailedError as e:
                self._fail(e)

    def _row(self, t: float, q: Array, v: Array, a: Array, tau: Array) -> None:
        sums = (np.array([self.balance.work]), np.array([self.balance.dissipated]))
        self._rows(np.array([t]), q[None], v[None], a[None], tau[None], *sums)

    def _rows(self, t: Array, q: Array, v: Array, a: Array, tau: Array, work: Array, lost: Array) -> None:
        self.log.rows(t, q, v, a, tau, work, lost, *self.problem.series(t, q, v, a, tau))

    def _loop(self, saved: Checkpoint | None, progress: Callable[[float], Any] | None) -> bool:
        """Run until something ends it; whether the state is one that can be saved."""
        last_save, last_steps = time.perf_counter(), self.steps
        whole = True
        try:
            while not self.stopped:
                whole = False
                self._advance()
                whole = True
                if progress is not None:
                    progress(min(1.0, self.t / self.end) if self.end > 0.0 else 1.0)
                if saved is not None:
                    now = time.perf_counter()
                    if now - last_save > _SAVE_EVERY or self.steps - last_steps >= _SAVE_STEPS:
                        self._save(saved)
                        last_save, last_steps = now, self.steps
        except KeyboardInterrupt:
            self.stop(Ending.INTERRUPTED, f"interrupted at t = {self.t:.9g} s")
        return whole

    def _advance(self) -> None:
        """One chunk of steps, and what happens in it."""
        if self.t >= self.end:
            self.stop(Ending.END, f"reached the end, t = {self.end:.9g} s")
            return
        if self.steps >= self.options.max_steps:
            taken = f"{self.steps} steps were taken by t = {self.t:.9g} s: raise max_steps, or rtol and atol"
            self.stop(Ending.MAX_STEPS, taken)
            return
        try:
            if self._fresh:
                self.before_piece()
                if self.stopped:
                    return
                self._enter()
            end = self._next_end()
            ahead = self._most if self.runner.native else min(self._most, self._ahead)
            self._ahead = min(2 * self._ahead, self._most)
            chunk = self.runner.run(end, min(ahead, self.options.max_steps - self.steps))
        except StepFailedError as e:
            self._fail(e)
            return
        self.rejected, self.evaluations = self.rejected + chunk.rejected, self.evaluations + chunk.evaluations
        try:
            self._take(chunk)
        except StepFailedError as e:
            self._fail(e)
            return
        if chunk.failure is not None and not self.stopped and not self._fresh:
            self.failed(chunk.failure)
        elif self.t >= end and not self._fresh:
            self._fresh, self._h = True, self.runner.h or math.nan

    def _enter(self) -> None:
        """Begin a piece of smooth forces."""
        self.problem.enter(self.t, self.q, self.v)
        self.runner = self._resting if self.problem.held and self._resting is not None else self._usual
        end = self.problem.end = self._next_end()
        self.runner.start(self.t, self.q, self.v, None if math.isnan(self._h) else self._h, end)
        self._fresh = False

    def _next_end(self) -> float:
        """The end of the run, or of the current piece of smooth forces."""
        return min(self.end, self.problem.next_break(self.t), self.next_break())

    def stop(self, ending: Ending, message: str) -> None:
        """End the run here."""
        self.stopped, self.message = ending, message

    def _fail(self, e: StepFailedError) -> None:
        name = self.problem.joint_of(e.index)
        known = f" (joint {name!r})" if name and name not in str(e) else ""
        self.stop(e.kind, f"{e}{known}")

    def _take(self, chunk: Chunk) -> None:
        """Write down the steps of a chunk, up to the first thing that ends it."""
        found = self._watch.search(chunk.edges, chunk.dense)
        last = found[-1] if found and self._watch.events[found[-1].index].terminal else None
        due: list[Found] | None = None
        if last is not None:
            due = [last, *self._beside(chunk, last, found)]
            chunk, self._ahead = self.shortened(chunk, last), _SOON
            found.pop()
        elif len(chunk) and self.is_due(float(chunk.t[-1])):
            end = Found(len(chunk) - 1, 1.0, float(chunk.t[-1]), -1, chunk.q[-1], chunk.v[-1])
            due = self._beside(chunk, end, found)
        self._book(chunk)
        self._note([*found, *(due or ())])
        if due is not None:
            self._happen([f.index for f in due], chunk)

    def _beside(self, chunk: Chunk, at: Found, found: list[Found]) -> list[Found]:
        """Events at the same moment as one that ends a chunk, or as its end; of stops only the first."""
        known = {f.index for f in found if f.t >= at.t - SAME_MOMENT}
        t0, t1 = chunk.edges[at.step : at.step + 2].tolist()
        segment = Segment(self.robot, t0, t1, chunk.dense[at.step])
        asked = [k for k in range(len(self._watch.events)) if k not in known and self.joins(k)]
        due = self._watch.beside(segment, at.step, at.s, asked) if asked else []
        stops = [k for k in (at.index, *due) if k >= self.user + self._own]
        return [replace(at, index=k) for k in due if k not in stops[1:]]

    def _happen(self, due: list[int], chunk: Chunk) -> None:
        """Do what is due at this moment: joints meet their stops, then loops are switched, then the run may end."""
        events, own = self._watch.events, self.user + self._own
        ending = next((k for k in due if k < self.user and events[k].terminal), None)
        stop = next((k for k in due if k >= own), None)
        if due and self.user <= due[0] < own:
            self.own_event(due[0] - self.user)
        if stop is not None and ending is None and not self.contact.ends and not self.stopped:
            self.touched(stop)
            self._fresh, self._h = True, max(chunk.t[-1] - chunk.edges[-2], 1e-9) if len(chunk) else math.nan
        if not self.stopped:
            self.switch(due)
        if self.stopped:
            return
        if ending is not None:
            self.stop(Ending.EVENT, f"event {events[ending].name!r} at t = {self.t:.9g} s")
        elif stop is not None and self.contact.ends:
            self.stop(Ending.LIMIT, f"{events[stop].name} at t = {self.t:.9g} s")

    def _book(self, chunk: Chunk) -> None:
        """Rows, sums and limits of steps."""
        if not len(chunk):
            return
        before = (self.balance.work, self.balance.taken)
        W, lost = self.balance.enter(chunk.q, chunk.v, chunk.tau, chunk.work, chunk.taken)
        self.excess.see(chunk.t, chunk.q)
        self.seen(chunk)
        if self.times is None:
            self._rows(chunk.t, chunk.q, chunk.v, chunk.a, chunk.tau, W, lost)
        else:
            done = int(np.searchsorted(self.times, chunk.t[-1], side="right"))
            asked = self.times[self.next_time : done]
            self.next_time = done
            if len(asked):
                self._rows(*sampled(self.problem, chunk, asked, W, lost, before, self.balance))
        if self.options.dense:
            self.log.dense(chunk.edges, chunk.dense)
        self.steps += len(chunk)
        self.t, self.q, self.v = float(chunk.t[-1]), chunk.q[-1], chunk.v[-1]
        self._last = (chunk.a[-1], chunk.tau[-1])

    def _note(self, found: list[Found]) -> None:
        shown = [f for f in found if self.is_shown(f.index) and not self.contact.is_release(f.index)]
        if shown:
            index = np.array([f.index for f in shown])
            arrays = [np.array([getattr(f, name) for f in shown]) for name in ("t", "q", "v")]
            self.log.events(arrays[0], index, arrays[1], arrays[2])

    def _touch(self, after: tuple[Array, Array] | None, shown: bool = False) -> None:
        """An impact: a row with the state after it; if `shown`, also one that changes accelerations only."""
        if after is None:
            return
        (q, v), before = after, self.v
        same = np.array_equal(v, before)
        if same and shown and self.times is None:
            self._row(self.t, q, v, self.problem.acceleration(self.t, q, v), self.problem.tau(self.t, q, v))
        if not same:
            loss = float(self.robot.kinetic_energy(self.q, before)) - float(self.robot.kinetic_energy(q, v))
            tau = self.problem.tau(self.t, q, v)
            self.balance.enter(q[None], v[None], tau[None], np.zeros(1), np.array([loss]))
            self.impacts += 1
            if self.times is None:
                self._row(self.t, q, v, self.problem.acceleration(self.t, q, v), tau)
        self.q, self.v = q, v

    # ---- what runs of robots with loops do besides

    def own_events(self) -> list[Event]:
        """Events that it watches after the user's, each of which ends a chunk."""
        return []

    def own_event(self, number: int) -> None:
        """One of them took place, here."""

    def joins(self, index: int) -> bool:
        """Whether an event is looked for at the moment of another one that ends a chunk."""
        return index < self.user

    def is_due(self, t: float) -> bool:
        """Whether there is something to switch at the end of a chunk."""
        return False

    def switch(self, due: list[int]) -> None:
        """Open and close loops, at this moment and by these events."""

    def is_shown(self, index: int) -> bool:
        """Whether an event is one that the result tells."""
        return True

    def begun(self) -> None:
        """The run starts."""

    def before_piece(self) -> None:
        """A piece of smooth forces starts."""

    def next_break(self) -> float:
        """When it ends, but for forces."""
        return math.inf

    def shortened(self, chunk: Chunk, last: Found) -> Chunk:
        """The steps up to an event that ends them."""
        return cut(self.problem, chunk, last)

    def touched(self, index: int) -> None:
        """A joint reached a stop here, or leaves one."""
        self._touch(self.contact.touched(self.t, self.q, self.v, index))

    def seen(self, chunk: Chunk) -> None:
        """Steps were taken."""

    def failed(self, e: StepFailedError) -> None:
        """No further step could be taken."""
        self._fail(e)

    def closing(self) -> Closing | None:
        """What takes states between steps to where they belong."""
        return None

    def more_state(self) -> dict[str, NDArray[Any]]:
        """For a checkpoint."""
        return {}

    def restore_more(self, state: dict[str, NDArray[Any]]) -> None:
        """From a checkpoint."""

    # ---- the end

    def _result(self) -> Result:
        from ..results.result import Result

        log = self.log
        if self.times is not None and self.stopped != Ending.END and self.steps:
            seen = log.column("rows", 0)
            if not len(seen) or seen[-1] < self.t:
                a, tau = self._last
                self._row(self.t, self.q, self.v, a, tau)
        edges, coefficients = log.motion()
        dense = Dense(self.robot, edges, coefficients, self.closing()) if len(coefficients) else None
        rows = [log.column("rows", k) for k in range(7)]
        extra = {name: log.column("rows", 7 + k) for k, name in enumerate(self.problem.extra)}
        self.wall += time.perf_counter() - self._began
        report = self._report()
        if not report.ok:
            warn(f"{self.robot.name}: {report.message}; what was computed up to there is kept")
        t, q, v, a, tau, work, lost = rows
        return Result(self.robot, t, q, v, a, tau, work, lost, self._happened(), report, dense, extra)

    def _happened(self) -> tuple[Happened, ...]:
        t, index, q, v = (self.log.column("events", k) for k in range(4))
        names = [e.name for e in self._watch.events]
        return tuple(
            Happened(float(t[k]), names[i], i if i < self.user else -1, q[k], v[k])
            for k, i in enumerate(index.astype(int).tolist())
        )

    def _report(self) -> Report:
        b = self.balance
        return Report(
            robot=self.robot.name,
            method=self.options.method,
            dynamics=self.problem.dynamics_method,
            stopped=str(self.stopped),
            message=self.message,
            time=self.t,
            steps=self.steps,
            rejected=self.rejected,
            evaluations=self.evaluations,
            work=b.work,
            dissipated=b.dissipated,
            kinetic=b.kinetic,
            potential=b.potential,
            energy_error=b.error,
            momentum_error=b.momentum(),
            violations=self.excess.violations(),
            impacts=self.impacts,
            native=self._usual.native,
            wall=self.wall,
            compiling=self._compiling,
        )

    # ---- checkpoints

    def _save(self, saved: Checkpoint) -> None:
        final = self.stopped not in (None, Ending.INTERRUPTED, Ending.MAX_STEPS)
        now = time.perf_counter()
        self.wall, self._began = self.wall + now - self._began, now
        counts = [self.steps, self.rejected, self.evaluations, self.next_time, self.impacts, int(self._fresh)]
        counts.append(self._ahead)
        state: dict[str, NDArray[Any]] = {
            "counts": np.array([*counts, int(self.problem.evaluations)]),
            "numbers": np.array([self.t, self._h, self.wall]),
            "q": self.q,
            "v": self.v,
            "stopped": np.array(str(self.stopped) if final else "", dtype="U32"),
            "message": np.array(self.message if final else "", dtype="U1000"),
            "signs": self._watch.signs,
            "leaving": np.array([self._watch.leaving.get(k, np.nan) for k in range(len(self._watch.events))]),
            "held": self.contact.state(),
            "last": np.array(self._last) if hasattr(self, "_last") else np.zeros((2, self.robot.nv)),
        }
        parts = {"balance": self.balance.state(), "excess": self.excess.state(), "tau": self.problem.tau.state()}
        parts["more"] = self.more_state()
        if not self._fresh:
            parts["runner"] = self.runner.state()
        for group, arrays in parts.items():
            state |= {f"{group}:{name}": x for name, x in arrays.items()}
        saved.append(self.log.unsaved(), state)

    def _restore(self, blocks: list[Block], state: dict[str, NDArray[Any]]) -> None:
        self.log.restore(blocks)
        *counts, evaluations = state["counts"].tolist()
        self.steps, self.rejected, self.evaluations, self.next_time, self.impacts, fresh, self._ahead = counts
        self.problem.evaluations, self._fresh = evaluations, bool(fresh)
        self.t, self._h, self.wall = state["numbers"].tolist()
        self.q, self.v, self._last = state["q"], state["v"], (state["last"][0], state["last"][1])
        word, self.message = str(state["stopped"]), str(state["message"])
        self.stopped = Ending.of(word) if word else None

        def group(name: str) -> dict[str, NDArray[Any]]:
            return {k.removeprefix(f"{name}:"): x for k, x in state.items() if k.startswith(f"{name}:")}

        self.restore_more(group("more"))
        self.balance.restore(group("balance"))
        self.excess.restore(group("excess"))
        if not self.stopped:
            self.contact.restore(state["held"])
            self._watch.signs = np.array(state["signs"])
            self._watch.leaving = {k: x for k, x in enumerate(state["leaving"].tolist()) if not math.isnan(x)}
            self.problem.tau.restore(group("tau"))
            if not self._fresh:
                self.problem.enter(self.t, self.q, self.v)
                self.problem.end = self._next_end()
                self.runner = self._resting if self.problem.held and self._resting is not None else self._usual
                self.runner.restore(group("runner"))
