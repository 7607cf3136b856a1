"""Control of a frame in operational space (Khatib 1987)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Array, array, choice, pose
from ..declared import explained_methods
from ..errors import ArgumentError
from ..model import Frame
from .arguments import position
from .controller import Modelled, gains, sampled
from .drives import Drives
from .pose_paths import Function, PosePath
from .spaces import Configurations, Lines
from .tip import TASKS, TipTrajectory

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["OperationalSpace", "six_gains"]


@explained_methods
class OperationalSpace(Modelled):
    """Move a frame as if it were a unit mass on springs and dampers, with all directions decoupled.

    With J the Jacobian of the task in the world's axes and L = (J M^-1 J^T)^-1 its inertia,

        tau = J^T L (x'' - J' v) + N^T (M u) + C(q, v),    N = 1 - M^-1 J^T L J,

    so that the frame has exactly the acceleration x'' = x_d'' + kd e' + kp e. In the null space of J, the robot has the
    acceleration N u, u = null_kp (posture - q) - null_kd v. `target` is a pose, a tip trajectory or its `path`, or a
    function of time that returns (pose, velocity, acceleration), the last two (angular, linear) in the world's axes.
    `task` is "pose", "position" or "orientation"; gains are one number, or six, (angular, linear). The error of
    rotation is the rotation vector to the target, for which the equation holds exactly. In singular positions, where L
    does not exist, directions with an inertia above `heaviest` are not controlled.

    Every freedom needs a motor; a floating base is an error. In a robot with loops, J and M are those of the motions
    that the loops allow, and tau are forces of the motors alone.
    """

    text: ClassVar[str] = "task force"
    """The name of the text that computes the force on the frame in compiled time loops."""
    coriolis = True
    """True if centrifugal and Coriolis forces are compensated."""

    def __init__(
        self,
        robot: Robot,
        frame: str | Frame,
        target: Any,
        kp: ArrayLike,
        kd: ArrayLike | None = None,
        *,
        task: str = "pose",
        posture: ArrayLike | None = None,
        null_kp: ArrayLike | Mapping[str, ArrayLike] = 0.0,
        null_kd: ArrayLike | Mapping[str, ArrayLike] | None = None,
        heaviest: float = 1e6,
        passive: bool = True,
        smoothing: float = 0.01,
        period: float | None = None,
    ) -> None:
        self.drives = Drives(robot)
        self.drives.require(type(self).__name__)
        self.robot, self.frame, self.period = robot, robot.frame(frame), sampled(period)
        self.rows = TASKS[choice("task", task, TASKS)]
        self.target = _path(target)
        if isinstance(self.target, PosePath):
            self.breaks = tuple(t for t in (*self.target.breaks, self.target.duration) if np.isfinite(t))
        self.kp = six_gains(kp, "kp")
        self.kd = 2.0 * np.sqrt(self.kp) if kd is None else six_gains(kd, "kd")
        self.null_kp, self.null_kd = gains(robot, null_kp, null_kd, True)
        if null_kd is None and not self.null_kp.any():
            self.null_kd = np.full(robot.nv, 2.0)
        if posture is None and self.null_kp.any():
            raise ArgumentError("null_kp needs a posture, the position that it pulls to")
        self.posture = None if posture is None else position(robot, posture, "posture")
        self.space, self.poses = Configurations(robot), Lines()
        self.heaviest, self.passive, self.smoothing = heaviest, passive, smoothing

    def wanted(self, t: float, q: Array, v: Array) -> Array:
        """Return the desired acceleration (angular, linear) of the frame, in the world's axes."""
        T, e, V, Vd, Ad, _ = self._errors(t, q, v)
        return self.poses.world(T, self.poses.feedback(e, V, Vd, Ad, self.kp, self.kd))

    def _errors(self, t: Any, q: Array, v: Array) -> tuple[Array, ...]:
        """Return the pose, the error, velocities and the desired acceleration in the axes of the space; the goal."""
        T, V = self.robot.pose(q, self.frame), self.robot.velocity(q, v, self.frame, axes="world")
        goal = self.target if isinstance(self.target, np.ndarray) else self.target(t)
        Td, Vd, Ad = (goal, np.zeros(6), np.zeros(6)) if isinstance(goal, np.ndarray) else goal
        own = self.poses.own
        return T, self.poses.difference(T, Td), own(T, V), own(Td, Vd), own(Td, Ad), Td

    def _aim(self, t: Any, q: Array, v: Array) -> tuple[Array, Array]:
        """Return the acceleration of the frame that its inertia needs a force for, and a force besides, (..., 6)."""
        wanted = self.wanted(t, q, v)
        return wanted, np.zeros(wanted.shape)

    def _law(self, m: Any, q: Any, v: Any) -> Any:
        """Return the joint forces."""
        robot, frame = self.robot, self.frame
        u = -self.null_kd * v
        if self.posture is not None:
            u = u + self.null_kp * m.call(robot, "difference", q, self.posture)
        passive = self.drives.passive(m, q, v, self.smoothing) if self.passive else None
        bias = v if self.coriolis else np.zeros(robot.nv)
        if self.drives.looped:
            return self.drives.forces(m, q, bias, self._closed(m.t, q, v, u, bias), passive)
        bent = m.call(robot, "acceleration", q, bias, u, frame=frame, axes="world", kind="classical")
        force, J = m.task_force(self, q, v, bent), m.call(robot, "jacobian", q, frame=frame, axes="world")
        tau = m.call(robot, "inverse_dynamics", q, bias, u) + m.pull(J, force)
        return tau if passive is None else tau - passive

    def _task_force(self, t: Any, q: Array, v: Array, bent: Array) -> Array:
        """Return the force (..., 6) on the frame that has the acceleration `bent` by the motion of the null space."""
        rows, (wanted, given) = self.rows, self._aim(t, q, v)
        force = np.zeros(given.shape)
        soft = self.robot.operational_inertia_inverse(q, self.frame, axes="world")[..., rows, rows]
        pushed = (self._inertia(soft) @ (wanted - bent)[..., rows, None])[..., 0]
        force[..., rows] = pushed + given[..., rows]
        return force

    def _closed(self, t: float, q: Array, v: Array, u: Array, bias: Array) -> Array:
        """Return accelerations of a robot with loops that move the frame as wanted, the closest to u in energy.

        Velocities `bias` open loops and bend the frame's path: the velocities, or zeros to leave this out.
        """
        robot, rows = self.robot, self.rows
        a, motions = self.drives.allowed(q, np.broadcast_to(bias, v.shape), t)
        J = robot.jacobian(q, self.frame, axes="world")[..., rows, :]
        M = robot.mass_matrix(q)
        wanted, given = (x[..., rows] for x in self._aim(t, q, v))
        bent = robot.acceleration(q, bias, a, self.frame, axes="world")[..., rows]
        for i in np.ndindex(a.shape[:-1]):
            N = motions[i]
            reduced, Jr = N.T @ M[i] @ N, J[i] @ N
            w = np.linalg.solve(reduced, N.T @ M[i] @ (u - a)[i])
            response = np.linalg.solve(reduced, Jr.T)
            a[i] += N @ (w + response @ (self._inertia(Jr @ response) @ (wanted[i] - bent[i] - Jr @ w) + given[i]))
        return a

    def _inertia(self, soft: Array) -> Array:
        """Return the inverse of J M^-1 J^T, without the directions whose inertia is above `heaviest`."""
        light, U = np.linalg.eigh(soft)
        heavy = light * self.heaviest <= 1.0
        inverse = np.where(heavy, 0.0, 1.0 / np.where(heavy, 1.0, light))
        return np.asarray((U * inverse[..., None, :]) @ U.swapaxes(-1, -2))


def _path(target: Any) -> Any:
    if isinstance(target, TipTrajectory):
        return target.path
    if isinstance(target, PosePath):
        return target
    if callable(target):
        return Function(target, np.inf)
    return pose(target, "target")


def six_gains(x: ArrayLike, what: str) -> Array:
    """Return six gains, (angular, linear), from one number or six, not below zero."""
    found: Array = np.broadcast_to(array(x, () if np.ndim(x) == 0 else (6,), what), (6,)).copy()
    if (found < 0.0).any():
        raise ArgumentError(f"{what} must not be below zero: {found}")
    return found
