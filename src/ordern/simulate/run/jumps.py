"""Jumps of a run: the states and accelerations on both sides of an event that has an effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...arguments import Array
from ...records import dataclass
from ..constraints.limits import Stop
from ..integrators.integrator import StepFailedError
from .watchers import Phase, Watcher

if TYPE_CHECKING:
    from ...robot import Robot
    from .run import Run

__all__ = ["Jump", "Jumps"]


@dataclass(frozen=True, slots=True, eq=False)
class Jump:
    """One moment at which watchers acted."""

    time: float
    watchers: tuple[Watcher, ...]
    """The watchers that acted; without joints that were let go by their stops."""
    q: Array
    v: Array
    """The velocities before."""
    a: Array | None
    """The accelerations before; None if they are not known."""
    q_after: Array
    v_after: Array
    a_after: Array | None
    """The accelerations afterwards; None if the run ended."""
    robot: Robot
    """The robot with the loops that are closed afterwards."""
    struck: tuple[tuple[Stop, ...], float] | None
    """Stops that joints touched in an impact, and its restitution."""


class Jumps:
    """The jumps of a run, in the order of time."""

    def __init__(self) -> None:
        self.found: list[Jump] = []

    def watch(self, run: Run, due: list[Watcher], a: Array | None) -> Jumps:
        """Prepare to note the effects of these watchers; `a` are the accelerations before them."""
        self._before = run.t, run.q, run.v, a
        self._due = tuple(w for w in due if w.effect is not None and w.shown)
        run.stops.struck = None
        return self

    def note(self, run: Run) -> None:
        """Note the state after the effects. The number of evaluations is that of the steps alone."""
        if not self._due:
            return
        problem, count, after = run.problem, run.problem.evaluations, None
        ends = any(w.phase is Phase.END for w in self._due)
        if not run.stopped and not ends:
            try:
                after = problem.acceleration(run.t, run.q, run.v)
            except StepFailedError:
                after = None
        problem.evaluations = count
        t, q, v, a = self._before
        self.found.append(Jump(t, self._due, q, v, a, run.q, run.v, after, problem.now.robot, run.stops.struck))
