"""Products and transposes of stacks of matrices and vectors."""

from __future__ import annotations

import numpy as np

from ..arguments import Array

__all__ = ["solved", "symmetric", "times", "transposed"]


def times(A: Array, x: Array) -> Array:
    """Return A x, for matrices (..., m, n) and vectors (..., n)."""
    return np.asarray((A @ x[..., None])[..., 0])


def solved(A: Array, b: Array) -> Array:
    """Return x of A x = b, for matrices (..., n, n) and vectors (..., n)."""
    return np.asarray(np.linalg.solve(A, b[..., None])[..., 0])


def transposed(A: Array) -> Array:
    """Return the transposes of matrices (..., m, n)."""
    return np.swapaxes(A, -1, -2)


def symmetric(A: Array) -> Array:
    """Return the symmetric parts of matrices (..., n, n)."""
    return (A + np.swapaxes(A, -1, -2)) / 2.0
