"""Forward dynamics by unit accelerations of one half of the mass matrix: the other is its mirror image.

    for each freedom k, over the bodies i that body k carries, itself included:
        outward   a_k = S_k,    a_i = X_i a_p,    f_i = I_i a_i          (17) at rest, without gravity
        inward    M_ik = M_ki = S_i^T f_i,    + armature_k for i = k
                  f_p += X_i^T f_i, up to k
    M qdd = T - C                                                        (22)

All other bodies stand still when only joint k accelerates, and the forces on those between k and the base are known
from their own columns. Cost: order n d for M, where d is the depth of the tree, then as `composite-body`.

Reference: Walker and Orin 1982, method 2, as in Jain 1991, sec. 3, "Symmetry Based Method", eqs. (17), (22), (23).
Differs: for trees and joints with several freedoms; those of one joint take their columns together.
"""

from __future__ import annotations

from typing import Any

from ...model import Tree
from ...spatial import Forces, plus_diagonal
from ..dense import Reverse, square, transpose
from ..registry import algorithm
from .composite_body import bias_free

__all__ = ["symmetric"]


@algorithm(
    "forward_dynamics",
    "symmetric",
    paper="Walker-Orin 1982, method 2, as in Jain 1991",
    equations="Jain (17), (22), (23)",
    order="n d^2",
    sweeps=False,
)
def symmetric(tree: Tree, q: Any, qd: Any, tau: Any, external: Any, v0: Any, a0: Any) -> Any:
    """Joint accelerations, with one half of the mass matrix from inverse dynamics of ever shorter robots."""
    X, S = tree.own(), tree.own()
    M = tree.output("symmetric")
    for i, _ in tree.outward():
        X[i], S[i] = i.transform(q[i]), i.subspace(q[i])

    for k, _ in tree.outward():
        a, f = {k.key: S[k].columns}, {k.key: S[k].under(k.inertia)}
        for i, p in tree.outward():
            if p.key in a:
                a[i.key] = tuple(X[i] @ column for column in a[p.key])
                f[i.key] = Forces(tuple(i.inertia @ column for column in a[i.key]))
        for i, p in tree.inward():
            if p.key in a:
                M[i, k] = _across(S[i].T @ f[i.key], len(i.armature))
                f[p.key] += X[i].T @ f[i.key]
        M[k, k] = plus_diagonal(_across(S[k].T @ f[k.key], len(k.armature)), k.armature)
    return Reverse.of(square(M.scalars)).solve(bias_free(tree, q, qd, tau, external, v0, a0))


def _across(rows: Any, n: int) -> Any:
    """The transpose of a block that has a row for each freedom of joint k; of n empty rows if that has none."""
    return transpose(rows) if rows else ((),) * n
