"""Recursive Newton-Euler: the joint forces of a given motion.

    outward   v_i = X_i v_p + S_i qd_i
              a_i = X_i a_p + S_i qdd_i + c_i,      c_i = v_i x S_i qd_i + bias of the joint
              f_i = I_i a_i + v_i x* I_i v_i - external_i
    inward    tau_i = S_i^T f_i + armature_i qdd_i
              f_p  += X_i^T f_i

Gravity is an acceleration of the base upwards. Cost: order n.

Reference: Featherstone and Orin 2000, sec. 3.1; Jain 1991, eqs. (15)-(17).
Differs: Jain numbers links from the tip, and takes the base's acceleration as zero.
"""

from __future__ import annotations

from typing import Any

from ...model import Tree
from ...spatial import Force, Motion
from ..registry import algorithm

__all__ = ["newton_euler"]


@algorithm(
    "inverse_dynamics",
    "newton-euler",
    paper="Featherstone-Orin 2000; Jain 1991",
    equations="F-O sec. 3.1; Jain (15)-(17)",
)
def newton_euler(tree: Tree, q: Any, qd: Any, qdd: Any, external: Any) -> Any:
    """Joint forces tau for position q, velocity qd, acceleration qdd and external forces on the bodies."""
    v = tree.field(Motion)
    a = tree.field(Motion, base=tree.base_acceleration)
    f = tree.field(Force)
    X, S = tree.own(), tree.own()
    tau = tree.output("v")

    for i, p in tree.outward():
        X[i], S[i] = i.transform(q[i]), i.subspace(q[i])
        vJ = S[i] @ qd[i]
        v[i] = X[i] @ v[p] + vJ
        c = v[i].cross(vJ) + i.bias(q[i], qd[i])
        a[i] = X[i] @ a[p] + S[i] @ qdd[i] + c
        f[i] = i.inertia @ a[i] + v[i].cross(i.inertia @ v[i]) - external[i]

    for i, p in tree.inward():
        tau[i] = S[i].T @ f[i] + i.armature * qdd[i]
        f[p] += X[i].T @ f[i]
    return tau
