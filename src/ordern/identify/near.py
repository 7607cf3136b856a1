"""Parameters that bodies can have, with the base parameters of an estimate by least squares.

Forces determine base parameters only. Of all parameters with these, least squares takes those next to the robot's own,
which may be impossible for a body. Here the estimate itself, with its covariance, takes the place of the measurements:

    minimum of (x - K theta)^T C^-1 (x - K theta) / 2 + weight * prior

If the truth is a robot, the first term at the truth is half a chi-squared number with as many degrees of freedom as
there are base parameters. A larger one shows that no bodies have the base parameters of the estimate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arguments import Array
from ..errors import ArgumentError
from .consistent import possible_theta

if TYPE_CHECKING:
    from .estimate import Estimate

__all__ = ["possible_near"]

_WEIGHT = 1e-2
_ROUNDING = 1e-5
"""Base parameters are compared to this part of their size, however small the noise is."""
_SIGMAS = 5.0


def possible_near(estimate: Estimate) -> Array | None:
    """Return possible parameters theta with the base parameters of an estimate; None if there are none."""
    from .identification import prior_of

    base, x, robot = estimate.base, estimate.values, estimate.measured
    places = {label: k for k, label in enumerate(robot.parameters.theta_labels)}
    own = np.array([robot.parameters.theta[places[label]] if label in places else 0.0 for label in base.labels])
    guesses = np.zeros(len(own))
    guesses[base.kept] = x
    try:
        prior = prior_of(base, own, guesses)
    except ArgumentError:  # only some parameters of a body were estimated
        return None
    least = _ROUNDING * np.maximum(np.abs(x), np.sqrt(np.diag(estimate.covariance)))
    C = estimate.covariance + np.diag(np.maximum(least, 1e-12) ** 2)
    scale = np.sqrt(np.diag(C))
    F = np.linalg.inv(np.linalg.cholesky(C / np.outer(scale, scale))) / scale
    found = possible_theta(F @ base.matrix, F @ x, own, prior, _WEIGHT)
    apart = float(np.sum((F @ (base.of_theta(found) - x)) ** 2))
    if not apart <= len(x) + _SIGMAS * np.sqrt(2.0 * len(x)):
        return None
    theta = np.array(robot.parameters.theta)
    for label, value in zip(base.labels, found, strict=True):
        if label in places:
            theta[places[label]] = value
    return theta
