"""The summary of a motion: a short table for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .series import columns

if TYPE_CHECKING:
    from .result import Result

__all__ = ["described"]


def described(result: Result, most: int) -> str:
    """Return a table of the first, last, least and largest value of each coordinate and energy, and the events."""
    n = len(result)
    lines = [repr(result)[1:-1]]
    if not n:
        return lines[0]
    counted = [name for name in ("work", "dissipated") if getattr(result, name) is not None]
    found = columns(result, ("q", "v", "tau", "kinetic", "potential", "energy", *counted))
    shown = [*list(found)[: max(most - 5, 0)], *[name for name in list(found)[max(most - 5, 0) :] if "." not in name]]
    width = max(len(name) for name in (*shown, "series"))
    lines.append(f"  {'series':<{width}} {'start':>12} {'end':>12} {'least':>12} {'largest':>12}")
    for name in shown:
        x = found[name]
        numbers = (x[0], x[-1], np.min(x), np.max(x))
        lines.append(f"  {name:<{width}} " + " ".join(f"{number:>12.6g}" for number in numbers))
    if len(shown) < len(found):
        lines.append(f"  ... and {len(found) - len(shown)} more series")
    for event in result.events[:most]:
        lines.append(f"  {event.time:.9g} s: {event.name}")
    if len(result.events) > most:
        lines.append(f"  ... and {len(result.events) - most} more events")
    return "\n".join(lines)
