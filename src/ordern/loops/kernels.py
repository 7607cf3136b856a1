"""Calls of a robot's kernels by name, and small functions for arrays of states and of constraints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..algorithms.closed_loop.equations import Ask
from ..arguments import array
from ..errors import ArgumentError, LoopError

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = [
    "Array",
    "asking",
    "in_single",
    "kept_freedoms",
    "numbers",
    "positive_weights",
    "require_closed",
    "worst_loop",
    "worst_of",
]

Array = NDArray[Any]
Weights = ArrayLike | Mapping[str, float] | None
_DOUBLE = np.dtype(float)


def asking(robot: Robot) -> Ask:
    """Return the function by which methods call the kernels of a robot."""
    return robot._kernels.ask


def worst_loop(robot: Robot, rows: Array) -> tuple[str, float]:
    """Return the loop or coupling with the largest of these numbers, (..., nc), and that number."""
    return worst_of(robot.loop_rows, rows)


def worst_of(names: Mapping[str, slice], rows: Array) -> tuple[str, float]:
    """Return the name whose rows among (..., nc) have the largest number, and that number."""
    sizes = np.abs(rows).reshape(-1, rows.shape[-1]).max(axis=0, initial=0.0)
    each = {name: float(sizes[at].max(initial=0.0)) for name, at in names.items()}
    name = max(each, key=lambda x: each[x])
    return name, each[name]


def require_closed(robot: Robot, what: str, q: Array, t: Any = None, tolerance: float = 1e-6) -> None:
    """Raise unless all loops are closed in positions, up to the digits that users write."""
    name, off = worst_loop(robot, asking(robot)("loop_residual", q, t=t))
    if not off <= tolerance:
        raise LoopError(
            f"{what}: loop {name!r} of {robot.name!r} is open by {off:.3g} (rad, m) in this position; "
            "robot.assemble(q).q is a closed one near it"
        )


def positive_weights(weights: Weights, n: int, place: Callable[[str], slice], which: str) -> Array:
    """Return n weights, which are 1 unless given: as an array, or by names, whose slice is `place(name)`."""
    w = np.ones(n)
    if isinstance(weights, Mapping):
        for name, x in weights.items():
            w[place(name)] = x
    elif weights is not None:
        w = numbers("weights", weights, n)
    if w.shape != (n,) or not (np.isfinite(w) & (w > 0.0)).all():
        raise ArgumentError(f"weights must be {n} positive numbers, {which}")
    return w


def kept_freedoms(robot: Robot, keep: Iterable[str], who: str) -> Array:
    """Return the freedoms of joints that are kept, as flags (nv,)."""
    kept = np.zeros(robot.nv, bool)
    if not isinstance(keep, Iterable):
        raise ArgumentError(f"{who}: keep must be names of joints, not {keep!r}")
    for name in (keep,) if isinstance(keep, str) else keep:
        kept[robot.joint(name).v] = True
    return kept


def in_single(*given: Any) -> bool:
    """Return True if all arguments are arrays of single precision or less: then the result is rounded to single."""
    return all(getattr(x, "dtype", None) in (np.float32, np.float16) for x in given)


def numbers(what: str, x: ArrayLike, n: int) -> Array:
    """Return an argument as an array (..., n) of doubles, which may have numbers that are not finite."""
    if type(x) is np.ndarray and x.dtype is _DOUBLE and x.shape[-1:] == (n,):  # checks take microseconds
        return x
    return array(x, (..., n), what, nonfinite=True)
