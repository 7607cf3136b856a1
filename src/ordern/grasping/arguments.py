"""Arguments of a grasp: arrays for all arms or for each arm, checked and broadcast to one batch shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import arguments
from ..arguments import Array
from ..errors import ArgumentError, ModelError
from ..joints import placement
from .arms import Arm

__all__ = ["broadcast", "finite", "numbers", "per_arm", "poses"]


def per_arm(arms: Sequence[Arm], x: Any, what: str) -> tuple[Array, ...]:
    """Return an array for each arm, from one array for all arms or a list; `what` is "q", "v" or "tau"."""
    kind = "q" if what == "q" else "v"
    sizes = [a.robot.nq if kind == "q" else a.robot.nv for a in arms]
    listed = isinstance(x, (list, tuple)) and len(x) == len(arms) and all(np.ndim(y) for y in x)
    if listed:
        each = zip(arms, x, sizes, strict=True)
        return tuple(numbers(y, f"`{what}` of arm {a.name!r}", (n,)) for a, y, n in each)
    whole = numbers(x, f"`{what}`")
    if whole.ndim == 0 or whole.shape[-1] != sum(sizes):
        raise ArgumentError(
            f"grasp: `{what}` must be a list of {len(arms)} arrays, one for each arm, or an array with the last "
            f"dimension {sum(sizes)}, not of shape {whole.shape}"
        )
    return tuple(whole[..., getattr(a, kind)] for a in arms)


def finite(arms: Sequence[Arm], xs: tuple[Array, ...], what: str) -> None:
    """Raise, with the arm's name, where a number is not finite."""
    for arm, x in zip(arms, xs, strict=True):
        arguments.finite(x, f"grasp: `{what}` of arm {arm.name!r}")


def numbers(x: Any, what: str, core: tuple[int, ...] = ()) -> Array:
    """Return an array of floats whose last dimensions are `core`."""
    return arguments.array(x, (..., *core), f"grasp: {what}", nonfinite=True)


def poses(x: Any) -> Array:
    """Return poses (..., 4, 4) of the object; one may also be a position, a pair (xyz, rpy) or a `Placement`."""
    try:
        batch = np.shape(x)[-2:] == (4, 4)
    except ValueError:  # a pair of lists of different lengths
        batch = False
    if batch:
        return arguments.pose(x, "grasp: `pose`", batch=True)
    try:
        return placement(x, "grasp: `pose`").matrix
    except ModelError as e:
        raise ArgumentError(str(e)) from None


def broadcast(
    qs: tuple[Array, ...], vs: tuple[Array, ...], pose: Array | None, velocity: Array | None
) -> tuple[tuple[int, ...], tuple[Array, ...], tuple[Array, ...], Array | None, Array | None]:
    """Return the common batch shape, and everything broadcast to it."""
    shapes = [x.shape[:-1] for x in (*qs, *vs)]
    shapes += [] if pose is None else [pose.shape[:-2]]
    shapes += [] if velocity is None else [velocity.shape[:-1]]
    shape = arguments.broadcast_shapes("grasp", *shapes)

    def spread(x: Array, core: int) -> Array:
        return np.broadcast_to(x, (*shape, *x.shape[x.ndim - core :]))

    return (
        shape,
        tuple(spread(x, 1) for x in qs),
        tuple(spread(x, 1) for x in vs),
        None if pose is None else spread(pose, 2),
        None if velocity is None else spread(velocity, 1),
    )
