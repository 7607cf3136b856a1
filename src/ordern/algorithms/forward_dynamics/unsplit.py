"""Forward dynamics by virtual work, with all joints of a link coupled: Yamane and Nakamura's method without splitting.

Joints are added one by one, from the end links to the root, each with the constraint force that it then has (see
`links` for the symbols). Joint i meets the joints G that are already attached to its link, and the joints J that are
already attached to its parent p:

    S_iG = - T_i^T A_i^-1 (X_g^T T_g) for g in G,        S_iJ = T_i^T X_i A_p^-1 (X_j^T T_j) for j in J     (32), (39)
    M_i  = (Phi_ii - S_iG Omega_G S_iG^T - S_iJ Omega_J S_iJ^T)^-1                                          (37)
    n_i  = M_i (alpha_i - S_iG n_G - S_iJ n_J)                                                              (36)

Omega_J is the block of Phi^-1 for the joints J, which grows by the new joint:

    Omega_J += P M_i P^T,    Omega_Ji = -P M_i,    Omega_i = M_i,    n_J -= P n_i,    P = Omega_J S_iJ^T     (43)

and when the last joint has its final force, from the root to the end links,

    n_G -= Omega_G S_iG^T n_i                                                                               (46), (47)

A joint costs of the order of n_b^2 products of small matrices, if n_b others are attached to its links. `virtual-work`
keeps the mobility of the link instead, `virtual-work-split` splits the link; both are of order n for any tree.

Reference: Yamane and Nakamura, O(N) forward dynamics computation of open kinematic chains based on the principle of
virtual work, eqs. (31)-(47) and sec. 4; the solid curve of Figure 7.
Differs: axes and the base as in `links`; joints on the base do not couple. The paper says that a chain with N = n_b
takes O(N^2); with O(n_b^2) for each of n_b joints, as it says before, it is O(N^3), with a small factor.
"""

from __future__ import annotations

import numpy as np

from ...model import piece
from .freed import Freed, product
from .links import beyond_reach
from .scan import Array, Arrays, BodyArrays, declare, inverse, times, transpose

__all__ = ["solve"]


class _Joints:
    """The joints that are attached to a link on its outer side, so far: their Omega, n, and X^T T."""

    def __init__(self, k: BodyArrays, width: int) -> None:
        self.numbers: list[int] = []
        self.Omega, self.n, self.W = k.zeros(1, 0, 0), k.zeros(1, 0), k.zeros(1, 6, 0)
        self.P = k.zeros(1, 0, width)

    def add(self, i: int, Omega: Array, n: Array, W: Array) -> None:
        """Add a joint."""
        self.numbers.append(i)
        self.Omega, self.n, self.W = Omega, n, np.concatenate((self.W, W), axis=-1)


@declare(
    "virtual-work-unsplit",
    paper="Yamane-Nakamura",
    equations="Y-N (36), (37), (43), (46), (47), sec. 4",
    order="n, n_b^2 for each of n_b joints of a link",
    refuses=beyond_reach,
)
def solve(k: BodyArrays, wrenches: Array | None) -> None:
    """Find the accelerations of links and joints, and the wrenches through the joints."""
    n, run = len(k.index), k.tree.run
    links = Freed.of(k, np.arange(n))
    t = links.active - k.p[:-1]
    carried = np.flatnonzero(k.parent >= 0)
    np.subtract.at(t, k.parent[carried], links.felt[carried])
    (y,) = run(product, links.A, t)
    width = links.E.shape[-1]
    on_link = [_Joints(k, width) for _ in range(n)]
    force = k.zeros(n, width)

    for i in reversed(range(n)):
        p, here = int(k.parent[i]), slice(i, i + 1)
        grounded = p < 0
        G, J = on_link[i], _Joints(k, width) if grounded else on_link[p]
        inner = k.zeros(1, 6, 6) if grounded else links.A[p : p + 1]
        carrier = k.a[-1:] if grounded else y[p : p + 1]
        own, alpha, row_G, row_J, W = run(
            _rows, links.A[here], inner, links.T[here], k.X[here], links.E[here], carrier, y[here], k.c[here], G.W, J.W
        )
        force[here], G.P, Omega, so_far = run(_added, own, alpha, (row_G, G.Omega, G.n), (row_J, J.Omega, J.n))
        if not grounded:
            J.add(i, Omega, so_far, W)

    for i in range(n):
        G = on_link[i]
        if G.numbers:
            (final,) = run(_final, G.n, G.P, force[i : i + 1])
            for at, g in enumerate(G.numbers):
                force[g] = final[0, ..., width * at : width * (at + 1)]

    links.moved(k, np.arange(n), force, t, carried, k.parent[carried], wrenches)


@piece(2, 2, 2, 2, 1, 1, 1, 1, 2, 2)
def _rows(
    A: Array, inner: Array, T: Array, X: Array, E: Array, carrier: Array, y: Array, c: Array, G: Array, J: Array
) -> Arrays:
    """Return a joint's own block of Phi, alpha, its blocks with the joints of its link and of its parent, and X^T T."""
    W, F = transpose(X) @ T, transpose(T)
    own = F @ (A + X @ inner @ transpose(X)) @ T + np.eye(E.shape[-1]) * E[..., None, :]
    alpha = times(F, times(X, carrier) + c - y)
    return own, alpha, -(F @ A @ G), transpose(W) @ inner @ J, W


@piece(2, 1, 2, 2, 1, 2, 2, 1)
def _added(own: Array, alpha: Array, inner: Arrays, outer: Arrays) -> Arrays:
    """Return a joint's force, Omega_G S^T of its link's joints, and Omega and n of its parent's with the new one."""
    (G, Omega_G, n_G), (J, Omega_J, n_J) = inner, outer
    P_G, P = Omega_G @ transpose(G), Omega_J @ transpose(J)
    M = inverse(own - G @ P_G - J @ P)
    n = times(M, alpha - times(G, n_G) - times(J, n_J))
    PM = P @ M
    upper = np.concatenate((Omega_J + PM @ transpose(P), -PM), axis=-1)
    lower = np.concatenate((-transpose(PM), M), axis=-1)
    both = np.concatenate((upper, lower), axis=-2)
    return n, P_G, both, np.concatenate((n_J - times(P, n), n), axis=-1)


@piece(1, 2, 1)
def _final(n: Array, P: Array, force: Array) -> Arrays:
    """Return the final forces of the joints on a link, from the final force of its own joint."""
    return (n - times(P, force),)
