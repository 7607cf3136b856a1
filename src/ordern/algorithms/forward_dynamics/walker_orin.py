"""Walker and Orin's forward dynamics: the mass matrix, the bias force, and the solution of M qdd = T - C.

    out, in    C                  Newton-Euler with qdd = 0, (17)            in `inverse_dynamics/newton_euler`
               M                  in one of three ways, below
               T' = T - C,        M qdd = T'                                 (22)
               M = U D U^T,       U y = T',  D x = y,  U^T qdd = x           in `elimination`

Method 1, `unit-acceleration`: each column of M is the inverse dynamics of one unit acceleration, (17), (23), in order
n^2. Method 2, `symmetric`: only the half of each column from its freedom outward; the other is its mirror image, in
order n d, where d is the depth of the tree. Method 3, `composite-body`: composite inertias R_i, and the M_ij of a body
by one walk inward, (28), in order n d.

The matrix is eliminated from the tips inward. Bodies on different branches have zeros in M, and this order keeps them:
U has an entry for each body and ancestor, no more. Cost: order n d^2; n^3 for a chain, with the small factor 1/6.

Reference: Walker and Orin 1982, methods 1 to 3, as in Jain 1991, sec. 3, eqs. (17), (22), (23), (25), (28).
Differs: for trees and joints with several freedoms. Jain treats chains, where no entry is zero, and leaves open how
(22) is solved. Mimic joints need no special treatment: M and T' belong to the independent coordinates; but then some
zeros of M are filled in.
"""

from __future__ import annotations

from ...model import Base, Bodies, Input, Joints, Output, Tree
from ..configuration.step import joint_by_joint
from ..elimination import solve
from ..inverse_dynamics.bias_force import bias_force
from ..mass_matrix.composite_body import composite_body as whole_mass_matrix
from ..mass_matrix.symmetric import symmetric as half_mass_matrix
from ..mass_matrix.unit_acceleration import unit_acceleration as mass_matrix_by_columns
from ..registry import algorithm

__all__ = ["bias_free", "composite_body", "symmetric", "unit_acceleration"]


def bias_free(tree: Tree, q: Joints, qd: Joints, tau: Joints, external: Bodies, v0: Base, a0: Base) -> Output:
    """Return T - C, the joint forces that are left for accelerations (22): a number for each freedom of the robot."""
    T, left = joint_by_joint(tree, "f", lambda i: tau[i]), tree.output("v")
    C = bias_force(tree, q, qd, external, v0, a0)
    for d in tree.freedoms():
        left[d] = T[d] - C[d]
    return left


@algorithm(
    "forward_dynamics",
    "unit-acceleration",
    paper="Walker-Orin 1982, method 1, as in Jain 1991",
    equations="Jain (17), (22), (23)",
    order="n^2 + n d^2",
)
def unit_acceleration(tree: Tree, q: Joints, *inputs: Input) -> Output:
    """Return joint accelerations, with the mass matrix column by column from inverse dynamics."""
    M = mass_matrix_by_columns(tree, q)
    return solve(tree, M, bias_free(tree, q, *inputs))


@algorithm(
    "forward_dynamics",
    "symmetric",
    paper="Walker-Orin 1982, method 2, as in Jain 1991",
    equations="Jain (17), (22), (23)",
    order="n d^2",
)
def symmetric(tree: Tree, q: Joints, *inputs: Input) -> Output:
    """Return joint accelerations, with one half of the mass matrix from inverse dynamics of ever shorter robots."""
    M = half_mass_matrix(tree, q)
    return solve(tree, M, bias_free(tree, q, *inputs))


@algorithm(
    "forward_dynamics",
    "composite-body",
    paper="Walker-Orin 1982, method 3, as in Jain 1991",
    equations="Jain (22), (25), (28)",
    order="n d^2",
    regroup=True,
)
def composite_body(tree: Tree, q: Joints, *inputs: Input) -> Output:
    """Return joint accelerations, with the mass matrix from composite bodies."""
    M = whole_mass_matrix(tree, q)
    return solve(tree, M, bias_free(tree, q, *inputs))
