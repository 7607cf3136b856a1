"""The desired motion of a controller, and how far a robot is from it, as series over time.

A controller has an aim if it has a goal for the joints, or a desired pose of a frame. Controllers made of others have
the aims of their parts.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import Array
from .combined import Sampled, Saturated, Sum
from .controller import Aimed, Controller, desired
from .operational_space import OperationalSpace
from .spaces import Configurations
from .trajectory import Motion, Trajectory

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["Tracking"]


class Tracking:
    """The aims of a controller: `series` returns what is desired, and the errors, at the states of a motion.

    Positions and velocities of joints have series if all parts of the controller that aim at such have the same goal.
    Poses have series if one part aims at a pose.
    """

    def __init__(self, robot: Robot, controller: Any) -> None:
        self.robot, self.space = robot, Configurations(robot)
        aims = list(_aims(controller))
        joints = [x for x in aims if not isinstance(x, OperationalSpace)]
        poses = [x for x in aims if isinstance(x, OperationalSpace)]
        self._joints = self._reference(joints[0]) if joints and all(_same(joints[0], x) for x in joints) else None
        self._pose = poses[0] if len(poses) == 1 else None

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The names of the series, and the shapes of their entries."""
        nq, nv = self.robot.nq, self.robot.nv
        joints: dict[str, tuple[int, ...]] = {"q_reference": (nq,), "v_reference": (nv,)}
        joints |= {"q_error": (nv,), "v_error": (nv,)}
        poses: dict[str, tuple[int, ...]] = {"pose_reference": (4, 4), "pose_error": (6,)}
        return (joints if self._joints else {}) | (poses if self._pose else {})

    def series(self, t: Array, q: Array, v: Array) -> Iterator[Array]:
        """Yield the series at times (N,) and states (N, nq) and (N, nv); errors are desired less actual."""
        if self._joints is not None:
            goal = Motion(*(np.broadcast_to(x, (len(t), x.shape[-1])) for x in self._joints(t)))
            e = self.robot.difference(q, goal.q)
            yield from (np.array(goal.q), np.array(goal.v), e, self.space.carried(e, goal.v) - v)
        if self._pose is not None:
            target, frame = self._pose.target, self._pose.frame
            T = np.broadcast_to(target if isinstance(target, np.ndarray) else target(t)[0], (len(t), 4, 4))
            yield from (np.array(T), self._pose.poses.difference(self.robot.pose(q, frame), T))

    def _reference(self, aim: Controller) -> Callable[[Array], Motion] | None:
        """Return the desired motion as a function of times (N,); None if there is none."""
        if isinstance(aim, Aimed):
            goal = aim.goal
            if goal.fixed is not None or isinstance(goal.target, Trajectory):
                return goal  # type: ignore[return-value]
            return lambda t: _stacked([goal(float(x)) for x in t])
        first = aim.reference(0.0)
        if not isinstance(first, (tuple, list)) or len(first) != 3:
            return None  # no reference, or a function of the user that only has the same name
        who = f"{type(aim).__name__}.reference"
        return lambda t: _stacked([desired(self.robot, who, aim.reference(float(x)), float(x)) for x in t])


def _aims(controller: Any) -> Iterator[Controller]:
    """Yield the parts of a controller that have a goal, or a desired pose."""
    if isinstance(controller, Sum):
        for part in controller.parts:
            yield from _aims(part)
    elif isinstance(controller, (Sampled, Saturated)):
        yield from _aims(controller.controller)
    elif isinstance(controller, OperationalSpace) or _refers(controller):
        yield controller


def _refers(controller: Any) -> bool:
    """Return whether a controller has a reference: its class has a method of this name, a function of the time."""
    if not isinstance(controller, Controller) or type(controller).reference is Controller.reference:
        return False
    try:
        inspect.signature(controller.reference).bind(0.0)
    except (TypeError, ValueError):  # an attribute of the user that only has the same name
        return False
    return True


def _same(one: Controller, other: Controller) -> bool:
    """Return whether two controllers have the same goal."""
    if one is other or not isinstance(one, Aimed) or not isinstance(other, Aimed):
        return one is other
    if one.goal.fixed is not None and other.goal.fixed is not None:
        return np.array_equal(one.goal.fixed.q, other.goal.fixed.q)
    return one.goal.target is other.goal.target


def _stacked(motions: list[Motion]) -> Motion:
    return Motion(*(np.stack(x) for x in zip(*motions, strict=True)))
