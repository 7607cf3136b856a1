"""The articulated inertias of a tree, and what goes with them: the part that all innovations methods begin with.

    inward    D_i  = S_i^T P_i S_i + armature_i,    G_i = P_i S_i D_i^-1
              P_p += X_i^T (P_i - G_i S_i^T P_i) X_i

Cost: order n.

Reference: Jain 1991, eq. (45); Rodriguez and Kreutz 1988, eqs. (4.4)-(4.8).
Differs: both number links from the tip; S is their H transposed, X^T their phi, and X^T (1 - G S^T) their psi. The
inertia of a drive, which they do not have, is in D.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...model import Tree
from ...spatial import ArticulatedInertia, Force, eliminate

__all__ = ["Articulated", "articulated", "no_forces"]


class Articulated(NamedTuple):
    """For each body: its transform and subspace, articulated inertia, Kalman gain, and the factor of its pivot."""

    X: Any
    S: Any
    P: Any
    G: Any
    D: Any


def articulated(tree: Tree, q: Any) -> Articulated:
    """All of these, for position q."""
    P = tree.field(ArticulatedInertia)
    X, S, G, D = (tree.own() for _ in range(4))
    for i, _ in tree.outward():
        X[i], S[i] = i.transform(q[i]), i.subspace(q[i])
        P[i] = i.inertia.articulated()
    for i, p in tree.inward():
        G[i], D[i], Pa = eliminate(P[i], S[i], i.armature)
        P[p] += X[i].T @ Pa @ X[i]
    return Articulated(X, S, P, G, D)


def no_forces(tree: Tree) -> Any:
    """A force for each body, zero to begin with."""
    z = tree.field(Force)
    for i, _ in tree.outward():
        z[i] = Force.zero()
    return z
