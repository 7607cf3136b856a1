"""Targets of inverse kinematics: poses of frames, with weights, and the residuals of a robot to them.

The residuals of loops are appended, so that solutions are closed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import AnyArray, Array, array, broadcast_shapes, pose
from ..errors import ArgumentError
from ..model import Frame
from ..records import dataclass
from ..rotations import log, log_jacobian, rotate

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["Target", "Targets", "targets"]


@dataclass(frozen=True)
class Target:
    """Poses (n, 4, 4) for one frame, and the weights of its six residuals."""

    frame: Frame
    poses: Array
    weights: Array

    @property
    def rows(self) -> AnyArray:
        """The indices of the residuals with a weight."""
        return np.flatnonzero(self.weights)


@dataclass(frozen=True)
class Targets:
    """The targets of a batch, for one or several frames; `shape` is the shape of the batch before it was flattened."""

    robot: Robot
    each: tuple[Target, ...]
    shape: tuple[int, ...]

    def __len__(self) -> int:
        return int(np.prod(self.shape, dtype=int))

    def of(self, which: AnyArray) -> Targets:
        """Return the targets of a part of the batch."""
        some = tuple(Target(t.frame, t.poses[which], t.weights) for t in self.each)
        return Targets(self.robot, some, (len(some[0].poses),))

    def distances(self, q: Array) -> tuple[Array, Array]:
        """Return the largest angle (rad) and distance (m) of any frame from its target, along axes with a weight."""
        angle, distance = np.zeros(len(q)), np.zeros(len(q))
        for t in self.each:
            r = np.where(t.weights > 0.0, _residual(self.robot.pose(q, t.frame), t.poses), 0.0)
            angle = np.maximum(angle, np.linalg.norm(r[:, :3], axis=1))
            distance = np.maximum(distance, np.linalg.norm(r[:, 3:], axis=1))
        return angle, distance

    def residuals(self, q: Array) -> Array:
        """Return the weighted residuals (n, m), with the residuals of the loops last."""
        found = [(t.weights * _residual(self.robot.pose(q, t.frame), t.poses))[:, t.rows] for t in self.each]
        if self.robot.nc:
            found.append(self.robot.loop_residual(q))
        return np.concatenate(found, axis=1)

    def derivatives(self, q: Array) -> Array:
        """Return the derivatives of the weighted residuals by the velocities of the joints, (n, m, nv)."""
        found = [self._derivative(q, t) for t in self.each]
        if self.robot.nc:
            found.append(self.robot.loop_jacobian(q))
        return np.concatenate(found, axis=1)

    def _derivative(self, q: Array, t: Target) -> Array:
        T, J = self.robot.pose(q, t.frame), self.robot.jacobian(q, t.frame)
        r = _residual(T, t.poses)[:, :3]
        turned = t.poses[:, :3, :3].swapaxes(1, 2) @ T[:, :3, :3]
        D = np.concatenate([-log_jacobian(-r) @ J[:, :3], -turned @ J[:, 3:]], axis=1)
        return np.asarray((t.weights[:, None] * D)[:, t.rows])


def _residual(T: Array, goal: Array) -> Array:
    """Return the rotation vector to the goal (equal in both frames), and the displacement to it in the goal's axes."""
    Rt, Gt = T[:, :3, :3].swapaxes(1, 2), goal[:, :3, :3].swapaxes(1, 2)
    apart = goal[:, :3, 3] - T[:, :3, 3]
    return np.concatenate([log(Rt @ goal[:, :3, :3], check=False), rotate(Gt, apart)], axis=1)


def targets(
    robot: Robot,
    pose_or_poses: ArrayLike | Mapping[str, ArrayLike],
    frame: str | Frame | None,
    weights: ArrayLike | Mapping[str, ArrayLike] | None,
    batch: tuple[int, ...],
) -> Targets:
    """Return the targets from the user's arguments; `batch` is the shape of the initial positions."""
    if isinstance(pose_or_poses, Mapping):
        if frame is not None:
            raise ArgumentError("poses by names of frames already say which frames; leave `frame` out")
        given: dict[Any, ArrayLike] = dict(pose_or_poses)
    else:
        if frame is None:
            raise ArgumentError("say which frame is to reach the pose: `frame=`, or a dictionary of poses by frames")
        if not isinstance(frame, (str, Frame)):
            raise ArgumentError(
                f"frame must be a frame or its name, not {type(frame).__name__}: give the pose first, then the frame"
            )
        given = {frame: pose_or_poses}
    if not given:
        raise ArgumentError("no poses are given")
    if isinstance(weights, Mapping) and set(weights) - set(given):
        name = sorted(set(weights) - set(given), key=str)[0]
        raise ArgumentError(f"weights: there is no pose for the frame {name!r}")
    poses = {name: pose(T, f"the pose for {name!r}", batch=True) for name, T in given.items()}
    shape = broadcast_shapes("poses and q0", batch, *(T.shape[:-2] for T in poses.values()))
    each = []
    for name, T in poses.items():
        f, w = robot.frame(name), weights.get(name) if isinstance(weights, Mapping) else weights
        w = np.ones(6) if w is None else array(w, (6,), f"weights of {f.name!r}")
        if (w < 0.0).any() or not w.any():
            raise ArgumentError(f"weights of {f.name!r} must not be below zero, nor all zero: {w}")
        each.append(Target(f, np.broadcast_to(T, (*shape, 4, 4)).reshape(-1, 4, 4), w))
    return Targets(robot, tuple(each), shape)
