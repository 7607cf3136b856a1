"""Forward dynamics by triangular systems: the innovations factors of the mass matrix, entry by entry.

    out, in    T'_i = T_i - C_i                                 Newton-Euler with qdd = 0, (17)
    inward     D_i  = S_i^T P_i S_i + armature_i,   G_i = P_i S_i D_i^-1          (45)
               P_p += X_i^T (P_i - G_i S_i^T P_i) X_i
               K = X_i^T G_i;   for each ancestor j of i:   F_ji = S_j^T K,   K = X_j^T K
    inward     (1 + F) y = T':      y_i = T'_i - sum over descendants k of F_ik y_k,      D_i x_i = y_i     (a)
    outward    (1 + F)* qdd = x:    qdd_i = x_i - sum over ancestors j of F_ji^T qdd_j                      (b)

F is H phi K: the mass matrix is M = (1 + F) D (1 + F)*, Lemma 6.2, and this factorisation takes order n for D and K
instead of the n^3 of elimination. Cost: order n d, where d is the depth of the tree; n^2 for a chain.

Reference: Jain 1991, sec. 4, "Triangularized Equations Method", (a) and (b), and Lemma 6.2; Rosenthal 1988 has the same
by elimination, where the pivot m_kk is D(k) and m_kj / m_kk are the entries of 1 + F.
Differs: Jain, who numbers links from the tip, has F lower triangular; here it is upper. He names the inverse of D(k) as
the counterpart of m_kk, but it is D(k). Mimic joints are bound at the end, by `binding`.
"""

from __future__ import annotations

from ...model import Base, Bodies, Joints, Output, Tree
from ...spatial import ArticulatedInertia, Force, Freedoms, eliminate
from ...spatial.linear import dot
from ..binding import bind_followers, free_accelerations
from ..registry import algorithm
from ..velocities import base_motion, velocities

__all__ = ["triangularized"]


@algorithm(
    "forward_dynamics",
    "triangularized",
    paper="Rodriguez 1987, Rosenthal 1988, as in Jain 1991",
    equations="Jain sec. 4 (a), (b); (17), (45), Lemma 6.2",
    order="n d",
)
def triangularized(tree: Tree, q: Joints, qd: Joints, tau: Joints, external: Bodies, v0: Base, a0: Base) -> Output:
    """Return joint accelerations by two triangular systems, whose matrices come from the articulated inertias."""
    w, a = base_motion(tree, v0, a0)
    f, P = tree.field(Force), tree.field(ArticulatedInertia)
    X, S, G, D = (tree.own() for _ in range(4))
    F, y, x, along = tree.pairs(), tree.vector(), tree.own(), tree.vector()
    qdd = free_accelerations(tree)

    for i, p in tree.outward():
        X[i], S[i], w[i], r, c, b = velocities(i, q[i], qd[i], w[p])
        a[i] = X[i] @ (a[p] + r) + c
        f[i] = i.inertia @ a[i] + b - external[i]
        P[i] = i.inertia.articulated()

    for i, p in tree.inward():
        y[i] = tau[i] - S[i].T @ f[i] - i.gyration(q[i], qd[i])
        f[p] += X[i].T @ f[i]
        G[i], D[i], left = eliminate(P[i], S[i], i.armature)
        P[p] += X[i].T @ left @ X[i]
        K = tree.register(X[i].T @ G[i])
        for j, _ in tree.ancestors(i):
            F[i, j] = S[j].T @ K.value  # the transpose of F_ji: a row for each freedom of i
            K.value = X[j].T @ K.value

    for i, _ in tree.inward():
        for j, _ in tree.ancestors(i):
            for row, value in zip(F[i, j], y[i], strict=True):
                y[j] -= row * value
        x[i] = D[i].solve(y[i])

    for i, _ in tree.outward():
        along[i] = x[i]
        for j, _ in tree.ancestors(i):
            along[i] -= Freedoms(dot(row, along[j]) for row in F[i, j])
        qdd[i] = along[i]
    return bind_followers(tree, (X, S, G, D), qdd)
