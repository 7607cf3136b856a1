"""The articulated-body algorithm: the joint accelerations of given joint forces.

    outward   v_i  = X_i v_p + S_i qd_i,            c_i = v_i x S_i qd_i + bias of the joint
              IA_i = I_i,                           pA_i = v_i x* I_i v_i - external_i
    inward    U_i  = IA_i S_i,    D_i = S_i^T U_i + armature_i,    u_i = tau_i - S_i^T pA_i
              Ia   = IA_i - U_i D_i^-1 U_i^T,       pa = pA_i + Ia c_i + U_i D_i^-1 u_i
              IA_p += X_i^T Ia X_i,                 pA_p += X_i^T pa
    outward   a'   = X_i a_p + c_i
              qdd_i = D_i^-1 (u_i - U_i^T a'),      a_i = a' + S_i qdd_i

Gravity is an acceleration of the base upwards. Cost: order n.

Reference: Featherstone and Orin 2000, sec. 3.4; Jain 1991, eqs. (45), (46), (60), where IA is P, pA is z, u is epsilon,
D^-1 u is nu, and U D^-1 is the Kalman gain G transposed.
"""

from __future__ import annotations

from typing import Any

from ...model import Tree
from ...spatial import ArticulatedInertia, Force, Motion, eliminate
from ..registry import algorithm

__all__ = ["articulated_body"]


@algorithm(
    "forward_dynamics",
    "articulated-body",
    paper="Featherstone 1983, as in Featherstone-Orin 2000 and Jain 1991",
    equations="F-O sec. 3.4; Jain (45), (46), (60)",
)
def articulated_body(tree: Tree, q: Any, qd: Any, tau: Any, external: Any) -> Any:
    """Joint accelerations qdd for position q, velocity qd, joint forces tau and external forces on the bodies."""
    v = tree.field(Motion)
    a = tree.field(Motion, base=tree.base_acceleration)
    IA, pA = tree.field(ArticulatedInertia), tree.field(Force)
    X, S, c, U, D, u = (tree.own() for _ in range(6))
    qdd = tree.output("v")

    for i, p in tree.outward():
        X[i], S[i] = i.transform(q[i]), i.subspace(q[i])
        vJ = S[i] @ qd[i]
        v[i] = X[i] @ v[p] + vJ
        c[i] = v[i].cross(vJ) + i.bias(q[i], qd[i])
        IA[i] = i.inertia.articulated()
        pA[i] = v[i].cross(i.inertia @ v[i]) - external[i]

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
