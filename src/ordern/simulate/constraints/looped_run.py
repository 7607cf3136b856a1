"""A run of a robot with loops: they open and close, pass singular positions, and have books of their own."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...model import BASE
from ..events import SAME_MOMENT, Event, EventFunction, Found
from ..integrators.integrator import StepFailedError
from ..results.report import Report
from ..run.chunk import Chunk
from ..run.endings import Ending
from ..run.run import Run
from ..switches import Switch
from .dead_point import dead_point, locked
from .dense_projection import Closing
from .loop_books import LoopBooks
from .looped import LoopedProblem, structure_of
from .singular_band import BAND, weak_rank
from .structure import Structure

__all__ = ["LoopedRun"]

Array = NDArray[np.float64]

_AT_DEAD_POINTS = (Ending.STEP_TOO_SMALL, Ending.NOT_CLOSED, Ending.NOT_CONVERGED, Ending.NOT_FINITE)


class LoopedRun(Run):
    """As `Run`; its own events are those of switches, and always the last one that a singular position is near."""

    problem: LoopedProblem

    def __init__(self, problem: LoopedProblem, *arguments: Any, switches: tuple[Switch, ...] = (), **more: Any) -> None:
        self._timed = [s for s in switches if s.at is not None]
        self._noticed = [s for s in switches if s.when is not None]
        self._due, self._inside = 0, False
        self._done: set[int] = set()
        self._pieces: list[tuple[float, tuple[bool, ...]]] = []
        self._rate = np.zeros(problem.nv)
        """Accelerations at the end of the last step that an event cut, as its polynomials have them."""
        self.loops = LoopBooks(problem)
        super().__init__(problem, *arguments, **more)
        self.balance.robot = problem.now.robot
        if any(BASE in (x.parent, x.child) for x in problem.robot.loops):
            self.balance.keeps[:] = False  # the ground takes momentum through loops

    def own_events(self) -> list[Event]:
        """Those of switches, and that a singular position is near, or left."""
        switching = [
            replace(s.when, function=self._watched(k, s.when), terminal=True)
            for k, s in enumerate(self._noticed)
            if s.when is not None
        ]
        return [*switching, Event(self._away, "singular position", 0, True)]

    def _watched(self, number: int, event: Event) -> EventFunction:
        """The function of a switch's event; it has no sign to change while there is nothing to be switched."""
        function, s = event.bound(self.robot), self._noticed[number]

        def value(t: float, q: Array, v: Array) -> Any:
            closed = self.problem.closed
            idle = all(closed[name] for name in s.close) and not any(closed[name] for name in s.open)
            return 1.0 if idle or (s.once and number in self._done) else function(t, q, v)

        return value

    def own_event(self, number: int) -> None:
        """A singular position is near, or left; what is to be switched waits for all that is due at this moment."""
        if number >= len(self._noticed):
            self._cross(not self._inside)

    def joins(self, index: int) -> bool:
        """Whether an event is looked for at the moment of another one: the user's, those of switches, and stops."""
        if index < self.user + len(self._noticed):
            return True
        return bool(self._noticed or self._timed) and self.contact.stop(index) is not None

    def is_shown(self, index: int) -> bool:
        """Whether an event is one that the result tells: singular positions are in the report."""
        return index != self.user + self._own - 1

    def begun(self) -> None:
        """The run starts, perhaps at a singular position: no forces of weak constraints are known then."""
        problem = self.problem
        problem.turns.renew(problem.usual.robot, self.q)
        self.loops.start(0.0, self.q, self.v)
        self._pieces = [(0.0, tuple(problem.closed.values()))]
        self._look_around()

    def _look_around(self) -> None:
        """The run starts, or goes on with other loops: if that is at a singular position, weak constraints are left
        out, of which no forces are known; or they lock the mechanism."""
        problem, singular = self.problem, self.loops.singular
        if not singular or singular[-1].time != self.t:
            return
        problem.cross(singular[-1].rank, np.zeros(problem.nv))
        if problem.usual.is_locked(self.q, self.t):
            self.stop(Ending.LOCKED, locked(problem.usual, self.q, self.t, singular[-1].rank))

    def next_break(self) -> float:
        """When the next loops open or close."""
        due = self._timed[self._due].at if self._due < len(self._timed) else None
        return math.inf if due is None else due

    def shortened(self, chunk: Chunk, last: Found) -> Chunk:
        """The steps up to an event: at the exit of a singular position all constraints count again."""
        problem = self.problem
        self._inside = problem.crossing is not None
        if self._inside and not self.is_shown(last.index):
            problem.leave_singular()
        stop = self.contact.stop(last.index)
        problem.reaching = () if stop is None else (stop,)
        problem.turns.look(problem.usual.robot, np.concatenate([chunk.q[: last.step], last.q[None]]))
        usual = problem.usual
        leaped = problem.crossing is None and self._is_near(last.t, last.q)
        if leaped:  # into the band in one step: weak constraints cannot correct the state there
            problem.now = usual.with_rank(weak_rank(usual, last.q, last.t, self.loops.largest))
        try:
            chunk = super().shortened(chunk, last)
        finally:
            problem.reaching = ()
            if leaped:
                problem.now = usual
        if len(chunk):
            powers = np.arange(chunk.dense.shape[1])
            speeds = chunk.dense[-1, :, problem.nq : problem.nq + problem.nv]
            self._rate = (powers @ speeds) / (chunk.edges[-1] - chunk.edges[-2])
        return chunk

    def touched(self, index: int) -> None:
        """A joint reached a stop: at a singular position too, all constraints share in the impact."""
        problem, edge = self.problem, BAND * self.loops.largest
        near = self._is_near(self.t, self.q)
        if problem.crossing is not None and near:
            problem.leave_singular()  # and the state as it is: weak constraints cannot correct it there
        elif problem.crossing is not None:
            self._cross(False)
        if near:
            problem.beside = problem.positions_beside(self.t, self.q, self.v, self._rate, edge)
        try:
            super().touched(index)
            if near:
                problem.enter_singular(self.t, self.q, self.v, self.loops.largest)
                self.contact.restart(self.t, self.q, self.v)
        finally:
            problem.beside = None

    def _is_near(self, t: float, q: Array) -> bool:
        """Whether a position is in the band around a singular one."""
        usual = self.problem.usual
        return bool(usual.rank) and float(usual.smallest(q[None], t)[0]) < BAND * self.loops.largest

    def seen(self, chunk: Chunk) -> None:
        """Steps were taken."""
        self.loops.enter(chunk, self._inside or self.problem.crossing is not None)

    def failed(self, e: StepFailedError) -> None:
        """No further step could be taken."""
        if e.lingers:
            self._cross(False)
        else:
            self._fail(e)

    def _fail(self, e: StepFailedError) -> None:
        """The run ends before its time; if that is at a dead point, the message names its loops."""
        super()._fail(e)
        known = e.kind in _AT_DEAD_POINTS
        why = dead_point(self.problem.usual, self.q, self.t, self.loops.largest) if known else ""
        if why:
            first = (
                f"no step after t = {e.t:.9g} s is short enough" if e.kind == Ending.STEP_TOO_SMALL else self.message
            )
            self.message = f"{first}: {why}"

    # ---- singular positions

    def _away(self, t: float, q: Array, v: Array) -> float:
        """How far the motion is outside of the band of a singular position."""
        problem = self.problem
        if not problem.usual.rank:
            return 1.0
        edge = BAND if problem.crossing is None else 2.0 * BAND  # so that rounding does not lead out again at once
        return float(problem.usual.smallest(q[None], t)[0]) - edge * self.loops.largest

    def _cross(self, entering: bool) -> None:
        """The motion comes to a singular position, or leaves it."""
        problem, t = self.problem, self.t
        if entering and problem.crossing is None:
            problem.enter_singular(t, self.q, self.v, self.loops.largest)
        elif not entering and problem.crossing is not None:  # too long in there
            problem.leave_singular()
            self.q, self.v, gained = problem.corrected(t, self.q, self.v)
            self.loops.projected += gained
            self.loops.projected_most += abs(gained)
        self._inside = False
        self._fresh, self._h = True, math.nan
        self.contact.restart(t, self.q, self.v)  # events were searched beyond this moment

    # ---- switches

    def before_piece(self) -> None:
        """Open and close loops whose time has come."""
        self.switch([])

    def is_due(self, t: float) -> bool:
        """Whether the time of a switch has come."""
        return self.next_break() <= t

    def switch(self, due: list[int]) -> None:
        """Open and close loops: those of switches whose time has come, then those of events, all at once.

        What a switch asks for counts after what those before it have asked for.
        """
        before = self.problem.closed
        after, count = dict(before), 0
        tolerances: dict[str, float] = {}
        numbers = sorted(k - self.user for k in due if 0 <= k - self.user < len(self._noticed))
        for number in (*[-1] * self._come(), *numbers):
            s = self._timed[self._due] if number < 0 else self._noticed[number]
            self._due += number < 0
            asked = after | dict.fromkeys(s.open, False) | dict.fromkeys(s.close, True)
            if asked == after:
                continue
            after, count = asked, count + 1
            tolerances |= dict.fromkeys(s.close, s.tolerance)
            if number >= 0:
                self._done.add(number)
        if after != before:
            self._switch(after, tolerances, count)
        if numbers:
            self._fresh = True
            if after == before:  # they undo each other
                self._h = math.nan
                self.contact.restart(self.t, self.q, self.v)

    def _come(self) -> int:
        """How many of the switches that wait for their time are due."""
        waiting = (s.at for s in self._timed[self._due :] if s.at is not None)
        return sum(at <= self.t + SAME_MOMENT for at in waiting)

    def _switch(self, after: dict[str, bool], tolerances: dict[str, float], count: int) -> None:
        """Let these loops be closed from here on; those that close may be open by their tolerances."""
        problem, robot = self.problem, self.robot
        before = problem.closed
        new = [name for name in after if after[name] and not before[name]]
        found = structure_of(robot, after, self.q, self.t)
        fitting = self._fitting(tolerances, found, new)
        if fitting is None:
            return
        problem.use(found)
        self.balance.robot = found.robot
        self._h = math.nan
        (q, gained), v = fitting, self.v
        problem.turns.renew(found.robot, q)
        beyond = next((x for x in self.contact.stops if x.joint in new and x.inside(q) < -tolerances[x.joint]), None)
        if beyond is not None:
            self.stop(
                Ending.NOT_CLOSED,
                f"loop {beyond.joint!r} was to be closed at t = {self.t:.9g} s, where its joint is "
                f"{-beyond.inside(q):.3g} beyond the {beyond.name}",
            )
            return
        if new:
            self.loops.projected += gained
            self.loops.projected_most += abs(gained)
            self.q = q
            v = found.kept(q[None], self.v[None], self.t)[0]
            lost = float(robot.kinetic_energy(q, self.v)) - float(robot.kinetic_energy(q, v))
            self.loops.lost += lost
        self.loops.switches += count
        self._touch((self.q, v), shown=True)
        if not self.stopped:
            self._touch(self.contact.again(self.t, self.q, self.v))
        self.loops.start(self.t, self.q, self.v)
        self._pieces.append((self.t, tuple(after.values())))
        if not self.stopped:
            self._look_around()

    def _fitting(self, tolerances: dict[str, float], found: Structure, new: list[str]) -> tuple[Array, float] | None:
        """The position with loops closed that close now, and the energy that it has more; None if they cannot close."""
        if not new:
            return self.q, 0.0
        rows = found.residual(self.q, self.t)
        off = {name: float(np.abs(rows[found.robot.loop_rows[name]]).max(initial=0.0)) for name in new}
        name = max(off, key=lambda x: off[x] / tolerances[x])
        q, left = found.one(self.q, self.t) if off[name] <= tolerances[name] else (self.q, math.inf)
        if left <= 1e-9:
            robot = self.robot
            return q, float(robot.potential_energy(q)) - float(robot.potential_energy(self.q))
        self.stop(
            Ending.NOT_CLOSED,
            f"loop {name!r} was to be closed at t = {self.t:.9g} s, where it is open by {off[name]:.3g}; at most "
            f"{tolerances[name]:.3g} (the switch's tolerance) is closed",
        )
        return None

    # ---- the end, checkpoints

    def closing(self) -> Closing | None:
        """What closes loops between steps."""
        return Closing(self.robot, tuple(self._pieces)) if self.problem.drift == "project" else None

    def _report(self) -> Report:
        report = super()._report()
        return replace(report, loops=self.loops.report(), violations=(*report.violations, *self.loops.violations()))

    def more_state(self) -> dict[str, NDArray[Any]]:
        """For a checkpoint."""
        count, problem = len(self.robot.constraints), self.problem
        return self.loops.state() | {
            "turns": problem.turns.state(self.robot),
            "due": np.array(self._due),
            "done": np.array(sorted(self._done), dtype=np.int64),
            "times": np.array([t for t, _ in self._pieces]),
            "closed": np.array([closed for _, closed in self._pieces], bool).reshape(len(self._pieces), count),
            "rank": np.array(problem.usual.rank),
            "crossing": np.zeros(0)
            if problem.crossing is None
            else np.array([problem.now.rank, *problem.crossing.push]),
        }

    def restore_more(self, state: dict[str, NDArray[Any]]) -> None:
        """From a checkpoint."""
        problem = self.problem
        self._due, self._done = int(state["due"]), set(state["done"].tolist())
        self._pieces = [
            (t, tuple(map(bool, closed))) for t, closed in zip(state["times"].tolist(), state["closed"], strict=True)
        ]
        problem.use(self._restored(int(state["rank"])))
        if len(state["crossing"]):
            problem.cross(int(state["crossing"][0]), state["crossing"][1:])
        self.balance.robot = problem.now.robot
        problem.turns.restore(problem.now.robot, state["turns"])
        self.loops.restore(state)

    def _restored(self, rank: int) -> Structure:
        """The loops that were closed."""
        names = [x.name for x in self.robot.constraints]
        closed = dict(zip(names, self._pieces[-1][1], strict=True))
        return structure_of(self.robot, closed, self.q, self.t, rank)
