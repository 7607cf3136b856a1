"""Simulation in arithmetic of many digits, for any robot whose velocities are the rates of its positions.

Extrapolation by Gragg, Bulirsch and Stoer: each step is taken by 2, 4, 6 ... midpoint steps. Their error is a series in
the square of the step length, so that the scheme of Aitken and Neville finds the limit. Accelerations are those of a
text of forward dynamics, interpreted on numbers of mpmath: both the integrator and the arithmetic are independent of
those of simulations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Array
from ..robot import Robot

__all__ = ["extrapolated"]


def extrapolated(
    robot: Robot,
    q0: ArrayLike,
    until: float,
    steps: int,
    *,
    columns: int = 8,
    digits: int = 50,
    method: str | None = None,
) -> tuple[Array, float]:
    """Return positions and velocities (2 nv,) after a free fall from rest, and the gap of the last two columns."""
    import mpmath

    with mpmath.workdps(digits):
        exact = np.vectorize(mpmath.mpf, otypes=[object])
        kernel = robot.kernel("forward_dynamics", method, way="interpreted")
        n = robot.nv
        zero = exact(np.zeros(n))

        def rate(y: Array) -> Array:
            return np.concatenate([y[n:], np.asarray(kernel(y[:n], y[n:], zero))])

        y, off = np.concatenate([exact(np.asarray(q0, dtype=float)), zero]), 0.0
        for _ in range(steps):
            y, apart = _step(rate, y, mpmath.mpf(until) / steps, columns)
            off = max(off, apart)
        return y, off


def _step(rate: Callable[[Array], Array], y: Array, H: Any, columns: int) -> tuple[Array, float]:
    first = rate(y)
    row: list[Array] = []
    for j in range(1, columns + 1):
        new = [_midpoint(rate, y, first, H, 2 * j)]
        for k, old in enumerate(row, 1):
            ratio = H * 0 + j * j
            new.append(new[-1] + (new[-1] - old) / (ratio / ((j - k) * (j - k)) - 1))
        row = new
    return row[-1], float(np.abs(row[-1] - row[-2]).max())


def _midpoint(rate: Callable[[Array], Array], y: Array, first: Array, H: Any, n: int) -> Array:
    """Take n steps of Gragg's smoothed midpoint rule, which is even in their length."""
    h = H / n
    before, now = y, y + h * first
    for _ in range(n - 1):
        before, now = now, before + 2 * h * rate(now)
    return np.asarray((before + now + h * rate(now)) / 2)
