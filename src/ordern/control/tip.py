"""Motions of the joints that move a frame along a path of poses.

The joints have the least velocity that moves the frame: v = J^+ V, with J the Jacobian of the task in the world's axes.
The classical Runge-Kutta method integrates v from knot to knot, and inverse kinematics corrects each knot. The
acceleration at the knots is the derivative of v, with J^+ = J^T (J J^T)^-1:

    a = J^+ (A - J' v) + (1 - J^+ J) J'^T (J J^T)^-1 V.

Between the knots, the motion is as in `Segments`. Knots are added until the frame is accurate between them, too.

In a robot with loops, the rows K of the loops are appended to the rows of the task: K v = 0, K a = -k. Rows may depend
on each other, so the pseudo-inverse has the rank of the start; the formula above still holds while the rank does not
change. Between the knots, leading joints move as in `Segments`, and loops are closed.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Array, choice, pose, positive
from ..declared import explained
from ..errors import ArgumentError
from ..model import Frame
from .arguments import of_robot
from .closing import Closing, closings
from .inverse_kinematics import Reach
from .pose_paths import PosePath, pose_path
from .spaces import Configurations, Lines
from .trajectory import Motion, Segments

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["TASKS", "TipTrajectory", "tip"]

TASKS = {"pose": slice(0, 6), "orientation": slice(0, 3), "position": slice(3, 6)}
"""The rows of a frame's six velocities that each task controls."""
_KNOTS = tuple(2**k for k in range(5, 15))
"""The numbers of knots that are tried; a path that needs more is refused."""
_DEPENDENT, _SINGULAR = 1e-9, 1e-7
"""Singular values below these parts of the largest: rows that depend on others, and a position that is singular."""
_CONSISTENT = 1e-6
"""The largest part of the path's velocity that loops may prevent."""


class TipTrajectory(Segments):
    """A motion of the joints in which a frame follows a path of poses.

    `path` is the path of the frame, `error` the largest angle (rad) and distance (m) from it, midway between the knots.
    The distance is at least the largest residual of a loop, in rad or m.
    """

    frame: Frame
    path: PosePath
    error: tuple[float, float]
    closing: Closing | None = None
    """The solver that closes the loops; None without loops."""

    def _motion(self, t: Array, left: bool) -> Motion:
        tree = super()._motion(t, left)
        return tree if self.closing is None else self.closing.motion(tree.q, tree, t)


@explained
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
    """Move a frame along poses: return the joint motion, by inverse kinematics and the Jacobian.

    `poses` is one pose (4, 4), to be reached from the position q0; or several (n, 4, 4), the first of them the start,
    which inverse kinematics finds near q0; or a function of time that returns (pose, velocity, acceleration) of the
    frame, (angular, linear) in the world's axes. `path` is "line" (straight, turning about one axis) or "screw", with a
    rest at each pose and a `duration` for each piece or for all; or "spline", which passes the poses at `times`. `law`
    is "cycloidal", "minimum-jerk", or "trapezoidal" (with `velocity` and `acceleration` as limits (angular, linear)).
    With `task` "position" or "orientation" the rest of the pose is free. Redundant arms move as little as possible. The
    motion keeps limits of position, unless `limits` is False; an error says where it cannot, or where it meets a
    singular position. Loops stay closed.
    """
    of_robot(robot)
    choice("task", task, TASKS)
    driven = [x.loop.name for x in robot.loop_table.loops if x.type.timed]
    if driven:
        raise ArgumentError(
            f"tip: loop {driven[0]!r} of {robot.name!r} is driven by time, which inverse kinematics does not know; "
            "drive a joint of the tree instead"
        )
    if not callable(poses) and np.ndim(poses) == 2:
        if q0 is None:
            raise ArgumentError("one pose is reached from the position q0: give q0, or at least two poses")
        poses = np.stack([robot.pose(q0, frame), pose(poses, "the pose")])
    way = pose_path(poses, duration, path=path, law=law, times=times, velocity=velocity, acceleration=acceleration)
    follower = _Follower(robot, robot.frame(frame), way, TASKS[task], limits, positive(accuracy, "accuracy"))
    start = follower.start(q0)
    for count in _KNOTS:
        found = follower.follow(start, count)
        if max(found.error) <= accuracy:
            return found
    raise ArgumentError(
        f"with {count} knots the frame is still off its path by {found.error[0]:.2g} rad and {found.error[1]:.2g} m: "
        "the path is not smooth, or passes too near a singular position; use a larger `accuracy`, or another path"
    )


class _Follower:
    """The joint motion along a path, knot by knot."""

    def __init__(self, robot: Robot, frame: Frame, path: PosePath, rows: slice, limits: bool, accuracy: float) -> None:
        self.robot, self.frame, self.path, self.rows = robot, frame, path, rows
        self.weights = np.zeros(6)
        self.weights[rows] = 1.0
        tolerance = min(1e-9, 1e-3 * accuracy)
        self.options: dict[str, Any] = {"limits": limits, "tolerance": tolerance, "weights": self.weights}
        self.closing: Closing | None = None
        self.rank = 0

    def reach(self, T: Array, q0: ArrayLike | None, restarts: int = 0, steps: int = 30) -> tuple[Array, Reach]:
        """Return the position in which the frame has the pose T."""
        return self.robot.inverse_kinematics(T, self.frame, q0, steps=steps, restarts=restarts, **self.options)

    def start(self, q0: ArrayLike | None) -> Array:
        """Return the position at the start of the path."""
        q, info = self.reach(self.path.at(np.zeros(1))[0][0], q0, 20 if q0 is None else 0, 100)
        if not info.reached:
            raise ArgumentError(f"the start of the path is not reached: {info}".replace("\n", "; "))
        if self.robot.nc:
            self.closing = next(closings(self.robot, q[None], np.zeros(1)), None)
            if self.closing is None:
                raise ArgumentError(f"the path starts in a singular position of the robot, {q}")
            q = self.closed(q)
            s = np.linalg.svd(self.system(q), compute_uv=False)
            self.rank = int((s > _DEPENDENT * s[0]).sum())
        return q

    def closed(self, q: Array) -> Array:
        """Return the position with its loops closed to rounding; leading joints stay."""
        if self.closing is None:
            return q
        return np.asarray(self.closing.position(q[None], q[None], np.zeros(1))[0][0])

    def system(self, q: Array) -> Array:
        """Return the Jacobian of the task, in the world's axes, with the Jacobian of the loops below it."""
        J = self.robot.jacobian(q, self.frame, axes="world")[..., self.rows, :]
        return J if self.closing is None else np.concatenate([J, self.robot.loop_jacobian(q)], axis=-2)

    def wanted(self, V: Array) -> Array:
        """Return the right-hand side of the system: the frame's velocity, and zeros for the loops."""
        return np.concatenate([V, np.zeros((*V.shape[:-1], self.robot.nc))], axis=-1)

    def inverse(self, A: Array) -> Array:
        """Return the pseudo-inverse A^+, which gives the least velocities."""
        if self.closing is None:
            return np.asarray(np.linalg.solve(A @ A.swapaxes(-1, -2), A).swapaxes(-1, -2))
        U, s, Vt = np.linalg.svd(A, full_matrices=False)
        r = self.rank
        if (s[..., r - 1] < _SINGULAR * s[..., 0]).any():
            raise np.linalg.LinAlgError
        return np.asarray((Vt[..., :r, :].swapaxes(-1, -2) / s[..., None, :r]) @ U[..., :r].swapaxes(-1, -2))

    def velocity(self, q: Array, V: Array) -> Array:
        """Return the least velocity of the joints that moves the frame at V."""
        return np.asarray(self.inverse(self.system(q)) @ self.wanted(V))

    def step(self, t0: float, t1: float, q: Array) -> Array:
        """Return the position at t1 from the position at t0: a Runge-Kutta step, then inverse kinematics."""
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
        return self.closed(after)

    def follow(self, q: Array, count: int) -> TipTrajectory:
        """Return the motion with `count` knots at equal times, and one at each break."""
        t = np.union1d(np.linspace(0.0, self.path.duration, count + 1), self.path.breaks)
        t = t[np.concatenate([[True], np.diff(t) > 1e-9 * self.path.duration])]
        t[-1] = self.path.duration
        at = [q]
        for t0, t1 in pairwise(t):
            at.append(self.step(float(t0), float(t1), at[-1]))
        knots = np.stack(at)
        v, (after, before) = self.rates(knots, t)
        found = TipTrajectory(Configurations(self.robot), t, knots, v, after, before)
        found.frame, found.path, found.closing = self.frame, self.path, self.closing
        middle = 0.5 * (t[:-1] + t[1:])
        between = found(middle).q
        apart = Lines().difference(self.robot.pose(between, self.frame), self.path.at(middle)[0]) * self.weights
        angle, distance = (float(np.linalg.norm(x, axis=1).max()) for x in (apart[:, :3], apart[:, 3:]))
        if self.closing is not None:
            distance = max(distance, float(np.abs(self.robot.loop_residual(between)).max()))
        found.error = angle, distance
        return found

    def rates(self, q: Array, t: Array) -> tuple[Array, list[Array]]:
        """Return velocities at the knots, and the accelerations after and before each."""
        robot, A = self.robot, self.system(q)
        P = self.inverse(A)
        _, V, after = self.path.at(t)
        _, _, before = self.path.at(t, left=True)
        b = self.wanted(V[:, self.rows])
        v = (P @ b[..., None])[..., 0]
        self.require_kept(A, v, b, t)
        y = P.swapaxes(1, 2) @ v[..., None]
        bent = robot.acceleration(q, v, np.zeros(robot.nv), self.frame, axes="world")[:, self.rows]
        wanted = [x[:, self.rows] - bent for x in (after, before)]
        if self.closing is not None:
            k = robot.loop_bias(q, v)
            wanted = [np.concatenate([x, -k], axis=-1) for x in wanted]
        h = 1e-5 / np.maximum(1.0, np.abs(v).max(axis=1, initial=0.0))[:, None, None]
        ahead, behind = (self.system(robot.integrate(q, x[:, 0] * v)) for x in (h, -h))
        free = ((ahead - behind) / (2.0 * h)).swapaxes(1, 2) @ y
        free = free - P @ (A @ free)
        return v, [(P @ x[..., None] + free)[..., 0] for x in wanted]

    def require_kept(self, A: Array, v: Array, b: Array, t: Array) -> None:
        """Raise unless velocities move the frame along its path with all loops closed."""
        off = np.linalg.norm((A @ v[..., None])[..., 0] - b, axis=-1)
        k = int(np.argmax(off))
        if self.closing is not None and off[k] > _CONSISTENT * (1.0 + np.linalg.norm(b[k])):
            raise ArgumentError(
                f"at t = {t[k]:.6g} s the loops of {self.robot.name!r} do not let frame {self.frame.name!r} "
                f"follow the path (off by {off[k]:.3g}); use a path that they allow, or control a part of the pose "
                "(`task`)"
            )
