"""Steps of an iteration, for methods that are NumPy code around compiled functions, reported to a counter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["steps"]


def steps(ask: Callable[..., Any], most: int) -> Iterator[int]:
    """Return the numbers of the steps, 0 to `most` - 1. Calls between two of them count for the first."""
    note = getattr(getattr(ask, "__self__", None), "note_step", None)
    try:
        for k in range(most):
            if note is not None:
                note(k)
            yield k
    finally:
        if note is not None:
            note(None)
