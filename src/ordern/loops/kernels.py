"""Asking a robot for its compiled functions, and arrays of states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..algorithms.closed_loop.equations import Ask
from ..errors import ArgumentError, LoopError

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["Array", "asking", "in_single", "numbers", "positive", "require_closed", "worst_loop", "worst_of"]

Array = NDArray[Any]


def asking(robot: Robot) -> Ask:
    """Return the function by which methods call the kernels of a robot."""
    return robot._kernels.ask


def worst_loop(robot: Robot, rows: Array) -> tuple[str, float]:
    """The loop or coupling with the largest of these numbers, (..., nc), and how large it is."""
    return worst_of(robot.loop_rows, rows)


def worst_of(names: Mapping[str, slice], rows: Array) -> tuple[str, float]:
    """Which of the names that rows (..., nc) have has the largest number in its own, and how large it is."""
    sizes = np.abs(rows).reshape(-1, rows.shape[-1]).max(axis=0, initial=0.0)
    each = {name: float(sizes[at].max(initial=0.0)) for name, at in names.items()}
    name = max(each, key=lambda x: each[x])
    return name, each[name]


def positive(what: str, x: Any) -> float:
    """A tolerance, if it is one."""
    if isinstance(x, bool) or not isinstance(x, (int, float, np.number)) or not 0.0 < x < np.inf:
        raise ArgumentError(f"{what} must be a positive number, not {x!r}")
    return float(x)


def require_closed(robot: Robot, what: str, q: Array, t: Any = None, tolerance: float = 1e-6) -> None:
    """Raise unless loops are closed in positions, as what follows is about motions of the closed mechanism."""
    name, off = worst_loop(robot, asking(robot)("loop_residual", q, t=t))
    if off > tolerance:
        raise LoopError(
            f"{what}: loop {name!r} of {robot.name!r} is open by {off:.3g} (rad, m) in this position; "
            "robot.assemble(q).q is a closed one near it"
        )


def in_single(*given: Any) -> bool:
    """Whether all arguments are arrays of single precision or less: then the answer is, rounded from double."""
    return all(getattr(x, "dtype", None) in (np.float32, np.float16) for x in given)


def numbers(what: str, x: ArrayLike, n: int) -> Array:
    """An argument as an array (..., n) of doubles."""
    try:
        if np.asarray(x).dtype.kind not in "biufO":
            raise TypeError
        a = np.asarray(x, np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(f"{what} must be numbers of shape (..., {n}), not {x!r}") from None
    if a.shape[-1:] != (n,):
        raise ArgumentError(f"{what} has shape {a.shape}; its last dimension must be {n}")
    return a
