"""The inverse of the mass matrix in order n^2: M^-1 = (1 - H psi K)^* D^-1 (1 - H psi K), column by column.

    inward    P_i, D_i, G_i as in `articulated`
    for each freedom d, with x = 1 at d and 0 elsewhere:
    inward    over the bodies i that carry d:
              eps_i = x_i - S_i^T z,    nu_i = D_i^-1 eps_i,    z = X_i^T (z + G_i eps_i)      a column of 1 - H psi K
    outward   over the bodies i up to that of d:
              a' = X_i alpha_p,    y_i = nu_i - G_i^T a',    alpha_i = a' + S_i y_i            a column of M^-1

Inward, only the bodies that carry d have a force z. Outward, the entries beyond d follow from symmetry. Mimic joints
are bound by B^T qdd = 0: from the inverse Y of the free tree they leave Y - W L^-1 W^T, with W = Y B and L = B^T W from
`binding`. Cost: order n^2.

Reference: Jain 1991, Lemmas 6.3 and 6.4, eqs. (45), (46).
Differs: Jain numbers links from the tip and has chains only.
"""

from __future__ import annotations

from ...model import Joints, Output, Tree, Values
from ...spatial import Factor, Force, Freedoms, Motion
from ...spatial.linear import dot
from ..binding import Gains, follower_binding, lower_half, symmetric_rows
from ..field_types import Numbers
from ..registry import algorithm
from .articulated import articulated

__all__ = ["innovations_inverse"]


@algorithm("mass_matrix_inverse", "innovations", paper="Jain 1991", equations="Lemma 6.4, (45), (46)", order="n^2")
def innovations_inverse(tree: Tree, q: Joints) -> Output:
    """Return M^-1 for position q."""
    X, S, G, D = gains = articulated(tree, q).gains
    W, LW = _bindings(tree, gains) if tree.couplings else (tree.own(), tree.own())
    nu, Y = tree.vector(), tree.output("symmetric")
    for d in tree.freedoms():
        x, alpha, column = tree.unit("f", d), tree.field(Motion), tree.output("v")
        z, bound = tree.register(Force.zero()), tree.register(Freedoms((0.0,) * tree.couplings))
        for i, _ in tree.outward(upto=d):
            nu[i] = Freedoms((0.0,) * len(i.armature))
        for i, _ in tree.ancestors(d):
            eps = x[i] - S[i].T @ z.value
            nu[i] = D[i].solve(eps)
            z.value = X[i].T @ (z.value + G[i] @ eps)
            if tree.couplings:
                bound.value = bound.value + Freedoms(dot(x[i], W[i][c]) for c in range(tree.couplings))
        for i, p in tree.outward(upto=d):
            a_ = X[i] @ alpha[p]
            y = nu[i] - G[i].T @ a_
            alpha[i] = a_ + S[i] @ y
            column[i] = y - Freedoms(dot(row, bound.value) for row in LW[i]) if tree.couplings else y
        for r in tree.freedoms(upto=d):
            Y[r, d] = Y[d, r] = column[r]
    return Y


def _bindings(tree: Tree, gains: Gains) -> tuple[Values[tuple[Freedoms, ...]], Values[tuple[Freedoms, ...]]]:
    """Return, for each joint, its rows of W, as columns, and its rows of W L^-1: a number for each mimic joint."""
    bound = follower_binding(tree, gains)
    W, _ = bound.responses(tree.outward())
    LW, L = tree.own(), tree.field(Numbers(len(lower_half(bound.m))))
    L[tree.base] = bound.L[tree.base]
    for i, parent in tree.outward():
        L[i] = L[parent]
        factor = Factor.of(symmetric_rows(bound.m, L[i]))
        LW[i] = tuple(factor.solve(tuple(x[k] for x in W[i])) for k in range(len(i.armature)))
    return W, LW
