"""The mass matrix column by column: the joint forces of a unit acceleration of each freedom, at rest and weightless.

For each freedom d, with qdd = 1 at d and 0 elsewhere:

    outward   a_i = X_i a_p + S_i qdd_i                                     (23)
              f_i = I_i a_i
    inward    T_i = S_i^T f_i + armature_i qdd_i,    f_p += X_i^T f_i
              M_rd = T_r for the freedoms r up to d; the others are their mirror images

Every column is a whole inverse dynamics, which makes no use of the structure of M: it computes both halves and all
zeros. In straight-line code, bodies at rest and the half that is not kept cost nothing. Cost: order n^2, and it is the
method to check others by.

Reference: Jain 1991, sec. 3, the direct method, eq. (23); Featherstone and Orin 2000, sec. 3.2, before eq. (9); both
after Walker and Orin 1982, method 1.
"""

from __future__ import annotations

from ...model import Joints, Output, Tree
from ...spatial import Force, Motion
from ..registry import algorithm

__all__ = ["by_columns", "unit_acceleration"]


@algorithm(
    "mass_matrix",
    "unit-acceleration",
    paper="Walker-Orin 1982, method 1, as in Jain 1991 and Featherstone-Orin 2000",
    equations="Jain (23); F-O sec. 3.2",
    order="n^2",
)
def unit_acceleration(tree: Tree, q: Joints) -> Output:
    """Return the mass matrix M for position q."""
    return by_columns(tree, q, half=False)


def by_columns(tree: Tree, q: Joints, half: bool) -> Output:
    """Return M by inverse dynamics of all bodies for each freedom d, or of the half of them that d moves."""
    X, S = tree.own(), tree.own()
    M = tree.output("symmetric")
    for i, _ in tree.outward():
        X[i], S[i] = i.transform(q[i]), i.subspace(q[i])

    for d in tree.freedoms():
        qdd, a, f, T = tree.unit("v", d), tree.field(Motion), tree.field(Force), tree.output("f")
        moved_by = d if half else None
        for i, p in tree.outward(moved_by):
            a[i] = X[i] @ a[p] + S[i] @ qdd[i]
            f[i] = i.inertia @ a[i]
        for i, p in tree.inward(moved_by):
            T[i] = S[i].T @ f[i] + i.armature * qdd[i]
            f[p] += X[i].T @ f[i]
        for r in tree.freedoms(moved_by=d) if half else tree.freedoms(upto=d):
            M[r, d] = M[d, r] = T[r]
    return M
