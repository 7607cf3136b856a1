"""Instrumental variables: estimates that noise in the measured positions does not bias.

Noise in q, v and a is in the regressor Y, too, and makes least squares too small, however many samples there are. The
regressor Z of the reference motion, which the controller was given, has no such noise, and is nearly the same:

    x = (sum of Z^T W Y)^-1 sum of Z^T W tau,        C = (Z^T W Y)^-1 (Z^T W Z) (Y^T W Z)^-1

Reference: Janot, Vandanjon and Gautier 2014, A generic instrumental variable approach for industrial robot
identification (there, Z is that of a simulation of the controlled robot).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..arguments import Array
from ..errors import ArgumentError
from .least_squares import Solution
from .reduction import Motion, Row

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["instrumental"]

_STEPS = 50
_BLIND = 1e-10


def instrumental(
    robot: Robot, motion: Motion, reference: Motion, columns: NDArray[np.intp], factors: list[Row], noise: Array | None
) -> Solution:
    """Return the estimate with the regressor of a reference motion as instruments."""
    ZY, ZZ, Zt = _products(robot, motion, reference, columns)
    force = np.array([np.linalg.norm(row.factor[:, -1]) / np.sqrt(row.count) for row in factors])
    s = np.where(force > 0.0, force, 1.0) if noise is None else noise
    floor = 1e-9 * np.where(force > 0.0, force, 1.0)
    for _ in range(_STEPS):
        w = 1.0 / s**2
        A, b, M = np.tensordot(w, ZY, 1), w @ Zt, np.tensordot(w, ZZ, 1)
        x, C, condition = _solved(A, b, M)
        if noise is not None:
            break
        share = len(x) / len(s)  # parameters that a force determines, on average
        after = np.array([np.sqrt(row.squares(x) / max(1.0, row.count - share)) for row in factors])
        after = np.maximum(after, floor)
        if np.abs(after / s - 1.0).max() < 1e-9:
            break
        s = after
    return Solution(x, C, s, condition)


def _products(robot: Robot, motion: Motion, reference: Motion, columns: NDArray[np.intp]) -> tuple[Array, Array, Array]:
    """Return Z^T Y, Z^T Z and Z^T tau of each force."""
    rows, n, width = motion.tau.shape[-1], len(columns), motion.width(robot)
    ZY, ZZ, Zt = np.zeros((rows, n, n)), np.zeros((rows, n, n)), np.zeros((rows, n))
    both = zip(
        motion.blocks(robot, "inverse_dynamics", width), reference.blocks(robot, "inverse_dynamics", width), strict=True
    )
    for (Y, tau), (Z, _) in both:
        for r in range(rows):
            y, z = Y[:, r, columns], Z[:, r, columns]
            ZY[r] += z.T @ y
            ZZ[r] += z.T @ z
            Zt[r] += z.T @ tau[:, r]
    return ZY, ZZ, Zt


def _solved(A: Array, b: Array, M: Array) -> tuple[Array, Array, float]:
    """Return parameters, covariance and condition number."""
    scale = 1.0 / np.sqrt(np.where(np.diag(M) > 0.0, np.diag(M), 1.0))
    unit = A * np.outer(scale, scale)
    values = np.linalg.svd(unit, compute_uv=False)
    if not values[-1] > _BLIND * values[0]:
        raise ArgumentError(
            "identify: the reference motion of `instruments` does not determine all parameters: it must be the motion "
            "that the robot was told to follow, sample by sample, and move all joints"
        )
    inverse = np.linalg.inv(unit)
    C = inverse @ (M * np.outer(scale, scale)) @ inverse.T
    return scale * (inverse @ (scale * b)), C * np.outer(scale, scale), float(np.sqrt(values[0] / values[-1]))
