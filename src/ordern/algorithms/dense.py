"""Dense linear algebra for small matrices over any scalar: a matrix is a tuple of rows.

Entries that are the float 0.0 are known to be zero, whatever the state is: nothing is computed for them. Scalars are
never compared, so that numbers, arrays with a number for each state, and graph nodes all serve; hence no pivoting, and
the matrices to be factorised must be positive definite, as mass matrices are.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt

from ..graph import Scalar
from ..records import dataclass

__all__ = ["Reverse", "Rows", "inverse", "matmul", "matvec", "square", "transpose"]

Rows = tuple[tuple[Scalar, ...], ...]


def _absent(x: Scalar) -> bool:
    """Whether a number is known to be zero. (NumPy's own floats are results, which only happen to be zero.)"""
    return type(x) is float and x == 0.0


def _sum(x: Sequence[Scalar], y: Sequence[Scalar]) -> Scalar:
    """The inner product, without the terms that are known to be zero."""
    total: Scalar = 0.0
    for a, b in zip(x, y, strict=True):
        if not (_absent(a) or _absent(b)):
            total = total + a * b
    return total


def square(scalars: Sequence[Scalar]) -> Rows:
    """A square matrix from its scalars, row by row."""
    n = isqrt(len(scalars))
    return tuple(tuple(scalars[n * r : n * r + n]) for r in range(n))


def transpose(A: Rows) -> Rows:
    """The transpose."""
    return tuple(zip(*A, strict=True))


def matvec(A: Rows, x: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """A matrix times a vector."""
    return tuple(_sum(row, x) for row in A)


def matmul(A: Rows, B: Rows) -> Rows:
    """The product of two matrices."""
    columns = transpose(B)
    return tuple(matvec(columns, row) for row in A)


@dataclass(frozen=True, slots=True)
class Reverse:
    """A = U diag(d) U^T with U unit upper triangular: elimination from the last row to the first.

    In a mass matrix, whose rows are in order from the base outward, this fills no zero: U has the pattern of A, row by
    row the ancestors. Eliminating from the first row would couple all branches (Saha 1999, appendix B, for chains).
    """

    U: Rows
    d: tuple[Scalar, ...]
    inverse: tuple[Scalar, ...]
    """1 / d."""

    @classmethod
    def of(cls, A: Rows) -> Reverse:
        """Factorise; only the upper half of A is read."""
        n = len(A)
        left = [list(row) for row in A]
        U: list[list[Scalar]] = [[1.0 if r == c else 0.0 for c in range(n)] for r in range(n)]
        inverse: list[Scalar] = [0.0] * n
        for k in reversed(range(n)):
            inverse[k] = 1.0 / left[k][k]
            above = [i for i in range(k) if not _absent(left[i][k])]
            for i in above:
                U[i][k] = left[i][k] * inverse[k]
                for j in above:
                    if i <= j:
                        left[i][j] = left[i][j] - U[i][k] * left[j][k]
        return cls(tuple(map(tuple, U)), tuple(left[k][k] for k in range(n)), tuple(inverse))

    def solve(self, b: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """The solution x of A x = b, by two triangular systems."""
        x = list(b)
        for k in reversed(range(len(x))):
            for i in range(k):
                if not _absent(self.U[i][k]):
                    x[i] = x[i] - self.U[i][k] * x[k]
        x = [y * s for y, s in zip(x, self.inverse, strict=True)]
        for k in range(len(x)):
            for i in range(k):
                if not _absent(self.U[i][k]):
                    x[k] = x[k] - self.U[i][k] * x[i]
        return tuple(x)


def inverse(A: Rows) -> Rows:
    """The inverse of a symmetric positive definite matrix, exactly symmetric."""
    n, factor = len(A), Reverse.of(A)
    columns = [factor.solve([1.0 if r == c else 0.0 for r in range(n)]) for c in range(n)]
    return tuple(tuple(columns[min(r, c)][max(r, c)] for c in range(n)) for r in range(n))
