"""The solution of M y = x in order n: M^-1 = (1 - H psi K)^* D^-1 (1 - H psi K), factor after factor.

    inward    P_i, D_i, G_i as in `articulated`
              eps_i = x_i - S_i^T z_i,    z_p += X_i^T (z_i + G_i eps_i)         eps = (1 - H psi K) x
              nu_i = D_i^-1 eps_i
    outward   a' = X_i alpha_p,    y_i = nu_i - G_i^T a'                          y = (1 - H psi K)^* nu
              alpha_i = a' + S_i y_i

Joints that follow others are bound to them at the end, in `couplings`. Cost: order n.

Reference: Jain 1991, eqs. (45), (46) and Lemma 6.4.
Differs: Jain numbers links from the tip.
"""

from __future__ import annotations

from typing import Any

from ...model import Tree
from ...spatial import Motion
from ..forward_dynamics.couplings import coupled
from ..registry import algorithm
from .articulated import articulated, no_forces

__all__ = ["innovations_solve"]


@algorithm("mass_matrix_solve", "innovations", paper="Jain 1991", equations="(45), (46), Lemma 6.4")
def innovations_solve(tree: Tree, q: Any, x: Any) -> Any:
    """M^-1 x for position q."""
    X, S, _, G, D = articulated(tree, q)
    z, alpha = no_forces(tree), tree.field(Motion)
    nu = tree.own()
    y = tree.own() if tree.couplings else tree.output("v")

    for i, p in tree.inward():
        eps = x[i] - S[i].T @ z[i]
        nu[i] = D[i].solve(eps)
        z[p] += X[i].T @ (z[i] + G[i] @ eps)

    for i, p in tree.outward():
        a_ = X[i] @ alpha[p]
        y[i] = nu[i] - G[i].T @ a_
        alpha[i] = a_ + S[i] @ y[i]
    return coupled(tree, X, S, G, D, y) if tree.couplings else y
