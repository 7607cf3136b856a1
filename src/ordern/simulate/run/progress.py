"""The progress of a run, as a line in the terminal."""

from __future__ import annotations

import sys
import time

__all__ = ["Bar"]


class Bar:
    """A line on stderr that is redrawn a few times a second; nothing if stderr is not a terminal."""

    def __init__(self, width: int = 40) -> None:
        self._width, self._began, self._drawn, self._finished = width, time.perf_counter(), 0.0, False

    def __call__(self, fraction: float) -> None:
        """Draw the line; at 1 it is finished."""
        now = time.perf_counter()
        if self._finished or (fraction < 1.0 and now - self._drawn < 0.1):
            return
        if sys.stderr is None or not sys.stderr.isatty():
            return
        self._finished = fraction >= 1.0
        self._drawn = now
        full = round(self._width * min(1.0, fraction))
        passed = now - self._began
        left = f", {passed * (1.0 / fraction - 1.0):.0f} s left" if 0.01 < fraction < 1.0 and passed > 1.0 else ""
        end = "\n" if fraction >= 1.0 else ""
        done, rest = _blocks(sys.stderr.encoding)
        sys.stderr.write(f"\r{done * full}{rest * (self._width - full)} {fraction:6.1%}{left}      {end}")
        sys.stderr.flush()


def _blocks(encoding: str | None) -> tuple[str, str]:
    """Return the characters for finished and remaining parts, in the encoding of the terminal."""
    try:
        "█░".encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return "#", "."
    return "█", "░"
