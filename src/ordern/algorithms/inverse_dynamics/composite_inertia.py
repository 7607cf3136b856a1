"""Inverse dynamics by composite inertias: two recursions, one inward and one outward, that do not wait for each other.

The force through a joint is the force on all bodies beyond it as one rigid body, R alpha, plus a correction y for the
motions of the joints beyond it.

    outward   w_i = X_i w_p + S_i qd_i                                  (angular velocity)
              a_i = acceleration of body i by velocities alone          (14)
              b_i = gyroscopic force of body i                          (11)
    inward    R_p += X_i^T R_i X_i,               R_i = I_i at first    (25)
              y_p += X_i^T (y_i + R_i (S_i qdd_i + a_i)),     y_i = b_i - external_i at first
    outward   alpha_i = X_i alpha_p + S_i qdd_i + a_i                   (29)
              f_i     = R_i alpha_i + y_i
              tau_i   = S_i^T f_i + armature_i qdd_i + g_i, g_i = gyration of the momentum armature_i qd_i

The second and third loops are independent of each other, except for the last two lines. Gravity is an acceleration of
the base upwards; a base that is moved (v0, a0) adds its own. Cost: order n.

Reference: Jain 1991, Lemma 3.2 and eq. (29).
Differs: Jain's (29) has no terms of velocity; here y begins with b and a goes along with the joint's acceleration.
He numbers links from the tip.
"""

from __future__ import annotations

from ...model import Base, Bodies, Joints, Output, Tree
from ...spatial import Force, Inertia
from ..registry import algorithm
from ..velocities import base_motion, velocities

__all__ = ["composite_inertia"]


@algorithm("inverse_dynamics", "composite-inertia", paper="Jain 1991", equations="Lemma 3.2, (29)")
def composite_inertia(tree: Tree, q: Joints, qd: Joints, qdd: Joints, external: Bodies, v0: Base, a0: Base) -> Output:
    """Return joint forces tau for motions (q, qd, qdd) of the joints and (v0, a0) of the base, and external forces."""
    w, alpha = base_motion(tree, v0, a0)
    R, y = tree.field(Inertia), tree.field(Force)
    X, S, more = tree.own(), tree.own(), tree.own()
    tau = tree.output("f")

    for i, p in tree.outward():
        X[i], S[i], w[i], r, c, b = velocities(i, q[i], qd[i], w[p])
        more[i] = S[i] @ qdd[i] + (X[i] @ r + c)
        R[i], y[i] = i.inertia, b - external[i]

    for i, p in tree.inward():
        R[p] += X[i].T @ R[i] @ X[i]
        y[p] += X[i].T @ (y[i] + R[i] @ more[i])

    for i, p in tree.outward():
        alpha[i] = X[i] @ alpha[p] + more[i]
        f = R[i] @ alpha[i] + y[i]
        tau[i] = S[i].T @ f + i.armature * qdd[i] + i.gyration(q[i], qd[i])
    return tau
