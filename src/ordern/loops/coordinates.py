"""Coordinates of joints that close loops, and where they have none.

Joints in series may reach only some of the poses that they have no residual against: an elbow those that are near
enough, a wrist some turns. Beyond, the equations of their coordinates have no solution. What is compiled then gives the
coordinates of a neighbour, which is what searches need on their way; who asks for coordinates is told that there are
none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..joints import Joint
from ..model import TracedLoop
from .kernels import Array, asking

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["bounded_loops", "loop_coordinates", "nearest_coordinates"]

_ROUNDING = {True: 1e-9, False: 1e-5}
"""How far beyond the last pose that is reached, as a part of the size, is rounding: in double precision, and not."""


def bounded_loops(robot: Robot) -> tuple[TracedLoop, ...]:
    """The loops whose joints do not reach all poses that they have no residual against."""
    loops = robot.loop_table.loops
    return robot._kernels.kept(
        ("bounded loops",), lambda: tuple(x for x in loops if x.loop.nq and _slack(x, np.eye(3, 4)))
    )


def loop_coordinates(robot: Robot, q: ArrayLike, threads: int | None, out: Array | None) -> Array:
    """(..., n): coordinates, not a number where no position of a loop's joint leads to the pose of its frames."""
    found: Array = robot.kernel("loop_coordinates")(q, threads=threads, out=out)
    at = np.asarray(q)
    least = -_ROUNDING[at.dtype not in (np.float32, np.float16)]
    for x in bounded_loops(robot):
        P, C = (robot.pose(np.asarray(at, float), f) for f in (x.parent.frame, x.child.frame))
        back = np.swapaxes(P[..., :3, :3], -1, -2)
        pose = np.concatenate([back @ C[..., :3, :3], back @ (C - P)[..., :3, 3:]], axis=-1)
        beyond = np.any([s < least for s in _slack(x, pose)], axis=0)
        found[..., x.q] = np.where(beyond[..., None], np.nan, found[..., x.q])
    return found


def nearest_coordinates(robot: Robot, q: Array) -> Array:
    """(..., n): coordinates; where there are none, those of a neighbour."""
    return asking(robot)("loop_coordinates", q) if bounded_loops(robot) else robot.loop_coordinates(q)


def _slack(x: TracedLoop, pose: Array) -> tuple[Any, ...]:
    """What the joint of a loop says of relative poses (..., 3, 4)."""
    assert isinstance(x.type, Joint)
    M = np.moveaxis(pose, (-2, -1), (0, 1))
    a, b, c = ((row[0], row[1], row[2]) for row in M[:3])
    return x.type.reach_margin((a, b, c), (M[0][3], M[1][3], M[2][3]))
