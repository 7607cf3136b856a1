"""Forward dynamics by unit accelerations: each column of the mass matrix is the force of one unit acceleration.

    for each freedom d:   column d of M by inverse dynamics, (17), (23)      in `mass_matrix/unit_acceleration`
    out, in               C, Newton-Euler with qdd = 0, (17)                 in `inverse_dynamics/newton_euler`
                          M qdd = T - C                                      (22)

Cost: order n^2 for M, then as `composite-body`.

Reference: Walker and Orin 1982, method 1, as in Jain 1991, sec. 3, eqs. (17), (22), (23).
Differs: for trees and joints with several freedoms.
"""

from __future__ import annotations

from ...model import Base, Bodies, Joints, Output, Tree
from ..elimination import solve
from ..mass_matrix.unit_acceleration import unit_acceleration as mass_matrix
from ..registry import algorithm
from .composite_body import bias_free

__all__ = ["unit_acceleration"]


@algorithm(
    "forward_dynamics",
    "unit-acceleration",
    paper="Walker-Orin 1982, method 1, as in Jain 1991",
    equations="Jain (17), (22), (23)",
    order="n^2 + n d^2",
)
def unit_acceleration(tree: Tree, q: Joints, qd: Joints, tau: Joints, external: Bodies, v0: Base, a0: Base) -> Output:
    """Return joint accelerations, with the mass matrix column by column from inverse dynamics."""
    M = mass_matrix(tree, q)
    return solve(tree, M, bias_free(tree, q, qd, tau, external, v0, a0))
