"""Events of rollouts: functions of (t, q, v) are traced, and compiled code notes where they change sign."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import AnyArray
from ..compile.timeloops.event_program import Leaf, Watched, recorded
from ..errors import ArgumentError, OrdernError, TraceError, unknown_name
from ..records import dataclass
from .events import Event, listed
from .forces import require_signature

if TYPE_CHECKING:
    from ..robot import Robot
    from .rollout_arguments import Plan

__all__ = ["Crossing", "Crossings", "crossings", "new_marks", "some_of", "watched_events"]

_WHOLE = 2**24
"""Numbers of single precision tell whole numbers apart up to this one."""
_EXAMPLE = "[on.Event(function, name=...), on.Event.height(frame, 0.1, terminal=True)]"


@dataclass(frozen=True, eq=False)
class Crossing:
    """The first crossing of one event, for each trajectory."""

    name: str
    time: AnyArray
    """The times, of the batch's shape; NaN for trajectories without the event."""
    q: AnyArray
    """The positions at these times, of shape (..., nq); NaN without the event."""
    v: AnyArray
    """The velocities at these times, of shape (..., nv); NaN without the event."""
    count: NDArray[np.int64]
    """The numbers of all crossings, of the batch's shape."""

    def __repr__(self) -> str:
        some, many = int((self.count > 0).sum()), self.count.size
        first = f", the first at {np.nanmin(self.time):.6g} s" if some else ""
        return f"<event {self.name!r} in {some} of {many} trajectories{first}>"


@dataclass(frozen=True, eq=False)
class Crossings:
    """The events of a rollout: `run.events["flip"].time` has the time of the first crossing of each trajectory."""

    names: tuple[str, ...]
    """The names of the events, in the order in which they were given."""
    time: AnyArray
    """The times of first crossings, of shape (..., events); NaN where there is no crossing."""
    q: AnyArray
    """The positions at these times, of shape (..., events, nq)."""
    v: AnyArray
    """The velocities at these times, of shape (..., events, nv)."""
    count: NDArray[np.int64]
    """The numbers of all crossings, of shape (..., events)."""
    stopped: NDArray[np.int64]
    """The place among the events of the one that ended the trajectory, of the batch's shape; -1 if it went on."""

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, name: str) -> Crossing:
        """Return the crossings of one event."""
        if name not in self.names:
            raise unknown_name("event", str(name), self.names, "rollout")
        k = self.names.index(name)
        return Crossing(name, self.time[..., k], self.q[..., k, :], self.v[..., k, :], self.count[..., k])

    def __repr__(self) -> str:
        return "\n".join(repr(self[name]) for name in self.names)


def some_of(events: Crossings, order: Any) -> Crossings:
    """Return the events of some trajectories, by their numbers in the batch: `order` is a number or an array."""
    rank = events.stopped.ndim
    arrays = (events.time, events.q, events.v, events.count, events.stopped)
    return Crossings(events.names, *(x.reshape(-1, *x.shape[rank:])[order] for x in arrays))


def watched_events(robot: Robot, given: Any, p: Plan) -> tuple[tuple[str, ...], tuple[Watched, ...]]:
    """Return the names of events, and the events for the compiler; raise if one of them cannot be compiled."""
    events = listed("events", given, Event, _EXAMPLE)
    names = tuple(x.name for x in events)
    twice = next((x for x in names if names.count(x) > 1), None)
    if twice is not None:
        raise ArgumentError(
            f"rollout: two events have the name {twice!r}; give them names, on.Event(function, name=...)"
        )
    if events and p.dtype == np.float32 and p.steps >= _WHOLE:
        raise ArgumentError(
            f"rollout: in single precision, events are possible for up to {_WHOLE:,} steps, not {p.steps:,}; give q0 "
            "and v0 in double precision"
        )
    return names, tuple(_kept(robot, x) for x in events)


def _kept(robot: Robot, event: Event) -> Watched:
    """Return an event for the compiler; ready ones, whose functions cannot change, are traced once for each robot."""
    if not callable(getattr(event.function, "traced", None)):
        return _watched(robot, event)
    return robot._kernels.kept(("watched", event, robot.variation is not None), lambda: _watched(robot, event))


def _watched(robot: Robot, event: Event) -> Watched:
    if event.effect is not None:
        raise ArgumentError(
            f"rollout: event {event.name!r} has an effect, which changes velocities; robot.simulate supports it"
        )
    require_signature(f"event {event.name!r}: the function", event.function)
    traced = getattr(event.function, "traced", None)
    frame: str | None = None
    leaves: list[Leaf] = [("t", 0), *(("q", k) for k in range(robot.nq)), *(("v", k) for k in range(robot.nv))]
    if callable(traced):
        frame, function = traced(robot)
        leaves += [("pose", k) for k in range(16)] if frame is not None else []
    else:
        function = _called(robot, event)
    try:
        operations = recorded(function, leaves)
    except Exception as e:
        if isinstance(e, OrdernError) and not isinstance(e, TraceError):
            raise
        raise ArgumentError(
            f"rollout: event {event.name!r}: its function is called once, with symbols in the place of numbers, and "
            f"raised {type(e).__name__}: {e}. Use arithmetic, abs, np.sin, np.cos, np.sqrt and np.arctan2 of single "
            "numbers such as q[0], methods of the robot such as robot.pose(q, frame), and "
            "ordern.graph.where_less(a, b, x, y) for x if a < b else y"
        ) from e
    return Watched(operations, frame, event.direction, event.terminal)


def _called(robot: Robot, event: Event) -> Callable[[dict[Leaf, Any]], Any]:
    """Return a function of symbols by name that calls that of the user."""

    def called(symbols: dict[Leaf, Any]) -> Any:
        q, v = (np.empty(n, object) for n in (robot.nq, robot.nv))
        for name, x in (("q", q), ("v", v)):
            for k in range(len(x)):
                x[k] = symbols[name, k]
        answer = event.function(symbols["t", 0], q, v)
        if isinstance(answer, np.ndarray):
            if answer.ndim:
                raise ArgumentError(
                    f"rollout: event {event.name!r} returned an array of shape {answer.shape}; give one number"
                )
            answer = answer[()]
        return answer

    return called


def new_marks(events: int, robot: Robot, p: Plan) -> AnyArray:
    """Return the numbers that compiled code keeps of each trajectory, before the first step."""
    from ..compile.timeloops.watching import marks_size

    marks = np.full((p.count, marks_size(events, robot.nq, robot.nv)), math.nan, p.dtype)
    marks[:, : 2 * events] = 0.0
    return marks


def crossings(names: tuple[str, ...], events: Sequence[Watched], marks: AnyArray, robot: Robot, p: Plan) -> Crossings:
    """Return the events of a rollout from the numbers that compiled code has kept."""
    n = len(names)
    _, count, step, part = (marks[:, k * n : (k + 1) * n].astype(float) for k in range(4))
    q, v = np.split(marks[:, 4 * n :], [n * robot.nq], axis=1)
    time = p.dt * (step + part)
    ends = np.array([x.terminal for x in events]) & (count > 0)
    first = np.argmin(np.where(ends, time, math.inf), axis=1)
    return Crossings(
        names,
        time.reshape(*p.batch, n),
        q.reshape(*p.batch, n, robot.nq),
        v.reshape(*p.batch, n, robot.nv),
        count.astype(np.int64).reshape(*p.batch, n),
        np.where(ends.any(axis=1), first, -1).astype(np.int64).reshape(p.batch),
    )
