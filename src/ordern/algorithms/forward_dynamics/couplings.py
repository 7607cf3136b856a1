"""Joints that follow others, in forward dynamics: accelerations of free joints, corrected to keep the couplings.

A joint that follows another, qdd_j = ratio qdd_i, is bound to it by a force lambda that does no work: B lambda, where
B has 1 at the joint and -ratio at the other, so that B^T qdd = 0. With qdd0 the accelerations without it,

    inward    w_i = B_i - S_i^T p_i,                 p_p += X_i^T (p_i + G_i w_i)
              L  += w_i^T D_i^-1 w_i                 which is B^T M^-1 B
              e  += B_i^T qdd0_i
              L lambda = -e
    outward   a' = X_i a_p,    qdd_i = qdd0_i + D_i^-1 w_i lambda - G_i^T a',    a_i = a' + S_i (qdd_i - qdd0_i)

Cost: order n m^2 for m couplings; where a joint's branch has none, its w is zero and costs nothing when unrolled.

Reference: M^-1 = (1 - H psi K)* D^-1 (1 - H psi K), Jain 1991, Lemma 6.4, whose right factor takes B to w;
Featherstone and Orin 2000, eq. (21), for lambda.
"""

from __future__ import annotations

from typing import Any

from ...model import Tree
from ...spatial import Factor, Force, Forces, Freedoms, Motion
from ...spatial.linear import dot
from ..field_types import Loads, Numbers

__all__ = ["coupled"]


def coupled(tree: Tree, X: Any, S: Any, G: Any, D: Any, qdd0: Any) -> Any:
    """The accelerations qdd0, with what makes joints follow others."""
    qdd, m = tree.output("v"), tree.couplings
    halves = [(r, c) for r in range(m) for c in range(r + 1)]
    p, L = tree.field(Loads(m)), tree.field(Numbers(len(halves)))
    e, force = tree.field(Numbers(m)), tree.field(Numbers(m))
    a, w = tree.field(Motion), tree.own()

    for i, _ in tree.outward():
        p[i] = Forces((Force.zero(),) * m)
        L[i], e[i] = Freedoms((0.0,) * len(halves)), Freedoms((0.0,) * m)

    for i, parent in tree.inward():
        B, loads = i.coupling, [S[i].T @ f for f in p[i].columns]
        columns = [Freedoms(B[k][c] - loads[c][k] for k in range(len(B))) for c in range(m)]
        w[i] = tuple(columns)
        p[parent] += X[i].T @ Forces(tuple(f + G[i] @ x for f, x in zip(p[i].columns, columns, strict=True)))
        solved = [D[i].solve(x) for x in columns]
        L[parent] += L[i] + Freedoms(dot(columns[r], solved[c]) for r, c in halves)
        e[parent] += e[i] + Freedoms(dot([row[c] for row in B], qdd0[i]) for c in range(m))

    known = dict(zip(halves, L[tree.base], strict=True))
    full = tuple(tuple(known[max(r, c), min(r, c)] for c in range(m)) for r in range(m))
    force[tree.base] = -Factor.of(full).solve(e[tree.base])

    for i, parent in tree.outward():
        force[i] = force[parent]
        a_ = X[i] @ a[parent]
        load = Freedoms(dot([x[k] for x in w[i]], force[i]) for k in range(len(qdd0[i])))
        more = D[i].solve(load) - G[i].T @ a_
        a[i] = a_ + S[i] @ more
        qdd[i] = qdd0[i] + more
    return qdd
