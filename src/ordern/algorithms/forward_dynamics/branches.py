"""Branches as articulated bodies, for methods that treat chains.

    inward    D = S_i^T C_i S_i + armature_i,    G_i = C_i S_i D^-1,    e = tau_i - S_i^T b_i,    nu_i = D^-1 e
              C_p += X_i^T C+ X_i,               b_p += X_i^T (b_i + G_i e + C+ c_i),    C+ = C_i - G_i S_i^T C_i
    outward   qdd_i = nu_i - G_i^T (X_i a_p + c_i),    a_i = X_i a_p + c_i + S_i qdd_i
              f_i = C_i a_i + b_i                                               (the wrench through the joint)

with C = I and b = p at the start. Bodies that are equally far from the base do not depend on each other and are done at
once, so that branches take as many steps as the longest of them has bodies.

Reference: Jain 1991, eqs. (45), (46), (60), where C is P and b is z; for branches of chains R. Featherstone and A.
Fijany, "A technique for analyzing constrained rigid-body systems, and its application to the constraint force
algorithm", IEEE Trans. Robotics and Automation 15, 1999.
"""

from __future__ import annotations

import numpy as np

from ...model import piece
from ...records import dataclass
from .scan import Array, Arrays, BodyArrays, symmetric, times, transpose

__all__ = ["Branches", "joint_accelerations", "through"]


@dataclass(frozen=True, slots=True)
class Branches:
    """Bodies beside some chains, by level from the base, with gains G and innovations nu."""

    bodies: BodyArrays
    levels: tuple[Array, ...]
    gains: tuple[tuple[Array, Array], ...]

    @classmethod
    def fold(cls, k: BodyArrays, chains: Array) -> Branches:
        """Add all bodies beside the chains to their carriers: inertias to `k.M`, forces to `k.p`."""
        levels = _levels(k.parent, chains)
        gains: list[tuple[Array, Array]] = []
        for i in reversed(levels):
            G, nu, load, weight, _ = through(k, i, k.p[i], k.M[i])
            gains.append((G, nu))
            for p, more, heavier in zip(k.parent[i], load, weight, strict=True):
                k.p[p], k.M[p] = k.p[p] + more, k.M[p] + heavier
        return cls(k, levels, tuple(reversed(gains)))

    def unfold(self) -> None:
        """Find the accelerations of the branches, once `k.a` has the accelerations of the chains."""
        k = self.bodies
        for i, (G, nu) in zip(self.levels, self.gains, strict=True):
            k.qdd[i], k.a[i] = k.tree.run(_moved, nu, G, k.X[i], k.a[k.parent[i]], k.c[i], k.S[i])

    def wrenches(self, f: Array) -> None:
        """Put the wrenches through the joints of the branches into f."""
        k = self.bodies
        for i in self.levels:
            (f[i],) = k.tree.run(_wrench, k.M[i], k.a[i], k.p[i])


def _levels(parent: Array, chains: Array) -> tuple[Array, ...]:
    """Return the bodies that are not on the chains, by their distance from the base."""
    depth = np.zeros(len(parent), int)
    for k, p in enumerate(parent.tolist()):
        depth[k] = 0 if p < 0 else depth[p] + 1
    aside = np.setdiff1d(np.arange(len(parent)), chains)
    return tuple(aside[depth[aside] == d] for d in np.unique(depth[aside]))


def through(k: BodyArrays, i: Array, b: Array, C: Array) -> Arrays:
    """Pass the joints of bodies i: return gains, innovations, forces and inertias on the parents, and D^-1."""
    G, Di, left = k.release(C, i)
    return G, *k.tree.run(_felt, G, Di, left, k.S[i], k.X[i], k.tau[i], b, k.c[i]), Di


@piece(2, 2, 2, 2, 2, 1, 1, 1)
def _felt(G: Array, Di: Array, left: Array, S: Array, X: Array, tau: Array, b: Array, c: Array) -> Arrays:
    """Return the innovations nu, and the forces and inertias that joints pass to the parents."""
    e, F = tau - times(transpose(S), b), transpose(X)
    return times(Di, e), times(F, b + times(G, e) + times(left, c)), symmetric(F @ left @ X)


@piece(1, 2, 2, 1, 1)
def joint_accelerations(nu: Array, G: Array, X: Array, a: Array, c: Array) -> Arrays:
    """Return the accelerations of joints, from the accelerations of the parents."""
    return (nu - times(transpose(G), times(X, a) + c),)


@piece(1, 2, 2, 1, 1, 2)
def _moved(nu: Array, G: Array, X: Array, a: Array, c: Array, S: Array) -> Arrays:
    """Return the accelerations of joints and bodies, from the accelerations of the parents."""
    carried = times(X, a) + c
    qdd = nu - times(transpose(G), carried)
    return qdd, carried + times(S, qdd)


@piece(2, 1, 1)
def _wrench(C: Array, a: Array, b: Array) -> Arrays:
    """Return the wrenches through joints."""
    return (times(C, a) + b,)
