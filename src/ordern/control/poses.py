"""Arrays of rotations and poses: their logarithms, exponentials and products."""

from __future__ import annotations

import numpy as np

from .arguments import Array

__all__ = ["exponential", "inverse", "logarithm", "rotation", "rotation_vector", "skew"]


def skew(x: Array) -> Array:
    """The matrices of cross products with x, (..., 3, 3)."""
    out = np.zeros((*x.shape[:-1], 3, 3))
    out[..., 2, 1], out[..., 0, 2], out[..., 1, 0] = (x[..., k] for k in range(3))
    out[..., 1, 2], out[..., 2, 0], out[..., 0, 1] = (-x[..., k] for k in range(3))
    return out


def _coefficients(t2: Array) -> tuple[Array, Array, Array]:
    """sin t / t, (1 - cos t) / t^2, (t - sin t) / t^3 for t^2."""
    t = np.sqrt(np.where(t2 < 1e-2, 1.0, t2))
    near = (
        1.0 - t2 / 6.0 * (1.0 - t2 / 20.0 * (1.0 - t2 / 42.0 * (1.0 - t2 / 72.0 * (1.0 - t2 / 110.0)))),
        0.5 - t2 / 24.0 * (1.0 - t2 / 30.0 * (1.0 - t2 / 56.0 * (1.0 - t2 / 90.0 * (1.0 - t2 / 132.0)))),
        1.0 / 6.0 - t2 / 120.0 * (1.0 - t2 / 42.0 * (1.0 - t2 / 72.0 * (1.0 - t2 / 110.0 * (1.0 - t2 / 156.0)))),
    )
    far = (np.sin(t) / t, 2.0 * np.sin(0.5 * t) ** 2 / t**2, (t - np.sin(t)) / t**3)
    a, b, c = (np.where(t2 < 1e-2, x, y) for x, y in zip(near, far, strict=True))
    return a, b, c


def rotation(r: Array) -> Array:
    """The rotation matrices (..., 3, 3) of rotation vectors."""
    a, b, _ = _coefficients((r * r).sum(axis=-1))
    S = skew(r)
    return np.asarray(np.eye(3) + a[..., None, None] * S + b[..., None, None] * (S @ S))


def rotation_vector(R: Array) -> Array:
    """The rotation vectors (..., 3), of angle at most pi, of rotation matrices: by way of quaternions."""
    flat = R.reshape(-1, 3, 3)
    a, b, c, d, e, f, g, h, i = flat.reshape(-1, 9).T
    four = np.array(  # 4 q q^T, whatever the rotation: its largest column has the most digits
        [
            [1 + a + e + i, h - f, c - g, d - b],
            [h - f, 1 + a - e - i, b + d, c + g],
            [c - g, b + d, 1 + e - a - i, f + h],
            [d - b, c + g, f + h, 1 + i - a - e],
        ]
    )
    best = np.argmax(np.einsum("iin->in", four), axis=0)
    q = four[:, best, np.arange(len(flat))].T
    q = q / np.linalg.norm(q, axis=1, keepdims=True)
    q = np.where(q[:, :1] < 0.0, -q, q)
    s = np.linalg.norm(q[:, 1:], axis=1)
    angle = 2.0 * np.arctan2(s, q[:, 0])
    scale = np.where(s < 1e-8, 2.0, angle / np.where(s < 1e-8, 1.0, s))
    return np.asarray((scale[:, None] * q[:, 1:]).reshape(*R.shape[:-2], 3))


def inverse(T: Array) -> Array:
    """The poses that undo those given."""
    Rt = T[..., :3, :3].swapaxes(-1, -2)
    out = np.zeros_like(T)
    out[..., :3, :3] = Rt
    out[..., :3, 3] = -(Rt @ T[..., :3, 3, None])[..., 0]
    out[..., 3, 3] = 1.0
    return out


def exponential(x: Array) -> Array:
    """The poses (..., 4, 4) reached at the constant velocities x = (angular, linear), in the moving axes."""
    w, u = x[..., :3], x[..., 3:]
    _, b, c = _coefficients((w * w).sum(axis=-1))
    wu = np.cross(w, u)
    out = np.zeros((*x.shape[:-1], 4, 4))
    out[..., :3, :3] = rotation(w)
    out[..., :3, 3] = u + b[..., None] * wu + c[..., None] * np.cross(w, wu)
    out[..., 3, 3] = 1.0
    return out


def logarithm(T: Array) -> Array:
    """The constant velocities (..., 6), in the moving axes, of the screw motions to poses in a unit of time."""
    w, p = rotation_vector(T[..., :3, :3]), T[..., :3, 3]
    t2 = (w * w).sum(axis=-1)
    a, b, _ = _coefficients(t2)
    small = t2 < 1e-2
    series = 1.0 / 12.0 + t2 * (1.0 / 720.0 + t2 * (1.0 / 30240.0 + t2 * (1.0 / 1209600.0 + t2 / 47900160.0)))
    k = np.where(small, series, (1.0 - 0.5 * a / b) / np.where(small, 1.0, t2))
    wp = np.cross(w, p)
    return np.concatenate([w, p - 0.5 * wp + k[..., None] * np.cross(w, wp)], axis=-1)
