"""Asking a robot for its compiled functions, and arrays of states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..algorithms.closed_loop.equations import Ask
from ..errors import ArgumentError

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["Array", "asking", "constrained", "numbers"]

Array = NDArray[Any]


class _Asked:
    """A robot that answers questions by their names; optional arguments have theirs, and are left out if None."""

    def __init__(self, robot: Robot) -> None:
        self.model = robot

    def answer(self, question: str, *arguments: Any, method: str | None = None, **more: Any) -> Array:
        """The answer of the compiled function."""
        settings = {"frame": more.pop("frame")} if "frame" in more else {}
        present = tuple(name for name, value in more.items() if value is not None)
        kernel = self.model.kernel(question, method, present=present, **settings)
        answer: Array = kernel(*arguments, *(more[name] for name in present))
        return answer


def asking(robot: Robot) -> Ask:
    """How methods ask a robot for its compiled functions."""
    return _Asked(robot).answer


def constrained(robot: Robot, what: str) -> None:
    """Raise unless the robot has loops, or couplings between coordinates."""
    if not robot.nc:
        raise ArgumentError(f"{what}: {robot.name!r} has no loops and no couplings between joints; it is a tree")


def numbers(what: str, x: ArrayLike, n: int) -> Array:
    """An argument as an array (..., n) of doubles."""
    try:
        a = np.asarray(x, np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(f"{what} must be numbers of shape (..., {n}), not {x!r}") from None
    if a.shape[-1:] != (n,):
        raise ArgumentError(f"{what} has shape {a.shape}; its last dimension must be {n}")
    return a
