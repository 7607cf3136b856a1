"""Checks of what users hand to trajectories and controllers: each error names the argument."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ArgumentError
from ..model import Model

__all__ = ["Array", "freedoms", "limits", "numbers", "of_robot", "pose", "position", "positive", "unlike"]

Array = NDArray[Any]


def of_robot(robot: Any) -> None:
    """Raise unless it is a robot: the first argument is easily forgotten."""
    if not isinstance(robot, Model):
        raise ArgumentError(f"the first argument is the robot, not {type(robot).__name__} {robot!r}")


def numbers(x: ArrayLike, shape: tuple[int | None, ...], what: str, *, finite: bool = True) -> Array:
    """An array of finite numbers of this shape; None stands for any length."""
    try:
        a = np.asarray(x, float)
    except (TypeError, ValueError):
        raise ArgumentError(f"{what} must be numbers of shape {_shown(shape)}, not {x!r}") from None
    if len(a.shape) != len(shape) or any(n not in (None, m) for m, n in zip(a.shape, shape, strict=True)):
        raise ArgumentError(f"{what} has shape {a.shape}; expected {_shown(shape)}")
    if finite and not np.isfinite(a).all():
        raise ArgumentError(f"{what} must be finite, but has {a[~np.isfinite(a)].flat[0]}")
    return a


def _shown(shape: tuple[int | None, ...]) -> str:
    inside = ", ".join("any" if n is None else str(n) for n in shape)
    return f"({inside},)" if len(shape) == 1 else f"({inside})"


def positive(x: Any, what: str, *, zero: bool = False) -> float:
    """A finite number above zero, or with `zero` not below it."""
    try:
        number = float(x)
    except (TypeError, ValueError):
        raise ArgumentError(f"{what} must be a number, not {x!r}") from None
    if not math.isfinite(number) or number < 0.0 or (number == 0.0 and not zero):
        raise ArgumentError(f"{what} must be a finite number {'not below' if zero else 'above'} zero, not {number:g}")
    return number


def position(robot: Model, q: ArrayLike, what: str) -> Array:
    """One position of the robot; a quaternion may be off by rounding, and no more."""
    found = numbers(q, (robot.nq,), what)
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
            a[c.v] = numbers(value, () if np.ndim(value) == 0 else (c.nv,), f"{what} of joint {name!r}")
    else:
        shape = () if np.ndim(x) == 0 else (robot.nv,)
        a = np.broadcast_to(numbers(x, shape, what, finite=not infinite), (robot.nv,)).copy()
    if np.isnan(a).any() or (a < 0.0).any():
        raise ArgumentError(f"{what} must not be below zero: {a}")
    return a


def _leader(robot: Model, c: Any) -> str:
    name: str = robot.joints[c.mimic.joint].name
    return name


def pose(T: ArrayLike, what: str, *, batch: bool = False) -> Array:
    """A homogeneous matrix, or with `batch` an array of them, whose rotation is one but for rounding."""
    try:
        a = np.asarray(T, float)
    except (TypeError, ValueError):
        raise ArgumentError(f"{what} must be homogeneous matrices of shape (4, 4), not {T!r}") from None
    if a.shape[-2:] != (4, 4) or (a.ndim != 2 and not batch):
        raise ArgumentError(f"{what} has shape {a.shape}; expected {'(..., 4, 4)' if batch else '(4, 4)'}")
    if not np.isfinite(a).all():
        raise ArgumentError(f"{what} must be finite")
    R = a[..., :3, :3]
    off = np.abs(R @ R.swapaxes(-1, -2) - np.eye(3)).max(initial=0.0)
    last = np.abs(a[..., 3, :] - [0.0, 0.0, 0.0, 1.0]).max(initial=0.0)
    if off > 1e-6 or last > 1e-6 or (a.size and np.linalg.det(R).min() < 0.0):
        raise ArgumentError(
            f"{what} is no pose: the upper left 3x3 block must be a rotation matrix (it is off by {off:.2g}) and the "
            "last row 0, 0, 0, 1"
        )
    return a


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
