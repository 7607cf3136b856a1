"""The sparse factorisation M = L^T D L of a tree's mass matrix, from the matrix: elimination along ancestors.

    M = U diag(d) U^T                                         freedom by freedom, in `elimination`
    D_k  = U_kk diag(d_k) U_kk^T                              for each joint k
    L_ki = (U_ik U_kk^-1)^T                                   for each freedom i above the joint

U_kk is the block of U for the freedoms of a joint: 1 if it has only one. Elimination by blocks turns M_kk into D_k, and
the factor is F = L^T. From the last body to the first nothing is filled in: L_ki is zero unless i carries k. With mimic
joints some entries are filled in: the mass matrix is that of the independent coordinates, which have no articulated
inertias, so that only this factorisation and `ltl` apply to such robots. Cost: order n d^2.

Reference: Featherstone, Rigid Body Dynamics Algorithms (2008), sec. 6.5. On a chain it is the reverse Gaussian
elimination of Saha 1999, eqs. (40)-(45), on the elements themselves: L_ki is his alpha_ik, and M after step k his L_k.
Differs: by blocks, one for each pair of joints, so that D has the blocks that the other methods have.
"""

from __future__ import annotations

from ...model import Joints, Output, Tree
from ..elimination import factorise
from ..mass_matrix.composite_body import composite_body
from ..registry import algorithm

__all__ = ["ltdl_factor", "ltdl_pivots"]


@algorithm("mass_matrix_factor", "ltdl", paper="Featherstone 2008", equations="sec. 6.5", order="n d^2")
def ltdl_factor(tree: Tree, q: Joints) -> Output:
    """Return the factor F = L^T for position q."""
    U, F = composite_body(tree, q), tree.output("matrix")
    factorise(tree, U)
    for k in tree.freedoms():
        F[k, k] = 1.0
        for i in tree.elimination_path(k):
            F[i, k] = U[k, i]
        for c in tree.same_joint(k):
            for i in tree.elimination_path(c, itself=True):
                F[i, k] = F[i, k] - F[i, c] * U[k, c]
    return F


@algorithm("mass_matrix_pivots", "ltdl", paper="Featherstone 2008", equations="sec. 6.5", order="n d^2")
def ltdl_pivots(tree: Tree, q: Joints) -> Output:
    """Return the block-diagonal matrix D for position q."""
    U, D = composite_body(tree, q), tree.output("symmetric")
    factorise(tree, U)
    for k in tree.freedoms():
        D[k, k] = U[k, k]
        for c in tree.same_joint(k):
            scaled = tree.register(U[k, c] * U[k, k])
            D[k, c] = D[c, k] = scaled.value
            for b in tree.same_joint(c, itself=True):
                D[c, b] = D[b, c] = D[c, b] + scaled.value * U[k, b]
    return D
