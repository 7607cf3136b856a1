"""Three-dimensional linear algebra over any scalar: vectors and matrices are tuples.

A symmetric 3x3 matrix is its upper half, row by row: (xx, xy, xz, yy, yz, zz).
Zeros and ones that are Python floats vanish when the other operand is a graph node, so there is no need for
special cases of sparse vectors and matrices.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..graph import Scalar

__all__ = [
    "Matrix3",
    "Symmetric3",
    "Vector3",
    "add",
    "cross",
    "dot",
    "full",
    "matmul",
    "matvec",
    "negative",
    "outer_shift",
    "product_symmetric",
    "scale",
    "skew",
    "subtract",
    "transpose",
    "upper",
]

Vector3 = tuple[Scalar, Scalar, Scalar]
Matrix3 = tuple[Vector3, Vector3, Vector3]
Symmetric3 = tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]

ZERO3: Vector3 = (0.0, 0.0, 0.0)
IDENTITY3: Matrix3 = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    """Return the inner product of two vectors of one length."""
    total = a[0] * b[0] if a else 0.0
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total


def add(a: Vector3, b: Vector3) -> Vector3:
    """Return the sum."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def subtract(a: Vector3, b: Vector3) -> Vector3:
    """Return the difference."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def scale(s: Scalar, a: Vector3) -> Vector3:
    """Return a multiple."""
    return (s * a[0], s * a[1], s * a[2])


def negative(a: Vector3) -> Vector3:
    """Return the opposite."""
    return (-a[0], -a[1], -a[2])


def cross(a: Vector3, b: Vector3) -> Vector3:
    """Return the vector product."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def skew(a: Vector3) -> Matrix3:
    """Return the matrix of the vector product by a."""
    return ((0.0, -a[2], a[1]), (a[2], 0.0, -a[0]), (-a[1], a[0], 0.0))


def transpose(A: Matrix3) -> Matrix3:
    """Return the transpose."""
    return (
        (A[0][0], A[1][0], A[2][0]),
        (A[0][1], A[1][1], A[2][1]),
        (A[0][2], A[1][2], A[2][2]),
    )


def matvec(A: Matrix3, x: Vector3) -> Vector3:
    """Return a matrix times a vector."""
    return (dot(A[0], x), dot(A[1], x), dot(A[2], x))


def matmul(A: Matrix3, B: Matrix3) -> Matrix3:
    """Return the product of two matrices."""
    Bt = transpose(B)
    return (matvec(Bt, A[0]), matvec(Bt, A[1]), matvec(Bt, A[2]))


def full(s: Symmetric3) -> Matrix3:
    """Return a symmetric matrix from its upper half."""
    return ((s[0], s[1], s[2]), (s[1], s[3], s[4]), (s[2], s[4], s[5]))


def upper(A: Matrix3) -> Symmetric3:
    """Return the upper half of a matrix."""
    return (A[0][0], A[0][1], A[0][2], A[1][1], A[1][2], A[2][2])


def product_symmetric(A: Matrix3, B: Matrix3) -> Symmetric3:
    """Return the upper half of A B, for a product that is symmetric."""
    x, y, z = transpose(B)
    return (dot(A[0], x), dot(A[0], y), dot(A[0], z), dot(A[1], y), dot(A[1], z), dot(A[2], z))


def outer_shift(r: Vector3, u: Vector3) -> Symmetric3:
    """Return 2 (r . u) 1 - (r u^T + u r^T), the rotational inertia that a shift by r adds (u is half-way)."""
    x, y, z = r[0] * u[0], r[1] * u[1], r[2] * u[2]
    yz, xz, xy = y + z, x + z, x + y
    return (
        yz + yz,
        -(r[0] * u[1] + r[1] * u[0]),
        -(r[0] * u[2] + r[2] * u[0]),
        xz + xz,
        -(r[1] * u[2] + r[2] * u[1]),
        xy + xy,
    )
