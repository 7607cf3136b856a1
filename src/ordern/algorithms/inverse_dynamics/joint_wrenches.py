"""Joint wrenches: what each joint transmits to its body, at the body's origin and in its axes.

    outward   w_i = X_i w_p + S_i qd_i                          (angular velocity)
              a_i = X_i (a_p + r_i) + S_i qdd_i + c_i           (acceleration; r_i centripetal, c_i Coriolis)
              f_i = I_i a_i + b_i - external_i,                 b_i = gyroscopic force of body i
    inward    wrench_i = f_i,    f_p += X_i^T f_i

It moves the body and all that hangs on it: f_i is the sum of what the body itself takes and of what its children
take. Its part along the joint is what the drive leaves for it, S_i^T f_i = tau_i - armature_i qdd_i (less the gyration
of the drive's momentum, where it has one); the rest is borne by the bearings. Cost: order n.

Reference: Jain 1991, eqs. (11), (14)-(16), where it is f(k); Featherstone and Orin 2000, sec. 3.1, where it is f^J.
Differs: Jain numbers links from the tip.
"""

from __future__ import annotations

from typing import Any

from ...model import Tree
from ...spatial import Force, Motion, Spin
from ..registry import algorithm

__all__ = ["joint_wrenches"]


@algorithm(
    "joint_wrenches",
    "newton-euler",
    paper="Jain 1991; Featherstone-Orin 2000",
    equations="Jain (11), (14)-(16); F-O sec. 3.1",
)
def joint_wrenches(tree: Tree, q: Any, qd: Any, qdd: Any, external: Any, v0: Any, a0: Any) -> Any:
    """Return the (moment, force) on each body through its joint, for a motion of the joints and the base."""
    w = tree.field(Spin, base=Spin(v0[tree.base].angular))
    a = tree.field(Motion, base=tree.base_acceleration + a0[tree.base])
    f, X = tree.field(Force), tree.own()
    wrench = tree.output("wrenches")

    for i, p in tree.outward():
        X[i], S = i.transform(q[i]), i.subspace(q[i])
        vJ = S @ qd[i]
        w[i] = X[i] @ w[p] + vJ
        r, c = X[i].centripetal(w[p]), w[i].coriolis(vJ) + i.bias(q[i], qd[i])
        a[i] = X[i] @ (a[p] + r) + S @ qdd[i] + c
        f[i] = i.inertia @ a[i] + w[i].gyroscopic(i.inertia) - external[i]

    for i, p in tree.inward():
        wrench[i] = f[i]
        f[p] += X[i].T @ f[i]
    return wrench
