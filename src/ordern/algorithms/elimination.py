"""Elimination in a mass matrix, freedom by freedom from the last to the first: M = U D U^T, in the place of M.

    for k = n, ..., 1:    for each freedom i above k:    U_ik = M_ik / M_kk
                          for each freedom i above k, and each j = i or above i:    M_ij -= U_ik M_jk

U is unit upper triangular, D diagonal. Above k are the earlier freedoms of its joint and the freedoms of the joints
that carry it. So U has an entry for each freedom and each freedom above it, and nothing is filled in; elimination from
the first row would couple all branches. With mimic joints there are more freedoms above a freedom (see
`ordern.model.freedoms`), and some entries are filled in. Cost: order n d^2, where d is the depth of the tree; n^3 / 6
for a chain.

Reference: Featherstone, Rigid Body Dynamics Algorithms (2008), sec. 6.5; for chains Saha 1999, appendix B.
"""

from __future__ import annotations

from ..model import Output, Tree

__all__ = ["factorise", "inner_solve", "invert_factor", "solve"]


def factorise(tree: Tree, M: Output) -> None:
    """Put D and U^T in the place of the lower half of M: D_k at [k, k], U_ik at [k, i]. The upper half is not used.

    M is of the kind "matrix" or "symmetric"; entries off the elimination paths are neither read nor changed.
    """
    for k in tree.freedoms_inward():
        over = tree.register(1.0 / M[k, k])
        for i in tree.elimination_path(k):
            U = tree.register(M[k, i] * over.value)
            for j in tree.elimination_path(i, itself=True):
                M[i, j] = M[i, j] - U.value * M[k, j]
            M[k, i] = U.value


def inner_solve(tree: Tree, U: Output, x: Output) -> None:
    """Put U^-1 x in the place of x."""
    for k in tree.freedoms_inward():
        for i in tree.elimination_path(k):
            x[i] = x[i] - U[k, i] * x[k]


def invert_factor(tree: Tree, U: Output) -> None:
    """Put U^-1 in the place of U: it has its entries in the same places, and the diagonal D is not touched.

    Products with U^-1 have no chains of operations that wait for each other, and skip zeros of a right side.
    """
    for k in tree.freedoms_inward():
        for i in tree.elimination_path(k):
            U[k, i] = -U[k, i]
        for j in tree.elimination_path(k):
            for i in tree.elimination_path(j):
                U[k, i] = U[k, i] - U[j, i] * U[k, j]


def solve(tree: Tree, M: Output, x: Output) -> Output:
    """Put M^-1 x in the place of x; M is lost."""
    factorise(tree, M)
    inner_solve(tree, M, x)
    for k in tree.freedoms():
        x[k] = x[k] * (1.0 / M[k, k])
        for i in tree.elimination_path(k):
            x[k] = x[k] - M[k, i] * x[i]
    return x
