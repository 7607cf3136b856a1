"""Actions as goals: the positions to which springs in the motors pull."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import AnyArray, Array, array
from ..errors import ArgumentError
from ..simulate.efforts import clipped, effort_limits
from .motors import file_actuators, other_joints

if TYPE_CHECKING:
    from ..model.actuators import Actuator
    from ..robot import Robot

__all__ = ["Springs"]


class Springs:
    """Springs and dampers whose target positions actions move."""

    def __init__(self, robot: Robot, goals: Any, feedback: Any, scale: Any, forces: Any, effort: str = "clip") -> None:
        for name, given in (("scale", scale), ("forces", forces)):
            if given is not None:
                raise ArgumentError(f"gym: `goals` and `{name}` exclude each other: actions are positions, or forces")
        if not isinstance(feedback, (tuple, list)) or len(feedback) != 3:
            raise ArgumentError(f"gym: `goals` need feedback=(kp, kd, target), the springs, not {feedback!r}")
        given = [x for x in file_actuators(robot) if not x.through]
        names = [*dict.fromkeys(name for x in given for name in x.joints), *other_joints(robot, tuple(given))]
        joints = [robot.joint(name) for name in names]
        other = next((c.name for c in joints if c.nq != 1), None)
        if other is not None:
            raise ArgumentError(
                f"gym: joint {other!r} has more than one coordinate; `goals` are for hinges and sliders"
            )
        self.freedoms: NDArray[np.int64] = np.array([c.v.start for c in joints], np.int64)
        self._places = np.array([c.q.start for c in joints], np.int64)
        signs, self._ranges = _file_ranges(given, names)
        self._kp = np.broadcast_to(_gains(feedback[0], robot.nv, "kp"), (robot.nv,))
        self._kd = np.broadcast_to(_gains(feedback[1], robot.nv, "kd"), (robot.nv,))
        self._limits = effort_limits(robot, effort)
        self._rest: Array = array(feedback[2], (robot.nq,), "gym: the target of feedback")
        try:
            self._reach: AnyArray = np.broadcast_to(np.asarray(goals, float), self.freedoms.shape)
        except (TypeError, ValueError):
            self._reach = np.full(1, np.nan)
        if not (np.isfinite(self._reach).all() and (self._reach > 0.0).all()):
            raise ArgumentError(
                f"gym: `goals` must be a number above zero, or {len(self.freedoms)} of them, not {goals!r}"
            )
        self._reach = self._reach * signs

    def feedback(self, actions: AnyArray) -> tuple[Array, Array, Array]:
        """Return gains and targets (count, nq) of a control step, for actions (count, motors)."""
        target = np.tile(self._rest, (len(actions), 1))
        moved = target[:, self._places] + self._reach * actions
        target[:, self._places] = np.clip(moved, *self._ranges)
        return self._kp, self._kd, target

    def forces(self, q: AnyArray, v: AnyArray, target: Array) -> AnyArray:
        """Return the forces (count, nv) of the springs in a state, within the effort limits."""
        found = np.zeros_like(v)
        at = self.freedoms
        found[:, at] = self._kp[at] * (target - q)[:, self._places] - self._kd[at] * v[:, at]
        return np.asarray(clipped(found, self._limits))


def _file_ranges(given: Iterable[Actuator], names: Sequence[str]) -> tuple[Array, tuple[Array, Array]]:
    """Return for each joint the sign of its gear in the file, and the range of positions that its actuator takes."""
    signs, low, high = np.ones(len(names)), np.full(len(names), -np.inf), np.full(len(names), np.inf)
    for x in given:
        for name, (gear, *_) in zip(x.joints, x.gear, strict=True):
            if gear:
                k = names.index(name)
                signs[k] = math.copysign(1.0, gear)
                if x.kind == "position":
                    low[k], high[k] = sorted(limit / gear for limit in x.control_limits)
    return signs, (low, high)


def _gains(given: Any, nv: int, name: str) -> Array:
    """Return gains, for all freedoms or for each."""
    return array(given, (nv,) if np.ndim(given) else (), f"gym: {name} of feedback")
