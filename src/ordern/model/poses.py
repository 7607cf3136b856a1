"""Kinematics in plain NumPy, for any model and many positions at once, without compiling anything.

The viewer, figures and checks use it: a figure must not wait for a compiler, and a check must run on every model.
"""

from __future__ import annotations

import numpy as np

from ..arguments import AnyArray
from ..joints import Joint
from ..rotations import pose, rotate
from ..spatial import Freedoms, Motion, Pose
from .model import Model
from .parts import BASE

__all__ = ["body_poses", "joint_motions", "joint_poses", "joint_positions", "motion_subspace", "stacked_motion"]


def body_poses(model: Model, q: AnyArray) -> AnyArray:
    """Return the poses (..., n, 4, 4) of all bodies in the world, at positions (..., nq)."""
    found = np.empty((*q.shape[:-1], len(model.bodies), 4, 4))
    for k, (c, own) in enumerate(zip(model.joints, joint_positions(model, q), strict=True)):
        relative = c.placement.matrix @ joint_poses(c.type, own)
        found[..., k, :, :] = relative if c.parent == BASE else found[..., c.parent, :, :] @ relative
    return found


def joint_positions(model: Model, q: AnyArray) -> list[AnyArray]:
    """Return the positions (..., nq) of each joint; a mimic joint's follow from its leader's."""
    return [c.mimic.ratio * q[..., c.q] + c.mimic.offset if c.mimic else q[..., c.q] for c in model.joints]


def joint_poses(joint: Joint, q: AnyArray) -> AnyArray:
    """Return the poses (..., 4, 4) of a joint's child in the joint's frame, at the joint's positions (..., nq)."""
    child, Q = joint.transform(Freedoms(np.moveaxis(q, -1, 0))).child(Pose.zero()), joint.turn()
    R, p = np.empty((*q.shape[:-1], 3, 3)), np.empty((*q.shape[:-1], 3))
    for i in range(3):
        p[..., i] = child.position[i]
        for j in range(3):
            R[..., i, j] = child.rotation[i][j]
    return pose(Q @ R @ Q.T, p @ Q.T)


def joint_motions(joint: Joint, q: AnyArray) -> AnyArray:
    """Return the motion subspaces (..., 6, nv) at positions (..., nq): (angular, linear) in the child's axes."""
    return np.swapaxes(rotate(joint.working_frame(), np.swapaxes(motion_subspace(joint, q), -1, -2)), -1, -2)


def motion_subspace(joint: Joint, q: AnyArray) -> AnyArray:
    """Return the joint's motion subspaces (..., 6, nv) at positions (..., nq), in the working frame."""
    S = np.empty((*q.shape[:-1], 6, joint.nv))
    for k, m in enumerate(joint.subspace(Freedoms(np.moveaxis(q, -1, 0))).columns):
        S[..., k] = stacked_motion(m, q.shape[:-1])
    return S


def stacked_motion(m: Motion, batch: tuple[int, ...]) -> AnyArray:
    """Return the six numbers (..., 6) of a motion, each a number or an array, for a batch."""
    return np.stack([np.broadcast_to(np.asarray(x, float), batch) for x in m.scalars], axis=-1)
