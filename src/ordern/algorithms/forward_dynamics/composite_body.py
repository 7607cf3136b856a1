"""Forward dynamics by composite bodies: the mass matrix, the bias force, and the solution of M qdd = T - C.

    inward     R_i, M_ij          composite inertias and the mass matrix     (28), in `mass_matrix/composite_body`
    out, in    C                  Newton-Euler with qdd = 0                  (17), in `inverse_dynamics/newton_euler`
               T' = T - C,        M qdd = T'                                 (22)
               M = U D U^T,       U y = T',  D x = y,  U^T qdd = x

The matrix is eliminated from the tips inward. Bodies on different branches have zeros in M, and this order keeps them:
U has an entry for each body and ancestor, no more. Cost: order n d for M and n d^2 for the solution, where d is the
depth of the tree; n^3 for a chain, with the small factor 1/6.

Reference: Walker and Orin 1982, method 3, as in Jain 1991, sec. 3, eqs. (22), (25), (28).
Differs: Jain treats chains, where no entry is zero, and leaves open how (22) is solved. Mimic joints need
no special treatment: M and T' belong to the independent coordinates; but then some zeros of M are filled in.
"""

from __future__ import annotations

from ...model import Base, Bodies, Joints, Output, Tree
from ..elimination import solve
from ..inverse_dynamics.bias_force import bias_force
from ..mass_matrix.composite_body import composite_body as composite_mass_matrix
from ..registry import algorithm

__all__ = ["bias_free", "composite_body"]


def bias_free(tree: Tree, q: Joints, qd: Joints, tau: Joints, external: Bodies, v0: Base, a0: Base) -> Output:
    """T - C, the joint forces that are left for accelerations (Jain 22): a number for each freedom of the robot."""
    T, left = tree.output("f"), tree.output("v")
    for i, _ in tree.outward():
        T[i] = tau[i]
    C = bias_force(tree, q, qd, external, v0, a0)
    for d in tree.freedoms():
        left[d] = T[d] - C[d]
    return left


@algorithm(
    "forward_dynamics",
    "composite-body",
    paper="Walker-Orin 1982, method 3, as in Jain 1991",
    equations="Jain (22), (25), (28)",
    order="n d^2",
    regroup=True,
)
def composite_body(tree: Tree, q: Joints, qd: Joints, tau: Joints, external: Bodies, v0: Base, a0: Base) -> Output:
    """Return joint accelerations, with the mass matrix from composite bodies."""
    M = composite_mass_matrix(tree, q)
    return solve(tree, M, bias_free(tree, q, qd, tau, external, v0, a0))
