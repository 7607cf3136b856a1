"""The mass matrix column by column: the joint forces of a unit acceleration of each freedom, at rest and weightless.

For each freedom d of each joint k:

    outward   a_i = X_i a_p, and for i = k in addition column d of S_k           (23)
              f_i = I_i a_i
    inward    M_ik = S_i^T f_i + armature_i if i = k,    f_p += X_i^T f_i

Every column is a whole inverse dynamics; of the two equal halves that come out, the one toward the base is kept. Cost:
order n^2, and it is the method to check others by.

Reference: Jain 1991, sec. 3, the direct method, eq. (23); Featherstone and Orin 2000, sec. 3.2, before eq. (9); both
after Walker and Orin 1982, method 1.
"""

from __future__ import annotations

from typing import Any

from ...model import Tree
from ...spatial import Force, Motion, plus_diagonal
from ..registry import algorithm

__all__ = ["unit_acceleration"]


@algorithm(
    "mass_matrix",
    "unit-acceleration",
    paper="Walker-Orin 1982, method 1, as in Jain 1991 and Featherstone-Orin 2000",
    equations="Jain (23); F-O sec. 3.2",
    order="n^2",
    sweeps=False,
)
def unit_acceleration(tree: Tree, q: Any) -> Any:
    """The mass matrix M for position q."""
    X, S = tree.own(), tree.own()
    M = tree.output("symmetric")
    for i, _ in tree.outward():
        X[i], S[i] = i.transform(q[i]), i.subspace(q[i])

    for k, _ in tree.outward():
        columns = [_joint_forces(tree, X, S, k, unit) for unit in S[k].columns]
        M[k, k] = plus_diagonal(tuple(column[k.key] for column in columns), k.armature)
        for i, _ in tree.ancestors(k):
            M[k, i] = tuple(column[i.key] for column in columns)
    return M


def _joint_forces(tree: Tree, X: Any, S: Any, k: Any, unit: Motion) -> dict[Any, Any]:
    """The force on every joint when all are at rest, and joint k accelerates its body by this."""
    a, f = tree.field(Motion), tree.field(Force)
    tau = {}
    for i, p in tree.outward():
        carried = X[i] @ a[p]
        a[i] = carried + unit if i.key == k.key else carried
        f[i] = i.inertia @ a[i]
    for i, p in tree.inward():
        tau[i.key] = S[i].T @ f[i]
        f[p] += X[i].T @ f[i]
    return tau
