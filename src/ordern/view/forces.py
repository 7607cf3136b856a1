"""Arrows for forces: joint forces and external forces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import Array
from .motion import Motion

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["arrows", "external_forces", "joint_forces"]


def joint_forces(robot: Robot, motion: Motion, external: Array | None = None) -> Array:
    """Return the forces (T, n, 3) that joints transmit to their bodies, in the bodies' frames.

    A motion without velocities counts as rest, and one without accelerations or joint forces as one of constant
    velocity.
    """
    v = np.zeros((len(motion.q), robot.nv)) if motion.v is None else motion.v
    known: dict[str, Any] = {"a": np.zeros_like(v)} if motion.v is None or motion.a is None else {"a": motion.a}
    if motion.v is not None and motion.tau is not None and (motion.a is None or robot.nc):
        known = {"tau": motion.tau}
    if robot.nc and "tau" not in known:  # what drives bear that leave nothing to the loops
        robot = robot.opened()
    # a motion is shown as it is, also where a file or a rough integrator left its loops a little open
    wrenches = robot.joint_wrenches(motion.q, v, external=external, check=False, **known)
    return np.asarray(wrenches[..., 3:])


def external_forces(robot: Robot, external: Any, count: int) -> Array:
    """Return external forces (T, n, 6) from the argument `external` of `forward_dynamics`."""
    forces = np.asarray(robot._forces(external), float)
    return np.broadcast_to(forces, (count, len(robot.bodies), 6))


def arrows(poses: Array, forces: Array, scale: float, least: float) -> Array:
    """Return segments (N, 2, 3) from the bodies' origins along forces (n, 3) in their frames, without short ones."""
    start = poses[:, :3, 3]
    step = scale * np.einsum("nij,nj->ni", poses[:, :3, :3], forces)
    keep = np.linalg.norm(step, axis=1) > least
    return np.stack([start[keep], start[keep] + step[keep]], axis=1)
