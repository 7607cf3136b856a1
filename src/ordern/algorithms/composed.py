"""Shared parts of methods that are NumPy code around compiled functions of the robot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from numpy.typing import NDArray

from ..model import Model

__all__ = ["Array", "Ask", "model_of", "steps"]

Array = NDArray[Any]
Ask = Callable[..., Array]
"""A function by which a method evaluates other questions of its robot: ask(question, *arguments, **optional ones)."""


def model_of(ask: Ask) -> Model:
    """Return the model that a method is evaluated for."""
    found: Model = ask.__self__.model  # type: ignore[attr-defined]
    return found


def steps(ask: Ask, most: int) -> Iterator[int]:
    """Yield the numbers of the steps of an iteration, 0 to `most` - 1, and report each to a counter of calls.

    Calls between two steps count for the first.
    """
    note = getattr(getattr(ask, "__self__", None), "note_step", None) or (lambda step: None)
    try:
        for k in range(most):
            note(k)
            yield k
    finally:
        note(None)
