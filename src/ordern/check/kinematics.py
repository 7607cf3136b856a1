"""The mass matrix and the gaps of loops by their definitions, in plain NumPy.

This is slow and independent of the algorithms: it also works for robots that the algorithms refuse.
"""

from __future__ import annotations

import numpy as np

from ..arguments import Array
from ..joints import Closure, Joint
from ..joints.jets import residuals
from ..model import BASE, Body, Model
from ..model.poses import body_poses, joint_motions, joint_poses, joint_positions
from ..rotations import inverse, log, skew
from ..spatial import Freedoms, Pose

__all__ = ["gap", "mass_matrix"]


def mass_matrix(model: Model, q: Array) -> Array:
    """Return the sum over all bodies of J^T I J, with J the Jacobian of the body and I its inertia."""
    M = np.zeros((model.nv, model.nv))
    where = body_poses(model, q)
    jacobians: list[Array] = []  # of the point of each body that is at the world's origin, in the world's axes
    for k, (c, own) in enumerate(zip(model.joints, joint_positions(model, q), strict=True)):
        J = np.zeros((6, model.nv)) if c.parent == BASE else jacobians[c.parent].copy()
        R, p = where[k, :3, :3], where[k, :3, 3]
        S = joint_motions(c.type, own)
        w, u = R @ S[:3], R @ S[3:]
        ratio = c.mimic.ratio if c.mimic else 1.0
        J[:, c.v] += ratio * np.concatenate([w, u + np.cross(p, w.T).T])
        jacobians.append(J)
        M += J.T @ _inertia(model.bodies[k], R, p) @ J
        M[c.v, c.v] += ratio * ratio * np.diag(c.armature)
    return M


def gap(closure: Closure, relative: Array) -> tuple[float, float]:
    """Return the distance and the angle between a pose and the nearest pose that a loop's closure allows.

    For a closure that is not a joint, return the norm of its residuals, and zero.
    """
    if not isinstance(closure, Joint):
        return _residual(closure, relative), 0.0
    q = np.array(closure.neutral())
    for _ in range(30):
        distance = inverse(joint_poses(closure, q)) @ relative
        left = np.concatenate([log(distance[:3, :3]), distance[:3, 3]])
        step = np.linalg.lstsq(joint_motions(closure, q), left, rcond=None)[0] if closure.nv else np.zeros(0)
        if np.abs(step).max(initial=0.0) < 1e-12:
            break
        q = np.array(list(closure.integrate(Freedoms(q.tolist()), Freedoms(step.tolist()))), float)
    T = inverse(joint_poses(closure, q)) @ relative
    return float(np.linalg.norm(T[:3, 3])), float(np.linalg.norm(log(T[:3, :3])))


def _residual(closure: Closure, relative: Array) -> float:
    Q = closure.turn()
    R, p = Q.T @ relative[:3, :3] @ Q, Q.T @ relative[:3, 3]
    x, y, z = (tuple(row) for row in R.tolist())
    a, b, c = p.tolist()
    rows = residuals(closure, Pose((x, y, z), (a, b, c)), 0.0)
    return float(np.linalg.norm(np.array(rows, float)))


def _inertia(body: Body, R: Array, p: Array) -> Array:
    """Return the 6x6 inertia of a body about the world's origin, in the world's axes."""
    cx = skew(p + R @ np.array(body.com))
    I = R @ body.inertia_matrix @ R.T + body.mass * cx.T @ cx
    return np.block([[I, body.mass * cx], [body.mass * cx.T, body.mass * np.eye(3)]])
