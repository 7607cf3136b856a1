"""Recursive Newton-Euler in absolute coordinates: all vectors in the base's axes, about its origin.

    outward   P_i     = pose of body i,            h_i, I_i, fx_i: taken to the base's frame
              v_i     = v_p + h_i qd_i                                          (3)
              a_i     = a_p + h'_i qd_i + h_i qdd_i                             (4)
              fJ_i    = I_i a_i + v_i x I_i v_i - fx_i                          (5)
    inward    tau_i   = h_i^T fJ_i + armature_i qdd_i + g_i,     g_i = gyration of the momentum armature_i qd_i    (8)
              fJ_p   += fJ_i                                                    (7)

h'_i qd_i is v_i x h_i qd_i and, for joints whose axes turn with their own position, what the joint adds (`Joint.bias`).
The recursion itself needs no transforms: velocities, accelerations and forces are added as they are. But every joint
axis, inertia and external force has to be taken to the base's frame, where nothing in it is zero. Featherstone and Orin
recommend link coordinates "for maximum efficiency"; this method is here to show by how much they are cheaper. Errors
grow with the distance from the base. Cost: order n.

Reference: Featherstone and Orin 2000, sec. 3.1, eqs. (1)-(8) as they are written there, without coordinates.
Differs: gravity is an acceleration of the base upwards. Accelerations are spatial ones, as in the paper, so that of a
base that is moved (v0, a0) is taken less w0 x v0. Armatures and gyrations are not in the paper.
"""

from __future__ import annotations

from ...model import Base, Bodies, Joints, Output, Tree
from ...spatial import Columns, Force, Motion, Pose, Transform, Turn
from ...spatial.linear import cross, subtract, transpose
from ..registry import algorithm

__all__ = ["newton_euler_absolute"]


@algorithm(
    "inverse_dynamics",
    "newton-euler-absolute",
    paper="Featherstone-Orin 2000",
    equations="F-O sec. 3.1, (1)-(8)",
    regroup=True,
)
def newton_euler_absolute(
    tree: Tree, q: Joints, qd: Joints, qdd: Joints, external: Bodies, v0: Base, a0: Base
) -> Output:
    """Return joint forces tau for motions (q, qd, qdd) of the joints and (v0, a0) of the base, and external forces."""
    moved, started = v0[tree.base], a0[tree.base]
    spatial = Motion(started.angular, subtract(started.linear, cross(moved.angular, moved.linear)))
    P, v = tree.field(Pose), tree.field(Motion, base=moved)
    a = tree.field(Motion, base=tree.base_acceleration + spatial)
    fJ, h = tree.field(Force), tree.own()
    tau = tree.output("f")

    for i, p in tree.outward():
        P[i] = i.transform(q[i]).child(P[p])
        X = Transform(Turn(transpose(P[i].rotation)), P[i].position)
        h[i] = Columns(tuple(P[i] @ column for column in i.subspace(q[i]).columns))
        vJ = h[i] @ qd[i]
        v[i] = v[p] + vJ
        a[i] = a[p] + v[i].cross(vJ) + P[i] @ i.bias(q[i], qd[i]) + h[i] @ qdd[i]
        I = X.T @ i.inertia @ X
        fJ[i] = I @ a[i] + v[i].cross(I @ v[i]) - X.T @ external[i]

    for i, p in tree.inward():
        tau[i] = h[i].T @ fJ[i] + i.armature * qdd[i] + i.gyration(q[i], qd[i])
        fJ[p] += fJ[i]
    return tau
