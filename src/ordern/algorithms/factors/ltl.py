"""The sparse factorisation M = L^T L of a tree's mass matrix, from the matrix, freedom by freedom.

    for k = n, ..., 1:    L_kk = sqrt(H_kk)
                          for each freedom i above k:    L_ki = H_ki / L_kk
                          for each freedom i above k, and each j = i or above i:    H_ij -= L_ki L_kj

where H is the mass matrix at first. Freedoms of one joint are above one another, the last one lowest. The factor is
F = L^T, upper triangular, and D is one. Nothing is filled in. Cost: order n d^2.

Reference: Featherstone, Rigid Body Dynamics Algorithms (2008), sec. 6.5.
"""

from __future__ import annotations

from typing import Any

from ...graph import sqrt
from ...model import Tree
from ..mass_matrix import composite_body
from ..reach import no_couplings
from ..registry import algorithm
from .linear import identity

__all__ = ["ltl_factor", "ltl_pivots"]


@algorithm(
    "mass_matrix_factor",
    "ltl",
    paper="Featherstone 2008",
    equations="sec. 6.5",
    order="n d^2",
    sweeps=False,
    refuses=no_couplings,
)
def ltl_factor(tree: Tree, q: Any) -> Any:
    """The factor F = L^T for position q."""
    M, nv = composite_body(tree, q).scalars, tree.model.nv
    H = {(r, c): M[r * nv + c] for r in range(nv) for c in range(r + 1)}
    own = {i.key: _freedoms(tree, i) for i, _ in tree.outward()}
    above: dict[int, list[int]] = {}  # of each freedom, the nearest first
    for i, _ in tree.outward():
        carrying = [r for j, _ in tree.ancestors(i) for r in reversed(own[j.key])]
        for r in own[i.key]:
            above[r] = carrying
            carrying = [r, *carrying]

    for k in reversed(range(nv)):
        H[k, k] = sqrt(H[k, k])
        over = 1.0 / H[k, k]
        for r in above[k]:
            H[k, r] = H[k, r] * over
        for r in above[k]:
            for c in (r, *above[r]):
                H[r, c] = H[r, c] - H[k, r] * H[k, c]

    F = tree.output("matrix")
    for i, _ in tree.outward():
        F[i, i] = [[H[c, r] if r <= c else 0.0 for c in own[i.key]] for r in own[i.key]]
        for j, _ in tree.ancestors(i):
            F[j, i] = [[H[c, r] for c in own[i.key]] for r in own[j.key]]
    return F


def _freedoms(tree: Tree, i: Any) -> range:
    """The numbers of a joint's freedoms."""
    start = int(tree.model.tables.v_start[i.key])
    return range(start, start + len(i.armature))


@algorithm("mass_matrix_pivots", "ltl", paper="Featherstone 2008", equations="sec. 6.5", refuses=no_couplings)
def ltl_pivots(tree: Tree, q: Any) -> Any:
    """One: all that D has is in the factor."""
    D = tree.output("symmetric")
    for i, _ in tree.outward():
        D[i, i] = identity(len(i.armature))
    return D
