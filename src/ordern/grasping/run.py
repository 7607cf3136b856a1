"""A run of a grasp: contacts are watched, and released; joint limits act through arms, contacts and object."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..records import dataclass
from ..simulate.constraints.looped_run import LoopedRun
from ..simulate.events import Event, EventFunction, Found
from ..simulate.results.report import warn
from ..simulate.run.chunk import Chunk
from ..simulate.run.endings import Ending
from ..simulate.run.event_record import Happened
from .as_one_robot import from_whole
from .monitor import KINDS, Breach, breach, margins
from .problem import GraspProblem
from .structure import GraspStructure

if TYPE_CHECKING:
    from ..simulate.results.result import Result
    from .mechanism import Grasp

__all__ = ["BREACH", "GraspClosing", "GraspRun"]

Array = NDArray[np.float64]
BREACH = ("warn", "stop", "release")

_TOGETHER = 1e-9
"""Contacts that are no further from failing than this part of their force fail with another."""


@dataclass(frozen=True)
class GraspClosing:
    """Which contacts held since when; called with times and states, it brings tips and object together."""

    pieces: tuple[tuple[float, Grasp], ...]

    def __call__(self, t: Array, q: Array, v: Array) -> tuple[Array, Array]:
        """Positions (..., nq) and velocities (..., nv) at times (...), that fit."""
        shape, starts = t.shape, np.array([start for start, _ in self.pieces])
        t, q, v = t.reshape(-1), q.reshape(-1, q.shape[-1]).copy(), v.reshape(-1, v.shape[-1]).copy()
        piece = np.clip(np.searchsorted(starts, t, side="right") - 1, 0, len(starts) - 1)
        for k in np.unique(piece):
            which = np.flatnonzero(piece == k)
            now = GraspStructure.of(self.pieces[k][1], q[which[0]])
            q[which], _ = now.closed(q[which], t[which])
            v[which] = now.kept(q[which], v[which], t[which])
        return q.reshape(*shape, -1), v.reshape(*shape, -1)


class GraspRun(LoopedRun):
    """As `LoopedRun`; its own events are those of contacts that would fail, one for each contact and kind of failure,
    and the last one that a singular position is near."""

    problem: GraspProblem

    def __init__(self, problem: GraspProblem, *arguments: Any, breach: str, **more: Any) -> None:
        self._breach = breach
        self._fragile = [
            (i, k)
            for i, c in enumerate(problem.grasp.contacts)
            for k in range(len(KINDS))
            if c.surface is not None and c.bound.shape[1] and _can_fail(c.surface, k)
        ]
        self._by: list[float] = []
        """By how much the contacts of the breaches so far failed, each the most while it was held on."""
        self._struck: list[bool] = []
        """Whether it was by an impulse."""
        self._open: dict[int, int] = {}
        """Which of the own events go on, and which of the breaches they are."""
        self._grasps: list[tuple[float, Grasp]] = [(0.0, problem.grasp)]
        self._left: tuple[Array, Array] = (np.zeros(0), np.zeros(0))
        self._last_margins: tuple[Any, Array] = (None, np.zeros(0))
        super().__init__(problem, *arguments, **more)
        if problem.grasp.object is None:
            self.balance.keeps[:] = False  # what stands still takes momentum

    def go(self, path: str | os.PathLike[str] | None, key: str, progress: Callable[[float], Any] | None) -> Result:
        """Run to the end, or go on from a checkpoint to it; a contact that is held on is worth a warning."""
        result = super().go(path, key, progress)
        found = [e for e in result.events if isinstance(e, Breach)]
        if self._breach == "warn" and found:
            more = f" (and {len(found) - 1} more: see the result's events)" if found[1:] else ""
            warn(f"{found[0]}{more}")
        return result

    # ---- contacts that fail

    def own_events(self) -> list[Event]:
        """One for each contact and kind, and that of singular positions."""
        ends = self._breach != "warn"
        failing = [Event(self._margin(i, k), f"contact {i} {KINDS[k]}", -1, ends) for i, k in self._fragile]
        return [*failing, *super().own_events()]

    def _margin(self, contact: int, kind: int) -> EventFunction:
        def value(t: float, q: Array, v: Array) -> float:
            left = float(self._margins(t, q, v)[contact, kind])
            return left if math.isfinite(left) else 1.0

        return value

    def _margins(self, t: float, q: Array, v: Array) -> Array:
        """What is left of all contacts; the last answer is kept, since each event asks for its own number of it."""
        key = (t, q.tobytes(), v.tobytes(), len(self._grasps), self.problem.held)
        if self._last_margins[0] != key:
            self._last_margins = (key, self.problem.margins(t, q, v))
        return self._last_margins[1]

    def begun(self) -> None:
        """The run starts, perhaps with contacts that do not hold."""
        super().begun()
        if self._fragile and not self.stopped:
            self.problem.enter(0.0, self.q, self.v)
            self._lose(self._failing())

    def own_event(self, number: int) -> None:
        """A contact fails here, and perhaps others with it; or a singular position is near."""
        if number < len(self._fragile):
            self._lose(self._failing(_TOGETHER, number), number)
        else:
            super().own_event(number)

    def _failing(self, tolerance: float = 0.0, number: int = -1) -> list[tuple[int, float]]:
        """Own events of contacts that do not hold in this state, and by how much."""
        left = self._margins(self.t, self.q, self.v)
        scale = np.ones(len(left))
        if tolerance:
            tau = self.problem.applied_force(self.t, self.q, self.v)
            scale = np.abs(self.problem.contact_forces(self.t, self.q, self.v, tau)).max(axis=-1)
        return [
            (n, max(0.0, float(-left[i, k])))
            for n, (i, k) in enumerate(self._fragile)
            if left[i, k] < tolerance * scale[i] or n == number
        ]

    def _lose(self, lost: list[tuple[int, float]], noted: int = -1) -> None:
        """Contacts do not hold any more: write it down, and do what was asked for."""
        parting = {self._fragile[n][0] for n, _ in lost if self._fragile[n][1] == 0}
        for n, by in lost:
            i, k = self._fragile[n]
            if n in self._open or (k and i in parting):
                continue
            if n != noted:
                self.log.events(np.array([self.t]), np.array([self.user + n]), self.q[None], self.v[None])
            self._write(n, by)
        if not lost:
            return
        if self._breach == "stop":
            self.stop(Ending.EVENT, str(self._breaches()[-1]))
        elif self._breach == "release":
            self._release({self._fragile[n][0] for n, _ in lost})

    def _write(self, number: int, by: float, struck: bool = False) -> None:
        """A breach, in the order of the log's events."""
        if not struck and self._breach == "warn":
            self._open[number] = len(self._by)
        self._by.append(by)
        self._struck.append(struck)

    def _release(self, contacts: set[int]) -> None:
        """These contacts are gone from here on; others may follow at once."""
        self._let_go(contacts)
        if self.steps or self.t > 0.0:
            self._touch((self.q, self.v), shown=True)
            self._touch(self.contact.again(self.t, self.q, self.v))
        self._fresh, self._h = True, math.nan
        if not self.stopped:
            self._lose(self._failing())

    def _let_go(self, contacts: set[int]) -> None:
        self.problem.use(GraspStructure.of(self.problem.grasp.released(*contacts), self.q))
        self._grasps.append((self.t, self.problem.grasp))
        self.loops.start(self.t, self.q, self.v)
        self._look_around()

    def seen(self, chunk: Chunk) -> None:
        """Steps were taken."""
        super().seen(chunk)
        if not self._fragile or self._breach != "warn":
            return
        forces = self.problem.contact_forces(chunk.t, chunk.q, chunk.v, chunk.tau)
        self._left = chunk.t, margins(self.problem.grasp, from_whole(self.problem.grasp, chunk.q, chunk.v), forces)

    def _note(self, found: list[Found]) -> None:
        super()._note(found)
        new = [f for f in found if self.user <= f.index < self.user + len(self._fragile)]
        if self._breach != "warn":
            return
        for t, left in zip(*self._left, strict=True):
            while new and new[0].t <= t:
                self._write(new.pop(0).index - self.user, 0.0)
            for n, number in list(self._open.items()):
                by = float(-left[self._fragile[n]])
                if by < 0.0:
                    del self._open[n]  # it holds again
                else:
                    self._by[number] = max(by, self._by[number])
        self._left = (np.zeros(0), np.zeros(0))

    # ---- impacts of joints on their stops, through the contacts

    def _touch(self, after: tuple[Array, Array] | None, shown: bool = False) -> None:
        """An impact: one-sided contacts that cannot take their share of it fail."""
        while after is not None and not self.stopped and (lost := self._overcharged(*after)):
            if self._breach == "release":  # the others may hold once it is gone
                worst = max(by for _, by in lost)
                first = {self._fragile[n][0] for n, by in lost if by == worst}
                lost = [(n, by) for n, by in lost if self._fragile[n][0] in first]
            for n, by in lost:
                self.log.events(np.array([self.t]), np.array([self.user + n]), self.q[None], self.v[None])
                self._write(n, by, struck=True)
            if self._breach == "stop":
                self.stop(Ending.EVENT, str(self._breaches()[-1]))
                return
            if self._breach == "warn":
                break
            self._let_go({self._fragile[n][0] for n, _ in lost})
            after = self.contact.again(self.t, after[0], self.v)
        super()._touch(after, shown)

    def _overcharged(self, q: Array, v: Array) -> list[tuple[int, float]]:
        """Own events of contacts whose impulses they cannot take, and by how much, in N s or N m s."""
        change = v - self.v
        if not self._fragile or not change.any():
            return []
        problem, grasp = self.problem, self.problem.grasp
        stops = [s for s in self.contact.stops if s.reached(q)]
        E = problem.stop_rows(stops, q)
        p = np.linalg.lstsq(problem.stop_response(q, E, self.t).T, change, rcond=None)[0]
        impulses = problem.contact_impulses(q, p @ E)
        left = margins(grasp, from_whole(grasp, q, v), impulses)
        least = _TOGETHER * np.abs(impulses).max(initial=0.0)
        found = [(n, float(-left[i, k])) for n, (i, k) in enumerate(self._fragile) if left[i, k] < -least]
        parting = {self._fragile[n][0] for n, _ in found if self._fragile[n][1] == 0}
        return [(n, by) for n, by in found if self._fragile[n][1] == 0 or self._fragile[n][0] not in parting]

    # ---- the end, checkpoints

    def _breaches(self) -> list[Breach]:
        return [e for e in self._happened() if isinstance(e, Breach)]

    def _happened(self) -> tuple[Happened, ...]:
        """As of other runs, with contacts that failed as breaches."""
        found: list[Happened] = []
        index = self.log.column("events", 1).astype(int).tolist()
        number, grasp = 0, self.problem.grasp
        for k, e in zip(index, super()._happened(), strict=True):
            if self.user <= k < self.user + len(self._fragile):
                i, kind = self._fragile[k - self.user]
                by, struck = self._by[number], self._struck[number]
                found.append(breach(grasp, i, kind, e.time, by, e.q, e.v, struck))
                number += 1
            else:
                found.append(e)
        return tuple(found)

    def closing(self) -> GraspClosing | None:  # type: ignore[override]
        """What brings tips and object together between steps."""
        return GraspClosing(tuple(self._grasps)) if self.problem.projects else None

    def more_state(self) -> dict[str, NDArray[Any]]:
        """For a checkpoint."""
        parted = [[not c.bound.shape[1] for c in grasp.contacts] for _, grasp in self._grasps]
        return super().more_state() | {
            "by": np.array(self._by),
            "struck": np.array(self._struck, dtype=bool),
            "open": np.array(list(self._open.items()), dtype=np.int64).reshape(-1, 2),
            "since": np.array([t for t, _ in self._grasps]),
            "parted": np.array(parted, dtype=bool).reshape(len(self._grasps), -1),
            "entrance": self.problem.entrance,
        }

    def restore_more(self, state: dict[str, NDArray[Any]]) -> None:
        """From a checkpoint."""
        self._by, self._struck = state["by"].tolist(), state["struck"].tolist()
        self._open = {int(n): int(number) for n, number in state["open"]}
        first = self._grasps[0][1]
        self._grasps = [
            (t, first.released(*np.flatnonzero(parted).tolist()) if parted.any() else first)
            for t, parted in zip(state["since"].tolist(), state["parted"], strict=True)
        ]
        super().restore_more(state)
        self.problem.entrance = state["entrance"]

    def _restored(self, rank: int) -> GraspStructure:
        """The contacts that held."""
        return GraspStructure(self._grasps[-1][1], rank)


def _can_fail(surface: Any, kind: int) -> bool:
    """Whether a contact with this surface can fail in this way."""
    limit = (0.0, surface.friction, surface.spin, *surface.area)[kind]
    return kind == 0 or math.isfinite(limit)
