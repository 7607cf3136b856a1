"""Mimic joints, after a filter by scans: the corrections of `binding` in logarithmic depth.

With qdd0 the accelerations of free joints, and a column of B for each mimic joint (see `binding`),

    inward    p_p += X_i^T (1 - G_i S_i^T) p_i + X_i^T G_i B_i,        w_i = B_i - S_i^T p_i
              L  = sum of w_i^T D_i^-1 w_i,    e = sum of B_i^T qdd0_i,    L lambda = -e
    outward   a_i = (1 - S_i G_i^T) X_i a_p + S_i D_i^-1 w_i lambda
              qdd_i = qdd0_i + D_i^-1 w_i lambda - G_i^T X_i a_p

Both sweeps are affine maps of what they carry, and scans along the paths of the tree combine such maps. Cost: order
n m^2 operations for m couplings, of depth log n for chains and log^2 n for trees, and m^3 for lambda.

Reference: as `binding`; scans as in `scan`.
"""

from __future__ import annotations

import numpy as np

from ...model import packed, piece
from .scan import Array, Arrays, BodyArrays, scan, solution, times, transpose

__all__ = ["coupled"]


def coupled(k: BodyArrays, G: Array, Di: Array) -> None:
    """Correct the accelerations in `k.qdd` to keep the couplings; G are the gains of all joints, Di is D^-1."""
    n, nv, m = len(k.index), k.S.shape[-1], k.tree.couplings
    B = k.zeros(n, nv, m)
    for at, i in enumerate(k.index):
        for r, row in enumerate(i.coupling):
            B[at, ..., r, :] = packed(row, m)
    p, run = k.zeros(n + 1, 6, m), k.tree.run
    maps, loads = run(_inward, k.S, G, k.X, B)
    for path in reversed(k.paths):
        before, after = path[:-1], path[1:]
        elements = (maps[before], loads[before] + p[after])
        start = p[path[:1]]
        (p[after],) = scan(_affine, _moved, elements, (start,), run)
        root = path[-1:]
        carrier = k.parent[root]
        (felt,) = run(_moved, (maps[root], loads[root]), (p[root],))
        p[carrier] = p[carrier] + felt
    Dw, L, e = run(_share, k.S, p[:-1], B, Di, k.qdd)
    (force,) = run(solution, L.sum(axis=0)[None], -e.sum(axis=0)[None])
    maps, pushes, direct = run(_outward, k.S, G, k.X, Dw, force)
    a = k.zeros(n + 1, 6)
    k.outward(maps, pushes, a)
    (more,) = run(_along, direct, G, k.X, a[k.parent])
    k.qdd = k.qdd + more


@piece(2, 2, 2, 2)
def _inward(S: Array, G: Array, X: Array, B: Array) -> Arrays:
    """Return the affine map from the loads on a body to the loads on its parent: its matrix and its constant."""
    F = transpose(X)
    return F @ (np.eye(6) - G @ transpose(S)), F @ G @ B


@piece(2, 2, 2, 2)
def _affine(one: Arrays, other: Arrays) -> Arrays:
    """Return the maps x -> A x + b of several columns, one after the other."""
    (A1, b1), (A2, b2) = one, other
    return A2 @ A1, A2 @ b1 + b2


@piece(2, 2, 2)
def _moved(one: Arrays, x: Arrays) -> Arrays:
    """Return the map x -> A x + b of several columns."""
    return (one[0] @ x[0] + one[1],)


@piece(2, 2, 2, 2, 1)
def _share(S: Array, p: Array, B: Array, Di: Array, qdd0: Array) -> Arrays:
    """Return a joint's D^-1 w, and its part in L and e."""
    w = B - transpose(S) @ p
    Dw = Di @ w
    return Dw, transpose(w) @ Dw, times(transpose(B), qdd0)


@piece(2, 2, 2, 2, 1)
def _outward(S: Array, G: Array, X: Array, Dw: Array, force: Array) -> Arrays:
    """Return the affine map from the parent's acceleration to the body's, and the joint's direct response."""
    direct = times(Dw, force)
    return (np.eye(6) - S @ transpose(G)) @ X, times(S, direct), direct


@piece(1, 2, 2, 1)
def _along(direct: Array, G: Array, X: Array, a: Array) -> Arrays:
    """Return the change of the joint's acceleration."""
    return (direct - times(transpose(G), times(X, a)),)
