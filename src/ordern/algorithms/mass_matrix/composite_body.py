"""The composite-rigid-body algorithm: the joint-space mass matrix.

    inward    Ic_p += X_i^T Ic_i X_i
              F = Ic_i S_i,    M_ii = S_i^T F + armature_i
              F = X_i^T F;    for each ancestor j of i, outward last:    M_ij = F^T S_j,    F = X_j^T F

All other blocks are zero. Cost: order n d, where d is the depth of the tree.

Reference: Featherstone and Orin 2000, eqs. (9), (10); Jain 1991, eq. (28), where Ic is R.
"""

from __future__ import annotations

from ...model import Joints, Output, Tree
from ...spatial import plus_diagonal
from ..registry import algorithm

__all__ = ["composite_body"]


@algorithm(
    "mass_matrix",
    "composite-body",
    paper="Walker-Orin 1982, as in Featherstone-Orin 2000 and Jain 1991",
    equations="F-O (9), (10); Jain (28)",
    order="n d",
    regroup=True,
)
def composite_body(tree: Tree, q: Joints) -> Output:
    """Return the mass matrix M for position q."""
    Ic = tree.field(tree.inertia_type)
    X, S = tree.own(), tree.own()
    M = tree.output("symmetric")

    for i, _ in tree.outward():
        X[i], S[i] = i.transform(q[i]), i.subspace(q[i])
        Ic[i] = i.total_inertia

    for i, p in tree.inward():
        Ic[p] += X[i].T @ Ic[i] @ X[i]
        F0 = S[i].under(Ic[i])
        M[i, i] = plus_diagonal(S[i].T @ F0, i.armature)
        F = tree.register(X[i].T @ F0)
        for j, _ in tree.ancestors(i):
            M[i, j] = S[j].T @ F.value
            F.value = X[j].T @ F.value
    return M
