"""The mass matrix column by column, but only the half that symmetry requires.

While freedom d accelerates alone, all bodies between it and the base stand still. The part from its joint outward is a
smaller robot, whose inverse dynamics gives one half of column d:

    outward   a_i = X_i a_p + S_i qdd_i, with qdd = 1 at d and 0 elsewhere,    f_i = I_i a_i
    inward    T_i = S_i^T f_i + armature_i qdd_i,    f_p += X_i^T f_i
              M_rd = M_dr = T_r

Cost: order n d, where d is the depth of the tree: half of the direct method's on a chain, less on trees with short
branches. In a robot with mimic joints no part is known to stand still: then it is the direct method.

Reference: Jain 1991, sec. 3, the symmetry based method, after Walker and Orin 1982, method 2.
"""

from __future__ import annotations

from ...model import Joints, Output, Tree
from ...spatial import Force, Motion
from ..registry import algorithm

__all__ = ["symmetric"]


@algorithm(
    "mass_matrix",
    "symmetric",
    paper="Walker-Orin 1982, method 2, as in Jain 1991",
    equations="Jain sec. 3, (23)",
    order="n d",
)
def symmetric(tree: Tree, q: Joints) -> Output:
    """Return the mass matrix M for position q."""
    X, S = tree.own(), tree.own()
    M = tree.output("symmetric")
    for i, _ in tree.outward():
        X[i], S[i] = i.transform(q[i]), i.subspace(q[i])

    for d in tree.freedoms():
        qdd, a, f, T = tree.unit("v", d), tree.field(Motion), tree.field(Force), tree.output("f")
        for i, p in tree.outward(moved_by=d):
            a[i] = X[i] @ a[p] + S[i] @ qdd[i]
            f[i] = i.inertia @ a[i]
        for i, p in tree.inward(moved_by=d):
            T[i] = S[i].T @ f[i] + i.armature * qdd[i]
            f[p] += X[i].T @ f[i]
        for r in tree.freedoms(moved_by=d):
            M[r, d] = M[d, r] = T[r]
    return M
