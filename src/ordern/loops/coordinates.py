"""Coordinates of joints that close loops, poses that such joints cannot reach, and the forces of loops on bodies.

The residuals of joints in series vanish at some poses that the joints cannot reach: an elbow that is too short, a wrist
that cannot turn so far. There the equations of the coordinates have no solution. The compiled function then returns the
coordinates of a neighbour, which searches need on their way; `loop_coordinates` returns NaN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..joints import Joint
from ..kernel.arguments import external_forces
from ..model import Frame, Loop, TracedLoop
from ..model.poses import joint_motions
from ..rotations import rotate
from .kernels import Array, asking

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["between", "body_forces", "bounded_loops", "drive_wrench", "loop_coordinates", "nearest_coordinates"]

_ROUNDING = {True: 1e-9, False: 1e-5}
"""Distances beyond a reachable pose that count as rounding, relative to the size, in double precision or less."""


def bounded_loops(robot: Robot) -> tuple[TracedLoop, ...]:
    """Return the loops whose joints cannot reach all poses without a residual."""
    loops = robot.loop_table.loops
    return robot._kernels.kept(
        ("bounded loops",), lambda: tuple(x for x in loops if x.loop.nq and _slack(x, np.eye(3, 4)))
    )


def loop_coordinates(robot: Robot, q: ArrayLike, threads: int | None, out: Array | None) -> Array:
    """Return the coordinates (..., n); NaN where no position of a loop's joint leads to the pose of its frames."""
    found: Array = robot.kernel("loop_coordinates")(q, threads=threads, out=out)
    at = np.asarray(q)
    least = -_ROUNDING[at.dtype not in (np.float32, np.float16)]
    for x in bounded_loops(robot):
        R, p = between(
            robot.pose(np.asarray(at, float), x.parent.frame), robot.pose(np.asarray(at, float), x.child.frame)
        )
        beyond = np.any([s < least for s in _slack(x, np.concatenate([R, p[..., None]], axis=-1))], axis=0)
        found[..., x.q] = np.where(beyond[..., None], np.nan, found[..., x.q])
    return found


def nearest_coordinates(robot: Robot, q: Array) -> Array:
    """Return the coordinates (..., n); where they do not exist, the coordinates of a neighbour."""
    return asking(robot)("loop_coordinates", q) if bounded_loops(robot) else robot.loop_coordinates(q)


def between(P: Array, C: Array) -> tuple[Array, Array]:
    """Return the axes (..., 3, 3) and the origin (..., 3) of a frame with the pose C in a frame with the pose P."""
    back = np.swapaxes(P[..., :3, :3], -1, -2)
    return back @ C[..., :3, :3], (back @ (C[..., :3, 3] - P[..., :3, 3])[..., None])[..., 0]


def _slack(x: TracedLoop, pose: Array) -> tuple[Any, ...]:
    """Return how far relative poses (..., 3, 4) are from the end of the joint's reach."""
    assert isinstance(x.type, Joint)
    M = np.moveaxis(pose, (-2, -1), (0, 1))
    a, b, c = ((row[0], row[1], row[2]) for row in M[:3])
    return x.type.reach_margin((a, b, c), (M[0][3], M[1][3], M[2][3]))


def body_forces(robot: Robot, q: Array, loop: Loop, wrench: Array) -> Array:
    """Return the forces (n, bodies, 6) on both bodies, in their frames, of a wrench (n, 6) of a loop on its child."""
    parent = Frame("parent", loop.parent, loop.parent_placement)
    child = Frame("child", loop.child, loop.child_placement)
    R, p = between(robot.pose(q, parent), robot.pose(q, child))
    on_parent = rotate(R, wrench)
    on_parent[:, :3] += np.cross(p, on_parent[:, 3:])
    return np.asarray(external_forces(robot, {parent: -on_parent, child: wrench}))


def drive_wrench(robot: Robot, q: Array, at: TracedLoop, force: Array) -> Array:
    """Return the wrench S (S^T S)^-1 f (n, 6) on a loop's child, in its frame there, of forces f along its freedoms."""
    joint = at.type
    assert isinstance(joint, Joint)
    S = joint_motions(joint, nearest_coordinates(robot, q)[:, at.q])
    return np.asarray((np.linalg.pinv(np.swapaxes(S, -1, -2)) @ force[..., None])[..., 0])
