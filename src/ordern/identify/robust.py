"""Estimates that single wrong forces do not spoil: iteratively re-weighted least squares with Huber's weights.

    w = min(1, k / |r / s|),        s = 1.4826 median |r|

r are the errors of a force. The estimate is that of least sum of Huber's function, quadratic up to k s and linear
beyond it. With k = 1.345 deviations are 2.5 % larger than those of least squares, if the noise is normal after all:

    C = (sum over r of R_r^T R_r / e_r^2)^-1,      e = s sqrt(mean of psi^2) / mean of psi',    psi = clip(r / s, -k, k)

Reference: Huber 1981, Robust statistics, sections 7.6 and 7.8.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..arguments import Array
from .identifiability import Spectrum, information_of
from .least_squares import Solution, solve
from .reduction import Motion, Row, reduced

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["huber"]

_K = 1.345
_STEPS = 30
_SETTLED = 1e-3
"""The estimate has converged when no parameter changes by more than this part of its deviation."""


def huber(
    robot: Robot, motion: Motion, columns: NDArray[np.intp], first: tuple[list[Row], Solution], exact: bool
) -> tuple[list[Row], Solution]:
    """Return the factors of weighted samples, and the estimate; `first` are those of least squares."""
    plain, found = first
    floor = 1e-9 * np.array([np.linalg.norm(x.factor[:, -1]) / np.sqrt(x.count) for x in plain])
    factors = plain
    for _ in range(_STEPS):
        off = _errors(robot, motion, columns, found.x)
        s = np.maximum(1.4826 * np.median(np.abs(off), axis=0), np.where(floor > 0.0, floor, 1.0))
        weights = np.sqrt(np.minimum(1.0, _K / np.maximum(np.abs(off / s), 1e-300)))
        factors = reduced(robot, "inverse_dynamics", replace(motion, weights=weights), columns, exact)
        before, found = found, solve(factors, len(found.x), s)
        moved = np.abs(found.x - before.x) / np.sqrt(np.diag(found.covariance))
        if np.nanmax(np.where(np.isfinite(moved), moved, 0.0), initial=0.0) < _SETTLED:
            break
    scaled = _errors(robot, motion, columns, found.x) / s
    slope = (np.abs(scaled) <= _K).mean(axis=0)
    spread = s * np.sqrt((np.clip(scaled, -_K, _K) ** 2).mean(axis=0)) / np.maximum(slope, 1e-3)
    seen = Spectrum.of(information_of(plain, spread, len(found.x)))
    return factors, Solution(found.x, seen.covariance, s, seen.condition)


def _errors(robot: Robot, motion: Motion, columns: NDArray[np.intp], x: Array) -> Array:
    """Return what parameters leave of the forces, (means, rows)."""
    return np.concatenate(
        [tau - Y[..., columns] @ x for Y, tau in motion.blocks(robot, "inverse_dynamics", motion.width(robot))]
    )
