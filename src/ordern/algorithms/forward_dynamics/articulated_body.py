"""The articulated-body algorithm: the joint accelerations of given joint forces.

    outward   w_i  = X_i w_p + S_i qd_i                         (angular velocity)
              c_i  = Coriolis and centripetal acceleration of body i relative to its parent
              IA_i = I_i,                           pA_i = gyroscopic force of body i - external_i
    inward    U_i  = IA_i S_i,    D_i = S_i^T U_i + armature_i,    u_i = tau_i - S_i^T pA_i
              Ia   = IA_i - U_i D_i^-1 U_i^T,       pa = pA_i + Ia c_i + U_i D_i^-1 u_i
              IA_p += X_i^T Ia X_i,                 pA_p += X_i^T pa
    outward   a'   = X_i a_p + c_i
              qdd_i = D_i^-1 (u_i - U_i^T a'),      a_i = a' + S_i qdd_i

Gravity is an acceleration of the base upwards. Cost: order n.

Reference: Jain 1991, eqs. (11), (14), (45), (46), (60), where IA is P, pA with the forces from further out is z,
u is epsilon, D^-1 u is nu, and U D^-1 is the Kalman gain G; Featherstone and Orin 2000, sec. 3.4.
Differs: Jain numbers links from the tip. a_i is his alpha, the derivative in an inertial frame, c_i his a(k), and the
gyroscopic force his b(k). Featherstone and Orin use the spatial acceleration, a_i less w_i x v_i; then c_i and pA_i are
v_i x S_i qd_i and v_i x* I_i v_i, which costs about a tenth more operations.
"""

from __future__ import annotations

from typing import Any

from ...model import Tree
from ...spatial import ArticulatedInertia, Force, Motion, Spin, eliminate
from ..registry import algorithm

__all__ = ["articulated_body"]


@algorithm(
    "forward_dynamics",
    "articulated-body",
    paper="Featherstone 1983, as in Jain 1991 and Featherstone-Orin 2000",
    equations="Jain (11), (14), (45), (46), (60); F-O sec. 3.4",
)
def articulated_body(tree: Tree, q: Any, qd: Any, tau: Any, external: Any) -> Any:
    """Joint accelerations qdd for position q, velocity qd, joint forces tau and external forces on the bodies."""
    w = tree.field(Spin)
    a = tree.field(Motion, base=tree.base_acceleration)
    IA, pA = tree.field(ArticulatedInertia), tree.field(Force)
    X, S, c, U, D, u = (tree.own() for _ in range(6))
    qdd = tree.output("v")

    for i, p in tree.outward():
        X[i], S[i] = i.transform(q[i]), i.subspace(q[i])
        vJ = S[i] @ qd[i]
        w[i] = X[i] @ w[p] + vJ
        c[i] = X[i].centripetal(w[p]) + w[i].coriolis(vJ) + i.bias(q[i], qd[i])
        IA[i] = i.inertia.articulated()
        pA[i] = w[i].gyroscopic(i.inertia) - external[i]

    for i, p in tree.inward():
        U[i], D[i], Ia = eliminate(IA[i], S[i], i.armature)
        u[i] = tau[i] - S[i].T @ pA[i]
        pa = pA[i] + Ia @ c[i] + U[i] @ D[i].solve(u[i])
        IA[p] += X[i].T @ Ia @ X[i]
        pA[p] += X[i].T @ pa

    for i, p in tree.outward():
        a_ = X[i] @ a[p] + c[i]
        qdd[i] = D[i].solve(u[i] - U[i].T @ a_)
        a[i] = a_ + S[i] @ qdd[i]
    return qdd
