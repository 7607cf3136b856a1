"""Tasks of `Robot.whole_body`: accelerations that a robot shall have (`on.tasks`).

A task wants an acceleration of a few numbers x of the robot. With a goal it is that of a spring and a damper,

    acceleration + stiffness (goal - x) + damping (velocity - dx/dt)

`acceleration` and `velocity` are those of a moving goal, zero unless given. The damping is critical unless given. Tasks
compete by their weights: the solution has the least sum of weight * |error|^2 / 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Array, array, positive
from ..declared import explained_methods
from ..errors import ArgumentError
from ..records import dataclass
from ..rotations import log

if TYPE_CHECKING:
    from ..model import Frame
    from ..robot import Robot

__all__ = ["CentreOfMass", "Point", "Posture", "Rotation", "Task"]


@explained_methods
@dataclass(frozen=True, eq=False, kw_only=True)
class Task:
    """An acceleration that a robot shall have; the kinds of tasks are its subclasses."""

    acceleration: ArrayLike | None = None
    """That of the goal, or the wanted one if there is no goal."""
    velocity: ArrayLike | None = None
    """The velocity of the goal."""
    stiffness: float = 100.0
    """In 1/s^2: how fast the task approaches its goal."""
    damping: float | None = None
    """In 1/s; critical unless given."""
    weight: float = 1.0
    """The weight of the task among all tasks."""

    def rows(self, robot: Robot, q: Array, v: Array) -> tuple[Array, Array]:
        """Return the matrix A (..., m, nv) and the numbers b (..., m) of the wish A a = b."""
        raise NotImplementedError

    @property
    def what(self) -> str:
        """The task, for errors."""
        return f"on.tasks.{type(self).__name__}"

    def importance(self) -> float:
        """Return the weight; raise if it is not possible."""
        return positive(self.weight, f"{self.what}: weight", zero=True)

    def wanted(self, error: Array | None, rate: Array, size: int) -> Array:
        """Return the wanted acceleration, from the way to the goal, if there is one, and the velocity."""
        found = np.zeros(size)
        if self.acceleration is not None:
            found = array(self.acceleration, (..., size), f"{self.what}: acceleration")
        if error is None:
            if self.velocity is not None:
                raise ArgumentError(f"{self.what}: a velocity is that of a goal, and there is none")
            return found
        moving = (
            np.zeros(size) if self.velocity is None else array(self.velocity, (..., size), f"{self.what}: velocity")
        )
        k = positive(self.stiffness, f"{self.what}: stiffness", zero=True)
        d = 2.0 * k**0.5 if self.damping is None else positive(self.damping, f"{self.what}: damping", zero=True)
        return np.asarray(found + k * error + d * (moving - rate))


@explained_methods
@dataclass(frozen=True, eq=False)
class Point(Task):
    """The acceleration of the origin of a frame, in the world's axes; the goal is a position (..., 3)."""

    frame: str | Frame
    goal: ArrayLike | None = None

    def rows(self, robot: Robot, q: Array, v: Array) -> tuple[Array, Array]:
        """Return the rows of the frame's origin."""
        J = robot.jacobian(q, self.frame, axes="world")[..., 3:, :]
        bias = robot.acceleration(q, v, np.zeros(robot.nv), self.frame, axes="world")[..., 3:]
        error = None
        if self.goal is not None:
            goal = array(self.goal, (..., 3), f"{self.what}: goal")
            error = goal - robot.pose(q, self.frame)[..., :3, 3]
        return J, self.wanted(error, (J @ v[..., None])[..., 0], 3) - bias


@explained_methods
@dataclass(frozen=True, eq=False)
class Rotation(Task):
    """The angular acceleration of a frame, in the world's axes; the goal is a rotation matrix (..., 3, 3)."""

    frame: str | Frame
    goal: ArrayLike | None = None

    def rows(self, robot: Robot, q: Array, v: Array) -> tuple[Array, Array]:
        """Return the rows of the frame's rotation."""
        J = robot.jacobian(q, self.frame, axes="world")[..., :3, :]
        bias = robot.acceleration(q, v, np.zeros(robot.nv), self.frame, axes="world")[..., :3]
        error = None
        if self.goal is not None:
            goal = array(self.goal, (..., 3, 3), f"{self.what}: goal")
            R = robot.pose(q, self.frame)[..., :3, :3]
            log(goal)  # raises if it is not a rotation
            error = log(goal @ np.swapaxes(R, -1, -2), check=False)
        return J, self.wanted(error, (J @ v[..., None])[..., 0], 3) - bias


@explained_methods
@dataclass(frozen=True, eq=False)
class CentreOfMass(Task):
    """The acceleration of the centre of mass, in the world's axes; the goal is a position (..., 3)."""

    goal: ArrayLike | None = None

    def rows(self, robot: Robot, q: Array, v: Array) -> tuple[Array, Array]:
        """Return the rows of the centre of mass."""
        J = robot.com_jacobian(q)
        bias = robot.com_acceleration(q, v, np.zeros(robot.nv))
        error = None if self.goal is None else array(self.goal, (..., 3), f"{self.what}: goal") - robot.com(q)
        return J, self.wanted(error, (J @ v[..., None])[..., 0], 3) - bias


@explained_methods
@dataclass(frozen=True, eq=False)
class Posture(Task):
    """The joint accelerations of all motors, or of the `joints` named; the goal are positions (..., nq) of the robot.

    `acceleration` and `velocity` have a number for each freedom of these joints.
    """

    goal: ArrayLike | None = None
    joints: Sequence[str] | None = None

    def rows(self, robot: Robot, q: Array, v: Array) -> tuple[Array, Array]:
        """Return the rows of the joints."""
        named: Any = robot.actuated if self.joints is None else self.joints
        if isinstance(named, str):
            raise ArgumentError(f"{self.what}: joints must be a list of names, not {named!r}")
        at = [k for name in named for k in range(robot.nv)[robot.joint(name).v]]
        error = None
        if self.goal is not None:
            error = robot.difference(q, array(self.goal, (..., robot.nq), f"{self.what}: goal"))[..., at]
        return np.eye(robot.nv)[at], self.wanted(error, v[..., at], len(at))
