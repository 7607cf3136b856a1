"""Forward dynamics by unit accelerations: each column of the mass matrix is the force of one unit acceleration.

    for each freedom k:
        qdd = 1 at k, 0 elsewhere                           (23)
        outward   a_i = X_i a_p + S_i qdd_i                 (17) at rest, without gravity
                  f_i = I_i a_i
        inward    M_ik = S_i^T f_i + armature_i qdd_i
                  f_p += X_i^T f_i
    M qdd = T - C                                           (22)

This "direct method" makes no use of what is known of M: it computes both halves and all zeros. When straight-line code
is made of it, what stands still costs nothing, nor does the half that the solution does not read.
Cost: order n^2 for M, then as `composite-body`.

Reference: Walker and Orin 1982, method 1, as in Jain 1991, sec. 3, eqs. (17), (22), (23).
Differs: for trees and joints with several freedoms. The unit acceleration of a joint that others follow is not met:
each joint accelerates by itself, and the rows and columns of those that follow are added to those of their leader.
"""

from __future__ import annotations

from typing import Any

from ...model import Tree
from ...spatial import Force, Freedoms, Motion
from ..dense import Reverse, square
from ..registry import algorithm
from .composite_body import bias_free

__all__ = ["unit_acceleration"]


@algorithm(
    "forward_dynamics",
    "unit-acceleration",
    paper="Walker-Orin 1982, method 1, as in Jain 1991",
    equations="Jain (17), (22), (23)",
    order="n^2 + n d^2",
    sweeps=False,
)
def unit_acceleration(tree: Tree, q: Any, qd: Any, tau: Any, external: Any, v0: Any, a0: Any) -> Any:
    """Joint accelerations, with the mass matrix column by column from inverse dynamics."""
    X, S = tree.own(), tree.own()
    M = tree.output("matrix")
    for i, _ in tree.outward():
        X[i], S[i] = i.transform(q[i]), i.subspace(q[i])

    for k, _ in tree.outward():
        columns = []
        for c in range(len(k.armature)):
            a, f, T = tree.field(Motion), tree.field(Force), tree.own()
            for i, p in tree.outward():
                a[i] = X[i] @ a[p] + S[i] @ _unit(i, k, c)
                f[i] = i.inertia @ a[i]
            for i, p in tree.inward():
                T[i] = S[i].T @ f[i] + i.armature * _unit(i, k, c)
                f[p] += X[i].T @ f[i]
            columns.append(T)
        for i, _ in tree.outward():
            M[i, k] = tuple(tuple(T[i][r] for T in columns) for r in range(len(i.armature)))
    return Reverse.of(square(M.scalars)).solve(bias_free(tree, q, qd, tau, external, v0, a0))


def _unit(i: Any, k: Any, c: int) -> Freedoms:
    """The joint acceleration of body i when freedom c of body k has 1, and all others 0 (Jain 23)."""
    return Freedoms(1.0 if i.key == k.key and r == c else 0.0 for r in range(len(i.armature)))
