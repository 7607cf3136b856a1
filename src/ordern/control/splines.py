"""Velocities and accelerations at the knots of splines.

The equations use only the steps d_i from knot to knot, so that they also hold on curved spaces: there d_i is the
constant velocity that leads from one knot to the next, which has the same components at both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arguments import Array

__all__ = ["cubic", "quintic"]

Nested = Sequence[Any]
"""An array of the shape (2, m, m, n) as nested lists."""


def cubic(h: Array, d: Array, ends: str, v: Array) -> tuple[Array, Array]:
    """Return velocities and accelerations (n + 1, nv) of the cubic spline with steps d (n, nv) in the times h (n,).

    `ends` is "natural" (no acceleration), "clamped" (the velocities v) or "periodic".
    """
    c, D = 1.0 / h, d / h[:, None]
    start, end = [[[-4.0 * c]], [[2.0 * c]]], [[[-2.0 * c]], [[4.0 * c]]]
    step = 6.0 * np.stack([[D], [-D]]) / h[:, None]
    u = _knots(start, end, step, ends, (v,))[:, 0]
    bent = (6.0 * D - 4.0 * u[:-1] - 2.0 * u[1:]) / h[:, None]
    last = (2.0 * u[-2] + 4.0 * u[-1] - 6.0 * D[-1]) / h[-1]
    return u, np.concatenate([bent, last[None]])


def quintic(h: Array, d: Array, ends: str, v: Array, a: Array) -> tuple[Array, Array]:
    """Return the same for the quintic spline, whose derivatives up to the fourth are continuous.

    At "natural" ends the third and fourth derivatives vanish, at "clamped" ones velocities v and accelerations a are
    given.
    """
    b, c, e = 1.0 / h, 1.0 / h**2, 1.0 / h**3
    start = [[[-36.0 * c, -9.0 * b], [192.0 * e, 36.0 * c]], [[-24.0 * c, -3.0 * b], [-168.0 * e, -24.0 * c]]]
    end = [[[-24.0 * c, 3.0 * b], [168.0 * e, -24.0 * c]], [[-36.0 * c, 9.0 * b], [-192.0 * e, 36.0 * c]]]
    third, fourth = 60.0 * e[:, None] * d, 360.0 * (b * e)[:, None] * d
    found = _knots(start, end, np.stack([[third, -fourth], [third, fourth]]), ends, (v, a))
    return found[:, 0], found[:, 1]


def _knots(start: Nested, end: Nested, step: Array, ends: str, given: Sequence[Array]) -> Array:
    """Return the unknowns x (n + 1, m, nv) at the knots for which the highest derivatives of a spline are continuous.

    Within segment i, m derivatives are linear: start[p] x_i + end[p] x_(i+1) + step[p], at its start for p = 0 and at
    its end for p = 1. `given` are the unknowns at clamped ends.
    """
    S, E = (np.moveaxis(np.array(x), -1, 1) for x in (start, end))
    step = np.moveaxis(step, 2, 1)
    n, m = S.shape[1:3]
    rows, right = np.zeros((n + 1, 3, m, m)), np.zeros((n + 1, m, step.shape[-1]))
    # at each knot, the derivatives that arrive equal those that leave
    rows[:-1, 1], rows[:-1, 2], right[:-1] = -S[0], -E[0], step[0]
    rows[1:, 0] = S[1]
    rows[1:, 1] += E[1]
    right[1:] -= step[1]
    if ends == "periodic":
        rows[0, 0] = rows[n, 0]
        rows[0, 1] += rows[n, 1]
        right[0] += right[n]
        return _cyclic(rows[:-1], right[:-1])
    if ends == "clamped":
        for k, last in ((0, 0), (n, 1)):
            rows[k], rows[k, 1] = 0.0, np.eye(m)
            right[k] = [x[last] for x in given]
    return _solve(rows, right)


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
    if n == 1:  # the knot is its own neighbour on both sides
        return np.repeat(np.linalg.solve(rows.sum(axis=1), right), 2, axis=0)
    corner = np.zeros((n - 1, size, size))
    corner[0] += rows[0, 0]
    corner[-1] += rows[-2, 2]
    inner = _solve(rows[:-1], np.concatenate([right[:-1], corner], axis=2))
    x, effect = inner[..., :-size], inner[..., -size:]
    before, here, after = rows[-1]
    pivot = here - before @ effect[-1] - after @ effect[0]
    last = np.linalg.solve(pivot, right[-1] - before @ x[-1] - after @ x[0])
    x = x - effect @ last
    return np.concatenate([x, last[None], x[:1]])
