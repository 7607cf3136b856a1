"""A square root of the mass matrix, R = F D^(1/2) with M = R R^T: its products and solutions, in order n.

    P_i, D_i, G_i as in `articulated`;    D_i = C_i C_i^T, C_i lower triangular (Cholesky's)
    y = R x        inward    w_i = C_i x_i,    y_i = w_i + S_i^T z_i,    z_p += X_i^T (z_i + G_i w_i)
    y = R^-1 x     inward    eps_i = x_i - S_i^T z_i,    y_i = C_i^-1 eps_i,    z_p += X_i^T (z_i + G_i eps_i)

F = 1 + H phi K and F^-1 = 1 - H psi K; each is a single sweep. White noise x becomes noise R x whose covariance is M,
and x = R^-1 y is the innovations process of y, to unit variance. There is no question for R^-T, with M^-1 = R^-T R^-1.
Cost: order n.

Reference: Jain 1991, Lemmas 6.2 and 6.3, and the remarks on filtering after Lemma 6.4.
"""

from __future__ import annotations

from functools import partial

from ...graph import sqrt
from ...model import Joints, Output, Tree
from ...spatial import Factor, Force, Freedoms
from ..field_types import cleared
from ..method_limits import no_filling_in
from ..registry import algorithm
from .articulated import articulated

__all__ = ["root_product", "root_solve"]


def _times_root(D: Factor, x: Freedoms) -> Freedoms:
    """Return C x, where D = C C^T."""
    y = [value / sqrt(over) for value, over in zip(x, D.inverse, strict=True)]
    for r in reversed(range(len(y))):
        for c in range(r):
            y[r] = y[r] + D.lower[r][c] * y[c]
    return Freedoms(y)


def _over_root(D: Factor, x: Freedoms) -> Freedoms:
    """Return C^-1 x, where D = C C^T."""
    y = list(x)
    for r in range(len(y)):
        for c in range(r):
            y[r] = y[r] - D.lower[r][c] * y[c]
    return Freedoms(value * sqrt(over) for value, over in zip(y, D.inverse, strict=True))


_root = partial(algorithm, name="innovations", paper="Jain 1991", refuses=no_filling_in)


@_root("mass_matrix_root_product", equations="Lemma 6.2, (45)")
def root_product(tree: Tree, q: Joints, x: Joints) -> Output:
    """Return F D^(1/2) x for position q."""
    X, S, _, G, D = articulated(tree, q)
    z, y = cleared(tree, Force), tree.output("f")
    for i, p in tree.inward():
        w = _times_root(D[i], x[i])
        y[i] = w + S[i].T @ z[i]
        z[p] += X[i].T @ (z[i] + G[i] @ w)
    return y


@_root("mass_matrix_root_solve", equations="Lemmas 6.2, 6.3, (45), (46)")
def root_solve(tree: Tree, q: Joints, x: Joints) -> Output:
    """Return D^(-1/2) F^-1 x for position q."""
    known = articulated(tree, q)
    z, y = cleared(tree, Force), tree.output("v")
    for i, p in tree.inward():
        y[i] = _over_root(known.D[i], known.innovation(i, p, x[i], z))
    return y
