"""Arguments of a grasp's functions: arrays of all arms or of each, checked, and brought to one batch shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, ModelError
from ..joints import placement
from .arms import Arm

__all__ = ["batched", "broadcast", "finite", "numbers", "per_arm", "poses"]

Array = NDArray[Any]
_TURNED = 1e-6
"""How far a rotation's columns may be from units that are across each other: rounding in what users compute."""


def per_arm(arms: Sequence[Arm], x: Any, what: str) -> tuple[Array, ...]:
    """An array for each arm, from one of all arms or a list; `what` is "q", "v" or "tau"."""
    kind = "q" if what == "q" else "v"
    sizes = [a.robot.nq if kind == "q" else a.robot.nv for a in arms]
    listed = isinstance(x, (list, tuple)) and len(x) == len(arms) and all(np.ndim(y) for y in x)
    if listed:
        parts = [numbers(y, f"`{what}` of arm {a.name!r}") for a, y in zip(arms, x, strict=True)]
        for a, y, n in zip(arms, parts, sizes, strict=True):
            if y.shape[-1] != n:
                raise ArgumentError(
                    f"grasp: `{what}` of arm {a.name!r} has shape {y.shape}; its last dimension must be {n}"
                )
        return tuple(parts)
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
        if not np.isfinite(x).all():
            shown = f", not {x.tolist()}" if x.ndim == 1 else ""
            raise ArgumentError(f"grasp: `{what}` of arm {arm.name!r} must be finite{shown}")


def batched(shape: tuple[int, ...], *others: tuple[int, ...]) -> tuple[int, ...]:
    """The batch shape of a state and of what else is given."""
    try:
        return np.broadcast_shapes(shape, *others)
    except ValueError:
        raise ArgumentError(
            f"grasp: the batch shapes of the state {shape} and of forces {sorted(set(others))} do not fit together"
        ) from None


def numbers(x: Any, what: str, core: tuple[int, ...] = ()) -> Array:
    """An array of floats, whose last dimensions are these."""
    try:
        a = np.asarray(x, dtype=float)
    except (TypeError, ValueError):
        raise ArgumentError(f"grasp: {what} must be an array of numbers, not {x!r}") from None
    if core and a.shape[-len(core) :] != core:
        raise ArgumentError(f"grasp: {what} has shape {a.shape}; its last dimensions must be {core}")
    return a


def poses(x: Any) -> Array:
    """Poses (..., 4, 4) of the object; one may also be a position, a pair (xyz, rpy) or a `Placement`."""
    try:
        a = np.asarray(x, dtype=float)
    except (TypeError, ValueError):
        a = np.array(np.nan)
    if a.shape[-2:] == (4, 4):
        R = a[..., :3, :3]
        if not (np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)) < _TURNED).all() or not np.isfinite(a).all():
            raise ArgumentError(
                "grasp: `pose` must be finite 4x4 matrices with a rotation in the upper left, whose columns are units "
                f"and across each other, not {a.tolist() if a.ndim == 2 else 'such a batch'}"
            )
        return a
    try:
        return placement(x, "grasp: `pose`").matrix
    except ModelError as e:
        raise ArgumentError(str(e)) from None


def broadcast(
    qs: tuple[Array, ...], vs: tuple[Array, ...], pose: Array | None, velocity: Array | None
) -> tuple[tuple[int, ...], tuple[Array, ...], tuple[Array, ...], Array | None, Array | None]:
    """All with one batch shape, which comes first."""
    shapes = [x.shape[:-1] for x in (*qs, *vs)]
    shapes += [] if pose is None else [pose.shape[:-2]]
    shapes += [] if velocity is None else [velocity.shape[:-1]]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise ArgumentError(f"grasp: the batch shapes {sorted(set(shapes))} do not fit together") from None

    def spread(x: Array, core: int) -> Array:
        return np.broadcast_to(x, (*shape, *x.shape[x.ndim - core :]))

    return (
        shape,
        tuple(spread(x, 1) for x in qs),
        tuple(spread(x, 1) for x in vs),
        None if pose is None else spread(pose, 2),
        None if velocity is None else spread(velocity, 1),
    )
