"""Where all bodies are, for many positions at once, in plain NumPy: a viewer must not wait for a compiler."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..joints import Joint
from ..model import BASE, Model
from ..spatial import Freedoms, Pose

__all__ = ["body_poses", "exponential", "homogeneous", "joint_poses", "logarithm", "quaternions"]

Array = NDArray[Any]


def body_poses(model: Model, q: Array) -> Array:
    """The poses (T, n, 4, 4) of all bodies in the world, for positions (T, nq)."""
    found = np.empty((len(q), len(model.bodies), 4, 4))
    for k, c in enumerate(model.joints):
        own = q[:, c.q]
        if c.mimic is not None:
            own = c.mimic.ratio * own + c.mimic.offset
        relative = c.placement.matrix @ joint_poses(c.type, own)
        found[:, k] = relative if c.parent == BASE else found[:, c.parent] @ relative
    return found


def joint_poses(joint: Joint, q: Array) -> Array:
    """The poses (T, 4, 4) of a joint's child in the joint's frame, for its positions (T, nq)."""
    pose = joint.transform(Freedoms(q.T)).child(Pose.zero())
    turn = joint.turn()
    T = np.zeros((len(q), 4, 4))
    for i in range(3):
        T[:, i, 3] = pose.position[i]
        for j in range(3):
            T[:, i, j] = pose.rotation[i][j]
    T[:, :3, :3] = turn @ T[:, :3, :3] @ turn.T
    T[:, :3, 3] = T[:, :3, 3] @ turn.T
    T[:, 3, 3] = 1.0
    return T


def quaternions(R: Array) -> Array:
    """Unit quaternions (..., 4) in the order w, x, y, z of rotation matrices (..., 3, 3)."""
    (a, b, c), (d, e, f), (g, h, i) = (np.moveaxis(row, -1, 0) for row in np.moveaxis(R, -2, 0))
    rows = (
        (1 + a + e + i, h - f, c - g, d - b),
        (h - f, 1 + a - e - i, b + d, c + g),
        (c - g, b + d, 1 + e - a - i, f + h),
        (d - b, c + g, f + h, 1 + i - a - e),
    )
    four_qq = np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)  # 4 q q^T; its largest column is the best
    best = np.argmax(np.diagonal(four_qq, axis1=-2, axis2=-1), axis=-1)
    q = np.take_along_axis(four_qq, best[..., None, None], axis=-1)[..., 0]
    return np.asarray(q / np.linalg.norm(q, axis=-1, keepdims=True))


def homogeneous(R: Array, p: Array) -> Array:
    """The 4x4 matrix of a rotation and a position."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, p
    return T


def exponential(twist: Array, s: float = 1.0) -> Array:
    """The 4x4 pose reached by moving along a twist (angular, linear) for a time s."""
    w, v = twist[:3], twist[3:]
    angle = float(np.linalg.norm(w))
    if angle < 1e-12:
        return homogeneous(np.eye(3), v * s)
    W = np.cross(np.eye(3), w / angle)  # W @ x is the cross product with the axis
    a = angle * s
    R = np.eye(3) + np.sin(a) * W + (1 - np.cos(a)) * W @ W
    V = np.eye(3) * a + (1 - np.cos(a)) * W + (a - np.sin(a)) * W @ W
    return homogeneous(R, V @ v / angle)


def logarithm(T: Array) -> Array:
    """The twist (angular, linear) that reaches a pose in a unit of time; it turns by less than half a turn."""
    w, x, y, z = quaternions(T[:3, :3])
    axis, sign = np.array([x, y, z]), 1.0 if w >= 0 else -1.0
    sine = float(np.linalg.norm(axis))
    if sine < 1e-12:
        return np.concatenate([np.zeros(3), T[:3, 3]])
    a = 2 * np.arctan2(sine, abs(w))
    n = sign * axis / sine
    W = np.cross(np.eye(3), n)
    V = np.eye(3) * a + (1 - np.cos(a)) * W + (a - np.sin(a)) * W @ W
    return np.concatenate([a * n, a * np.linalg.solve(V, T[:3, 3])])
