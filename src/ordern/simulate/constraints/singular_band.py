"""Motion through singular positions, where constraints depend on each other that usually do not.

There a mechanism has more freedoms, and branches of its motions meet. Near such a position, what the weak constraints
ask of accelerations is a quotient of two small numbers. Its error decides on which branch the motion goes on, or ends
in nonsense. But the motion itself is smooth, and so are the joint forces f_c = K^T lambda of the constraints. So in a
narrow band, where the smallest singular value of K is below a part `BAND` of what it was at its largest, weak
constraints are replaced by these forces as they were at the entrance:

    M a + C = tau + f_c + K_s^T mu,    K_s a = c_s        with K_s the strong ones

and what f_c would do to the energy, since it does not turn with the motion, is taken back along the velocity.

The band is crossed in a time of order BAND, in which f_c changes by this order, velocities are off by its square, and
positions by its third power: far less than branches are apart at the exit, where all loops are closed again by the
nearest state. So the motion goes on in the branch that it came by.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...records import dataclass
from .structure import Structure

__all__ = ["BAND", "Crossing", "weak_rank"]

Array = NDArray[np.float64]

BAND = 5e-4
"""Errors of a step are magnified by its square, those of the band itself grow by its fourth power."""
_WEAK = 0.1
"""Singular values above this part of the usual smallest one are not weak."""


@dataclass(frozen=True)
class Crossing:
    """A singular position that is being passed."""

    structure: Structure
    """With the strong constraints only."""
    push: Array
    """The joint forces of all constraints at the entrance, (nv,)."""


def weak_rank(now: Structure, q: Array, t: float, usual: float) -> int:
    """How many constraints are strong: singular values before the widest gap below the usual ones."""
    sigma = now.sigma(q, t)
    best, rank = 0.0, now.rank - 1
    for k in range(now.rank):
        if sigma[k] < _WEAK * usual:
            gap = (sigma[k - 1] if k else math.inf) / max(sigma[k], 1e-300)
            if gap > best:
                best, rank = gap, k
    return rank
