"""The innovations factors of the mass matrix: M = (1 + H phi K) D (1 + H phi K)^*.

    inward    P_i, D_i, G_i as in `articulated`
    for each body i and each ancestor j, outward last, with F = X_i^T G_i at first:
              F_ji = S_j^T F,    F = X_j^T F

F_ii is one; the block F_ji of the factor F = 1 + H phi K has a row for each freedom of the ancestor j and a column for
each of body i. All others are zero: a factor has as many blocks as the mass matrix has pairs of bodies on one path,
without fill-in. Bodies are numbered from the base, so that F is upper triangular; the blocks D_i on the diagonal of D
are the pivots. Cost: order n d for the factor, order n for the pivots.

Reference: Jain 1991, Lemma 6.2 and eq. (45); Rodriguez and Kreutz 1988, Part I.
Differs: Jain numbers links from the tip, and his factor is lower triangular.
"""

from __future__ import annotations

from functools import partial

from ...model import Joints, Output, Tree, Values
from ...spatial import ArticulatedInertia, Chain, Forces, Subspace, plus_diagonal
from ..method_limits import no_filling_in
from ..registry import algorithm
from .articulated import articulated
from .linear import identity, transposed

__all__ = ["factor", "innovations_factor", "innovations_pivots", "pivots"]


_factor = partial(algorithm, name="innovations", paper="Jain 1991; Rodriguez-Kreutz 1988", refuses=no_filling_in)


@_factor("mass_matrix_factor", equations="Jain Lemma 6.2, (45)", order="n d")
def innovations_factor(tree: Tree, q: Joints) -> Output:
    """Return the factor F = 1 + H phi K for position q."""
    X, S, _, G, _ = articulated(tree, q)
    return factor(tree, X, S, G)


@_factor("mass_matrix_pivots", equations="Jain (45)")
def innovations_pivots(tree: Tree, q: Joints) -> Output:
    """Return the block-diagonal matrix D for position q."""
    _, S, P, _, _ = articulated(tree, q)
    return pivots(tree, S, P)


def factor(tree: Tree, X: Values[Chain], S: Values[Subspace], G: Values[Forces]) -> Output:
    """Return the blocks of the factor, from transforms, motions of the joints and gains."""
    out = tree.output("matrix")
    for i, _ in tree.outward():
        out[i, i] = identity(len(i.armature))
        F = tree.register(X[i].T @ G[i])
        for j, _ in tree.ancestors(i):
            out[j, i] = transposed(S[j].T @ F.value, len(j.armature))
            F.value = X[j].T @ F.value
    return out


def pivots(tree: Tree, S: Values[Subspace], P: Values[ArticulatedInertia]) -> Output:
    """Return the pivots S^T P S + armature, from motions of the joints and articulated inertias."""
    out = tree.output("symmetric")
    for i, _ in tree.outward():
        out[i, i] = plus_diagonal(S[i].T @ S[i].under(P[i]), i.armature)
    return out
