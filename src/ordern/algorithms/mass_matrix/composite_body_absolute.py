"""The composite-rigid-body algorithm in absolute coordinates: all vectors in the base's axes, about its origin.

    outward   P_i   = pose of body i,     h_i, I_i: taken to the base's frame
    inward    Ic_i  = I_i + sum of Ic_j of the children j                                       (9)
              fC_i  = Ic_i h_i,           M_ii = h_i^T fC_i + armature_i
              M_ji  = h_j^T fC_i          for each ancestor j of i                              (10)

All other blocks are zero. Inertias are added as they are, and the force fC_i is the same in all joints between body i
and the base: an entry of M costs one scalar product, where link coordinates transform the force at every joint. In
return every joint axis and every inertia has to be taken to the base's frame, where nothing in it is zero. Featherstone
and Orin say that link coordinates are faster "unless n is large"; with this method that can be measured. Errors grow
with the distance from the base. Cost: order n d, where d is the depth of the tree.

Reference: Featherstone and Orin 2000, sec. 3.2, eqs. (9), (10) as they are written there, without coordinates.
"""

from __future__ import annotations

from ...model import Joints, Output, Tree
from ...spatial import Columns, Inertia, Pose, Transform, Turn, plus_diagonal
from ...spatial.linear import transpose
from ..registry import algorithm

__all__ = ["composite_body_absolute"]


@algorithm(
    "mass_matrix",
    "composite-body-absolute",
    paper="Featherstone-Orin 2000",
    equations="F-O sec. 3.2, (9), (10)",
    order="n d",
    regroup=True,
)
def composite_body_absolute(tree: Tree, q: Joints) -> Output:
    """Return the mass matrix M for position q."""
    P, Ic = tree.field(Pose), tree.field(Inertia)
    h = tree.own()
    M = tree.output("symmetric")

    for i, p in tree.outward():
        P[i] = i.transform(q[i]).child(P[p])
        X = Transform(Turn(transpose(P[i].rotation)), P[i].position)
        h[i] = Columns(tuple(P[i] @ column for column in i.subspace(q[i]).columns))
        Ic[i] = X.T @ i.inertia @ X

    for i, p in tree.inward():
        Ic[p] += Ic[i]
        fC = tree.register(h[i].under(Ic[i]))
        M[i, i] = plus_diagonal(h[i].T @ fC.value, i.armature)
        for j, _ in tree.ancestors(i):
            M[i, j] = h[j].T @ fC.value
    return M
