"""Arrays that are exchanged with the user: states are handed out read-only, and numbers that come back are real."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError

__all__ = ["read_only", "real"]

Array = NDArray[np.float64]


def read_only(x: Array) -> Array:
    """Return a view of an array that cannot be written to: a function that did would change the run's own state."""
    view: Array = x.view()
    view.flags.writeable = False
    return view


def real(what: str, x: Any) -> Array:
    """Return numbers as floats, the same array if they are; raise where they are complex, or no numbers."""
    try:
        found = np.asarray(x)
        if found.dtype.kind != "c":
            return found.astype(float, copy=False)
    except (TypeError, ValueError):
        raise ArgumentError(f"{what}: expected numbers, not {x!r}") from None
    raise ArgumentError(f"{what}: expected real numbers, not complex ones ({found.dtype}); give their real part")
