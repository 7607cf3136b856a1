"""The blocks on the diagonal of the mass matrix, times a vector: H R H* x.

    inward    Ic_p += X_i^T Ic_i X_i
              y_i = (S_i^T Ic_i S_i + armature_i) x_i

Each joint moves the bodies that it carries as one; the other joints do not move. With x one at the first freedom of
every joint and zero elsewhere, y has the first column of every block; so as many products as a joint has freedoms give
all blocks, the preconditioner of conjugate gradients. Cost: order n.

For a joint with mimic joints, the block is the sum of its own and theirs, times the squares of the ratios; the mass
matrix also has the products between them.

Reference: Jain 1991, eqs. (25) and (28), where Ic is R, and sec. 4 on Fijany and Scheid 1989.
Differs: he numbers links from the tip; trees.
"""

from __future__ import annotations

from ...model import Joints, Output, Tree
from ...spatial import Inertia
from ..registry import Port, algorithm, question

__all__ = ["diagonal_product"]

question("mass_matrix_diagonal_product", (Port("q", "q"), Port("x", "v")), "f", "composite-body")


@algorithm(
    "mass_matrix_diagonal_product",
    "composite-body",
    paper="Fijany-Scheid 1989, as in Jain 1991",
    equations="Jain (25), (28)",
)
def diagonal_product(tree: Tree, q: Joints, x: Joints) -> Output:
    """Return the block-diagonal part of the mass matrix, times x."""
    Ic = tree.field(Inertia)
    y = tree.output("f")
    for i, _ in tree.outward():
        Ic[i] = i.inertia
    for i, p in tree.inward():
        X, S = i.transform(q[i]), i.subspace(q[i])
        y[i] = S.T @ (Ic[i] @ (S @ x[i])) + i.armature * x[i]
        Ic[p] += X.T @ Ic[i] @ X
    return y
