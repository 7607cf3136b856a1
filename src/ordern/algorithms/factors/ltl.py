"""The sparse factorisation M = L^T L of a tree's mass matrix, from the matrix; and its use as a root.

    M = U diag(d) U^T         in `elimination`
    L^T = U diag(d)^(1/2),    D = 1

The factor is F = L^T, upper triangular, with an entry for each freedom and each freedom above it. Nothing is filled in,
except with mimic joints, as in `ltdl`. R = L^T is a square root, M = R R^T, for such robots too. Cost: order n d^2; the
products and solutions with R take order n d of it.

Reference: Featherstone, Rigid Body Dynamics Algorithms (2008), sec. 6.5.
Differs: square roots are taken at the end. The root of `innovations` differs from this one by a rotation among the
freedoms of each joint, for joints that have several.
"""

from __future__ import annotations

from ...graph import sqrt
from ...model import Input, Joints, Output, Tree
from ..elimination import factorise, inner_solve
from ..mass_matrix.composite_body import composite_body
from ..registry import algorithm

__all__ = ["ltl_factor", "ltl_pivots", "root_product", "root_solve"]


@algorithm("mass_matrix_factor", "ltl", paper="Featherstone 2008", equations="sec. 6.5", order="n d^2")
def ltl_factor(tree: Tree, q: Joints) -> Output:
    """Return the factor F = L^T for position q."""
    U, F = composite_body(tree, q), tree.output("matrix")
    factorise(tree, U)
    for k in tree.freedoms():
        root = tree.register(sqrt(U[k, k]))
        F[k, k] = root.value
        for i in tree.elimination_path(k):
            F[i, k] = U[k, i] * root.value
    return F


@algorithm("mass_matrix_pivots", "ltl", paper="Featherstone 2008", equations="sec. 6.5")
def ltl_pivots(tree: Tree, q: Joints) -> Output:
    """Return the unit matrix: the pivots are in the factor."""
    D = tree.output("symmetric")
    for k in tree.freedoms():
        D[k, k] = 1.0
    return D


@algorithm("mass_matrix_root_product", "ltl", paper="Featherstone 2008", equations="sec. 6.5", order="n d^2")
def root_product(tree: Tree, q: Joints, x: Input) -> Output:
    """Return L^T x for position q."""
    U, y = composite_body(tree, q), tree.output("v")
    factorise(tree, U)
    for k in tree.freedoms():
        scaled = tree.register(sqrt(U[k, k]) * x[k])
        y[k] = scaled.value
        for i in tree.elimination_path(k):
            y[i] = y[i] + U[k, i] * scaled.value
    return y


@algorithm("mass_matrix_root_solve", "ltl", paper="Featherstone 2008", equations="sec. 6.5", order="n d^2")
def root_solve(tree: Tree, q: Joints, x: Input) -> Output:
    """Return L^-T x for position q."""
    U, y = composite_body(tree, q), tree.output("v")
    factorise(tree, U)
    for k in tree.freedoms():
        y[k] = x[k]
    inner_solve(tree, U, y)
    for k in tree.freedoms():
        y[k] = y[k] / sqrt(U[k, k])
    return y
