"""Unit quaternions (w, x, y, z) over any scalar."""

from __future__ import annotations

from ..graph import Scalar, atan2, cos, sin, sqrt, where_less
from ..spatial import Turn
from ..spatial.linear import Matrix3, Vector3, transpose

__all__ = [
    "Quaternion",
    "exponential",
    "inverse",
    "logarithm",
    "matrix",
    "multiply",
    "normalised",
    "of_matrix",
    "rate",
    "turn",
]

Quaternion = tuple[Scalar, Scalar, Scalar, Scalar]

_SMALL = 1e-4
"""For smaller squared angles, series replace quotients of small numbers; the error is under 1e-18."""


def matrix(p: Quaternion) -> Matrix3:
    """Return the rotation matrix of a unit quaternion: takes turned coordinates to the original axes."""
    w, x, y, z = p
    xx, yy, zz = 2.0 * x * x, 2.0 * y * y, 2.0 * z * z
    xy, xz, yz = 2.0 * x * y, 2.0 * x * z, 2.0 * y * z
    wx, wy, wz = 2.0 * w * x, 2.0 * w * y, 2.0 * w * z
    return (
        (1.0 - (yy + zz), xy - wz, xz + wy),
        (xy + wz, 1.0 - (xx + zz), yz - wx),
        (xz - wy, yz + wx, 1.0 - (xx + yy)),
    )


def of_matrix(R: Matrix3) -> Quaternion:
    """Return the unit quaternion, with w >= 0, of a rotation matrix, from its largest component, 1/2 or more."""
    (xx, _, _), (_, yy, _), (_, _, zz) = R
    a, b, c = R[2][1] - R[1][2], R[0][2] - R[2][0], R[1][0] - R[0][1]
    xy, xz, yz = R[1][0] + R[0][1], R[0][2] + R[2][0], R[2][1] + R[1][2]
    # the quaternion times four times its w, x, y or z, and the square of that one
    found, largest = (1.0 + (xx + yy + zz), a, b, c), 1.0 + (xx + yy + zz)
    for square, column in (
        (1.0 + xx - (yy + zz), (a, 1.0 + xx - (yy + zz), xy, xz)),
        (1.0 + yy - (zz + xx), (b, xy, 1.0 + yy - (zz + xx), yz)),
        (1.0 + zz - (xx + yy), (c, xz, yz, 1.0 + zz - (xx + yy))),
    ):
        w, x, y, z = (where_less(largest, square, new, old) for new, old in zip(column, found, strict=True))
        found, largest = (w, x, y, z), where_less(largest, square, square, largest)
    w, x, y, z = normalised(found)
    sign = where_less(w, 0.0, -1.0, 1.0)
    return (sign * w, sign * x, sign * y, sign * z)


def turn(p: Quaternion) -> Turn:
    """Return the change of axes to those turned by a quaternion."""
    return Turn(transpose(matrix(p)))


def multiply(a: Quaternion, b: Quaternion) -> Quaternion:
    """Return the product: first b, then a, in fixed axes; or first a, then b, in turned axes."""
    aw, ax, ay, az = a
    bw, bx, by, bz = b
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


def inverse(a: Quaternion) -> Quaternion:
    """Return the opposite rotation."""
    return (a[0], -a[1], -a[2], -a[3])


def normalised(a: Quaternion) -> Quaternion:
    """Return the quaternion with length one."""
    s = 1.0 / sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2] + a[3] * a[3])
    return (s * a[0], s * a[1], s * a[2], s * a[3])


def rate(a: Quaternion, w: Vector3) -> Quaternion:
    """Return the rate of a quaternion that turns with the angular velocity w, in its own axes: half a times w."""
    x, y, z = 0.5 * w[0], 0.5 * w[1], 0.5 * w[2]
    return multiply(a, (0.0, x, y, z))


def exponential(r: Vector3) -> Quaternion:
    """Return the quaternion of a rotation vector."""
    t2 = r[0] * r[0] + r[1] * r[1] + r[2] * r[2]
    t = sqrt(where_less(t2, _SMALL, 1.0, t2))
    k = where_less(t2, _SMALL, 0.5 - t2 * (1.0 / 48.0 - t2 * (1.0 / 3840.0)), sin(0.5 * t) / t)
    w = where_less(t2, _SMALL, 1.0 - t2 * (1.0 / 8.0 - t2 * (1.0 / 384.0 - t2 * (1.0 / 46080.0))), cos(0.5 * t))
    return (w, k * r[0], k * r[1], k * r[2])


def logarithm(a: Quaternion) -> Vector3:
    """Return the rotation vector, of angle at most pi, of a unit quaternion."""
    sign = where_less(a[0], 0.0, -1.0, 1.0)
    w, x, y, z = sign * a[0], sign * a[1], sign * a[2], sign * a[3]
    s2 = x * x + y * y + z * z
    s = sqrt(where_less(s2, _SMALL, 1.0, s2))
    # 2 asin(s) / s = 2 + s^2/3 + 3 s^4/20 + 5 s^6/56 + ...
    series = 2.0 + s2 * (1.0 / 3.0 + s2 * (3.0 / 20.0 + s2 * (5.0 / 56.0 + s2 * (35.0 / 576.0))))
    k = where_less(s2, _SMALL, series, 2.0 * atan2(s, w) / s)
    return (k * x, k * y, k * z)
