"""Bae and Haug's forward dynamics: known forces act on each body, and the force of a joint acts on two bodies.

    outward   Q_i = external_i - gyroscopic force + f_i - sum of X^T f of the children,   f_i = S_i (S_i^T S_i)^-1 tau_i
              d_i = acceleration of body i by velocities alone
    inward    P_i = M_i + K_i,               D_i = S_i^T P_i S_i + armature_i,             G_i = P_i S_i D_i^-1
              nu_i = D_i^-1 S_i^T (Q_i + L_i)
              K_p += X_i^T (1 - G_i S_i^T) P_i X_i,    L_p += X_i^T (1 - G_i S_i^T) (Q_i + L_i - P_i d_i)
    outward   a' = X_i a_p + d_i,            qdd_i = nu_i - G_i^T a',                      a_i = a' + S_i qdd_i

The virtual work of Q - M a vanishes along all that the joints allow (51). Eliminating joint after joint, tips first,
adds an inertia K and a force L to the inertia and force of each body. Constraint forces of the joints do no work and do
not appear; so any force f_i with the work of the actuator, S_i^T f_i = tau_i, may replace the force of the joint. With
all f_i in Q it is P a = Q + L (52). Cost: order n.

Reference: Bae and Haug 1987, as in Jain 1991, eqs. (50)-(52) and table 1: P = M + K, and L is to z of Rodriguez
and Kreutz's FD4 as Q_i + L_i = f_i - z_i.
Differs: Jain's Q is made of the whole joint forces, which are not known beforehand in forward dynamics; f_i is the
smallest possible choice. Q is at the joint, as Jain has it, instead of the mass centre. Terms of velocities and the
armature are added. Bae and Haug have joints with one freedom and cylindrical ones; the equations hold for all joints.
Mimic joints are bound at the end, by `binding`.
"""

from __future__ import annotations

from ...model import Answer, Base, Bodies, Field, Input, Joints, Output, Tree
from ...records import dataclass
from ...spatial import ArticulatedInertia, Chain, Factor, Force, Forces, Freedoms, Subspace, eliminate
from ...spatial.linear import dot
from ..binding import bind_followers, free_accelerations
from ..registry import algorithm
from ..velocities import base_motion, velocities

__all__ = ["actuator", "bae_haug", "gram"]


@dataclass(frozen=True)
class Elimination:
    """Results of the sweeps on each body."""

    X: Field[Chain]
    S: Field[Subspace]
    Q: Field[Force]
    K: Field[ArticulatedInertia]
    L: Field[Force]
    G: Field[Forces]
    D: Field[Factor]


@algorithm("forward_dynamics", "bae-haug", paper="Bae-Haug 1987, as in Jain 1991", equations="Jain (50)-(52), (45)")
def bae_haug(tree: Tree, *inputs: Input) -> Output:
    """Return joint accelerations qdd for position q, velocity qd, joint forces tau and external forces."""
    qdd = free_accelerations(tree)
    k = sweeps(tree, qdd, *inputs)
    return bind_followers(tree, (k.X, k.S, k.G, k.D), qdd)


def sweeps(
    tree: Tree, qdd: Answer, q: Joints, qd: Joints, tau: Joints, external: Bodies, v0: Base, a0: Base
) -> Elimination:
    """Return the three sweeps, which fill in qdd."""
    w, a = base_motion(tree, v0, a0)
    Q, L, K = tree.field(Force), tree.field(Force), tree.field(ArticulatedInertia)
    X, S, d, G, D, nu = (tree.own() for _ in range(6))

    for i, p in tree.outward():
        X[i], S[i], w[i], r, c, b = velocities(i, q[i], qd[i], w[p])
        d[i] = X[i] @ r + c
        f = actuator(S[i], tau[i] - i.gyration(q[i], qd[i]))
        Q[i] = external[i] - b + f
        Q[p] -= X[i].T @ f
        K[i], L[i] = ArticulatedInertia.zero(), Force.zero()

    for i, p in tree.inward():
        G[i], D[i], Ka = eliminate(i.inertia.articulated() + K[i], S[i], i.armature)
        F = Q[i] + L[i]
        Fj = S[i].T @ F
        nu[i] = D[i].solve(Fj)
        K[p] += X[i].T @ Ka @ X[i]
        L[p] += X[i].T @ (F - G[i] @ Fj - Ka @ d[i])

    for i, p in tree.outward():
        a_ = X[i] @ a[p] + d[i]
        qdd[i] = nu[i] - G[i].T @ a_
        a[i] = a_ + S[i] @ qdd[i]
    return Elimination(X, S, Q, K, L, G, D)


def actuator(S: Subspace, tau: Freedoms) -> Force:
    """Return the least force f on the child with S^T f = tau: S (S^T S)^-1 tau."""
    along = S @ gram(S).solve(tau)
    return Force(along.angular, along.linear)


def gram(S: Subspace) -> Factor:
    """Return S^T S, factorised."""
    columns = [column.scalars for column in S.columns]
    return Factor.of(tuple(tuple(dot(x, y) for y in columns) for x in columns))
