"""Turns about known axes, and what displacements do to points: over any scalar."""

from __future__ import annotations

from typing import Any

from ...graph import Scalar, atan2, cos, sin, sqrt, where_less
from ...spatial import Pose
from ...spatial.linear import Matrix3, Vector3, add, cross, dot, matmul, matvec, negative, scale, subtract, transpose
from ..axis import turned_frame
from ..closure import Rows, aligned

__all__ = [
    "about",
    "across",
    "after",
    "angle_in",
    "displacement",
    "inverse",
    "threaded",
    "tilt",
    "turn_to",
    "unit",
    "vector",
]

_NOTHING = 1e-28
"""Squares of lengths that are rounding."""


def vector(x: Any) -> Vector3:
    """Return three numbers that do not change, from an array."""
    return float(x[0]), float(x[1]), float(x[2])


def about(axis: Vector3, c: Scalar, s: Scalar) -> Matrix3:
    """Return the turn about an axis by the angle with this cosine and sine."""
    x, y, z = axis
    xy, xz, yz, k = x * y, x * z, y * z, 1.0 - c
    return (
        (x * x + c * (1.0 - x * x), k * xy - s * z, k * xz + s * y),
        (k * xy + s * z, y * y + c * (1.0 - y * y), k * yz - s * x),
        (k * xz - s * y, k * yz + s * x, z * z + c * (1.0 - z * z)),
    )


def across(axis: Vector3, x: Vector3) -> Vector3:
    """Return the component of a vector across an axis."""
    return subtract(x, scale(dot(axis, x), axis))


def turn_to(axis: Vector3, start: Vector3, end: Vector3) -> tuple[Scalar, Scalar]:
    """Return cosine and sine, times the sizes of both vectors across an axis, of the turn from one to the other."""
    return dot(across(axis, start), end), dot(cross(axis, start), end)


def angle_in(R: Matrix3, axis: Vector3) -> tuple[Scalar, Scalar]:
    """Return cosine and sine, times two, of the turn R about an axis, or of the one next to it."""
    skew = (R[2][1] - R[1][2], R[0][2] - R[2][0], R[1][0] - R[0][1])
    trace = R[0][0] + R[1][1] + R[2][2]
    return trace - dot(axis, matvec(R, axis)), dot(axis, skew)


def unit(c: Scalar, s: Scalar) -> tuple[Scalar, Scalar]:
    """Return cosine and sine from multiples of them; of no angle, if these are zero."""
    square = c * c + s * s
    none = where_less(square, _NOTHING, 1.0, 0.0)
    k = 1.0 / sqrt(square + none)
    return k * (c + none), k * s


def tilt(R: Matrix3, axis: Vector3) -> Rows:
    """Return two residuals that vanish where R leaves an axis as it is: see `aligned`."""
    x, y, z = (vector(column) for column in turned_frame(axis).T)
    there = matvec(R, axis)
    return aligned(((0.0, 0.0, dot(x, there)), (0.0, 0.0, dot(y, there)), (0.0, 0.0, dot(z, there))))


def threaded(rise: float, advance: Scalar, c: Scalar, s: Scalar) -> Scalar:
    """Return the advance of a thread beyond the advance of its angle, counted from the nearest turn."""
    there = advance * (1.0 / rise)
    return rise * atan2(sin(there) * c - cos(there) * s, cos(there) * c + sin(there) * s)


def displacement(R: Matrix3, point: Vector3, shift: Vector3) -> Pose:
    """Return a turn about a point, then a shift."""
    return Pose(R, add(subtract(point, matvec(R, point)), shift))


def inverse(X: Pose) -> Pose:
    """Return the displacement back."""
    back = transpose(X.rotation)
    return Pose(back, negative(matvec(back, X.position)))


def after(one: Pose, other: Pose) -> Pose:
    """Return the product: `other` in the frame that `one` has moved."""
    return Pose(matmul(one.rotation, other.rotation), one.point(other.position))
