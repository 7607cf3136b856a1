"""The articulated inertias of a tree, with gains and pivots, which all innovations methods share; and M^-1 x by them.

    inward    D_i  = S_i^T P_i S_i + armature_i,    G_i = P_i S_i D_i^-1
              P_p += X_i^T (P_i - G_i S_i^T P_i) X_i
    inward    eps_i = x_i - S_i^T z_i,    nu_i = D_i^-1 eps_i,    z_p += X_i^T (z_i + G_i eps_i)
    outward   a' = X_i alpha_p,    y_i = nu_i - G_i^T a',    alpha_i = a' + S_i y_i                   y = M^-1 x

Cost: order n.

Reference: Jain 1991, eqs. (45), (46) and Lemma 6.4; Rodriguez and Kreutz 1988, eqs. (4.4)-(4.8).
Differs: both number links from the tip; S is their H transposed, X^T their phi, and X^T (1 - G S^T) their psi. The
inertia of a drive, which they do not have, is in D.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ...model import Answer, Field, Index, Joints, Tree
from ...spatial import ArticulatedInertia, Chain, Factor, Force, Forces, Freedoms, Motion, Subspace, eliminate
from ..binding import Gains
from ..field_types import cleared

__all__ = ["Articulated", "articulated", "solved"]


class Articulated(NamedTuple):
    """Transform, subspace, articulated inertia, Kalman gain and factored pivot of each body."""

    X: Field[Chain]
    S: Field[Subspace]
    P: Field[ArticulatedInertia]
    G: Field[Forces]
    D: Field[Factor]

    @property
    def gains(self) -> Gains:
        """All but the inertias, as `binding` takes them."""
        return self.X, self.S, self.G, self.D

    def innovation(self, i: Index, p: Index, x: Freedoms, z: Field[Force]) -> Freedoms:
        """Filter joint forces x through joint i: return eps_i, and add X_i^T (z_i + G_i eps_i) to z_p."""
        eps = x - self.S[i].T @ z[i]
        z[p] += self.X[i].T @ (z[i] + self.G[i] @ eps)
        return eps

    def smoothed(self, i: Index, nu: Freedoms, alpha: Motion) -> tuple[Motion, Freedoms]:
        """Return the accelerations alpha_i of body i and y_i of its joint, from alpha of its parent."""
        a_ = self.X[i] @ alpha
        y = nu - self.G[i].T @ a_
        return a_ + self.S[i] @ y, y


def articulated(
    tree: Tree,
    q: Joints,
    added: Callable[[Index], ArticulatedInertia] | None = None,
    drag: Callable[[Index], Freedoms] | None = None,
) -> Articulated:
    """Sweep outward and inward at position q; with inertia `added` to bodies, and `drag` to the armature of joints."""
    P = tree.field(ArticulatedInertia)
    X, S, G, D = (tree.own() for _ in range(4))
    for i, _ in tree.outward():
        X[i], S[i] = i.transform(q[i]), i.subspace(q[i])
        P[i] = i.articulated_inertia + added(i) if added else i.articulated_inertia
    for i, p in tree.inward():
        G[i], D[i], Pa = eliminate(P[i], S[i], i.armature + drag(i) if drag else i.armature)
        P[p] += X[i].T @ Pa @ X[i]
    return Articulated(X, S, P, G, D)


def solved(tree: Tree, known: Articulated, x: Joints, y: Answer) -> Answer:
    """Fill in y = M^-1 x, for joints that are all free: filter x inward, then smooth it outward."""
    z, alpha, nu = cleared(tree, Force), tree.field(Motion), tree.own()
    for i, p in tree.inward():
        nu[i] = known.D[i].solve(known.innovation(i, p, x[i], z))
    for i, p in tree.outward():
        alpha[i], y[i] = known.smoothed(i, nu[i], alpha[p])
    return y
