"""The sparse factorisation M = L^T D L of a tree's mass matrix, from the matrix: elimination along ancestors.

    for k = n, ..., 1:    for each ancestor i of k:    L_ki = H_kk^-1 H_ki
                          for each ancestor i of k, and each j = i or ancestor of i:    H_ij -= L_ki^T H_kj

where H is the mass matrix at first. D_k is what H_kk has become, and the factor is F = L^T. From the last body to the
first nothing is filled in: L_ki is zero unless i carries k. Cost: order n d^2.

Reference: Featherstone, Rigid Body Dynamics Algorithms (2008), sec. 6.5. On a chain it is the reverse Gaussian
elimination of Saha 1999, eqs. (40)-(45), on the elements themselves: L_ki is his alpha_ik, and H after step k his L_k.
Differs: by blocks, one for each pair of joints, so that D has the blocks that the other methods have.
"""

from __future__ import annotations

from typing import Any

from ...model import Tree
from ...spatial import Factor
from ...spatial.linear import dot
from ..mass_matrix import composite_body
from ..reach import no_couplings
from ..registry import algorithm
from .linear import Rows, identity, transposed

__all__ = ["ltdl_factor", "ltdl_pivots"]

Blocks = dict[tuple[Any, Any], Rows]


def _eliminated(tree: Tree, q: Any) -> tuple[Blocks, Blocks]:
    """The blocks of L, by body and ancestor, and of the mass matrix after elimination."""
    M, nv, start = composite_body(tree, q).scalars, tree.model.nv, tree.model.tables.v_start
    H: Blocks = {}
    L: Blocks = {}
    path = {k.key: [k, *(i for i, _ in tree.ancestors(k))] for k, _ in tree.outward()}
    for k, _ in tree.outward():
        for i in path[k.key]:
            rows, columns = ((int(start[x.key]), len(x.armature)) for x in (k, i))  # type: ignore[call-overload]
            first = [(rows[0] + r) * nv + columns[0] for r in range(rows[1])]
            H[k.key, i.key] = tuple(tuple(M[at : at + columns[1]]) for at in first)

    for k, _ in tree.inward():
        D, above = Factor.of(H[k.key, k.key]), path[k.key][1:]
        across = {i.key: transposed(H[k.key, i.key], len(i.armature)) for i in above}  # H_ik
        solved = {i.key: tuple(D.solve(row) for row in across[i.key]) for i in above}  # L_ki^T
        for i in above:
            L[k.key, i.key] = transposed(solved[i.key], len(k.armature))
            for j in path[i.key]:
                H[i.key, j.key] = tuple(
                    tuple(x - dot(row, column) for x, column in zip(old, across[j.key], strict=True))
                    for old, row in zip(H[i.key, j.key], solved[i.key], strict=True)
                )
    return L, H


@algorithm(
    "mass_matrix_factor",
    "ltdl",
    paper="Featherstone 2008",
    equations="sec. 6.5",
    order="n d^2",
    sweeps=False,
    refuses=no_couplings,
)
def ltdl_factor(tree: Tree, q: Any) -> Any:
    """The factor F = L^T for position q."""
    L, _ = _eliminated(tree, q)
    F = tree.output("matrix")
    for k, _ in tree.outward():
        F[k, k] = identity(len(k.armature))
        for i, _ in tree.ancestors(k):
            F[i, k] = transposed(L[k.key, i.key], len(i.armature))
    return F


@algorithm(
    "mass_matrix_pivots",
    "ltdl",
    paper="Featherstone 2008",
    equations="sec. 6.5",
    order="n d^2",
    sweeps=False,
    refuses=no_couplings,
)
def ltdl_pivots(tree: Tree, q: Any) -> Any:
    """The block-diagonal matrix D for position q."""
    _, H = _eliminated(tree, q)
    D = tree.output("symmetric")
    for k, _ in tree.outward():
        D[k, k] = H[k.key, k.key]
    return D
