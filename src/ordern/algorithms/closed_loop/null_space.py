"""Forward dynamics of closed loops in the motions that they allow: constraint forces drop out.

    K a = c   has the solutions   a = N y + a_0,    K N = 0
    N^T M N y = N^T (f - M a_0)                                                        (22)
    K^T lambda = M a - f

N and a_0 are from K^T = [Q N] [R; 0] with orthogonal [Q N], after a numerical rank test: a_0 = Q R^-T c, and lambda =
R^-1 Q^T (M a - f). Cost: cubic; of n - n_c equations, that are positive definite as long as every motion that loops
allow meets inertia: bodies may be massless.

Reference: Featherstone and Orin 2000, sec. 3.4, eq. (22), method 3, after Walker and Pham, and Wampler et al.
Differs: N is the paper's K, and K its L. The paper's y are typically some of the accelerations, which is the method
`null_space_elimination`; here N is orthonormal.
"""

from __future__ import annotations

import numpy as np

from ..composed import Array
from .equations import dense_method

__all__ = ["in_motions", "solve"]


@dense_method("null-space", published="(22)", order="n^3")
def solve(M: Array, f: Array, K: Array, c: Array) -> tuple[Array, Array]:
    """Return accelerations and multipliers, for independent rows K."""
    r = K.shape[1]
    Q, R = np.linalg.qr(np.swapaxes(K, -1, -2), mode="complete")
    Q, N, R = Q[:, :, :r], Q[:, :, r:], R[:, :r]
    a0 = Q @ np.linalg.solve(np.swapaxes(R, -1, -2), c[..., None])
    a = in_motions(M, f, N, a0[..., 0])
    left = np.swapaxes(Q, -1, -2) @ (M @ a[..., None] - f[..., None])
    return a, np.linalg.solve(R, left)[..., 0]


def in_motions(M: Array, f: Array, N: Array, a0: Array) -> Array:
    """Return the accelerations a = N y + a_0 of equation (22), for motions N (n, nv, nv - r) that loops allow."""
    Nt = np.swapaxes(N, -1, -2)
    y = np.linalg.solve(Nt @ M @ N, Nt @ (f[..., None] - M @ a0[..., None]))
    return np.asarray((N @ y)[..., 0] + a0)
