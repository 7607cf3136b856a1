"""Rotations on arrays: quaternions (w, x, y, z), matrices, and roll, pitch and yaw (about fixed x, then y, then z)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "matrix_of_quaternion",
    "product",
    "quaternion_of_matrix",
    "quaternion_of_rpy",
    "rpy_of_matrix",
]

Array = NDArray[Any]


def matrix_of_quaternion(q: Array) -> Array:
    """Rotation matrices (..., 3, 3) of unit quaternions (..., 4)."""
    w, x, y, z = np.moveaxis(q, -1, 0)
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def quaternion_of_matrix(R: Array) -> Array:
    """The unit quaternion of one rotation matrix, with w not below zero."""
    (a, b, c), (d, e, f), (g, h, i) = R
    four_qq = np.array(  # 4 q q^T, whatever the rotation: its largest column has the most digits
        [
            [1 + a + e + i, h - f, c - g, d - b],
            [h - f, 1 + a - e - i, b + d, c + g],
            [c - g, b + d, 1 + e - a - i, f + h],
            [d - b, c + g, f + h, 1 + i - a - e],
        ]
    )
    q = four_qq[:, np.argmax(four_qq.diagonal())]
    unit: Array = q / np.linalg.norm(q)
    return (-unit if unit[0] < 0.0 else unit) + 0.0


def product(p: Array, q: Array) -> Array:
    """The quaternion of the rotation q followed, in the outer frame, by p."""
    a, u, b, v = p[..., :1], p[..., 1:], q[..., :1], q[..., 1:]
    return np.concatenate(
        [a * b - (u * v).sum(axis=-1, keepdims=True), a * v + b * u + np.cross(u, v)],
        axis=-1,
    )


def quaternion_of_rpy(rpy: Array) -> Array:
    """Unit quaternions (..., 4) of roll, pitch and yaw (..., 3)."""
    r, p, y = np.moveaxis(rpy, -1, 0) / 2
    (cr, cp, cy), (sr, sp, sy) = ((f(r), f(p), f(y)) for f in (np.cos, np.sin))
    return np.stack(
        [
            cr * cp * cy + sr * sp * sy,
            sr * cp * cy - cr * sp * sy,
            cr * sp * cy + sr * cp * sy,
            cr * cp * sy - sr * sp * cy,
        ],
        axis=-1,
    )


def rpy_of_matrix(R: Array) -> Array:
    """Roll, pitch and yaw (..., 3) of rotation matrices (..., 3, 3); together exact also where roll and yaw are not.

    With the pitch near a quarter turn, roll and yaw turn about one axis: the yaw may then be anything, and the roll is
    what is left after it.
    """
    yaw = np.arctan2(R[..., 1, 0], R[..., 0, 0])
    c, s = np.cos(yaw), np.sin(yaw)
    pitch = np.arctan2(-R[..., 2, 0], c * R[..., 0, 0] + s * R[..., 1, 0])
    roll = np.arctan2(s * R[..., 0, 2] - c * R[..., 1, 2], c * R[..., 1, 1] - s * R[..., 0, 1])
    return np.stack([roll, pitch, yaw], axis=-1)
