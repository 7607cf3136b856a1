"""The record of an event during a run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...records import dataclass

__all__ = ["Happened"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Happened:
    """An event that took place."""

    time: float
    name: str
    index: int
    """Of the event, among those that the run was given; -1 for a limit that the run watches by itself."""
    q: Array
    """The state at that time; of an impact, that before it."""
    v: Array

    def __str__(self) -> str:
        return f"{self.name} at {self.time:.9g} s"
