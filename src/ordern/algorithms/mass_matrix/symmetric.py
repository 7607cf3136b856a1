"""The mass matrix column by column, but only the half that symmetry asks for.

While joint k accelerates alone, what is between it and the base stands still. The part from joint k outward is a
smaller robot, whose inverse dynamics gives one half of column k:

    outward from k    a_k = column d of S_k,    a_i = X_i a_p beyond,    f_i = I_i a_i
    inward to k       M_ik = S_i^T f_i (+ armature_i if i = k),    f_p += X_i^T f_i

Cost: order n^2, half of the direct method's on a chain; less on trees with short branches.

Reference: Jain 1991, sec. 3, the symmetry based method, after Walker and Orin 1982, method 2.
"""

from __future__ import annotations

from typing import Any

from ...model import Tree
from ...spatial import Motion, plus_diagonal
from ..registry import algorithm

__all__ = ["symmetric"]


@algorithm(
    "mass_matrix",
    "symmetric",
    paper="Walker-Orin 1982, method 2, as in Jain 1991",
    equations="Jain sec. 3, (23)",
    order="n^2",
    sweeps=False,
)
def symmetric(tree: Tree, q: Any) -> Any:
    """The mass matrix M for position q."""
    X, S = tree.own(), tree.own()
    M = tree.output("symmetric")
    for i, _ in tree.outward():
        X[i], S[i] = i.transform(q[i]), i.subspace(q[i])

    for k, _ in tree.outward():
        columns = [_beyond(tree, X, S, k, unit) for unit in S[k].columns]
        M[k, k] = plus_diagonal(tuple(column[k.key] for column in columns), k.armature)
        for i, _ in tree.outward():
            if any(j.key == k.key for j, _ in tree.ancestors(i)):
                M[i, k] = tuple(tuple(column[i.key][r] for column in columns) for r in range(i.joint.nv))
    return M


def _beyond(tree: Tree, X: Any, S: Any, k: Any, unit: Motion) -> dict[Any, Any]:
    """The forces on joint k and on those beyond it when joint k accelerates its body by this."""
    a = {k.key: unit}
    f = {k.key: k.inertia @ unit}
    for i, p in tree.outward():
        if p.key in a:
            a[i.key] = X[i] @ a[p.key]
            f[i.key] = i.inertia @ a[i.key]
    tau = {}
    for i, p in tree.inward():
        if i.key in a:
            tau[i.key] = S[i].T @ f[i.key]
            if p.key in a:
                f[p.key] += X[i].T @ f[i.key]
    return tau
