"""Velocities and accelerations at the knots of splines.

The equations use only the steps d_i from knot to knot, so that they also hold on curved spaces: there d_i is the
constant velocity that leads from one knot to the next, which has the same components at both.
"""

from __future__ import annotations

import numpy as np

from ..arguments import Array

__all__ = ["cubic", "quintic"]


def cubic(h: Array, d: Array, ends: str, v: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return velocities and accelerations (n + 1, nv) of the cubic spline with steps d (n, nv) in the times h (n,).

    `ends` is "natural" (no acceleration), "clamped" (the velocities v) or "periodic".
    """
    n, width = d.shape
    D = d / h[:, None]
    rows, right = _empty(n, 1, width)
    for i in range(1, n):
        left_h, right_h = 1.0 / h[i - 1], 1.0 / h[i]
        rows[i, :, 0, 0] = left_h, 2.0 * (left_h + right_h), right_h
        right[i, 0] = 3.0 * (D[i - 1] * left_h + D[i] * right_h)
    if ends == "periodic":
        left_h, right_h = 1.0 / h[-1], 1.0 / h[0]
        rows[0, :, 0, 0] = left_h, 2.0 * (left_h + right_h), right_h
        right[0, 0] = 3.0 * (D[-1] * left_h + D[0] * right_h)
        speeds = _cyclic(rows[:-1], right[:-1])
    else:
        if ends == "natural":
            rows[0, 1:, 0, 0], right[0, 0] = (2.0, 1.0), 3.0 * D[0]
            rows[n, :2, 0, 0], right[n, 0] = (1.0, 2.0), 3.0 * D[-1]
        else:
            rows[0, 1, 0, 0], right[0, 0] = 1.0, v[0]
            rows[n, 1, 0, 0], right[n, 0] = 1.0, v[1]
        speeds = _solve(rows, right)
    u = speeds[:, 0]
    bent = (6.0 * D - 4.0 * u[:-1] - 2.0 * u[1:]) / h[:, None]
    last = (2.0 * u[-2] + 4.0 * u[-1] - 6.0 * D[-1]) / h[-1]
    return u, np.concatenate([bent, last[None]])


def quintic(h: Array, d: Array, ends: str, v: tuple[Array, Array], a: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return the same for the quintic spline, whose derivatives up to the fourth are continuous.

    At "natural" ends the third and fourth derivatives vanish, at "clamped" ones velocities v and accelerations a are
    given.
    """
    n, width = d.shape
    rows, right = _empty(n, 2, width)
    for i in range(n):
        start, end, step = _derivatives(h[i], d[i])
        # at each knot: what arrives less what leaves is zero
        rows[i, 1] -= start[0]
        rows[i, 2] -= end[0]
        right[i] += step[0]
        rows[i + 1, 1] += end[1]
        rows[i + 1, 0] += start[1]
        right[i + 1] -= step[1]
    if ends == "periodic":
        rows[0, 0], rows[0, 1] = rows[n, 0], rows[0, 1] + rows[n, 1]
        right[0] += right[n]
        found = _cyclic(rows[:-1], right[:-1])
    else:
        if ends == "clamped":
            for k in (0, n):
                rows[k] = 0.0
                rows[k, 1] = np.eye(2)
                right[k] = v[k > 0], a[k > 0]
        found = _solve(rows, right)
    return found[:, 0], found[:, 1]


def _derivatives(h: float, d: Array) -> tuple[Array, Array, Array]:
    """Return the third and fourth derivatives of the quintic from 0 to d at its start (index 0) and end (index 1).

    They are linear: matrices on (v, a) at the start and on (v, a) at the end, and the terms of d.
    """
    start = np.array(
        [[[-36 / h**2, -9 / h], [192 / h**3, 36 / h**2]], [[-24 / h**2, -3 / h], [-168 / h**3, -24 / h**2]]]
    )
    end = np.array([[[-24 / h**2, 3 / h], [168 / h**3, -24 / h**2]], [[-36 / h**2, 9 / h], [-192 / h**3, 36 / h**2]]])
    step = np.array([[60 / h**3 * d, -360 / h**4 * d], [60 / h**3 * d, 360 / h**4 * d]])
    return start, end, step


def _empty(n: int, size: int, width: int) -> tuple[Array, Array]:
    return np.zeros((n + 1, 3, size, size)), np.zeros((n + 1, size, width))


def _solve(rows: Array, right: Array) -> Array:
    """Solve a block-tridiagonal system by elimination."""
    diagonal: Array = rows[:, 1].copy()
    x: Array = right.copy()
    for i in range(1, len(rows)):
        factor = np.linalg.solve(diagonal[i - 1].T, rows[i, 0].T).T
        diagonal[i] -= factor @ rows[i - 1, 2]
        x[i] -= factor @ x[i - 1]
    for i in reversed(range(len(rows))):
        rest = x[i] - rows[i, 2] @ x[i + 1] if i + 1 < len(rows) else x[i]
        x[i] = np.linalg.solve(diagonal[i], rest)
    return x


def _cyclic(rows: Array, right: Array) -> Array:
    """Solve a cyclic block-tridiagonal system; the first solution is repeated at the end."""
    n, size = len(rows), rows.shape[-1]
    if n < 3:
        return _close(_dense_cyclic(rows, right))
    corner = np.zeros((n - 1, size, size))
    corner[0] += rows[0, 0]
    corner[-1] += rows[-2, 2]
    inner = _solve(rows[:-1], np.concatenate([right[:-1], corner], axis=2))
    x, effect = inner[..., :-size], inner[..., -size:]
    before, here, after = rows[-1]
    pivot = here - before @ effect[-1] - after @ effect[0]
    last = np.linalg.solve(pivot, right[-1] - before @ x[-1] - after @ x[0])
    return _close(np.concatenate([x - effect @ last, last[None]]))


def _dense_cyclic(rows: Array, right: Array) -> Array:
    n, size = len(rows), rows.shape[-1]
    A = np.zeros((n, size, n, size))
    for i in range(n):
        for k in range(3):
            A[i, :, (i + k - 1) % n] += rows[i, k]
    return np.asarray(np.linalg.solve(A.reshape(n * size, -1), right.reshape(n * size, -1)).reshape(right.shape))


def _close(x: Array) -> Array:
    return np.concatenate([x, x[:1]])
