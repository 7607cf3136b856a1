"""Forward dynamics of closed loops, directly: accelerations and multipliers from one symmetric system.

    [ M  K^T ] [    a    ]   [ f ]
    [ K   0  ] [ -lambda ] = [ c ]                                                     (20)

Cost: order (n + n_c)^3. The matrix is not definite, and its pivots are found by partial pivoting. It is regular as long
as every motion that loops allow meets inertia: bodies may be massless.

Reference: Featherstone and Orin 2000, sec. 3.4, eq. (20), method 1.
Differs: K is the paper's L, c as there; constraints that depend on others are taken out before, see `rank`.
"""

from __future__ import annotations

import numpy as np

from ..composed import Array
from .equations import dense_method

__all__ = ["solve"]


@dense_method("kkt", published="(20)", order="(n + n_c)^3")
def solve(M: Array, f: Array, K: Array, c: Array) -> tuple[Array, Array]:
    """Return accelerations and multipliers, for independent rows K."""
    n, r, nv = K.shape
    A = np.zeros((n, nv + r, nv + r))
    A[:, :nv, :nv], A[:, nv:, :nv], A[:, :nv, nv:] = M, K, np.swapaxes(K, -1, -2)
    x = np.linalg.solve(A, np.concatenate([f, c], axis=-1)[..., None])[..., 0]
    return x[:, :nv], -x[:, nv:]
