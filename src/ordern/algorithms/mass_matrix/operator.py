"""The mass matrix as a product of operators, each a matrix of blocks: M = H phi M phi* H*.

    E_phi*      blocks X_i at (i, parent of i): from each body to its children
    phi*        (1 - E_phi*)^-1, whose block at (i, j) takes motions of body j to body i, for j = i and ancestors
    H*          block diagonal, S_i;    M  block diagonal, I_i
    V           phi* H*: the velocities of all bodies for a unit velocity of each freedom
    mass        V* (M V) + armature

(1 - E_phi*) V = H* is triangular, and solved from the base outward, V_i = X_i V_p + H*_i; the rest are products of
matrices as they stand, but for blocks that are zero. Cost: order n^3; it is the definition from which the fast methods
are derived.

Reference: Rodriguez and Kreutz 1988, sec. 3; Jain 1991, eqs. (18)-(21).
Differs: Jain and R-K number links from the tip, and their phi is lower triangular; here phi* is.
"""

from __future__ import annotations

from ...model import Joints, Output, Tree
from ...spatial import Force, Motion
from ...spatial.linear import dot
from ..registry import algorithm

__all__ = ["operator"]


@algorithm("mass_matrix", "operator", paper="Rodriguez-Kreutz 1988; Jain 1991", equations="Jain (18)-(21)", order="n^3")
def operator(tree: Tree, q: Joints) -> Output:
    """Return the mass matrix for position q."""
    X, H = tree.own(), tree.own()
    V, MV = tree.columns(Motion), tree.columns(Force)
    mass = tree.output("symmetric")
    for i, _ in tree.outward():
        X[i], H[i] = i.transform(q[i]), i.subspace(q[i])

    for d in tree.freedoms():
        unit, v = tree.unit("v", d), tree.field(Motion)
        for i, p in tree.outward(moved_by=d):
            v[i] = X[i] @ v[p] + H[i] @ unit[i]
            V[i, d] = v[i]
            MV[i, d] = i.inertia @ v[i]

    for d in tree.freedoms():
        unit = tree.unit("v", d)
        for r in tree.elimination_path(d, itself=True):
            total, other = tree.register(0.0), tree.unit("v", r)
            for i, _ in tree.outward(moved_by=d):
                drive = dot(i.armature * unit[i], other[i]) if len(i.armature) else 0.0
                total.value = total.value + dot(V[i, r].scalars, MV[i, d].scalars) + drive
            mass[r, d] = mass[d, r] = total.value
    return mass
