"""Forward dynamics by unit accelerations of one half of the mass matrix: the other is its mirror image.

    for each freedom d:   its column of M from d outward, (17), (23)         in `mass_matrix/symmetric`
    out, in               C, Newton-Euler with qdd = 0, (17)                 in `inverse_dynamics/newton_euler`
                          M qdd = T - C                                      (22)

Cost: order n d for M, where d is the depth of the tree, then as `composite-body`.

Reference: Walker and Orin 1982, method 2, as in Jain 1991, sec. 3, "Symmetry Based Method", eqs. (17), (22), (23).
Differs: for trees and joints with several freedoms.
"""

from __future__ import annotations

from ...model import Base, Bodies, Joints, Output, Tree
from ..elimination import solve
from ..mass_matrix.symmetric import symmetric as mass_matrix
from ..registry import algorithm
from .composite_body import bias_free

__all__ = ["symmetric"]


@algorithm(
    "forward_dynamics",
    "symmetric",
    paper="Walker-Orin 1982, method 2, as in Jain 1991",
    equations="Jain (17), (22), (23)",
    order="n d^2",
)
def symmetric(tree: Tree, q: Joints, qd: Joints, tau: Joints, external: Bodies, v0: Base, a0: Base) -> Output:
    """Return joint accelerations, with one half of the mass matrix from inverse dynamics of ever shorter robots."""
    M = mass_matrix(tree, q)
    return solve(tree, M, bias_free(tree, q, qd, tau, external, v0, a0))
