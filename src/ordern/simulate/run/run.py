"""One run: pieces between breaks of the forces, chunks of steps, watchers, impacts, books, checkpoints."""

from __future__ import annotations

import math
import os
import time
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

from ...arguments import Array, real
from ...errors import ArgumentError
from ..constraints.constraints import Constraints
from ..constraints.dense_projection import Closing
from ..constraints.joint_stops import JointStops
from ..constraints.limits import Excess, Stop
from ..constraints.loop_books import LoopBooks
from ..constraints.singular_band import SingularBand
from ..constraints.switching import Switching
from ..exchange import read_only
from ..integrators.dense import Dense, Segment
from ..integrators.integrator import StepFailedError
from ..results.report import SimulationReport, warn
from .balance import Balance, conserved
from .chunk import Chunk, Runner
from .endings import Ending
from .jumps import Jumps
from .log import Happened, Log
from .problem import Problem
from .sampling import sampled
from .watchers import SAME_MOMENT, Found, Phase, Tracker, Watcher, WatchFunction

if TYPE_CHECKING:
    from ..options import SimulationOptions
    from ..results.result import Result
    from .checkpoint import Block, Checkpoint

__all__ = ["Book", "OneSided", "Run"]

State = tuple[Array, Array]

_SAVE_EVERY = 0.5
"""Seconds between two checkpoints."""
_SAVE_STEPS = 20_000
"""Steps between two checkpoints, at most."""
_STEPWISE, _WATCHED, _FREE = 64, 64, 2048
"""Steps in a chunk: from Python, with watchers that may end it, and without."""
_SOON = 4
"""Steps in the first chunk after an event, as the next one may be near; then twice as many each time. A run that is
stepped from Python begins so, too."""


class Book(Protocol):
    """An account of a run: it sees all steps, and fills fields of the report."""

    def see(self, chunk: Chunk) -> None:
        """Book steps."""

    def report(self) -> dict[str, Any]:
        """Return fields of the `SimulationReport`; violations of several books are joined."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the state for a checkpoint."""

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Continue from a checkpoint."""


class OneSided(Protocol):
    """Contacts that may fail during a run."""

    watchers: list[Watcher]

    def enter(self, run: Run) -> None:
        """Take part in a run."""

    def begin(self) -> None:
        """Look at the start, at which contacts may fail already."""

    def follow(self, chunk: Chunk, found: list[Found]) -> None:
        """Note steps, and the sign changes in them."""

    def struck(self, after: State) -> State | None:
        """Let contacts fail that cannot take their share of an impact; return the state after it, or None."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the state for a checkpoint."""

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Continue from a checkpoint."""


@final
class Run:
    """The state of a run, and its records."""

    def __init__(
        self,
        problem: Problem,
        runner: Runner,
        resting: Runner | None,
        state: State,
        span: tuple[Array | None, float],
        stops: list[Stop],
        options: SimulationOptions,
        began: float,
        compiling: float = 0.0,
        contacts: OneSided | None = None,
    ) -> None:
        self.problem, self.robot, self.options, (self.times, self.end) = problem, problem.robot, options, span
        self._usual, self._resting, self.runner = runner, resting, runner
        self.t, (self.q, self.v) = 0.0, state
        self.balance = Balance(self.robot, conserved(self.robot, problem.external.absent))
        self.balance.robot = problem.now.robot
        touching = problem.touching
        if (problem.constrained and problem.mechanism.grounded) or (touching is not None and touching.grounded):
            self.balance.keeps[:] = False
        run: Run = weakref.proxy(self)  # no cycle: the arrays of a run are freed when it ends
        self.excess, self.loops = Excess(self.robot), LoopBooks(run)
        books: dict[str, Book] = {"balance": self.balance, "excess": self.excess}
        self.books = books | ({"loops": self.loops} if problem.constrained else {})
        self.books |= {} if touching is None else {"touching": touching}
        self.switching, self.band = Switching(run, options.switches), SingularBand(run)
        self.stops, self.contacts = JointStops(run, stops), contacts
        own = [*self.switching.watchers, *(contacts.watchers if contacts else ()), *self.band.watchers]
        user = [e.watcher(self.robot, k) for k, e in enumerate(options.events)]
        watchers = (*user, *own, *self.stops.watchers)
        self.watch = Tracker(self.robot, watchers, max(1, options.order // 2))
        if contacts is not None:
            contacts.enter(self)  # they are read after the run
        self._tracking = problem.tau.tracking()
        self._extra = problem.mechanism.extra(problem) | (touching.shapes if touching else {})
        self._extra |= self._tracking.shapes if self._tracking else {}
        self.log = Log(problem.nq, problem.nv, tuple(self._extra.values()))
        self.pieces: list[tuple[float, tuple[bool, ...]]] = [(0.0, problem.closed)]
        """Times, and the sets of constraints that are closed from then on."""
        self.steps = self.rejected = self.evaluations = self.next_time = self.impacts = 0
        self.jumps = Jumps()
        self.wall, self._began, self._compiling = 0.0, began, compiling
        self._fresh, self._h, self._last_h = True, math.nan, math.nan
        self.stopped: Ending | None = None
        self.message = ""
        self._due: list[Watcher] = []
        """The watchers of this moment, in the order of their effects."""
        self._most = (_WATCHED if watchers else _FREE) if runner.native else _STEPWISE
        self._ahead = self._most if runner.native else _SOON

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
        if problem.constrained:
            problem.turns.renew(problem.usual.robot, self.q)
            self.loops.start(0.0, self.q, self.v)
            self.band.look_around()
        if self.contacts is not None:
            self.contacts.begin()
        try:
            problem.enter(0.0, self.q, self.v)
            tau = problem.tau(0.0, self.q, self.v)
            a = problem.acceleration(0.0, self.q, self.v)
            self.evaluations += 1
        except StepFailedError as e:
            tau = a = np.full(robot.nv, np.nan)
            self._fail(e)
        self.excess.note(np.zeros(1), self.q[None])
        if self.times is None or self.times[0] == 0.0:
            self.next_time = 0 if self.times is None else 1
            self._row(0.0, self.q, self.v, a, tau)
        if not self.stopped:
            try:
                self.touch(self.stops.again(self.t, self.q, self.v))
            except StepFailedError as e:
                self._fail(e)

    def _row(self, t: float, q: Array, v: Array, a: Array, tau: Array) -> None:
        sums = (np.array([self.balance.work]), np.array([self.balance.dissipated]))
        self._rows(np.array([t]), q[None], v[None], a[None], tau[None], *sums)

    def _rows(self, t: Array, q: Array, v: Array, a: Array, tau: Array, work: Array, lost: Array) -> None:
        problem, touching = self.problem, self.problem.touching
        extra = [*problem.mechanism.series(problem, t, q, v, a, tau)]
        if touching is not None:
            other = tau + problem.external_force(t, q, v) + problem.joint_passive_force(q, v)
            extra += touching.series(t, q, v, other)
        extra += self._tracking.series(t, q, v) if self._tracking else ()
        self.log.rows(t, q, v, a, tau, work, lost, *extra)

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
                self.switching.act()
                if self.stopped:
                    return
                self._enter()
            end = self._next_end()
            most = min(self._ahead, self.options.max_steps - self.steps)
            self._ahead = min(2 * self._ahead, self._most)
            chunk = self.runner.run(end, most, self._limit(end))
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
            if chunk.failure.lingers:
                self.band.cross(False)
            else:
                self._fail(chunk.failure)
        elif self.t >= self.problem.end and not self._fresh:
            self._fresh, self._h = True, self.runner.h or math.nan

    def _enter(self) -> None:
        """Begin a piece of smooth forces."""
        self.problem.enter(self.t, self.q, self.v)
        self.runner = self._fitting()
        end = self.problem.end = self._next_end()
        self.runner.start(self.t, self.q, self.v, None if math.isnan(self._h) else self._h, end)
        self._fresh = False

    def _fitting(self) -> Runner:
        """Return the runner that can let joints rest on their stops."""
        return self._usual if self._resting is None or self._usual.rests(self.problem.held) else self._resting

    def _next_end(self) -> float:
        """The end of the run, or of the current piece of smooth forces."""
        return min(self.end, self.problem.next_break(self.t), self.switching.next_time())

    def _limit(self, end: float) -> float:
        """Return a time up to which steps may pass the ends of pieces: nothing but samples of a controller is there."""
        problem = self.problem
        if problem.tau.kind != "sampled" or self.contacts is not None:
            return end
        if self.watch.watchers and not self.runner.samples and not self._calm():
            return end  # a controller must not be called for times after an event
        return min(self.end, problem.external.next_break(self.t), self.switching.next_time())

    def _calm(self) -> bool:
        """Tell whether only singular positions are watched for, and none is near."""
        return len(self.watch.watchers) == len(self.band.watchers) and self.band.far(self.t, self.q, self.v)

    def _fail(self, e: StepFailedError) -> None:
        name = self.problem.joint_of(e.index)
        known = f" (joint {name!r})" if name and name not in str(e) else ""
        self.stop(e.kind, self.band.explain(e, f"{e}{known}"))

    def _take(self, chunk: Chunk) -> None:
        """Write down the steps of a chunk, up to the first effect that ends it."""
        watchers = self.watch.watchers
        found = self.watch.search(chunk.edges, chunk.dense)
        last = found[-1] if found and watchers[found[-1].index].effect else None
        due: list[Found] | None = None
        if last is not None:
            due = [last, *self._beside(chunk, last, found)]
            chunk, self._ahead = self.band.cut(chunk, last, watchers[last.index]), _SOON
            found.pop()
        elif len(chunk) and self.switching.next_time() <= float(chunk.t[-1]):
            end = Found(len(chunk) - 1, 1.0, float(chunk.t[-1]), -1, chunk.q[-1], chunk.v[-1])
            due = self._beside(chunk, end, found)
        self._book(chunk)
        found += due or ()
        self.note(found)
        if self.contacts is not None:
            self.contacts.follow(chunk, found)
        if due is not None:
            self._last_h = max(chunk.t[-1] - chunk.edges[-2], 1e-9) if len(chunk) else math.nan
            acting = [watchers[f.index] for f in due if f.index >= 0]
            noted = self.jumps.watch(self, acting, chunk.a[-1] if len(chunk) else None)
            self._happen(acting)
            noted.note(self)

    def _beside(self, chunk: Chunk, at: Found, found: list[Found]) -> list[Found]:
        """Return sign changes at the moment of the one that ends a chunk, or of its end; of stops only the first."""
        watchers = self.watch.watchers
        known = {f.index for f in found if f.t >= at.t - SAME_MOMENT}
        t0, t1 = chunk.edges[at.step : at.step + 2].tolist()
        segment = Segment(self.robot, t0, t1, chunk.dense[at.step])
        which = [k for k, w in enumerate(watchers) if k not in known and w.together]
        due = self.watch.beside(segment, at.step, at.s, which) if which else []
        both = [k for k in (at.index, *due) if k >= 0]
        stops = [k for k in both if watchers[k].phase is Phase.STOP or watchers[k] in self.stops.watchers]
        return [replace(at, index=k) for k in due if k not in stops[1:]]

    def _happen(self, due: list[Watcher]) -> None:
        """Let the effects of this moment act, phase by phase."""
        self._due = sorted(due, key=lambda w: w.phase)
        for phase in Phase:
            if phase is Phase.EFFECT and not self.stopped:
                self.switching.act()
            for w in self._due:
                if w.phase is phase and w.effect is not None and not self.stopped:
                    w.effect(self)

    def _book(self, chunk: Chunk) -> None:
        """Book steps, and write down their rows."""
        if not len(chunk):
            return
        before = (self.balance.work, self.balance.taken)
        for book in self.books.values():
            book.see(chunk)
        W, lost = self.balance.sums
        if self.times is None:
            self._rows(chunk.t, chunk.q, chunk.v, chunk.a, chunk.tau, W, lost)
        else:
            done = int(np.searchsorted(self.times, chunk.t[-1], side="right"))
            wanted = self.times[self.next_time : done]
            self.next_time = done
            if len(wanted):
                self._rows(*sampled(self.problem, chunk, wanted, W, lost, before, self.balance))
        if self.options.dense:
            self.log.dense(chunk.edges, chunk.dense)
        self.steps += len(chunk)
        self.t, self.q, self.v = float(chunk.t[-1]), chunk.q[-1], chunk.v[-1]
        self._last = (chunk.a[-1], chunk.tau[-1])

    def note(self, found: list[Found]) -> None:
        """Write down sign changes that the result lists."""
        shown = [f for f in found if self.watch.watchers[f.index].shown]
        if shown:
            index = np.array([f.index for f in shown])
            arrays = [np.array([getattr(f, name) for f in shown]) for name in ("t", "q", "v")]
            self.log.events(arrays[0], index, arrays[1], arrays[2])

    # ---- what effects do

    def stop(self, ending: Ending, message: str) -> None:
        """End the run here."""
        self.stopped, self.message = ending, message

    def renew(self, h: float | None = math.nan) -> None:
        """Begin a new piece from here, with a first step to try; None keeps the one that is known."""
        self._fresh = True
        if h is not None:
            self._h = h

    def restructure(self, closed: tuple[bool, ...], constraints: Constraints) -> None:
        """Go on with other constraints."""
        self.problem.use(closed, constraints)
        self.balance.robot = constraints.robot
        self._h = math.nan

    def touch(self, after: State | None, shown: bool = False) -> None:
        """Take over the state after an impact, with a row; if `shown`, also where only accelerations change."""
        if after is not None and self.contacts is not None:
            after = self.contacts.struck(after)
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

    def strike(self, resolve: Callable[[float, Array, Array], State | None]) -> None:
        """Let joints strike or leave their stops, unless the run ends at this moment."""
        if any(w.phase is Phase.END for w in self._due):
            return
        near = self.band.before_strike()
        try:
            self.touch(resolve(self.t, self.q, self.v))
            self.band.after_strike(near)
        finally:
            self.problem.beside = None
        self.renew(self._last_h)

    def jump(self, what: str, effect: WatchFunction) -> None:
        """Change the velocities by a user's function of (t, q, v); constraints and stops share in the impact."""
        answer = effect(self.t, read_only(self.q), read_only(self.v))
        if answer is None:
            self.stops.restart(self.t, self.q, self.v)
        else:
            v = real(answer, f"{what}: the effect at t = {self.t:.9g} s")
            if v.shape != self.v.shape or not np.isfinite(v).all():
                raise ArgumentError(
                    f"{what}: the effect returned {answer!r} at t = {self.t:.9g} s; give {len(self.v)} finite "
                    "velocities, or None to leave them"
                )
            v = self.problem.kept(self.t, self.q, v) if self.problem.now.nc else np.array(v)
            self.touch((self.q, v), shown=True)
            if not self.stopped:
                self.touch(self.stops.again(self.t, self.q, self.v))
        for w in self._due:  # the motion starts at their zeros, which do not count again
            if w.index >= 0:
                self.watch.signs[self.watch.watchers.index(w)] = 0.0
        self.renew(self._last_h)

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
        problem = self.problem
        projects = problem.constrained and problem.drift == "project"
        closing = Closing(problem.mechanism, tuple(self.pieces)) if projects else None
        dense = Dense(self.robot, edges, coefficients, closing) if len(coefficients) else None
        rows = [log.column("rows", k) for k in range(7)]
        extra = {name: log.column("rows", 7 + k) for k, name in enumerate(self._extra)}
        self.wall += time.perf_counter() - self._began
        report = self._report()
        if not report.ok:
            warn(f"{self.robot.name}: {report.message}; what was computed up to there is kept")
        t, q, v, a, tau, work, lost = rows
        found = Result(self.robot, t, q, v, a, tau, work, lost, self._happened(), report, dense, extra)
        refused = "" if self.contacts is None else "runs with contacts have no saltation matrices"
        return found._with_jumps(self.options.events, self.options.switches, tuple(self.jumps.found), refused)

    def _happened(self) -> tuple[Happened, ...]:
        t, index, q, v = (self.log.column("events", k) for k in range(4))
        which = [self.watch.watchers[k] for k in index.astype(int)]
        return tuple(Happened(float(t[k]), w.name, w.index, q[k], v[k]) for k, w in enumerate(which))

    def _report(self) -> SimulationReport:
        found = [book.report() for book in self.books.values()]
        violations = [x for fields in found for x in fields.pop("violations", ())]
        return SimulationReport(
            robot=self.robot.name,
            method=self.options.method,
            dynamics=self.problem.dynamics_method,
            stopped=str(self.stopped),
            message=self.message,
            time=self.t,
            steps=self.steps,
            rejected=self.rejected,
            evaluations=self.evaluations,
            violations=tuple(violations),
            impacts=self.impacts,
            native=self._usual.native,
            wall=self.wall,
            compiling=self._compiling,
            **{name: x for fields in found for name, x in fields.items()},
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
            "signs": self.watch.signs,
            "leaving": np.array([self.watch.leaving.get(k, np.nan) for k in range(len(self.watch.watchers))]),
            "held": np.array(self.stops.held, dtype=np.int64),
            "last": np.array(self._last) if hasattr(self, "_last") else np.zeros((2, self.robot.nv)),
            "turns": self.problem.turns.state(self.robot),
            "times": np.array([t for t, _ in self.pieces]),
            "closed": np.array([closed for _, closed in self.pieces], bool).reshape(len(self.pieces), -1),
            "rank": np.array(self.problem.usual.rank),
            "sparing": np.array(self.problem.sparing),
        }
        if self.problem.crossing is not None:
            crossing = self.problem.crossing
            state |= {"crossing": np.array([self.problem.now.rank, *crossing.push]), "entrance": crossing.multipliers}
        parts = {name: book.state() for name, book in self.books.items()}
        parts |= {"switching": self.switching.state(), "tau": self.problem.tau.state()}
        if self.contacts is not None:
            parts["contacts"] = self.contacts.state()
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
        self.stopped = Ending(word) if word else None

        def group(name: str) -> dict[str, NDArray[Any]]:
            return {k.removeprefix(f"{name}:"): x for k, x in state.items() if k.startswith(f"{name}:")}

        problem, pieces = self.problem, zip(state["times"].tolist(), state["closed"], strict=True)
        self.pieces = [(t, tuple(map(bool, closed))) for t, closed in pieces]
        if problem.constrained:
            problem.close(self.pieces[-1][1], int(state["rank"]))
            if not state["sparing"]:
                problem.solve_compiled()
        if "crossing" in state:
            problem.cross(int(state["crossing"][0]), state["crossing"][1:], state["entrance"])
        self.balance.robot = problem.now.robot
        problem.turns.restore(problem.now.robot, state["turns"])
        for name, book in self.books.items():
            book.restore(group(name))
        self.switching.restore(group("switching"))
        if self.contacts is not None:
            self.contacts.restore(group("contacts"))
        if not self.stopped:
            self.stops.set([int(k) for k in state["held"]])
            self.watch.signs = np.array(state["signs"])
            self.watch.leaving = {k: x for k, x in enumerate(state["leaving"].tolist()) if not math.isnan(x)}
            problem.tau.restore(group("tau"))
            if not self._fresh:
                problem.enter(self.t, self.q, self.v)
                problem.end = self._next_end()
                self.runner = self._fitting()
                self.runner.restore(group("runner"))
