"""Multipliers first, as NumPy code around compiled functions of the tree: for any robot, and for dependent rows.

    a_0 = M^-1 f,    Y = M^-1 K^T                       n_c + 1 solves in order n
    (K Y) lambda = c - K a_0                             (21)
    a = a_0 + Y lambda

Where rows are nearly dependent, K Y has lost the digits for a decision: `rank` tests these states and gives them
orthonormal rows.
"""

from __future__ import annotations

import numpy as np

from ..composed import Array
from .equations import Equations, Solution
from .rank import TOLERANCE, decide, groups

__all__ = ["SMALLEST_PIVOT", "solve"]

SMALLEST_PIVOT = 1e-6
"""The smallest pivot of K M^-1 K^T, relative to its diagonal, of which six digits are left in the worst direction after
those that the square costs: 1e-16 / 1e-6 is an error of 1e-10 in the accelerations. Below it, rows are tested."""


def solve(E: Equations, tolerance: float = TOLERANCE, rank: int | None = None, start: Array | None = None) -> Solution:
    """Return accelerations and the shortest multipliers; `start` is M^-1 f, where it is known."""
    n, nc, nv = E.K.shape
    a0 = E.ask("mass_matrix_solve", E.q, E.f) if start is None else start
    out = Solution(np.full((n, nv), np.nan), np.full((n, nc), np.nan), np.full(n, nc))
    rest = np.arange(n)
    if rank is None:
        Y = _responses(E, E.K)
        L = _compliance(E.K, Y)
        good = _independence(L) > SMALLEST_PIVOT
        which, rest = np.flatnonzero(good), np.flatnonzero(~good)
        if which.size:
            out.a[which], out.multipliers[which] = _step(a0[which], E.K[which], E.c[which], Y[which], L[which])
    if rest.size:
        out.put(rest, _tested(E.part(rest), a0[rest], tolerance, rank))
    return out


def _tested(E: Equations, a0: Array, tolerance: float, rank: int | None) -> Solution:
    """Solve the states whose rows may depend on each other."""
    found = decide(E.K, tolerance, rank)
    out = Solution(np.full(a0.shape, np.nan), np.full(E.c.shape, np.nan), found.rank)
    for r, which in groups(found.rank):
        part, R = E.part(which), found.rows(which, r)
        Y = _responses(part, R)
        e = found.sides(which, r, E.c[which])
        out.a[which], mu = _step(a0[which], R, e, Y, _compliance(R, Y))
        out.multipliers[which] = found.multipliers(which, r, mu)
    return out


def _responses(E: Equations, K: Array) -> Array:
    """Return the rows of K M^-1 (n, r, nv)."""
    return E.ask("mass_matrix_solve", E.q[:, None, :], K) if K.shape[1] else K


def _compliance(K: Array, Y: Array) -> Array:
    """Return K M^-1 K^T, exactly symmetric."""
    L = K @ np.swapaxes(Y, -1, -2)
    return np.asarray(0.5 * (L + np.swapaxes(L, -1, -2)))


def _independence(L: Array) -> Array:
    """Return the smallest eigenvalue for rows of unit length: 1 if they are orthogonal, 0 if they are dependent."""
    if not L.shape[-1]:
        return np.ones(len(L))
    d = np.einsum("nii->ni", L)
    good = np.isfinite(L).all(axis=(-1, -2)) & (d > 1e-12 * d.max(axis=-1, keepdims=True)).all(axis=-1)
    s = np.sqrt(np.where(good[:, None], d, 1.0))
    unit = np.where(good[:, None, None], L / (s[:, :, None] * s[:, None, :]), 0.0)
    return np.asarray(np.linalg.eigvalsh(unit)[:, 0])


def _step(a0: Array, K: Array, c: Array, Y: Array, L: Array) -> tuple[Array, Array]:
    """Return accelerations and multipliers; a second step takes back the rounding of the first."""
    a, mu = a0, np.zeros_like(c)
    for _ in range(2):
        more = np.linalg.solve(L, (c - (K @ a[..., None])[..., 0])[..., None])
        a, mu = a + (np.swapaxes(Y, -1, -2) @ more)[..., 0], mu + more[..., 0]
    return a, mu
