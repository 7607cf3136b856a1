"""Weighted least squares on the factors of measured forces.

    minimise  sum over r of | R_r (x, -1) |^2 / s_r^2,        C = (sum over r of R_r^T R_r / s_r^2)^-1

with the noise s_r of each force. Where it is not known, it follows from what is left of the force,

    s_r^2 = | R_r (x, -1) |^2 / (n - p_r),      p_r = tr(C R_r^T R_r) / s_r^2: the parameters that force r determines

and x is found again until nothing changes. All of this needs the factors only, whatever the number of samples.

Reference: Gautier and Poignet 2001, Extended Kalman filtering and weighted least squares dynamic identification of
robot, for weights of joints from their residuals.
"""

from __future__ import annotations

import numpy as np

from ..arguments import Array
from ..records import dataclass
from .identifiability import Spectrum, information_of
from .reduction import Row

__all__ = ["Solution", "measured_of", "solve"]

_STEPS = 50
_SETTLED = 1e-9
_LEAST = 1e-9
"""Noise below this part of the rms force counts as this part: data of a simulation may have none."""


@dataclass(frozen=True, slots=True)
class Solution:
    """Parameters with their covariance, and the noise of each force."""

    x: Array
    covariance: Array
    noise: Array
    condition: float


def solve(rows: list[Row], count: int, noise: Array | None) -> Solution:
    """Return the parameters of least weighted squares; without `noise` it is estimated.

    Parameters that are not determined are those of least norm, columns scaled to unit length; their variance is
    infinite.
    """
    force = np.array([np.linalg.norm(row.factor[:, -1]) / np.sqrt(row.count) for row in rows])
    if noise is not None:
        return _weighted(rows, count, noise)
    floor = _LEAST * np.where(force > 0.0, force, 1.0)
    s = np.where(force > 0.0, force, 1.0)
    for _ in range(_STEPS):
        found = _weighted(rows, count, s)
        after = np.maximum(_noise(rows, found), floor)
        if np.abs(after / s - 1.0).max() < _SETTLED:
            break
        s = after
    return _weighted(rows, count, s)


def _noise(rows: list[Row], found: Solution) -> Array:
    """Return the noise of each force, from what the parameters leave of it."""
    result = []
    for row, s in zip(rows, found.noise, strict=True):
        A, C = row.factor[:, :-1], found.covariance[np.ix_(row.columns, row.columns)]
        taken = float(np.einsum("ij,jk,ik->", A, np.where(np.isfinite(C), C, 0.0), A)) / s**2
        result.append(np.sqrt(row.squares(found.x) / max(1.0, row.count - taken)))
    return np.array(result)


def measured_of(rows: list[Row], noise: Array) -> Array:
    """Return the measured forces beside `information_of`: weighted, in the coordinates of the factors."""
    return np.concatenate([row.factor[:, -1] / s for row, s in zip(rows, noise, strict=True)])


def _weighted(rows: list[Row], count: int, noise: Array) -> Solution:
    seen, z = Spectrum.of(information_of(rows, noise, count)), measured_of(rows, noise)
    x = seen.Vt.T @ (seen.inverse * (seen.U.T @ z)) / seen.lengths
    return Solution(x, seen.covariance, noise, seen.condition)
