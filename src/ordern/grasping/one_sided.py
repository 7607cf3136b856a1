"""One-sided contacts during a run. If one fails, a warning is given, the run ends, or the contact is released."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import Array
from ..simulate.constraints.constraints import Constraints
from ..simulate.results.report import warn
from ..simulate.run.chunk import Chunk
from ..simulate.run.endings import Ending
from ..simulate.run.log import Happened
from ..simulate.run.watchers import Found, Phase, Watcher, WatchFunction
from .contact_forces import contact_forces, contact_margins
from .contact_rows import ContactRows, contact_rows
from .contacts import Surface
from .monitor import KINDS, Breach, breach, margins

if TYPE_CHECKING:
    from ..simulate.results.result import Result
    from ..simulate.run.problem import Problem
    from ..simulate.run.run import Run, State

__all__ = ["BREACH", "OneSidedContacts"]

BREACH = ("warn", "stop", "release")

_TOGETHER = 1e-9
"""Contacts with margins below this part of their force fail together with another one."""


class OneSidedContacts:
    """The contacts of a grasp that may fail; each contact has a watcher for each kind of failure."""

    def __init__(self, problem: Problem, mode: str) -> None:
        self.problem, self.mode = problem, mode
        self.grasp = contact_rows(problem).grasp
        self._ways = [
            (i, k)
            for i, c in enumerate(self.grasp.contacts)
            for k in range(len(KINDS))
            if c.surface is not None and c.bound.shape[1] and _can_fail(c.surface, k)
        ]
        """The contacts that may fail, by their indices, and the kinds of failure."""
        self._by: list[float] = []
        """By how much contacts failed in the breaches so far: the most while each was held on."""
        self._struck: list[bool] = []
        """True for the breaches that are due to an impulse."""
        self._open: dict[int, int] = {}
        """The failures that go on, and the index of the breach of each."""
        self._last_margins: tuple[Any, Array] = (None, np.zeros(0))
        self.watchers = []
        for n, (i, k) in enumerate(self._ways):
            effect = None if mode == "warn" else self._failed(n)
            name = f"contact {i} {KINDS[k]}"
            self.watchers.append(Watcher(name, self._margin(i, k), effect, -1, Phase.STRUCTURE, subject=(i, k)))

    @property
    def rows(self) -> ContactRows:
        """The rows of the contacts that hold now."""
        return contact_rows(self.problem)

    def enter(self, run: Run) -> None:
        """Take part in a run."""
        self.run = run
        self._first = run.watch.watchers.index(self.watchers[0]) if self.watchers else 0

    # ---- contacts that fail

    def _margin(self, contact: int, kind: int) -> WatchFunction:
        def value(t: float, q: Array, v: Array) -> float:
            left = float(self._margins(t, q, v)[contact, kind])
            return left if math.isfinite(left) else 1.0

        return value

    def _margins(self, t: float, q: Array, v: Array) -> Array:
        """Return the margins of all contacts; the last ones are kept, since each watcher reads one number of them."""
        key = (t, q.tobytes(), v.tobytes(), len(self.run.pieces), self.problem.held)
        if self._last_margins[0] != key:
            self._last_margins = (key, contact_margins(self.problem, self.rows, t, q, v))
        return self._last_margins[1]

    def begin(self) -> None:
        """Let contacts fail that do not hold at the start."""
        run = self.run
        if self._ways and not run.stopped:
            self.problem.enter(0.0, run.q, run.v)
            self._lose(self._failing())

    def _failed(self, number: int) -> Callable[[Run], None]:
        """Return the effect of a failure: the contact fails, and all others that fail with it."""
        return lambda run: self._lose(self._failing(_TOGETHER, number), number)

    def _failing(self, tolerance: float = 0.0, number: int = -1) -> list[tuple[int, float]]:
        """Return the failures in this state, by their numbers, and by how much contacts fail."""
        t, q, v = self.run.t, self.run.q, self.run.v
        left = self._margins(t, q, v)
        least = np.zeros(len(left))
        if tolerance:
            tau = self.problem.applied_force(t, q, v)
            least = tolerance * np.abs(contact_forces(self.problem, self.rows, t, q, v, tau)).max(axis=-1)
        return self._below(left, least, number)

    def _below(self, left: Array, least: Array, number: int = -1) -> list[tuple[int, float]]:
        """Return the failures with margins below the least ones, and the failure of this number.

        A contact that parts is not reported to slip, spin or tip as well.
        """
        found = [
            (n, max(0.0, float(-left[way])))
            for n, way in enumerate(self._ways)
            if left[way] < least[way[0]] or n == number
        ]
        parting = {i for i, k in (self._ways[n] for n, _ in found) if k == 0}
        return [(n, by) for n, by in found if self._ways[n][1] == 0 or self._ways[n][0] not in parting or n == number]

    def _contacts(self, lost: list[tuple[int, float]]) -> set[int]:
        return {self._ways[n][0] for n, _ in lost}

    def _lose(self, lost: list[tuple[int, float]], noted: int = -1) -> None:
        """Record failures, and treat them as the mode requires."""
        for n, by in lost:
            if n not in self._open:
                self._write(n, by, noted=n == noted)
        if lost and self.mode == "stop":
            self._stop()
        elif lost and self.mode == "release":
            self._release(self._contacts(lost))

    def _write(self, number: int, by: float, struck: bool = False, noted: bool = False) -> None:
        """Record a breach, and its event unless the run has noted it."""
        run = self.run
        if not noted:
            run.note([Found(0, 0.0, run.t, self._first + number, run.q, run.v)])
        if not struck and self.mode == "warn":
            self._open[number] = len(self._by)
        self._by.append(by)
        self._struck.append(struck)
        self._newest = breach(self.grasp, *self._ways[number], run.t, by, run.q, run.v, struck)

    def _stop(self) -> None:
        self.run.stop(Ending.EVENT, str(self._newest))

    def _release(self, contacts: set[int]) -> None:
        """Release contacts from here on; others may follow at once."""
        run = self.run
        self._let_go(contacts)
        if run.steps or run.t > 0.0:
            run.touch((run.q, run.v), shown=True)
            run.touch(run.stops.again(run.t, run.q, run.v))
        run.renew()
        if not run.stopped:
            self._lose(self._failing())

    def _let_go(self, contacts: set[int]) -> None:
        run = self.run
        closed = tuple(x and k not in contacts for k, x in enumerate(self.problem.closed))
        run.restructure(closed, Constraints.near(self.problem.mechanism.rows(closed), run.q))
        run.pieces.append((run.t, closed))
        run.loops.start(run.t, run.q, run.v)
        run.band.look_around()

    def follow(self, chunk: Chunk, found: list[Found]) -> None:
        """Follow steps: contacts that are held on fail by more, or hold again."""
        if not self._ways or self.mode != "warn":
            return
        new = [(f.t, n) for f in found if 0 <= (n := f.index - self._first) < len(self._ways)]
        rows = self.rows
        forces = contact_forces(self.problem, rows, chunk.t, chunk.q, chunk.v, chunk.tau)
        all_left = margins(rows.state(chunk.q, chunk.v), forces)
        for t, left in zip(chunk.t, all_left, strict=True):
            while new and new[0][0] <= t:
                self._write(new.pop(0)[1], 0.0, noted=True)
            for n, number in list(self._open.items()):
                by = float(-left[self._ways[n]])
                if by < 0.0:
                    del self._open[n]  # it holds again
                else:
                    self._by[number] = max(by, self._by[number])

    # ---- impacts of joints on their stops, through the contacts

    def struck(self, after: State) -> State | None:
        """Let contacts fail whose impulses in an impact are too large; return the state after it, or None."""
        run, found = self.run, after
        while not run.stopped and (lost := self._overcharged(*found)):
            if self.mode == "release":  # the others may hold once it is gone
                worst = max(by for _, by in lost)
                first = self._contacts([(n, by) for n, by in lost if by == worst])
                lost = [(n, by) for n, by in lost if self._ways[n][0] in first]
            for n, by in lost:
                self._write(n, by, struck=True)
            if self.mode == "stop":
                self._stop()
                return None
            if self.mode == "warn":
                break
            self._let_go(self._contacts(lost))
            again = run.stops.again(run.t, found[0], run.v)
            if again is None:
                return None
            found = again
        return found

    def _overcharged(self, q: Array, v: Array) -> list[tuple[int, float]]:
        """Return the failures of contacts whose impulses are too large, and by how much, in N s or N m s."""
        run, problem, rows = self.run, self.problem, self.rows
        change = v - run.v
        if not self._ways or not change.any():
            return []
        stops = [s for s in run.stops.stops if s.reached(q)]
        E = problem.stop_rows(stops, q)
        p = np.linalg.lstsq(problem.stop_response(q, E, run.t).T, change, rcond=None)[0]
        impulses = rows.impulses(q, p @ E)
        left = margins(rows.state(q, v), impulses)
        return self._below(left, np.full(len(left), -_TOGETHER * np.abs(impulses).max(initial=0.0)))

    # ---- the end, checkpoints

    def with_breaches(self, result: Result) -> Result:
        """Return the result with failures of contacts as breaches; warn of contacts that are held on."""
        events: list[Happened] = []
        written = zip(self._by, self._struck, strict=True)
        index = self.run.log.column("events", 1).astype(int) - self._first
        for n, e in zip(index.tolist(), result.events, strict=True):
            if 0 <= n < len(self._ways):
                (i, k), (by, struck) = self._ways[n], next(written)
                e = breach(self.grasp, i, k, e.time, by, e.q, e.v, struck)
            events.append(e)
        found = [e for e in events if isinstance(e, Breach)]
        if self.mode == "warn" and found:
            more = f" (and {len(found) - 1} more: see the result's events)" if found[1:] else ""
            warn(f"{found[0]}{more}")
        return replace(result, events=tuple(events))

    def state(self) -> dict[str, Array]:
        """Return the state for a checkpoint."""
        return {
            "by": np.array(self._by),
            "struck": np.array(self._struck, dtype=bool),
            "open": np.array(list(self._open.items()), dtype=np.int64).reshape(-1, 2),
        }

    def restore(self, state: dict[str, Array]) -> None:
        """Continue from a checkpoint."""
        self._by, self._struck = state["by"].tolist(), state["struck"].tolist()
        self._open = {int(n): int(number) for n, number in state["open"]}


def _can_fail(surface: Surface, kind: int) -> bool:
    """Return True if a contact with this surface can fail in this way."""
    return kind == 0 or math.isfinite((surface.friction, surface.spin, *surface.area)[kind - 1])
