"""Events: moments at which a function of the motion changes sign."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Array, array
from ..declared import explained_methods
from ..errors import ArgumentError
from ..graph import where_less
from ..loops.limits import loop_positions
from ..model import Loop
from ..records import dataclass
from .run.endings import Ending
from .run.watchers import Phase, Watcher, WatchFunction

if TYPE_CHECKING:
    from ..model import ModelJoint
    from ..robot import Robot
    from .run.run import Run

__all__ = ["Event", "listed"]

T = TypeVar("T")
_TRACED_BODIES = 60
"""The kinematics of robots with up to so many bodies are traced into the function of an event, as straight-line code:
only what the event needs is computed."""
Traced = tuple[str | None, Callable[[Mapping[tuple[str, int], Any]], Any]]
"""A frame whose pose a function reads, and the function, over symbols for ("t", 0), ("q", k), ("v", k), ("pose", k)."""


@explained_methods
@dataclass(frozen=True)
class Event:
    """A moment of the motion: `function(t, q, v)` passes through zero.

    With `direction` 1 only upward, with -1 only downward passages count; a `terminal` event ends the run. A run that
    starts exactly at zero has not passed through it. An `effect`, a function of (t, q, v), returns the velocities after
    the event, or None to leave them: a kick, a brake, an impact of your own. Loops take part in the impact, and the
    energy that it takes counts as dissipated.

    `rollout` calls the function once, with symbols for t, q and v, and compiles what it computes. There it may use
    arithmetic, `abs`, `np.sin`, `np.cos`, `np.sqrt` and `np.arctan2` of single numbers such as q[0], methods of a robot
    such as `robot.pose(q, frame)`, and `ordern.graph.where_less(a, b, x, y)` for `x if a < b else y`. Effects and
    joints that close loops are for `simulate`.

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

    def _repr_html_(self) -> str:
        """Return the event as a table, for notebooks."""
        from ..screen.html import table, titled

        passages = {1: "upward", -1: "downward", 0: "both ways"}[self.direction]
        rows = [("passages", passages), ("ends the run", "yes" if self.terminal else "no")]
        rows += [("changes velocities", "yes" if self.effect else "no")]
        return titled(f"Event {self.name}", table((), rows, left=2))

    @classmethod
    def limit(cls, joint: str, *, terminal: bool = False) -> Event:
        """Watch for a joint that leaves its limits. The name is that of a joint, or of a loop that a joint closes.

        Angles of a joint that closes a loop are within half a turn of the middle of their limits.
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
        n = array(normal, (3,), "Event.plane: the normal")
        distance = float(array(offset, (), "Event.plane: the offset"))
        if not n.any():
            raise ArgumentError("Event.plane: the normal must be 3 numbers, not all zero")
        size = float(np.linalg.norm(n))
        plane = _Plane(frame, tuple((n / size).tolist()), distance / size)
        return cls(plane, f"{frame} at plane", direction, terminal)

    @classmethod
    def height(cls, frame: str, height: float = 0.0, *, direction: int = -1, terminal: bool = False) -> Event:
        """Watch for a frame whose origin passes a height above the world's origin.

        `direction` is -1 for downward passages (the default), 1 for upward ones, 0 for both; `terminal` ends the run.
        """
        event = cls.plane(frame, offset=height, direction=direction, terminal=terminal)
        return replace(event, name=f"{frame} at height {height:g}")

    def bound(self, robot: Robot) -> WatchFunction:
        """Return the function for this robot: names are looked up once."""
        bind = getattr(self.function, "bind", None)
        return bind(robot) if callable(bind) else self.function

    def watcher(self, robot: Robot, index: int) -> Watcher:
        """Return the watcher of this event, the one of this index among the user's."""
        effect = self._act if self.terminal or self.effect is not None else None
        phase = Phase.END if self.terminal else Phase.EFFECT
        return Watcher(self.name, self.bound(robot), effect, self.direction, phase, together=True, index=index)

    def _act(self, run: Run) -> None:
        """Change the velocities, or end the run."""
        if self.effect is not None:
            run.jump(f"event {self.name!r}", self.effect)
        if self.terminal and not run.stopped:
            run.stop(Ending.EVENT, f"event {self.name!r} at t = {run.t:.9g} s")


class _Ready:
    """A function of (t, q, v) that needs a robot: `bind` makes it."""

    def __call__(self, t: float, q: Array, v: Array) -> float:
        raise ArgumentError("this event is used through robot.simulate(events=[...]) or robot.rollout(events=[...])")


@dataclass(frozen=True)
class _Limit(_Ready):
    """The distance of a joint from the nearest of its limits; negative outside."""

    joint: str

    def bind(self, robot: Robot) -> WatchFunction:
        if any(x.name == self.joint for x in robot.loops):
            every = robot if all(x.active for x in robot.loops) else robot.with_loops([x.name for x in robot.loops])
            x = next(x for x in every.loop_table.loops if x.loop.name == self.joint)
            return self._inside(x.loop, lambda q: loop_positions(every, q)[x.q])
        c = robot.joint(self.joint)
        if c.mimic is not None:
            leader = robot.joints[c.mimic.joint].name
            raise ArgumentError(f"Event.limit: joint {c.name!r} follows {leader!r}; watch that joint")
        return self._inside(c, lambda q: q[c.q])

    def traced(self, robot: Robot) -> Traced:
        """Return the function for compiled rollouts: no frame, and a function of symbols by name."""
        if any(x.name == self.joint for x in robot.loops):
            raise ArgumentError(
                f"rollout: Event.limit of {self.joint!r}: this joint closes a loop; robot.simulate watches such joints"
            )
        self.bind(robot)
        c = robot.joint(self.joint)
        sides = [
            (c.q.start + k, side, bound)
            for bounds, side in ((c.lower, 1.0), (c.upper, -1.0))
            for k, bound in enumerate(bounds)
            if np.isfinite(bound)
        ]

        def inside(symbols: Mapping[tuple[str, int], Any]) -> Any:
            distances = [side * (symbols["q", k] - float(bound)) for k, side, bound in sides]
            least = distances[0]
            for x in distances[1:]:
                least = where_less(x, least, x, least)
            return least

        return None, inside

    def _inside(self, limited: Loop | ModelJoint, positions: Callable[[Array], Array]) -> WatchFunction:
        lower, upper = np.array(limited.lower), np.array(limited.upper)
        if not (np.isfinite(lower).any() or np.isfinite(upper).any()):
            what = "the joint of loop" if isinstance(limited, Loop) else "joint"
            raise ArgumentError(f"Event.limit: {what} {self.joint!r} has no limits")

        def inside(t: float, q: Array, v: Array) -> float:
            at = positions(q)
            return float(np.minimum(at - lower, upper - at).min())

        return inside


@dataclass(frozen=True)
class _Plane(_Ready):
    """The distance of a frame's origin from a plane."""

    frame: str
    normal: tuple[float, ...]
    offset: float

    def bind(self, robot: Robot) -> WatchFunction:
        robot.frame(self.frame)
        return _Distance(robot, self.frame, np.array(self.normal), self.offset)

    def traced(self, robot: Robot) -> Traced:
        """Return the function for compiled rollouts: of positions, traced through the robot's own kinematics.

        If the robot's numbers vary, or if the frame is far from its root, the compiled kernel of the frame's pose is
        called: then return the frame, and a function of symbols for its pose.
        """
        robot.frame(self.frame)
        called = robot.variation is not None or len(robot.bodies) > _TRACED_BODIES

        def distance(symbols: Mapping[tuple[str, int], Any]) -> Any:
            if called:
                at = [symbols["pose", 4 * k + 3] for k in range(3)]
            else:
                q = np.array([symbols["q", k] for k in range(robot.nq)], object)
                at = list(robot.pose(q, self.frame)[:3, 3])
            x, y, z = (n * p for n, p in zip(self.normal, at, strict=True))
            return x + y + z - self.offset

        return self.frame if called else None, distance


@dataclass(frozen=True, eq=False)
class _Distance:
    """The same for one robot, as a function of a state, and its derivative by positions."""

    robot: Robot
    frame: str
    normal: Array
    offset: float

    def __call__(self, t: float, q: Array, v: Array) -> float:
        return float(self.normal @ self.robot.pose(q, self.frame)[:3, 3]) - self.offset

    def gradient(self, q: Array) -> Array:
        """Return the derivatives by the tangent of q, (nv,)."""
        return np.asarray(self.normal @ self.robot.jacobian(q, self.frame, axes="world")[3:])


def listed(what: str, given: Any, cls: type[T], example: str) -> tuple[T, ...]:
    """Return one object of a class, or several, in a tuple; raise, with an example, if it is something else."""
    if given is None or isinstance(given, cls):
        return () if given is None else (given,)
    found = tuple(given) if isinstance(given, Iterable) and not isinstance(given, (str, bytes)) else (given,)
    for x in found:
        if not isinstance(x, cls):
            raise ArgumentError(f"{what} must be on.{cls.__name__} objects, {what}={example}; not {x!r}")
    return found
