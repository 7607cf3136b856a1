"""Small matrices between freedoms, row by row, over any scalar."""

from __future__ import annotations

from math import inf

from ...graph import Scalar
from ...spatial import Factor, Freedoms
from ...spatial.linear import dot

__all__ = ["Rows", "identity", "inverse", "symmetric_inverse", "transposed"]

Rows = tuple[tuple[Scalar, ...], ...]


def identity(n: int) -> Rows:
    """Return the unit matrix."""
    return tuple(Freedoms(1.0 if r == c else 0.0 for c in range(n)) for r in range(n))


def transposed(A: Rows, columns: int) -> Rows:
    """Return the transpose of a matrix with so many columns; it may have no rows."""
    return tuple(Freedoms(row[c] for row in A) for c in range(columns))


def inverse(D: Factor) -> Rows:
    """Return the inverse of a matrix that is given by its factor."""
    return tuple(D.solve(row) for row in identity(len(D.inverse)))


def symmetric_inverse(A: Rows) -> Rows:
    """Invert a symmetric positive definite matrix, exactly symmetrically; a singular one gives infinity or NaN.

    With A = L diag(d) L^T it is L^-T diag(1/d) L^-1. Pivots that are known to be zero do not stop the tracing.
    """
    n = len(A)
    D = Factor.of(A, lambda i, d: inf if isinstance(d, float) and d == 0.0 else 1.0 / d)
    back: list[list[Scalar]] = []  # the rows of L^-1
    for i, row in enumerate(D.lower):
        back.append([*(-dot(row[c:], [back[k][c] for k in range(c, i)]) for c in range(i)), 1.0])
    half = {
        (r, c): dot([back[k][r] for k in range(c, n)], [D.inverse[k] * back[k][c] for k in range(c, n)])
        for c in range(n)
        for r in range(c + 1)
    }
    return tuple(tuple(half[min(r, c), max(r, c)] for c in range(n)) for r in range(n))
