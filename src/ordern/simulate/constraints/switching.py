"""Loops that open and close during a run, at given times or by watchers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...arguments import Array
from ..run.endings import Ending
from ..run.watchers import SAME_MOMENT, Phase, Watcher, WatchFunction
from .constraints import Constraints

if TYPE_CHECKING:
    from ..events import Event
    from ..run.run import Run
    from ..switches import Switch

__all__ = ["Switching"]


class Switching:
    """The switches of a run: those that wait for their time, and those that wait for an event."""

    def __init__(self, run: Run, switches: tuple[Switch, ...]) -> None:
        self.run, self.problem = run, run.problem
        self._timed = [s for s in switches if s.at is not None]
        self._noticed = [s for s in switches if s.when is not None]
        self._names = [x.name for x in run.robot.constraints]
        self._passed = 0
        """The number of times that have passed."""
        self._done: set[int] = set()
        self._due: list[int] = []
        self.watchers = [self._watcher(k, s.when) for k, s in enumerate(self._noticed) if s.when is not None]

    def _watcher(self, number: int, event: Event) -> Watcher:
        bound = self._watched(number, event.bound(self.run.robot))
        return Watcher(event.name, bound, self._noted(number), event.direction, Phase.SWITCH, together=True)

    def _watched(self, number: int, function: WatchFunction) -> WatchFunction:
        """Return a switch's function, which has no sign to change while there is nothing to be switched."""
        s = self._noticed[number]

        def value(t: float, q: Array, v: Array) -> Any:
            closed = self._closed()
            idle = all(closed[name] for name in s.close) and not any(closed[name] for name in s.open)
            return 1.0 if idle or (s.once and number in self._done) else function(t, q, v)

        return value

    def _noted(self, number: int) -> Callable[[Run], None]:
        """A switch acts together with all others that are due at its moment: see `act`."""
        return lambda run: self._due.append(number)

    def _closed(self) -> dict[str, bool]:
        return dict(zip(self._names, self.problem.closed, strict=True))

    def next_time(self) -> float:
        """Return when the next loops open or close."""
        due = self._timed[self._passed].at if self._passed < len(self._timed) else None
        return math.inf if due is None else due

    def act(self) -> None:
        """Open and close loops: by switches whose time has come, then by those whose event took place, all at once.

        Where two switches name the same loop, the later one counts.
        """
        before = self._closed() if self._timed or self._noticed else {}
        after, count = dict(before), 0
        tolerances: dict[str, float] = {}
        numbers, self._due = sorted(self._due), []
        for number in (*[-1] * self._come(), *numbers):
            s = self._timed[self._passed] if number < 0 else self._noticed[number]
            self._passed += number < 0
            wanted = after | dict.fromkeys(s.open, False) | dict.fromkeys(s.close, True)
            if wanted == after:
                continue
            after, count = wanted, count + 1
            tolerances |= dict.fromkeys(s.close, s.tolerance)
            if number >= 0:
                self._done.add(number)
        if after != before:
            self._switch(after, tolerances, count)
        if numbers:
            self.run.renew(math.nan if after == before else None)
            if after == before:  # they undo each other
                self.run.stops.restart(self.run.t, self.run.q, self.run.v)

    def _come(self) -> int:
        """Return how many of the switches that wait for their time are due."""
        waiting = (s.at for s in self._timed[self._passed :] if s.at is not None)
        return sum(at <= self.run.t + SAME_MOMENT for at in waiting)

    def _switch(self, after: dict[str, bool], tolerances: dict[str, float], count: int) -> None:
        """Let these loops be closed from here on; those that close may be open by their tolerances."""
        run, problem, t = self.run, self.problem, self.run.t
        before = self._closed()
        new = [name for name in after if after[name] and not before[name]]
        closed = tuple(after.values())
        found = Constraints.near(problem.mechanism.rows(closed), run.q, t)
        fitting = self._fitting(tolerances, found, new)
        if fitting is None:
            return
        (q, gained), v = fitting, run.v
        run.restructure(closed, found)
        problem.turns.renew(found.robot, q)
        beyond = next((x for x in run.stops.stops if x.joint in new and x.inside(q) < -tolerances[x.joint]), None)
        if beyond is not None:
            run.stop(
                Ending.NOT_CLOSED,
                f"loop {beyond.joint!r} was to be closed at t = {t:.9g} s, where its joint is "
                f"{-beyond.inside(q):.3g} beyond the {beyond.name}",
            )
            return
        if new:
            run.loops.add_projected(gained)
            run.q = q
            v = found.kept(q[None], run.v[None], t)[0]
            energy = run.robot.kinetic_energy
            run.loops.lost += float(energy(q, run.v)) - float(energy(q, v))
        run.loops.switches += count
        run.touch((run.q, v), shown=True)
        if not run.stopped:
            run.touch(run.stops.again(t, run.q, run.v))
        run.loops.start(t, run.q, run.v)
        run.pieces.append((t, closed))
        if not run.stopped:
            run.band.look_around()

    def _fitting(self, tolerances: dict[str, float], found: Constraints, new: list[str]) -> tuple[Array, float] | None:
        """Return the position with loops closed that close now, and its gain in energy; None if they cannot close."""
        run, t = self.run, self.run.t
        if not new:
            return run.q, 0.0
        rows = found.residual(run.q, t)
        off = {name: float(np.abs(rows[found.robot.loop_rows[name]]).max(initial=0.0)) for name in new}
        name = max(off, key=lambda x: off[x] / tolerances[x])
        q, left = found.one(run.q, t) if off[name] <= tolerances[name] else (run.q, math.inf)
        if left <= 1e-9:
            energy = run.robot.potential_energy
            return q, float(energy(q)) - float(energy(run.q))
        run.stop(
            Ending.NOT_CLOSED,
            f"loop {name!r} was to be closed at t = {t:.9g} s, where it is open by {off[name]:.3g}; at most "
            f"{tolerances[name]:.3g} (the switch's tolerance) is closed",
        )
        return None

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the state for a checkpoint."""
        return {"passed": np.array(self._passed), "done": np.array(sorted(self._done), dtype=np.int64)}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Continue from a checkpoint."""
        self._passed, self._done = int(state["passed"]), set(state["done"].tolist())
