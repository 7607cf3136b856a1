"""The summary of a motion: a short table, for the terminal and for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...arguments import Array
from .series import columns

if TYPE_CHECKING:
    from .result import Result

__all__ = ["described", "described_html"]

_MOST = 40
_POINTS = 120
"""Points of the small curves."""


def _chosen(result: Result, most: int) -> tuple[dict[str, Array], int]:
    """Return the first series of coordinates and all energies, and the number of series that are left out."""
    counted = [name for name in ("work", "dissipated") if getattr(result, name) is not None]
    found = columns(result, ("q", "v", "tau", "kinetic", "potential", "energy", *counted))
    names = [*list(found)[: max(most - 5, 0)], *[name for name in list(found)[max(most - 5, 0) :] if "." not in name]]
    return {name: found[name] for name in names}, len(found) - len(names)


def _range(x: Array) -> tuple[float, float, float, float]:
    """Return the first, last, least and largest number."""
    return x[0], x[-1], np.min(x), np.max(x)


def described(result: Result, most: int) -> str:
    """Return a table of the first, last, least and largest value of each coordinate and energy, and the events."""
    n = len(result)
    lines = [repr(result)[1:-1]]
    if not n:
        return lines[0]
    shown, left = _chosen(result, most)
    width = max(len(name) for name in (*shown, "series"))
    lines.append(f"  {'series':<{width}} {'start':>12} {'end':>12} {'least':>12} {'largest':>12}")
    for name, x in shown.items():
        lines.append(f"  {name:<{width}} " + " ".join(f"{number:>12.6g}" for number in _range(x)))
    if left:
        lines.append(f"  ... and {left} more series")
    for event in result.events[:most]:
        lines.append(f"  {event.time:.9g} s: {event.name}")
    if len(result.events) > most:
        lines.append(f"  ... and {len(result.events) - most} more events")
    return "\n".join(lines)


def described_html(result: Result) -> str:
    """Return the same table as HTML, with a small curve of each series."""
    from ...screen.html import folded, sparkline, table, titled

    title = repr(result)[1:-1]
    if not len(result):
        return titled(title)
    shown, left = _chosen(result, _MOST)
    at = np.unique(np.linspace(0, len(result) - 1, min(len(result), _POINTS)).round().astype(int))
    t = result.t[at].tolist()
    rows = [
        (name, sparkline(t, x[at].tolist()), *(f"{number:.6g}" for number in _range(x))) for name, x in shown.items()
    ]
    head = ("series", "", "start", "end", "least", "largest")
    parts: list[object] = [folded("all series", table(head, rows), len(rows))]
    if left:
        parts.append(f"... and {left} more series")
    events = [(e.name, f"{e.time:.9g}") for e in result.events[:_MOST]]
    if events:
        parts.append(folded("all events", table(("event", "time, s"), events), len(events)))
    if len(result.events) > _MOST:
        parts.append(f"... and {len(result.events) - _MOST} more events")
    return titled(title, *parts)
