"""The start of a run of a robot with loops: a closed position, and velocities that keep it closed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...arguments import Array
from ...errors import ArgumentError, InconsistentStateError
from .constraints import Constraints

if TYPE_CHECKING:
    from ...robot import Robot

__all__ = ["assembled", "closed_start"]


MISFIT = 1e-6
"""A start that is open by less, in rad and m, is closed without a word; faster velocities may be off by this part."""


def assembled(robot: Robot) -> Array:
    """Return the neutral position if it is closed; else the position that `assemble` finds from there."""
    q = np.asarray(robot.neutral(), float)
    if not robot.nc or np.abs(robot.loop_residual(q, t=0.0)).max() <= MISFIT:
        return q
    return np.asarray(robot.assemble(q).q, float)


def closed_start(now: Constraints, q: Array, v: Array, given_v: bool) -> tuple[Array, Array]:
    """Return the closed state next to a given one; raise, with the loop's name, if the given one is too far off."""
    if not now.nc:
        return q, v
    robot = now.robot
    name, off = now.worst(now.residual(q, 0.0))
    if not off <= MISFIT:
        raise InconsistentStateError(
            f"q0: loop {name!r} of {robot.name!r} is open by {off:.3g} (rad, m), and the tolerance is {MISFIT:g}; "
            "start where loops are closed: robot.assemble(q0).q is such a position near it"
        )
    q, off = now.one(q, 0.0)
    if off > 1e-9:
        raise ArgumentError(
            f"q0: loop {name!r} of {robot.name!r} cannot be closed from there, by {off:.3g} (rad, m). If so little is "
            "left everywhere, loops that are redundant contradict each other, by digits that a file leaves out: open "
            "one of them, or give its place with more digits"
        )
    rate = now.rate(q, v, 0.0)
    name, off = now.worst(rate)
    most = MISFIT * max(1.0, float(np.abs(v).max(initial=0.0)))
    if given_v and not off <= most:
        raise InconsistentStateError(
            f"v0: loop {name!r} of {robot.name!r} would open with {off:.3g} (rad/s, m/s), and the tolerance is "
            f"{most:.3g}; velocities must keep loops closed: robot.project_velocity(q0, v0) is such a velocity next to "
            "it"
        )
    return q, v + now.solve(q, None, -rate, 0.0)
