"""Poses and the mass matrix by their definitions, in plain NumPy.

Slow and independent of the algorithms: it works for robots that those refuse, and is sure to run on any model.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..joints import Closure, Joint, joint_placement
from ..joints.jets import residuals
from ..model import BASE, Body, Model
from ..spatial import Freedoms, Pose

__all__ = ["gap", "joint_pose", "mass_matrix", "poses"]

Array = NDArray[np.float64]


def joint_pose(joint: Joint, q: Array) -> Array:
    """The 4x4 pose of the child's frame in the joint's."""
    return joint_placement(joint, q.tolist()).matrix


def joint_motions(joint: Joint, q: Array) -> Array:
    """The motions that the joint lets through, as columns (6, nv): angular, linear, in the child's frame."""
    columns = joint.subspace(Freedoms(q.tolist())).columns
    S = np.array([m.scalars for m in columns], float).reshape(-1, 2, 3)
    return np.asarray((S @ joint.turn().T).reshape(-1, 6).T)


def positions(model: Model, q: Array) -> list[Array]:
    """The position of each joint; of one that follows another, by that one's."""
    found = []
    for c in model.joints:
        own = q[c.q]
        found.append(c.mimic.ratio * own + c.mimic.offset if c.mimic else own)
    return found


def poses(model: Model, q: Array) -> list[Array]:
    """The 4x4 pose of each body in the world."""
    found: list[Array] = []
    for c, own in zip(model.joints, positions(model, q), strict=True):
        outer = np.eye(4) if c.parent == BASE else found[c.parent]
        found.append(outer @ c.placement.matrix @ joint_pose(c.type, own))
    return found


def mass_matrix(model: Model, q: Array) -> Array:
    """The sum over all bodies of J^T I J, with J the Jacobian of the body's centre of mass."""
    M = np.zeros((model.nv, model.nv))
    where = poses(model, q)
    jacobians: list[Array] = []  # of the point of each body that is at the world's origin, in the world's axes
    for k, (c, own) in enumerate(zip(model.joints, positions(model, q), strict=True)):
        J = np.zeros((6, model.nv)) if c.parent == BASE else jacobians[c.parent].copy()
        R, p = where[k][:3, :3], where[k][:3, 3]
        S = joint_motions(c.type, own)
        w, u = R @ S[:3], R @ S[3:]
        ratio = c.mimic.ratio if c.mimic else 1.0
        J[:, c.v] += ratio * np.concatenate([w, u + np.cross(p, w.T).T])
        jacobians.append(J)
        M += J.T @ _inertia(model.bodies[k], R, p) @ J
        M[c.v, c.v] += ratio * ratio * np.diag(c.armature)
    return M


def gap(joint: Closure, relative: Array) -> tuple[float, float]:
    """How far a pose is from all that a joint allows: the distance and the angle that are left.

    Of what is no joint, the distance is the norm of its residuals.
    """
    if not isinstance(joint, Joint):
        return _residual(joint, relative), 0.0
    q = np.array(joint.neutral())
    for _ in range(30):
        T: Array = np.asarray(np.linalg.solve(joint_pose(joint, q), relative), float)
        left = np.concatenate([_rotation_vector(T[:3, :3]), T[:3, 3]])
        step = np.linalg.lstsq(joint_motions(joint, q), left, rcond=None)[0] if joint.nv else np.zeros(0)
        if not joint.nv or np.abs(step).max() < 1e-12:
            break
        q = np.array(list(joint.integrate(Freedoms(q.tolist()), Freedoms(step.tolist()))), float)
    T = np.asarray(np.linalg.solve(joint_pose(joint, q), relative), float)
    return float(np.linalg.norm(T[:3, 3])), float(np.linalg.norm(_rotation_vector(T[:3, :3])))


def _residual(closure: Closure, relative: Array) -> float:
    Q = closure.turn()
    R, p = Q.T @ relative[:3, :3] @ Q, Q.T @ relative[:3, 3]
    x, y, z = (tuple(row) for row in R.tolist())
    a, b, c = p.tolist()
    rows = residuals(closure, Pose((x, y, z), (a, b, c)), 0.0)
    return float(np.linalg.norm(np.array(rows, float)))


def _inertia(body: Body, R: Array, p: Array) -> Array:
    """The 6x6 inertia of a body about the world's origin, in the world's axes."""
    c = p + R @ np.array(body.com)
    cx = np.cross(np.eye(3), c)  # cx @ v is c x v
    I = R @ body.inertia_matrix @ R.T + body.mass * cx.T @ cx
    return np.block([[I, body.mass * cx], [body.mass * cx.T, body.mass * np.eye(3)]])


def _rotation_vector(R: Array) -> Array:
    angle = float(np.arccos(np.clip((np.trace(R) - 1.0) / 2.0, -1.0, 1.0)))
    axis = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    length = float(np.linalg.norm(axis))
    if length < 1e-9:  # no rotation, or half a turn about the column that is largest
        if angle < 1.0:
            return axis / 2.0
        B = R + np.eye(3)
        b = B[:, int(np.argmax(np.diagonal(B)))]
        return np.asarray(angle * b / np.linalg.norm(b))
    return axis * (angle / length)
