"""Events: moments at which a function of the motion changes sign."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ArgumentError
from ..loops.limits import loop_positions
from ..records import dataclass
from .run.endings import Ending
from .run.watchers import Phase, Watcher, WatchFunction

if TYPE_CHECKING:
    from ..robot import Robot
    from .run.run import Run

__all__ = ["Event"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Event:
    """A moment of the motion: `function(t, q, v)` passes through zero.

    With `direction` 1 only upward, with -1 only downward passages count; a `terminal` event ends the run. A run that
    starts exactly at zero has not passed through it. An `effect`, a function of (t, q, v), returns the velocities after
    the event, or None to leave them: a kick, a brake, an impact of one's own. Loops share in it, and the energy that
    it takes is booked as dissipated.

    >>> import ordern as on
    >>> robot = on.load("double-pendulum")
    >>> level = on.Event(lambda t, q, v: v[0], name="turns")
    >>> result = robot.simulate([0.1, 0.0], until=2.0, events=[level, on.Event.plane("tip", offset=-1.99)])
    >>> kick = on.Event(lambda t, q, v: q[0], name="kick", effect=lambda t, q, v: 1.1 * v)
    """

    function: WatchFunction
    name: str = ""
    direction: int = 0
    terminal: bool = False
    effect: WatchFunction | None = None

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ArgumentError(f"Event: give a function of (t, q, v), not {self.function!r}")
        if self.effect is not None and not callable(self.effect):
            raise ArgumentError(f"Event: effect must be a function of (t, q, v), not {self.effect!r}")
        if self.direction not in (-1, 0, 1):
            raise ArgumentError(f"Event: direction must be -1, 0 or 1, not {self.direction!r}")
        if not self.name:
            object.__setattr__(self, "name", getattr(self.function, "__name__", type(self.function).__name__))

    @classmethod
    def limit(cls, joint: str, *, terminal: bool = False) -> Event:
        """Watch for a coordinate of the joint, or of the joint that closes the loop of this name, leaves its limits.

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
        """Watch for a frame whose origin passes the plane normal . x = offset of the world.

        `direction` is -1 for downward passages (the default), 1 for upward ones, 0 for both; `terminal` ends the run.
        """
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
        """Watch for a frame whose origin passes a height above the world's origin.

        `direction` is -1 for downward passages (the default), 1 for upward ones, 0 for both; `terminal` ends the run.
        """
        event = cls.plane(frame, (0.0, 0.0, 1.0), height, direction=direction, terminal=terminal)
        return cls(event.function, f"{frame} at height {height:g}", direction, terminal)

    def bound(self, robot: Robot) -> WatchFunction:
        """Return the function for this robot: names are looked up once."""
        bind = getattr(self.function, "bind", None)
        return bind(robot) if callable(bind) else self.function

    def watcher(self, robot: Robot, index: int) -> Watcher:
        """Return the watcher of this event, the one of this index among the user's."""
        effect = self._act if self.terminal or self.effect is not None else None
        phase = Phase.END if self.terminal else Phase.EFFECT
        return Watcher(
            self.name, self.bound(robot), effect, self.direction, phase, together=True, index=index
        )  # fmt: skip

    def _act(self, run: Run) -> None:
        """Change the velocities, or end the run."""
        if self.effect is not None:
            run.jump(f"event {self.name!r}", self.effect)
        if self.terminal and not run.stopped:
            run.stop(Ending.EVENT, f"event {self.name!r} at t = {run.t:.9g} s")


@dataclass(frozen=True)
class _Limit:
    """How far a joint is inside of its limits."""

    joint: str

    def __call__(self, t: float, q: Array, v: Array) -> float:
        raise ArgumentError("this event is used through robot.simulate(events=[...])")

    def bind(self, robot: Robot) -> WatchFunction:
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


def _loop_limit(robot: Robot, name: str) -> WatchFunction:
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

    def bind(self, robot: Robot) -> WatchFunction:
        robot.frame(self.frame)
        normal, offset, frame = np.array(self.normal), self.offset, self.frame
        return lambda t, q, v: float(normal @ robot.pose(q, frame)[:3, 3]) - offset
