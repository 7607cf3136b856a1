"""The inverse of the mass matrix in order n^2: M^-1 = (1 - H psi K)^* D^-1 (1 - H psi K), column by column.

    inward    P_i, D_i, G_i as in `articulated`
    for each freedom d, with x = 1 at d and 0 elsewhere:
    inward    over the bodies i that carry d:
              eps_i = x_i - S_i^T z,    nu_i = D_i^-1 eps_i,    z = X_i^T (z + G_i eps_i)      a column of 1 - H psi K
    outward   over the bodies i up to that of d:
              a' = X_i alpha_p,    y_i = nu_i - G_i^T a',    alpha_i = a' + S_i y_i            a column of M^-1

Inward, only what carries d has a force z. Outward, what is numbered beyond d is known from symmetry. Joints that follow
others are bound by B^T qdd = 0, which leaves Y - W L^-1 W^T of the inverse Y without them, where W = Y B and L = B^T W:

    inward    w_i = B_i - S_i^T p_i,    p_p += X_i^T (p_i + G_i w_i),    L += w_i^T D_i^-1 w_i
    outward   a' = X_i a_p,    W_i = D_i^-1 w_i - G_i^T a',    a_i = a' + S_i W_i

Cost: order n^2.

Reference: Jain 1991, Lemmas 6.3 and 6.4, eqs. (45), (46).
Differs: Jain numbers links from the tip and has chains only.
"""

from __future__ import annotations

from typing import Any

from ...model import Tree
from ...spatial import Columns, Factor, Force, Forces, Freedoms, Motion
from ...spatial.linear import dot
from ..field_types import Loads, Motions, Numbers
from ..registry import algorithm
from .articulated import Articulated, articulated

__all__ = ["innovations_inverse"]


@algorithm(
    "mass_matrix_inverse",
    "innovations",
    paper="Jain 1991",
    equations="Lemma 6.4, (45), (46)",
    order="n^2",
)
def innovations_inverse(tree: Tree, q: Any) -> Any:
    """M^-1 for position q."""
    found = articulated(tree, q)
    X, S, _, G, D = found
    W, LW = _bindings(tree, found)
    nu, Y = tree.vector(), tree.output("symmetric")
    for d in tree.freedoms():
        x, alpha, column = tree.unit("f", d), tree.field(Motion), tree.output("v")
        z, bound = tree.carry(Force.zero()), tree.carry(Freedoms((0.0,) * tree.couplings))
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


def _bindings(tree: Tree, found: Articulated) -> tuple[Any, Any]:
    """For each joint, its rows of W, as columns, and of W L^-1, as rows: a number for each coupling."""
    X, S, _, G, D = found
    m = tree.couplings
    W, LW, w = tree.own(), tree.own(), tree.own()
    if not m:
        return W, LW
    halves = [(r, c) for r in range(m) for c in range(r + 1)]
    p, L, a = tree.field(Loads(m)), tree.field(Numbers(len(halves))), tree.field(Motions(m))
    for i, _ in tree.outward():
        p[i], L[i] = Forces((Force.zero(),) * m), Freedoms((0.0,) * len(halves))

    for i, parent in tree.inward():
        B, loads = i.coupling, [S[i].T @ f for f in p[i].columns]
        w[i] = tuple(Freedoms(B[k][c] - loads[c][k] for k in range(len(B))) for c in range(m))
        p[parent] += X[i].T @ Forces(tuple(f + G[i] @ x for f, x in zip(p[i].columns, w[i], strict=True)))
        solved = [D[i].solve(x) for x in w[i]]
        L[parent] += L[i] + Freedoms(dot(w[i][r], solved[c]) for r, c in halves)

    whole = tree.field(Numbers(len(halves)))
    whole[tree.base] = L[tree.base]
    for i, parent in tree.outward():
        whole[i] = whole[parent]
        a_ = Columns(tuple(X[i] @ one for one in a[parent].columns))
        W[i] = tuple(D[i].solve(x) - G[i].T @ one for x, one in zip(w[i], a_.columns, strict=True))
        a[i] = Columns(tuple(one + S[i] @ x for one, x in zip(a_.columns, W[i], strict=True)))
        known = dict(zip(halves, whole[i], strict=True))
        factor = Factor.of(tuple(tuple(known[max(r, c), min(r, c)] for c in range(m)) for r in range(m)))
        LW[i] = tuple(factor.solve(tuple(x[k] for x in W[i])) for k in range(len(i.armature)))
    return W, LW
