"""Which trajectories diverged: one definition for results of all array libraries and devices.

A trajectory diverged if one of its states is not finite, or if a joint is faster than ten times its velocity limit.
Where the robot has no velocity limit, or one of zero, the bound is 200 rad/s for rotations and 100 m/s for
translations. A joint that starts fast, such as the base of a satellite, may reach twice the speed of the start
instead.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import Array
from ..model.loop_sizes import turning

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["fastest", "stayed"]

_TIMES = 10.0
"""So many times its velocity limit no joint moves."""
_FASTEST = {True: 200.0, False: 100.0}
"""The bounds of joints without a limit: of rotations in rad/s, of translations in m/s."""
_AT_START = 2.0


def fastest(robot: Robot) -> Array:
    """Return the speeds (nv,) above which a trajectory counts as diverged."""
    limits = tuple(x for c in robot.independent for x in c.velocity_limit)

    def found() -> Array:
        turns = [x for c in robot.independent for x in turning(c.type)]
        both = zip(limits, turns, strict=True)
        return np.array([_TIMES * x if 0.0 < x < math.inf else _FASTEST[turn] for x, turn in both])

    return robot._kernels.kept(("fastest", limits), found)


def stayed(q: Any, v: Any, bounds: Any) -> Any:
    """Return where states are finite and no joint is too fast, (..., rows), for arrays of any library.

    q and v are (..., rows, n); the first row is the start.
    """
    start = abs(v[..., :1, :]) * _AT_START
    start = start + (bounds - start) * (start < bounds)
    return ((q - q) == 0.0).all(-1) & (abs(v) <= start).all(-1)  # without NaN and infinities, q - q is zero
