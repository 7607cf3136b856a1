"""Checks of arguments that depend on the robot: positions, gains and limits by joint, robots with equal joints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Array, array
from ..errors import ArgumentError
from ..model import Model

__all__ = ["freedom_name", "freedoms", "limits", "of_robot", "position", "require_same_joints"]


def of_robot(robot: Any) -> None:
    """Raise unless the first argument is a robot, which users easily forget."""
    if not isinstance(robot, Model):
        raise ArgumentError(f"the first argument is the robot, not {type(robot).__name__} {robot!r}")


def position(robot: Model, q: ArrayLike, what: str) -> Array:
    """Return one position of the robot; raise if a quaternion in it is not of length one, but for rounding."""
    found = array(q, (robot.nq,), what)
    for c in robot.independent:
        turns = c.type.nq != c.type.nv and c.type.neutral()[0] == 1.0
        if turns and abs(np.linalg.norm(found[c.q][:4]) - 1.0) > 1e-6:
            raise ArgumentError(
                f"{what}: joint {c.name!r} has the quaternion {found[c.q][:4]}, whose length is not one; divide by it"
            )
    return found


def freedoms(robot: Model, x: ArrayLike | Mapping[str, ArrayLike], what: str, *, infinite: bool = False) -> Array:
    """Return a number for each velocity, not below zero, from one number, nv numbers, or numbers by joint names.

    Joints without a number get zero.
    """
    if isinstance(x, Mapping):
        a = np.zeros(robot.nv)
        for name, value in x.items():
            c = robot.joint(name)
            if c.mimic is not None:
                leader = robot.joints[c.mimic.joint].name
                raise ArgumentError(f"{what}: joint {name!r} follows another joint; name {leader!r} instead")
            a[c.v] = array(value, () if np.ndim(value) == 0 else (c.nv,), f"{what} of joint {name!r}")
    else:
        shape = () if np.ndim(x) == 0 else (robot.nv,)
        a = np.broadcast_to(array(x, shape, what, nonfinite=infinite), (robot.nv,)).copy()
    if np.isnan(a).any() or (a < 0.0).any():
        raise ArgumentError(f"{what} must not be below zero: {a}")
    return a


def limits(robot: Model) -> tuple[Array, Array]:
    """Return the lower and upper limits of q, including the limits of mimic joints on the joints that they follow."""
    lower, upper = robot.lower.copy(), robot.upper.copy()
    for c in robot.joints:
        if c.mimic is None or c.mimic.ratio == 0.0 or c.type.nq != 1:
            continue
        ends = [(x - c.mimic.offset) / c.mimic.ratio for x in (c.lower[0], c.upper[0])]
        lower[c.q] = np.maximum(lower[c.q], min(ends))
        upper[c.q] = np.minimum(upper[c.q], max(ends))
    return lower, upper


def require_same_joints(robot: Model, other: Model, what: str) -> None:
    """Raise unless positions and velocities of one robot also fit another; `what` begins the message."""
    if (robot.nq, robot.nv) != (other.nq, other.nv):
        why = f"one has nq {robot.nq} and nv {robot.nv}, the other nq {other.nq} and nv {other.nv}"
        raise ArgumentError(f"{what}: {why}")
    for a, b in zip(robot.independent, other.independent, strict=False):
        if a.name != b.name:
            raise ArgumentError(f"{what}: where one has the joint {a.name!r}, the other has {b.name!r}")


def freedom_name(robot: Model, freedom: int) -> str:
    """Return the name of the joint that a velocity belongs to."""
    return next(c.name for c in robot.independent if c.v_start <= freedom < c.v_start + c.nv)
