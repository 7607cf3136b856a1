"""The solution of M y = x in order n: M^-1 = (1 - H psi K)^* D^-1 (1 - H psi K), factor after factor.

    inward    P_i, D_i, G_i;    eps = (1 - H psi K) x,    nu = D^-1 eps          all three sweeps are in `articulated`
    outward   y = (1 - H psi K)^* nu

Mimic joints are bound at the end, by `binding`. Cost: order n.

Reference: Jain 1991, eqs. (45), (46) and Lemma 6.4.
Differs: Jain numbers links from the tip.
"""

from __future__ import annotations

from ...model import Joints, Output, Tree
from ..binding import bind_followers, free_accelerations
from ..registry import algorithm
from .articulated import articulated, solved

__all__ = ["innovations_solve"]


@algorithm("mass_matrix_solve", "innovations", paper="Jain 1991", equations="(45), (46), Lemma 6.4")
def innovations_solve(tree: Tree, q: Joints, x: Joints) -> Output:
    """Return M^-1 x for position q."""
    known = articulated(tree, q)
    y = solved(tree, known, x, free_accelerations(tree))
    return bind_followers(tree, known.gains, y)
