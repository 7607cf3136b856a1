"""Checks of what users hand to trajectories and controllers: each error names the argument."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Array, array
from ..errors import ArgumentError
from ..model import Model

__all__ = ["freedoms", "limits", "of_robot", "position", "unlike"]


def of_robot(robot: Any) -> None:
    """Raise unless it is a robot: the first argument is easily forgotten."""
    if not isinstance(robot, Model):
        raise ArgumentError(f"the first argument is the robot, not {type(robot).__name__} {robot!r}")


def position(robot: Model, q: ArrayLike, what: str) -> Array:
    """One position of the robot; a quaternion may be off by rounding, and no more."""
    found = array(q, (robot.nq,), what)
    for c in robot.independent:
        if len(c.type.neutral()) == c.type.nv:
            continue
        neutral = np.array(c.type.neutral())
        if neutral[:1] == 1.0 and abs(np.linalg.norm(found[c.q][:4]) - 1.0) > 1e-6:
            raise ArgumentError(
                f"{what}: joint {c.name!r} has the quaternion {found[c.q][:4]}, whose length is not one; divide by it"
            )
    return found


def freedoms(robot: Model, x: ArrayLike | Mapping[str, ArrayLike], what: str, *, infinite: bool = False) -> Array:
    """A number for each velocity, not below zero: from one number, from nv, or from numbers by the names of joints.

    Joints that are not named get zero.
    """
    if isinstance(x, Mapping):
        a = np.zeros(robot.nv)
        for name, value in x.items():
            c = robot.joint(name)
            if c.mimic is not None:
                raise ArgumentError(f"{what}: joint {name!r} follows another joint; name {_leader(robot, c)!r} instead")
            a[c.v] = array(value, () if np.ndim(value) == 0 else (c.nv,), f"{what} of joint {name!r}")
    else:
        shape = () if np.ndim(x) == 0 else (robot.nv,)
        a = np.broadcast_to(array(x, shape, what, nonfinite=infinite), (robot.nv,)).copy()
    if np.isnan(a).any() or (a < 0.0).any():
        raise ArgumentError(f"{what} must not be below zero: {a}")
    return a


def _leader(robot: Model, c: Any) -> str:
    name: str = robot.joints[c.mimic.joint].name
    return name


def limits(robot: Model) -> tuple[Array, Array]:
    """Lower and upper limits of q, those of joints that follow others included."""
    lower, upper = robot.lower.copy(), robot.upper.copy()
    for c in robot.joints:
        if c.mimic is None or c.mimic.ratio == 0.0 or c.type.nq != 1:
            continue
        ends = [(x - c.mimic.offset) / c.mimic.ratio for x in (c.lower[0], c.upper[0])]
        lower[c.q] = np.maximum(lower[c.q], min(ends))
        upper[c.q] = np.minimum(upper[c.q], max(ends))
    return lower, upper


def unlike(robot: Model, other: Model) -> str:
    """Why positions and velocities of one robot do not fit another; empty if they do."""
    if (robot.nq, robot.nv) != (other.nq, other.nv):
        return f"one has nq {robot.nq} and nv {robot.nv}, the other nq {other.nq} and nv {other.nv}"
    for a, b in zip(robot.independent, other.independent, strict=False):
        if a.name != b.name:
            return f"where one has the joint {a.name!r}, the other has {b.name!r}"
    return ""
