"""Forward dynamics of closed loops in some of the joint accelerations themselves, found by Gaussian elimination.

    K a = c,    columns in two groups:    K_d a_d + K_i a_i = c
    a = N y + a_0,    y = a_i,    N = [-K_d^-1 K_i; 1],    a_0 = [K_d^-1 c; 0]
    N^T M N y = N^T (f - M a_0)                                                        (22)
    K_d^T lambda = (M a - f)_d

Complete pivoting chooses the groups: each step takes the largest entry that is left, of all rows and columns, and the
joint of its column becomes dependent. Rows are divided by their largest entry first, since a row may be an angle or a
length. The joints that remain are independent, with the accelerations y. At other positions, other joints may be
chosen. Cost: cubic; of n - n_c equations, that are positive definite as long as every motion that loops allow meets
inertia: bodies may be massless.

Conditioning: N has ones for the independent accelerations, and W = K_d^-1 K_i for the others. So the condition number
of N is at most sqrt(1 + |W|^2), that of N^T M N at most (1 + |W|^2) times that of M; with an orthonormal N, by
`null_space`, it is at most that of M. Complete pivoting bounds the entries of W by 2^(n_c - 1), and in practice they
are of the order of one: in the positions that the bundled mechanisms come with, the condition number of N is below 3.
The choice of joints depends on the units of the joints. K_d is as nearly singular as K: where constraints are nearly
dependent, errors grow as the inverse of the smallest singular value, as they do in `null_space`.

Reference: Featherstone and Orin 2000, sec. 3.4, eq. (22), method 3: "a special version of Gaussian elimination", with y
"a linearly-independent subset of the elements" of the accelerations.
Differs: N is the paper's K, and K its L. The numerical rank test is the one of all methods, in `rank`, before the
elimination and not within it; where rows are dependent, it is orthonormal rows that are eliminated.
"""

from __future__ import annotations

import numpy as np

from ..composed import Array
from .equations import dense_method
from .null_space import in_motions

__all__ = ["eliminated", "solve"]


def eliminated(K: Array, c: Array) -> tuple[Array, Array, Array]:
    """Return N (n, nv, nv - r), a_0 (n, nv), and the joints in order (n, nv), the r dependent ones first.

    For independent rows K (n, r, nv) and right sides c (n, r), whose solutions are a = N y + a_0.
    """
    n, r, nv = K.shape
    A = np.concatenate([K, c[..., None]], axis=-1)
    A /= np.abs(K).max(axis=-1, initial=0.0, keepdims=True)
    order = np.tile(np.arange(nv), (n, 1))
    states = np.arange(n)
    for k in range(r):
        left = np.abs(A[:, k:, k:nv]).reshape(n, -1)
        row, column = np.divmod(left.argmax(axis=-1), nv - k)
        _swap(A, states, k, k + row)
        _swap(np.swapaxes(A, 1, 2), states, k, k + column)
        _swap(order, states, k, k + column)
        factors = A[:, k + 1 :, k] / A[:, k, k, None]
        A[:, k + 1 :, k:] -= factors[..., None] * A[:, k, None, k:]
    X = A[:, :, r:].copy()
    for k in reversed(range(r)):
        X[:, k] -= (A[:, k, None, k + 1 : r] @ X[:, k + 1 :])[:, 0]
        X[:, k] /= A[:, k, k, None]
    N, a0 = np.zeros((n, nv, nv - r)), np.zeros((n, nv))
    N[states[:, None], order[:, :r]] = -X[:, :, :-1]
    N[states[:, None], order[:, r:]] = np.eye(nv - r)
    a0[states[:, None], order[:, :r]] = X[:, :, -1]
    return N, a0, order


def _swap(x: Array, states: Array, k: int, other: Array) -> None:
    """Exchange x[s, k] and x[s, other[s]] in every state s."""
    x[states, k], x[states, other] = x[states, other], x[states, k].copy()


@dense_method("null-space-elimination", published="(22), by elimination", order="n^3")
def solve(M: Array, f: Array, K: Array, c: Array) -> tuple[Array, Array]:
    """Return accelerations and multipliers, for independent rows K."""
    r = K.shape[1]
    N, a0, order = eliminated(K, c)
    a = in_motions(M, f, N, a0)
    dependent = order[:, None, :r]
    Kd = np.take_along_axis(K, dependent, axis=-1)
    left = np.take_along_axis((M @ a[..., None])[..., 0] - f, dependent[:, 0], axis=-1)
    return a, np.linalg.solve(np.swapaxes(Kd, -1, -2), left[..., None])[..., 0]
