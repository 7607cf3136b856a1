"""The articulated-body algorithm in absolute coordinates: all vectors in the base's axes, about its origin.

    outward   P_i   = pose of body i,     S_i, I_i, external_i: taken to the base's frame
              v_i   = v_p + S_i qd_i,     c_i = v_i x S_i qd_i
              IA_i  = I_i,                pA_i = v_i x* I_i v_i - external_i
    inward    D_i   = S_i^T IA_i S_i,     G_i = IA_i S_i D_i^-1,     u_i = tau_i - S_i^T pA_i
              IA_p += IA_i - G_i S_i^T IA_i
              pA_p += pA_i + Ia c_i + G_i u_i
    outward   a'    = a_p + c_i,          qdd_i = D_i^-1 u_i - G_i^T a',     a_i = a' + S_i qdd_i

No transforms between bodies are needed, but those to the base are, and nothing in an inertia is zero there: link
coordinates take fewer operations, and this method is here to show by how many. Accelerations are spatial ones. Mimic
joints are bound at the end, by `binding`. Cost: order n.

Reference: Featherstone and Orin 2000, secs. 3.2 and 3.3, eqs. (12)-(14) as they are written there, without coordinates.
"""

from __future__ import annotations

from ...model import Bodies, Joints, Output, Tree
from ...spatial import ArticulatedInertia, Chain, Columns, Force, Motion, Pose, Transform, Turn, eliminate
from ...spatial.linear import transpose
from ..binding import bind_followers, free_accelerations
from ..registry import algorithm

__all__ = ["absolute"]


@algorithm(
    "forward_dynamics",
    "articulated-body-absolute",
    paper="Featherstone-Orin 2000",
    equations="F-O secs. 3.2, 3.3, (12)-(14)",
)
def absolute(tree: Tree, q: Joints, qd: Joints, tau: Joints, external: Bodies) -> Output:
    """Return joint accelerations qdd for position q, velocity qd, joint forces tau and external forces."""
    P, v = tree.field(Pose), tree.field(Motion)
    a = tree.field(Motion, base=tree.base_acceleration)
    IA, pA = tree.field(ArticulatedInertia), tree.field(Force)
    S, c, G, D, nu, same = (tree.own() for _ in range(6))
    qdd = free_accelerations(tree)

    for i, p in tree.outward():
        P[i], same[i] = i.transform(q[i]).child(P[p]), Chain(())
        X = Transform(Turn(transpose(P[i].rotation)), P[i].position)
        S[i] = Columns(tuple(P[i] @ column for column in i.subspace(q[i]).columns))
        vJ = S[i] @ qd[i]
        v[i] = v[p] + vJ
        c[i] = v[i].cross(vJ) + P[i] @ i.bias(q[i], qd[i])
        I = X.T @ i.inertia @ X
        IA[i] = I.articulated()
        pA[i] = v[i].cross(I @ v[i]) - X.T @ external[i]

    for i, p in tree.inward():
        G[i], D[i], Ia = eliminate(IA[i], S[i], i.armature)
        u = tau[i] - S[i].T @ pA[i] - i.gyration(q[i], qd[i])
        nu[i] = D[i].solve(u)
        IA[p] += Ia
        pA[p] += pA[i] + Ia @ c[i] + G[i] @ u

    for i, p in tree.outward():
        a_ = a[p] + c[i]
        qdd[i] = nu[i] - G[i].T @ a_
        a[i] = a_ + S[i] @ qdd[i]
    return bind_followers(tree, (same, S, G, D), qdd)
