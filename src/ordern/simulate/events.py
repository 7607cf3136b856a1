"""Events: moments at which a function of the motion changes sign, found on the dense output to rounding."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ArgumentError
from ..loops.limits import loop_positions
from ..records import dataclass
from .integrators.dense import Segment, evaluate
from .run.exchange import read_only
from .run.roots import crossing

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["SAME_MOMENT", "Event", "EventFunction", "Found", "Tracker"]

_BLOCK = 16
"""Steps that are searched at a time: past a terminal event nothing is asked of the user's functions."""

_LOOKS = 24
"""How often a part of a step is halved to see whether a function that starts at zero rises first."""

SAME_MOMENT = 1e-10
"""Events that are no further apart, in seconds, take place at the same moment: values of their functions have roundings
of some 1e-16 m or rad, which passages at 1e-6 m/s or rad/s turn into such a time."""

Array = NDArray[np.float64]
EventFunction = Callable[[float, Array, Array], Any]


@dataclass(frozen=True)
class Event:
    """Something to be noticed: `function(t, q, v)` passes through zero.

    With `direction` 1 only upward, with -1 only downward passages count; a `terminal` event ends the run. A run that
    starts exactly at zero has not passed through it.

    >>> import ordern as on
    >>> robot = on.load("double-pendulum")
    >>> level = on.Event(lambda t, q, v: v[0], name="turns")
    >>> result = robot.simulate([0.1, 0.0], until=2.0, events=[level, on.Event.plane("tip", offset=-1.99)])
    """

    function: EventFunction
    name: str = ""
    direction: int = 0
    terminal: bool = False

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ArgumentError(f"Event: give a function of (t, q, v), not {self.function!r}")
        if self.direction not in (-1, 0, 1):
            raise ArgumentError(f"Event: direction must be -1, 0 or 1, not {self.direction!r}")
        if not self.name:
            object.__setattr__(self, "name", getattr(self.function, "__name__", type(self.function).__name__))

    @classmethod
    def limit(cls, joint: str, *, terminal: bool = False) -> Event:
        """A coordinate of the joint, or of the joint that closes the loop of this name, leaves its limits.

        An angle of the latter counts within half a turn of the middle of its limits.
        """
        return cls(_Limit(joint), f"limit of {joint}", -1, terminal)

    @classmethod
    def plane(
        cls,
        frame: str,
        normal: ArrayLike = (0.0, 0.0, 1.0),
        offset: float = 0.0,
        *,
        direction: int = -1,
        terminal: bool = False,
    ) -> Event:
        """The origin of a frame passes the plane normal . x = offset of the world; downward unless told otherwise."""
        n = np.array(normal, dtype=float)
        if n.shape != (3,) or not np.isfinite(n).all() or not n.any():
            raise ArgumentError(f"Event.plane: the normal must be 3 finite numbers, not all zero; given {normal!r}")
        if not math.isfinite(offset):
            raise ArgumentError(f"Event.plane: the offset must be finite, not {offset!r}")
        size = float(np.linalg.norm(n))
        plane = _Plane(frame, tuple((n / size).tolist()), float(offset) / size)
        return cls(plane, f"{frame} at plane", direction, terminal)

    @classmethod
    def height(cls, frame: str, height: float = 0.0, *, direction: int = -1, terminal: bool = False) -> Event:
        """The origin of a frame passes a height above the world's origin; downward unless told otherwise."""
        event = cls.plane(frame, (0.0, 0.0, 1.0), height, direction=direction, terminal=terminal)
        return cls(event.function, f"{frame} at height {height:g}", direction, terminal)

    def bound(self, robot: Robot) -> EventFunction:
        """The function for this robot: names are looked up once."""
        bind = getattr(self.function, "bind", None)
        return bind(robot) if callable(bind) else self.function


@dataclass(frozen=True)
class _Limit:
    """How far a joint is inside of its limits."""

    joint: str

    def __call__(self, t: float, q: Array, v: Array) -> float:
        raise ArgumentError("this event is used through robot.simulate(events=[...])")

    def bind(self, robot: Robot) -> EventFunction:
        if any(x.name == self.joint for x in robot.loops):
            return _loop_limit(robot, self.joint)
        c = robot.joint(self.joint)
        if c.mimic is not None:
            raise ArgumentError(
                f"Event.limit: joint {c.name!r} follows {robot.joints[c.mimic.joint].name!r}; watch that joint"
            )
        lower, upper, where = np.array(c.lower), np.array(c.upper), c.q
        if not (np.isfinite(lower).any() or np.isfinite(upper).any()):
            raise ArgumentError(f"Event.limit: joint {c.name!r} has no limits")
        return lambda t, q, v: float(np.minimum(q[where] - lower, upper - q[where]).min())


def _loop_limit(robot: Robot, name: str) -> EventFunction:
    """How far the joint that closes a loop is inside of its limits."""
    every = robot if all(x.active for x in robot.loops) else robot.with_loops([x.name for x in robot.loops])
    x = next(x for x in every.loop_table.loops if x.loop.name == name)
    lower, upper = np.array(x.loop.lower), np.array(x.loop.upper)
    if not (np.isfinite(lower).any() or np.isfinite(upper).any()):
        raise ArgumentError(f"Event.limit: the joint of loop {name!r} has no limits")

    def inside(t: float, q: Array, v: Array) -> float:
        at = loop_positions(every, q)[x.q]
        return float(np.minimum(at - lower, upper - at).min())

    return inside


@dataclass(frozen=True)
class _Plane:
    """The distance of a frame's origin from a plane."""

    frame: str
    normal: tuple[float, ...]
    offset: float

    def __call__(self, t: float, q: Array, v: Array) -> float:
        raise ArgumentError("this event is used through robot.simulate(events=[...])")

    def bind(self, robot: Robot) -> EventFunction:
        robot.frame(self.frame)
        normal, offset, frame = np.array(self.normal), self.offset, self.frame
        return lambda t, q, v: float(normal @ robot.pose(q, frame)[:3, 3]) - offset


@dataclass(frozen=True, slots=True)
class Found:
    """An event: in which step, at which part s of it, and at which state."""

    step: int
    s: float
    t: float
    index: int
    q: Array
    v: Array


class Tracker:
    """Follows the signs of all events along a motion."""

    def __init__(self, robot: Robot, events: Sequence[Event], samples: int) -> None:
        for e in events:
            if not isinstance(e, Event):
                raise ArgumentError(f"events: give Event(function, ...) objects, not {e!r}")
        self.robot, self.samples = robot, samples
        self.watch(events)

    def watch(self, events: Sequence[Event]) -> None:
        """Follow these events from the next `start` on."""
        self.events = tuple(events)
        self.functions = [e.bound(self.robot) for e in self.events]
        self.signs = np.zeros(len(self.events))
        self.leaving: dict[int, float] = {}
        """Events at whose zero the motion starts, on its way to positive values, with their rates."""
        self._begins: list[Array] = []
        """The signs at the start of each of the steps that were searched last."""

    def value(self, index: int, t: float, q: Array, v: Array) -> float:
        """The function of an event."""
        answer = self.functions[index](t, read_only(q), read_only(v))
        try:
            g = math.nan if np.iscomplexobj(answer) else float(answer)
        except (TypeError, ValueError):
            g = math.nan
        if math.isnan(g) and np.isfinite(q).all() and np.isfinite(v).all():
            raise ArgumentError(
                f"event {self.events[index].name!r} returned {answer!r} at t = {t:.9g} s; give one real number"
            )
        return g

    def start(self, t: float, q: Array, v: Array) -> None:
        """The signs at the start of the motion, or after a jump of the state."""
        self.leaving = {}
        for k in range(len(self.events)):
            self.signs[k] = np.sign(self.value(k, t, q, v))

    def leave(self, index: int, rate: float) -> None:
        """The motion starts at an event's zero, towards positive values if the rate is above zero."""
        self.signs[index] = 1.0
        self.leaving[index] = rate

    def search(self, edges: Array, dense: Array) -> list[Found]:
        """Events within steps that begin and end at `edges`, in the order of time, up to the first terminal one."""
        found: list[Found] = []
        self._begins = []
        for first in range(0, len(dense) if self.events else 0, _BLOCK):
            found += self._block(edges[first : first + _BLOCK + 1], dense[first : first + _BLOCK], first)
            if any(self.events[f.index].terminal for f in found):
                break
        found.sort(key=lambda f: (f.t, f.index))
        for n, f in enumerate(found):
            if self.events[f.index].terminal:
                return found[: n + 1]
        return found

    def beside(self, segment: Segment, step: int, s: float, asked: Iterable[int]) -> list[int]:
        """Return which of these events take place at the same moment as a part of one of the steps just searched.

        The motion is followed a little beyond it, also where the step ends; but not back to before it begins, where
        the state may jump.
        """
        early = s * (segment.t1 - segment.t0) < SAME_MOMENT
        before, after = segment.beside(s, -SAME_MOMENT), segment.beside(s, SAME_MOMENT)
        found = []
        for k in asked:
            was = self._begins[step][k] if early else np.sign(self.value(k, *before))
            will_be = np.sign(self.value(k, *after))
            if was * will_be < 0.0 and self.events[k].direction in (0, will_be):
                found.append(k)
        return found

    def _block(self, edges: Array, dense: Array, first: int) -> list[Found]:
        """The events in a few steps: signs at samples, and roots where they change."""
        n, nq, nv = len(dense), self.robot.nq, self.robot.nv
        parts = np.arange(1, self.samples + 1) / self.samples
        y = evaluate(dense[:, None], np.broadcast_to(parts, (n, self.samples)))
        q = self.robot.project(np.ascontiguousarray(y[..., :nq]))
        found = []
        for j in range(n):
            segment = Segment(self.robot, float(edges[j]), float(edges[j + 1]), dense[j])
            self._begins.append(self.signs.copy())
            for i in range(self.samples):
                t = segment.time(float(parts[i]))
                for k in range(len(self.events)):
                    before, now = self.signs[k], np.sign(self.value(k, t, q[j, i], y[j, i, nq : nq + nv]))
                    if now > 0.0:
                        self.leaving.pop(k, None)
                    if now in (before, 0.0):
                        continue
                    self.signs[k] = now
                    if before == 0.0 or self.events[k].direction not in (0, now):
                        continue
                    s = self._root(segment, k, 0.0 if i == 0 else float(parts[i - 1]), float(parts[i]))
                    found.append(Found(first + j, s, segment.time(s), k, *segment.at(s)[1:]))
        return found

    def _root(self, segment: Segment, k: int, s0: float, s1: float) -> float:
        """Where an event is between two parts of a step at which its signs differ."""

        def g(s: float) -> float:
            return self.value(k, *segment.at(s))

        if k in self.leaving:  # the root that the motion starts from is divided out
            rate = self.leaving.pop(k) * (segment.t1 - segment.t0)
            if s0 == 0.0:
                return crossing(lambda s: g(s) / s, 0.0, s1, rate) if rate > 0.0 else _after_rising(g, s1)
        return crossing(g, s0, s1)


def _after_rising(g: Callable[[float], float], end: float) -> float:
    """Where a function that starts from zero with no rate, and is negative at the end, passes zero after having risen.

    0 if it does not rise.
    """
    for k in range(_LOOKS):
        s = end * 0.5 ** (k + 1)
        if g(s) > 0.0:
            return crossing(g, s, 2.0 * s)
    return 0.0
