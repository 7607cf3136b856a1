"""Forces that are known beside theta: springs of joints, and drag of bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Array
from ..errors import ArgumentError

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["known_forces"]


def known_forces(robot: Robot, q: ArrayLike, v: ArrayLike) -> Array | None:
    """Return the forces of springs and drag on the joints, which help the drives; None if the robot has neither.

    In mechanisms with loops, forces in joints without a drive would have to be taken to the drives: an error.
    """
    p = robot.parameters
    sprung = bool(p.stiffness.any()) or any(body.drags for body in robot.bodies)
    if robot.nc:
        names = [c.name for c in robot.joints if any(c.stiffness)] + [x.name for x in robot.loops if x.is_passive]
        if sprung or names:
            raise ArgumentError(
                f"identify: {robot.name!r} has loops, and springs or drag, or damping in joints that close loops "
                f"({', '.join(names[:5]) or 'drag'}). Their forces are not in theta. Subtract what the drives bear of "
                "them from `tau`, and identify a robot without them"
            )
        return None
    if not sprung:
        return None
    slack = robot.with_parameters(damping=np.zeros_like(p.damping), joint_friction=np.zeros_like(p.joint_friction))
    return slack.passive_force(q, v)
