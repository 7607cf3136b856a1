"""Trajectories of a frame, turned into motions of the joints.

The joints follow the frame at the least velocity that does it: v = J^+ V, with J the Jacobian of the task in the
world's axes. This is integrated from knot to knot by the classical Runge-Kutta method, and each knot is put onto the
path by inverse kinematics. Its derivative, with J^+ = J^T (J J^T)^-1,

    a = J^+ (A - J' v) + (1 - J^+ J) J'^T (J J^T)^-1 V,

is the acceleration at the knots; between them the motion is that of `Segments`. Knots are added until the frame is on
its path between them, too.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError, unknown_name
from ..model import Frame
from .arguments import Array, of_robot, pose, positive
from .inverse_kinematics import Reach, inverse_kinematics
from .pose_paths import PosePath, pose_path
from .spaces import Configurations, Lines
from .trajectory import Segments

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["TASKS", "TipTrajectory", "tip"]

TASKS = {"pose": slice(0, 6), "orientation": slice(0, 3), "position": slice(3, 6)}
"""What of a frame's six velocities a task is about."""
_MOST = 20_000
"""Knots, beyond which a path counts as one that cannot be followed as accurately as asked for."""


class TipTrajectory(Segments):
    """A motion of the joints in which a frame follows a path of poses.

    `path` is that of the frame, `error` the largest angle (rad) and distance (m) from it, midway between the knots.
    """

    frame: Frame
    path: PosePath
    error: tuple[float, float]


def tip(
    robot: Robot,
    frame: str | Frame,
    poses: Any,
    duration: ArrayLike | None = None,
    *,
    path: str = "line",
    law: str = "cycloidal",
    times: ArrayLike | None = None,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    q0: ArrayLike | None = None,
    task: str = "pose",
    limits: bool = True,
    accuracy: float = 1e-6,
) -> TipTrajectory:
    """Move a frame along poses: the joint motion by inverse kinematics, v and a from the Jacobian's equations.

    `poses` is one pose (4, 4), to be reached from the position q0; or several (n, 4, 4), the first of them the start,
    which inverse kinematics finds near q0; or a function of time that returns (pose, velocity, acceleration) of the
    frame, (angular, linear) in the world's axes. `path` is "line" (straight, turning about one axis) or "screw", with a
    rest at each pose and a `duration` for each piece or for all; or "spline", which passes the poses at `times`. `law`
    is "cycloidal", "minimum-jerk", or "trapezoidal" (with `velocity` and `acceleration` as limits (angular, linear)).
    With `task` "position" or "orientation" the rest of the pose is free. Redundant arms move as little as possible.
    Limits of position are kept, or the error says where they stand in the way; so it does at singular positions.
    """
    of_robot(robot)
    if task not in TASKS:
        raise unknown_name("task", task, TASKS)
    if not callable(poses) and np.ndim(poses) == 2:
        if q0 is None:
            raise ArgumentError("one pose is reached from the position q0: give q0, or at least two poses")
        poses = np.stack([robot.pose(q0, frame), pose(poses, "the pose")])
    options = {"law": law, "times": times, "velocity": velocity, "acceleration": acceleration}
    way = pose_path(poses, duration, path=path, **options)  # type: ignore[arg-type]
    follower = _Follower(robot, robot.frame(frame), way, TASKS[task], limits, positive(accuracy, "accuracy"))
    start = follower.start(q0)
    count = 32
    while True:
        found = follower.follow(start, count)
        if max(found.error) <= accuracy:
            return found
        count *= 2
        if count > _MOST:
            raise ArgumentError(
                f"with {count // 2} knots the frame is still off its path by {found.error[0]:.2g} rad and "
                f"{found.error[1]:.2g} m: the path is not smooth, or passes too near a singular position; ask for less "
                "`accuracy`, or another path"
            )


class _Follower:
    """Joints that follow a path."""

    def __init__(self, robot: Robot, frame: Frame, path: PosePath, rows: slice, limits: bool, accuracy: float) -> None:
        self.robot, self.frame, self.path, self.rows, self.limits = robot, frame, path, rows, limits
        self.weights = np.zeros(6)
        self.weights[rows] = 1.0
        self.tolerance = min(1e-9, 1e-3 * accuracy)

    def reach(self, T: Array, q0: ArrayLike | None, restarts: int = 0, steps: int = 30) -> tuple[Array, Reach]:
        """The position in which the frame has the pose T."""
        return inverse_kinematics(
            self.robot, T, self.frame, q0, limits=self.limits, damping=1e-3, tolerance=self.tolerance, steps=steps,
            weights=self.weights, restarts=restarts, null=None, rng=0,
        )  # fmt: skip

    def start(self, q0: ArrayLike | None) -> Array:
        """The position at the start of the path."""
        q, info = self.reach(self.path.at(np.zeros(1))[0][0], q0, 20 if q0 is None else 0, 100)
        if not info.reached:
            raise ArgumentError(f"the start of the path is not reached: {info}".replace("\n", "; "))
        return q

    def jacobian(self, q: Array) -> Array:
        """Of the task, in the world's axes."""
        return self.robot.jacobian(q, self.frame, axes="world")[..., self.rows, :]

    def velocity(self, q: Array, V: Array) -> Array:
        """The least velocity that moves the frame so."""
        J = self.jacobian(q)
        return np.asarray(J.T @ np.linalg.solve(J @ J.T, V))

    def step(self, t0: float, t1: float, q: Array) -> Array:
        """The position at t1, from that at t0, by a step of Runge and Kutta, brought onto the path."""
        h = t1 - t0
        T, V, _ = self.path.at(np.array([t0, 0.5 * (t0 + t1), t1]))
        V = V[:, self.rows]
        try:
            k1 = self.velocity(q, V[0])
            k2 = self.velocity(self.robot.integrate(q, 0.5 * h * k1), V[1])
            k3 = self.velocity(self.robot.integrate(q, 0.5 * h * k2), V[1])
            k4 = self.velocity(self.robot.integrate(q, h * k3), V[2])
        except np.linalg.LinAlgError:
            raise ArgumentError(f"at t = {t0:.6g} s the path passes a singular position of the arm, {q}") from None
        after, info = self.reach(T[2], self.robot.integrate(q, h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)))
        if not info.reached:
            raise ArgumentError(f"the path is not followed beyond t = {t0:.6g} s: {info}".replace("\n", "; "))
        return after

    def follow(self, q: Array, count: int) -> TipTrajectory:
        """The motion with so many knots at equal times, and one at each break."""
        t = np.union1d(np.linspace(0.0, self.path.duration, count + 1), self.path.breaks)
        t = t[np.concatenate([[True], np.diff(t) > 1e-9 * self.path.duration])]
        t[-1] = self.path.duration
        at = [q]
        for t0, t1 in pairwise(t):
            at.append(self.step(float(t0), float(t1), at[-1]))
        knots = np.stack(at)
        v, (after, before) = self.rates(knots, t)
        found = TipTrajectory(Configurations(self.robot), t, knots, v, after, before)
        found.frame, found.path = self.frame, self.path
        middle = 0.5 * (t[:-1] + t[1:])
        apart = Lines().difference(self.robot.pose(found(middle).q, self.frame), self.path.at(middle)[0]) * self.weights
        found.error = tuple(float(np.linalg.norm(x, axis=1).max()) for x in (apart[:, :3], apart[:, 3:]))  # type: ignore[assignment]
        return found

    def rates(self, q: Array, t: Array) -> tuple[Array, list[Array]]:
        """Velocities at the knots, and the accelerations after and before each."""
        robot, J = self.robot, self.jacobian(q)
        Jt = J.swapaxes(1, 2)
        _, V, A = self.path.at(t)
        _, _, A_before = self.path.at(t, left=True)
        y = np.linalg.solve(J @ Jt, V[:, self.rows, None])
        v = (Jt @ y)[..., 0]
        bent = robot.acceleration(q, v, np.zeros(robot.nv), self.frame, axes="world")[:, self.rows]
        h = 1e-5 / np.maximum(1.0, np.abs(v).max(axis=1, initial=0.0))[:, None, None]
        rate = (self.jacobian(robot.integrate(q, h[:, 0] * v)) - self.jacobian(robot.integrate(q, -h[:, 0] * v))) / (
            2.0 * h
        )
        free = rate.swapaxes(1, 2) @ y
        free = free - Jt @ np.linalg.solve(J @ Jt, J @ free)
        each = [
            (Jt @ np.linalg.solve(J @ Jt, (x[:, self.rows] - bent)[..., None]) + free)[..., 0] for x in (A, A_before)
        ]
        return v, each
