"""The progress of an ensemble: the share that is done, members per second, failures and workers."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ..screen.progress import Bar

__all__ = ["Telling"]


class Telling:
    """Tells a bar, or a function of the fraction done, how far a run is."""

    def __init__(self, told: Callable[..., Any] | None, members: int, before: int) -> None:
        self._told, self._members, self._before, self._began = told, members, before, time.monotonic()
        if isinstance(told, Bar):
            told.begin(before / members)

    def __call__(self, done: int, failed: int, workers: int) -> None:
        """Tell that some members are done, that some of them failed, and how many workers there are."""
        fraction = done / self._members
        if isinstance(self._told, Bar):
            rate = (done - self._before) / max(1e-9, time.monotonic() - self._began)
            notes = [f"{rate:,.0f} members/s" if rate >= 10.0 else f"{rate:.2g} members/s"]
            notes += [f"{failed:,} failed"] if failed else []
            self._told(fraction, ", ".join([*notes, f"{workers} worker{'s' * (workers != 1)}"]))
        elif self._told is not None:
            self._told(fraction)
