"""Rotations and poses as NumPy arrays: rotation matrices, rotation vectors, quaternions, roll-pitch-yaw, 4x4 matrices.

Every function takes arrays with any leading shape and returns one with the same leading shape. Results are accurate to
rounding for all angles, near 0 and near pi included; NaN in gives NaN out. Conventions:

- A rotation matrix R (..., 3, 3) takes coordinates in the rotated frame to the fixed one: `x_fixed = R @ x_rotated`.
- A rotation vector (..., 3) is the unit axis times the angle in radians.
- A quaternion (..., 4) is (w, x, y, z).
- Roll, pitch and yaw (..., 3) are rotations about the *fixed* axes x, then y, then z: R = Rz(yaw) Ry(pitch) Rx(roll).
- A pose (..., 4, 4) is [[R, p], [0, 1]]. Poses compose by `@`.
- A twist (..., 6) is (angular, linear) in the moving frame, so that `exp_pose(t * twist)` moves at constant velocity.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .arguments import AnyArray, finite
from .declared import explained
from .errors import ArgumentError

__all__ = [
    "about",
    "angle_between",
    "exp",
    "exp_pose",
    "from_z",
    "inverse",
    "log",
    "log_jacobian",
    "log_pose",
    "matrix_from_quaternion",
    "matrix_from_rpy",
    "nearest",
    "pose",
    "quaternion_from_matrix",
    "quaternion_from_rpy",
    "quaternion_from_vector",
    "quaternion_product",
    "rotate",
    "rpy_from_matrix",
    "skew",
    "vector_from_quaternion",
]


_SERIES = 1e-2
"""Below this squared angle, power series replace quotients of small numbers; their error is under 1e-17."""
_ROTATION = 1e-4
"""Largest entry of R R^T - 1 for which R passes as a rotation matrix, in single precision too."""


@explained
def exp(vector: ArrayLike) -> AnyArray:
    """Return the rotation matrices (..., 3, 3) of rotation vectors (..., 3)."""
    r = _array(vector, (3,), "vector")
    a, b, _ = _coefficients(r)
    S = skew(r)
    return np.asarray(np.eye(3, dtype=r.dtype) + a * S + b * (S @ S))


@explained
def log(R: ArrayLike, *, check: bool = True) -> AnyArray:
    """Return the rotation vectors (..., 3), with angles from 0 to pi, of rotation matrices (..., 3, 3).

    Matrices that are not rotations are an error, unless `check` is False.
    """
    return vector_from_quaternion(quaternion_from_matrix(R, check=check))


@explained
def exp_pose(twist: ArrayLike) -> AnyArray:
    """Return the poses (..., 4, 4) reached in a unit of time at constant twists (..., 6) in the moving frame."""
    x = _array(twist, (6,), "twist")
    w, u = x[..., :3], x[..., 3:, None]
    a, b, c = _coefficients(w)
    S = skew(w)
    SS, one = S @ S, np.eye(3, dtype=x.dtype)
    return pose(one + a * S + b * SS, ((one + b * S + c * SS) @ u)[..., 0])


@explained
def log_pose(T: ArrayLike, *, check: bool = True) -> AnyArray:
    """Return the constant twists (..., 6), in the moving frame, that reach poses (..., 4, 4) in a unit of time.

    Matrices whose rotations are not rotations are an error, unless `check` is False.
    """
    M = _array(T, (4, 4), "T")
    w, p = log(M[..., :3, :3], check=check), M[..., :3, 3]
    S, x = skew(w), p[..., None]
    Sx = S @ x
    return np.concatenate([w, (x - 0.5 * Sx + _inverse_coefficient(w) * (S @ Sx))[..., 0]], axis=-1)


@explained
def log_jacobian(vector: ArrayLike) -> AnyArray:
    """Return J (..., 3, 3) such that r' = J w, for rotation vectors r and angular velocities w in the rotated frame."""
    r = _array(vector, (3,), "vector")
    S = skew(r)
    return np.asarray(np.eye(3, dtype=r.dtype) + 0.5 * S + _inverse_coefficient(r) * (S @ S))


def _coefficients(w: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Return sin t / t, (1 - cos t) / t^2 and (t - sin t) / t^3, each (..., 1, 1), for vectors of angle t."""
    t2 = (w * w).sum(axis=-1)[..., None, None]
    small = t2 < _SERIES
    t = np.sqrt(np.where(small, 1.0, t2)).astype(t2.dtype, copy=False)
    near = (
        1.0 - t2 / 6.0 * (1.0 - t2 / 20.0 * (1.0 - t2 / 42.0 * (1.0 - t2 / 72.0 * (1.0 - t2 / 110.0)))),
        0.5 - t2 / 24.0 * (1.0 - t2 / 30.0 * (1.0 - t2 / 56.0 * (1.0 - t2 / 90.0 * (1.0 - t2 / 132.0)))),
        1.0 / 6.0 - t2 / 120.0 * (1.0 - t2 / 42.0 * (1.0 - t2 / 72.0 * (1.0 - t2 / 110.0 * (1.0 - t2 / 156.0)))),
    )
    sine = np.sin(t)
    far = (sine / t, 2.0 * np.sin(0.5 * t) ** 2 / t**2, (t - sine) / t**3)
    a, b, c = (np.where(small, x, y) for x, y in zip(near, far, strict=True))
    return a, b, c


def _inverse_coefficient(w: AnyArray) -> AnyArray:
    """Return (1 - (t/2) cot(t/2)) / t^2, of shape (..., 1, 1), for vectors of angle t."""
    t2 = (w * w).sum(axis=-1)[..., None, None]
    small = t2 < _SERIES
    half = 0.5 * np.sqrt(np.where(small, 1.0, t2))
    series = 1.0 / 12.0 + t2 * (1.0 / 720.0 + t2 * (1.0 / 30240.0 + t2 * (1.0 / 1209600.0 + t2 / 47900160.0)))
    return np.asarray(np.where(small, series, (1.0 - half / np.tan(half)) / np.where(small, 1.0, t2)))


@explained
def about(axis: ArrayLike, angle: ArrayLike) -> AnyArray:
    """Return the rotation matrices (..., 3, 3) about unit axes (..., 3) by angles (...)."""
    K, t = skew(axis), np.asarray(angle)[..., None, None]
    return np.asarray(np.eye(3) + np.sin(t) * K + 2.0 * np.sin(0.5 * t) ** 2 * (K @ K))


@explained
def from_z(direction: ArrayLike) -> AnyArray:
    """Return the rotation matrices (..., 3, 3) of the smallest angle that take z to unit vectors (..., 3).

    For -z, which has no smallest rotation, it is half a turn about x.
    """
    z = _array(direction, (3,), "direction")
    n = np.stack([-z[..., 1], z[..., 0], np.zeros_like(z[..., 0])], axis=-1)
    sine = np.linalg.norm(n, axis=-1, keepdims=True)
    aligned = sine < 1e-14
    axis = np.where(aligned, np.eye(3)[0], n / np.where(aligned, 1.0, sine))
    R = about(axis, np.arctan2(sine, z[..., 2:])[..., 0])
    ends = np.where(z[..., 2, None, None] > 0.0, np.eye(3), np.diag([1.0, -1.0, -1.0]))
    return np.where(aligned[..., None], ends, R)


@explained
def quaternion_from_matrix(R: ArrayLike, *, check: bool = True) -> AnyArray:
    """Return the unit quaternions (..., 4), with w not negative, of rotation matrices (..., 3, 3).

    Matrices that are not rotations are an error, unless `check` is False.
    """
    M = _array(R, (3, 3), "R")
    a, b, c, d, e, f, g, h, i = nine = [M[..., j, k] for j in range(3) for k in range(3)]
    if check:
        _require_rotations(M, nine)
    four_qq = np.empty((*M.shape[:-2], 4, 4), M.dtype)  # 4 q q^T, whatever the rotation
    for k, square in enumerate((1.0 + a + e + i, 1.0 + a - e - i, 1.0 + e - a - i, 1.0 + i - a - e)):
        four_qq[..., k, k] = square
    for j, k, entry in ((0, 1, h - f), (0, 2, c - g), (0, 3, d - b), (1, 2, b + d), (1, 3, c + g), (2, 3, f + h)):
        four_qq[..., j, k] = four_qq[..., k, j] = entry
    best = np.argmax(np.einsum("...kk->...k", four_qq), axis=-1)  # the row with the most digits
    q = np.take_along_axis(four_qq, best[..., None, None], axis=-2)[..., 0, :]
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    return np.asarray(np.where(q[..., :1] < 0.0, -q, q) + 0.0)


@explained
def matrix_from_quaternion(q: ArrayLike) -> AnyArray:
    """Return the rotation matrices (..., 3, 3) of quaternions (..., 4), which need not be of length one."""
    p = _array(q, (4,), "q")
    w, x, y, z = (p[..., k] for k in range(4))
    s = 2.0 / _nonzero((p * p).sum(axis=-1))
    rows = (
        (1.0 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)),
        (s * (x * y + w * z), 1.0 - s * (x * x + z * z), s * (y * z - w * x)),
        (s * (x * z - w * y), s * (y * z + w * x), 1.0 - s * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


@explained
def quaternion_from_vector(vector: ArrayLike) -> AnyArray:
    """Return the unit quaternions (..., 4) of rotation vectors (..., 3)."""
    r = _array(vector, (3,), "vector")
    half = 0.5 * np.linalg.norm(r, axis=-1, keepdims=True)
    return np.concatenate([np.cos(half), 0.5 * np.sinc(half / np.pi) * r], axis=-1)


@explained
def vector_from_quaternion(q: ArrayLike) -> AnyArray:
    """Return the rotation vectors (..., 3), with angles from 0 to pi, of quaternions (..., 4) of any length."""
    p = _array(q, (4,), "q")
    p = np.where(p[..., :1] < 0.0, -p, p)
    w, s = p[..., :1], np.linalg.norm(p[..., 1:], axis=-1, keepdims=True)
    _nonzero(s + w)
    small = s < 1e-8 * w
    scale = np.where(small, 1.0 / np.where(small, w, 1.0), np.arctan2(s, w) / np.where(small, 1.0, s))
    return np.asarray(2.0 * scale * p[..., 1:])


@explained
def quaternion_product(a: ArrayLike, b: ArrayLike) -> AnyArray:
    """Return the quaternions (..., 4) of the rotations b followed, about fixed axes, by a: matrix(a) @ matrix(b)."""
    p, q = _array(a, (4,), "a"), _array(b, (4,), "b")
    v, u, w, x = p[..., :1], p[..., 1:], q[..., :1], q[..., 1:]
    return np.concatenate([v * w - (u * x).sum(axis=-1, keepdims=True), v * x + w * u + np.cross(u, x)], axis=-1)


@explained
def quaternion_from_rpy(rpy: ArrayLike) -> AnyArray:
    """Return the unit quaternions (..., 4) of roll, pitch and yaw (..., 3)."""
    r, p, y = np.moveaxis(_array(rpy, (3,), "rpy"), -1, 0) / 2
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


@explained
def matrix_from_rpy(rpy: ArrayLike) -> AnyArray:
    """Return the rotation matrices (..., 3, 3) of roll, pitch and yaw (..., 3)."""
    return matrix_from_quaternion(quaternion_from_rpy(rpy))


@explained
def rpy_from_matrix(R: ArrayLike) -> AnyArray:
    """Return roll, pitch and yaw (..., 3) of rotation matrices (..., 3, 3); the pitch is within a quarter turn.

    At a pitch of a quarter turn, only the sum or difference of roll and yaw is determined. The three angles together
    still give R to rounding.
    """
    M = _array(R, (3, 3), "R")
    yaw = np.arctan2(M[..., 1, 0], M[..., 0, 0])
    c, s = np.cos(yaw), np.sin(yaw)
    pitch = np.arctan2(-M[..., 2, 0], c * M[..., 0, 0] + s * M[..., 1, 0])
    roll = np.arctan2(s * M[..., 0, 2] - c * M[..., 1, 2], c * M[..., 1, 1] - s * M[..., 0, 1])
    return np.stack([roll, pitch, yaw], axis=-1)


@explained
def pose(R: ArrayLike, p: ArrayLike) -> AnyArray:
    """Return the poses (..., 4, 4) of rotation matrices (..., 3, 3) and positions (..., 3)."""
    M, x = _array(R, (3, 3), "R"), _array(p, (3,), "p")
    T = np.zeros((*np.broadcast_shapes(M.shape[:-2], x.shape[:-1]), 4, 4), np.result_type(M, x))
    T[..., :3, :3], T[..., :3, 3], T[..., 3, 3] = M, x, 1.0
    return T


@explained
def inverse(T: ArrayLike) -> AnyArray:
    """Return the inverses of poses (..., 4, 4)."""
    M = _array(T, (4, 4), "T")
    Rt = M[..., :3, :3].swapaxes(-1, -2)
    return pose(Rt, -(Rt @ M[..., :3, 3, None])[..., 0])


@explained
def rotate(R: ArrayLike, x: ArrayLike) -> AnyArray:
    """Return R x for vectors x (..., 3); of (angular, linear) pairs (..., 6), rotate both halves."""
    v = np.asarray(x)
    M = np.asarray(R)
    if v.shape[-1:] == (6,):
        both = v.reshape(*v.shape[:-1], 2, 3) @ M.swapaxes(-1, -2)
        return np.asarray(both.reshape(*both.shape[:-2], 6))
    return np.asarray((M @ v[..., None])[..., 0])


@explained
def nearest(M: ArrayLike) -> AnyArray:
    """Return the rotation matrices (..., 3, 3) closest to matrices M, in the Frobenius norm."""
    given = finite(_array(M, (3, 3), "M"), "nearest: M")  # LAPACK may not end with infinity
    U, _, Vt = np.linalg.svd(given.astype(np.float32) if given.dtype == np.float16 else given)
    U[..., :, 2] *= np.sign(np.linalg.det(U @ Vt))[..., None]
    return np.asarray(U @ Vt)


@explained
def angle_between(R: ArrayLike, S: ArrayLike) -> AnyArray:
    """Return the angles (...), from 0 to pi, of the rotations that take rotation matrices R to S."""
    return np.asarray(np.linalg.norm(log(_array(R, (3, 3), "R").swapaxes(-1, -2) @ _array(S, (3, 3), "S")), axis=-1))


@explained
def skew(x: ArrayLike) -> AnyArray:
    """Return the matrices (..., 3, 3) of the cross product with vectors (..., 3): skew(x) @ y is x cross y."""
    a = np.asarray(x)
    out = np.zeros((*a.shape, 3), a.dtype if a.dtype.kind in "fO" else float)
    out[..., 2, 1], out[..., 0, 2], out[..., 1, 0] = (a[..., k] for k in range(3))
    out[..., 1, 2], out[..., 2, 0], out[..., 0, 1] = (-a[..., k] for k in range(3))
    return out


def _array(x: ArrayLike, core: tuple[int, ...], what: str) -> AnyArray:
    """Return real numbers as an array of floats, in the precision they have, whose last dimensions are `core`."""
    a = np.asarray(x)
    if a.dtype.kind in "iub":
        a = a.astype(float)
    if a.dtype.kind != "f":
        raise ArgumentError(f"{what} must be an array of real numbers, not of {a.dtype}")
    if a.shape[-len(core) :] != core:
        expected = ", ".join(("...", *map(str, core)))
        raise ArgumentError(f"{what} has shape {a.shape}; expected ({expected})")
    return a


def _require_rotations(M: AnyArray, nine: list[AnyArray]) -> None:
    a, b, c, d, e, f, g, h, i = nine
    off = np.abs(M @ M.swapaxes(-1, -2) - np.eye(3))
    if (off > _ROTATION).any():
        why = f"R R^T differs from the identity by {np.nanmax(off):.2g}"
    elif (a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g) < 0.0).any():
        why = "its determinant is negative"
    else:
        return
    raise ArgumentError(f"R is not a rotation matrix: {why}; `rotations.nearest(R)` is the closest one")


def _nonzero(size: AnyArray) -> AnyArray:
    if (size == 0.0).any():
        raise ArgumentError("a quaternion of zeros is not a rotation; the identity is (1, 0, 0, 0)")
    return size
