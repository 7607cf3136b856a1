"""Actions as forces: the actuators of a file in its order, with their gears and ranges, or all joints with motors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import AnyArray, Array
from ..errors import ArgumentError
from ..io.mjcf.document import ACTUATORS
from ..records import dataclass
from ..simulate.efforts import effort_limits

if TYPE_CHECKING:
    from ..model.actuators import Actuator
    from ..robot import Robot

__all__ = ["Motors", "file_actuators", "other_joints"]

_PUSHING = ("motor", "general", "position", "velocity", "intvelocity", "pid", "dcmotor")
"""Kinds of actuators whose force may have any sign, and so may be an action."""


class Motors:
    """The forces of actions between -1 and 1."""

    def __init__(self, robot: Robot, scale: Any, effort: str = "clip") -> None:
        rows = _rows(robot, "clip")
        if not rows:
            raise ArgumentError(f"gym: {robot.name!r} has no motors; name them in the builder, or give `forces`")
        self._size, self._most = robot.nv, effort_limits(robot, effort)
        self._entries = [(k, at, gear) for k, row in enumerate(rows) for at, gear in row.gears]
        """The number of an action, the degree of freedom that it pushes, and the gear between them."""
        most = np.array([max(map(abs, row.limits)) for row in rows])
        if scale is not None:
            self._scale: Array = _scales(scale, len(rows)) / [row.largest for row in rows]
        elif np.isfinite(most).all():
            self._scale = most
        else:
            first = rows[int(np.argmin(np.isfinite(most)))].name
            raise ArgumentError(
                f"gym: {first} has no effort limit, so that the force at action 1 is not known: give `scale`"
            )
        self._low, self._high = np.array([row.limits for row in (_rows(robot, effort))]).T
        reach = np.where(self._scale > 0.0, self._scale, 1.0)
        self.low: Array = np.where(self._low < 0.0, -1.0, np.minimum(self._low / reach, 1.0))
        """The least actions: -1 unless an actuator only pushes in one direction."""
        self.high: Array = np.where(self._high > 0.0, 1.0, np.maximum(self._high / reach, -1.0))
        """The largest actions: 1 unless an actuator only pulls in one direction."""

    def forces(self, actions: AnyArray) -> Array:
        """Return the joint forces (count, nv) of actions (count, motors)."""
        f = np.clip(np.clip(actions, -1.0, 1.0) * self._scale, self._low, self._high)
        tau = np.zeros((len(actions), self._size))
        for k, at, gear in self._entries:
            tau[:, at] += gear * f[:, k]
        return np.clip(tau, -self._most, self._most)


@dataclass(frozen=True, slots=True)
class _Row:
    """What one action does."""

    name: str
    gears: tuple[tuple[int, float], ...]
    """Degrees of freedom, and the force on each per force of the actuator."""
    limits: tuple[float, float]
    """The range of its force."""

    @property
    def largest(self) -> float:
        """The largest gear, or 1 if all are zero."""
        return max((abs(gear) for _, gear in self.gears), default=0.0) or 1.0


def file_actuators(robot: Robot) -> tuple[Actuator, ...]:
    """Return the actuators of an MJCF file that push tendons or joints with motors, in the order of the file."""
    driven = set(robot.actuated)
    return tuple(
        x for x in robot.actuators if x.kind in ACTUATORS and (x.through or not x.joints or {*x.joints} <= driven)
    )


def other_joints(robot: Robot, given: tuple[Actuator, ...]) -> list[str]:
    """Return the joints with motors that no actuator of a file pushes."""
    known = {name for x in given if not x.through for name in x.joints}
    return [name for name in robot.actuated if name not in known]


def _rows(robot: Robot, effort: str) -> list[_Row]:
    """Return what actions do: those of the actuators of the file, then those of other joints with motors."""
    given, most = file_actuators(robot), effort_limits(robot, effort)
    rows = [_of_file(robot, x, most) for x in given]
    for name in other_joints(robot, given):
        at = robot.joint(name).v
        rows += [_Row(f"joint {name!r}", ((k, 1.0),), (-most[k], most[k])) for k in range(at.start, at.stop)]
    return rows


def _of_file(robot: Robot, x: Actuator, most: Array) -> _Row:
    """Return what an actuator of a file does, within its ranges and the effort limits of its joint."""
    if not x.joints or x.kind not in _PUSHING:
        what = f"acts on {x.through}" if not x.joints else f"is of the kind {x.kind!r}"
        raise ArgumentError(
            f"gym: actuator {x.name!r} of {robot.name!r} {what}, which actions do not push: give `forces`, a function "
            "of actions that returns joint forces"
        )
    starts = [robot.joint(name).v.start for name in x.joints]
    gears = tuple((at + k, g) for at, row in zip(starts, x.gear, strict=True) for k, g in enumerate(row) if g)
    ranges = [x.force_limits]
    if x.kind == "motor":  # its control is its force
        ranges.append(x.control_limits)
    if not x.through:
        ranges += [(-most[at] / abs(g), most[at] / abs(g)) for at, g in gears]
    low = max(a for a, _ in ranges)
    return _Row(f"actuator {x.name!r}", gears, (low, max(low, min(b for _, b in ranges))))


def _scales(scale: Any, count: int) -> Array:
    """Return the forces at action 1 that were given."""
    try:
        forces = np.broadcast_to(np.asarray(scale, float), (count,))
    except (TypeError, ValueError):
        raise ArgumentError(f"gym: `scale` must be a number, or {count} of them, not {scale!r}") from None
    if not (np.isfinite(forces).all() and (forces > 0.0).all()):
        raise ArgumentError(f"gym: `scale` must be above zero, not {scale!r}")
    return np.array(forces)
