"""The articulated-body algorithm: the joint accelerations of given joint forces.

    outward   w_i  = X_i w_p + S_i qd_i                         (angular velocity)
              r_i  = centripetal acceleration of body i's origin, in the parent's axes
              c_i  = Coriolis acceleration of body i
              IA_i = I_i,                           pA_i = gyroscopic force of body i - external_i; see `loads`
    inward    D_i  = S_i^T IA_i S_i + armature_i,   G_i = IA_i S_i D_i^-1
              u_i  = tau_i - S_i^T pA_i - g_i,      nu_i = D_i^-1 u_i
              Ia   = IA_i - G_i S_i^T IA_i,         Ip = X_i^T Ia X_i
              IA_p += Ip,                           pA_p += X_i^T (pA_i + Ia c_i + G_i u_i) + Ip r_i
    outward   a'   = X_i (a_p + r_i) + c_i
              qdd_i = nu_i - G_i^T a',              a_i = a' + S_i qdd_i

Gravity is an acceleration of the base upwards; a base that is moved (v0, a0) adds its own. g_i is the gyration of a
drive's momentum armature_i qd_i, which is zero for most joints. Mimic joints are bound at the end, by
`binding`. Cost: order n.

Reference: Jain 1991, eqs. (11), (14), (45), (46), (60), where IA is P, G the Kalman gain and, at rest, pA is z,
u epsilon and nu_i nu; Featherstone and Orin 2000, sec. 3.3, eqs. (12)-(14).
Differs: Jain numbers links from the tip. a_i is his alpha, the derivative in an inertial frame; c_i and r_i are
together his a(k), and the gyroscopic force is his b(k). Featherstone and Orin use the spatial acceleration, a_i less
w_i x v_i; then r_i is zero, c_i is v_i x S_i qd_i and pA_i is v_i x* I_i v_i, which takes a tenth more operations.
"""

from __future__ import annotations

from collections.abc import Callable

from ...graph import Scalar
from ...model import Answer, Base, Bodies, Index, Joints, Output, Tree
from ...spatial import ArticulatedInertia, Force, Freedoms, Motion, Spin, eliminate
from ..binding import Gains, bind_followers, free_accelerations
from ..fluid import loads
from ..gyroscopic_step import gyroscopic_step
from ..registry import algorithm

__all__ = ["articulated_body", "articulated_sweeps"]


@algorithm(
    "forward_dynamics",
    "articulated-body",
    paper="Featherstone 1983, as in Jain 1991 and Featherstone-Orin 2000",
    equations="Jain (11), (14), (45), (46), (60); F-O sec. 3.3, (12)-(14)",
    regroup=True,
)
def articulated_body(tree: Tree, q: Joints, qd: Joints, tau: Joints, external: Bodies, v0: Base, a0: Base) -> Output:
    """Return joint accelerations qdd for position q, velocity qd, joint forces tau and external forces."""
    return bind_followers(tree, *articulated_sweeps(tree, q, qd, tau, external, v0, a0))


def articulated_sweeps(
    tree: Tree,
    q: Joints,
    qd: Joints,
    tau: Joints,
    external: Bodies,
    v0: Base,
    a0: Base,
    drag: Callable[[Index], Freedoms] | None = None,
    step: Scalar | None = None,
) -> tuple[Gains, Answer]:
    """Return X, S, G, D of each body, and the accelerations of the joints as if none were a mimic joint.

    `drag` is added to the armature of joints in D: the step h times their damping makes an implicit step of it.
    With the length of a `step`, the gyroscopic torque of free and ball joints is implicit: see `gyroscopic_step`.
    """
    w = tree.field(Spin, base=Spin(v0[tree.base].angular))
    a = tree.field(Motion, base=tree.base_acceleration + a0[tree.base])
    IA, pA = tree.field(ArticulatedInertia), tree.field(Force)
    X, S, r, c, G, D, nu = (tree.own() for _ in range(7))
    qdd = free_accelerations(tree)
    load = loads(tree, q, qd, external, v0)
    tied = tree.model.nc or tree.couplings

    for i, p in tree.outward():
        X[i], S[i] = i.transform(q[i]), i.subspace(q[i])
        vJ = S[i] @ qd[i]
        w[i] = X[i] @ w[p] + vJ
        r[i] = X[i].centripetal(w[p])
        c[i] = w[i].coriolis(vJ) + i.bias(q[i], qd[i])
        IA[i] = i.articulated_inertia
        pA[i] = w[i].gyroscopic(i.rigid_inertia) - load[i]

    for i, p in tree.inward():
        G[i], D[i], Ia = eliminate(IA[i], S[i], i.armature + drag(i) if drag else i.armature)
        u = tau[i] - S[i].T @ pA[i] - i.gyration(q[i], qd[i])
        nu[i] = D[i].solve(u)
        Ip = X[i].T @ Ia @ X[i]
        IA[p] += Ip
        pA[p] += X[i].T @ (pA[i] + Ia @ c[i] + G[i] @ u) + Ip @ r[i]

    for i, p in tree.outward():
        a_ = X[i] @ (a[p] + r[i]) + c[i]
        qdd[i] = nu[i] - G[i].T @ a_
        if step is not None:
            dw = None if tied else (a_ + S[i] @ qdd[i]).angular
            qdd[i] = qdd[i] + gyroscopic_step(i.joint, D[i], w[i], dw, step)
        a[i] = a_ + S[i] @ qdd[i]
    return (X, S, G, D), qdd
