"""Recursive Newton-Euler: the joint forces of a given motion.

    outward   w_i = X_i w_p + S_i qd_i                          (angular velocity)
              r_i = centripetal acceleration of body i's origin, in the parent's axes
              c_i = Coriolis acceleration of body i
              a_i = X_i (a_p + r_i) + S_i qdd_i + c_i           (acceleration of the body's origin)
              f_i = I_i a_i + b_i - external_i,                 b_i = gyroscopic force of body i; see `loads`
    inward    tau_i = S_i^T f_i + armature_i qdd_i + g_i,       g_i = gyration of the momentum armature_i qd_i
              f_p  += X_i^T f_i

Gravity is an acceleration of the base upwards; a base that is moved (v0, a0) adds its own. g_i is zero unless
velocities are along axes that turn with the joint (`Joint.gyration`). Cost: order n.

Reference: Jain 1991, eqs. (11), (14)-(17); Featherstone and Orin 2000, sec. 3.1.
Differs: Jain numbers links from the tip. a_i is his alpha, the derivative in an inertial frame; c_i and r_i are
together his a(k), and b_i is his b(k). Featherstone and Orin use the spatial acceleration, a_i less w_i x v_i.
"""

from __future__ import annotations

from ...model import Base, Bodies, Joints, Output, Tree
from ...spatial import Force, Motion, Spin
from ..fluid import loads
from ..registry import algorithm

__all__ = ["newton_euler"]


@algorithm(
    "inverse_dynamics",
    "newton-euler",
    paper="Jain 1991; Featherstone-Orin 2000",
    equations="Jain (11), (14)-(17); F-O sec. 3.1",
    regroup=True,
)
def newton_euler(tree: Tree, q: Joints, qd: Joints, qdd: Joints, external: Bodies, v0: Base, a0: Base) -> Output:
    """Return joint forces tau for motions (q, qd, qdd) of the joints and (v0, a0) of the base, and external forces."""
    w = tree.field(Spin, base=Spin(v0[tree.base].angular))
    a = tree.field(Motion, base=tree.base_acceleration + a0[tree.base])
    f = tree.field(Force)
    X, S = tree.own(), tree.own()
    tau = tree.output("f")
    load = loads(tree, q, qd, external, v0)

    for i, p in tree.outward():
        X[i], S[i] = i.transform(q[i]), i.subspace(q[i])
        vJ = S[i] @ qd[i]
        w[i] = X[i] @ w[p] + vJ
        r, c = X[i].centripetal(w[p]), w[i].coriolis(vJ) + i.bias(q[i], qd[i])
        a[i] = X[i] @ (a[p] + r) + S[i] @ qdd[i] + c
        f[i] = i.total_inertia @ a[i] + w[i].gyroscopic(i.rigid_inertia) - load[i]

    for i, p in tree.inward():
        tau[i] = S[i].T @ f[i] + i.armature * qdd[i] + i.gyration(q[i], qd[i])
        f[p] += X[i].T @ f[i]
    return tau
