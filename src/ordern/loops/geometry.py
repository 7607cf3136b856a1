"""Relative poses of the two frames of a loop, and the forces of loops on bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..joints import Joint
from ..model import BASE, Frame, Loop, TracedLoop
from ..spatial import Freedoms
from .coordinates import between, nearest_coordinates
from .kernels import Array

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["body_forces", "drive_wrench", "relative_pose"]


def frames(loop: Loop) -> tuple[Frame, Frame]:
    """Return the frames that a loop joins: on the parent, and on the child."""
    return Frame("", loop.parent, loop.parent_placement), Frame("", loop.child, loop.child_placement)


def relative_pose(robot: Robot, q: Array, loop: Loop) -> tuple[Array, Array]:
    """Return the child's axes (n, 3, 3) and origin (n, 3) in the parent's frame, for states q (n, nq)."""
    P, C = (robot.pose(q, frame) for frame in frames(loop))
    return between(P, C)


def body_forces(robot: Robot, q: Array, loop: Loop, wrench: Array) -> Array:
    """Return the forces (n, bodies, 6) on both bodies, in their frames, of a wrench (n, 6) of a loop on its child."""
    out = np.zeros((len(q), len(robot.bodies), 6))
    R, p = relative_pose(robot, q, loop)
    moment, force = ((R @ x[..., None])[..., 0] for x in (wrench[:, :3], wrench[:, 3:]))
    on_parent = np.concatenate([moment + np.cross(p, force), force], axis=-1)
    for frame, w in zip(frames(loop), (-on_parent, wrench), strict=True):
        if frame.body == BASE:
            continue
        A, b = frame.placement.R, frame.placement.p
        m, f = w[:, :3] @ A.T, w[:, 3:] @ A.T
        out[:, frame.body] += np.concatenate([m + np.cross(b, f), f], axis=-1)
    return out


def drive_wrench(robot: Robot, q: Array, at: TracedLoop, force: Array) -> Array:
    """Return the wrench S (S^T S)^-1 f (n, 6) on a loop's child, in its frame there, of forces f along its freedoms."""
    joint, x = at.type, nearest_coordinates(robot, q)[:, at.q]
    assert isinstance(joint, Joint)
    S = joint.subspace(Freedoms(x[:, k] for k in range(x.shape[1]))).columns
    rows = [[np.broadcast_to(np.asarray(y, float), (len(q),)) for y in m.scalars] for m in S]
    St = np.moveaxis(np.array(rows, float).reshape(len(rows), 6, len(q)), -1, 0)
    w = (np.linalg.pinv(St) @ force[..., None])[..., 0]
    Q = np.asarray(joint.turn())
    return np.concatenate([w[:, :3] @ Q.T, w[:, 3:] @ Q.T], axis=-1)
