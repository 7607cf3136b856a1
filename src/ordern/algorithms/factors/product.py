"""The mass matrix times a vector, by Newton-Euler at rest and without gravity.

    outward   a_i = X_i a_p + S_i x_i
              f_i = I_i a_i
    inward    y_i = S_i^T f_i + armature_i x_i,    f_p += X_i^T f_i

Cost: order n.

Reference: M = H phi M phi^* H^*, Jain 1991, eq. (21), read from right to left; eqs. (15)-(17) at rest.
"""

from __future__ import annotations

from ...model import Joints, Output, Tree
from ...spatial import Force, Motion
from ..registry import algorithm

__all__ = ["newton_euler_product"]


@algorithm("mass_matrix_product", "newton-euler", paper="Jain 1991", equations="(15)-(17), (21)")
def newton_euler_product(tree: Tree, q: Joints, x: Joints) -> Output:
    """Return M x for position q."""
    a, f = tree.field(Motion), tree.field(Force)
    X, S = tree.own(), tree.own()
    y = tree.output("f")

    for i, p in tree.outward():
        X[i], S[i] = i.transform(q[i]), i.subspace(q[i])
        a[i] = X[i] @ a[p] + S[i] @ x[i]
        f[i] = i.total_inertia @ a[i]

    for i, p in tree.inward():
        y[i] = S[i].T @ f[i] + i.armature * x[i]
        f[p] += X[i].T @ f[i]
    return y
