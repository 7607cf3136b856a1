"""Simulations against reference motions, and the chains of Yamane and Nakamura."""

from __future__ import annotations

from pathlib import Path

from . import yamane_runs
from .references import ADAPTIVE, KNOWN, error
from .text import doing, filled, table

__all__ = ["TOLERANCES", "page"]

TOLERANCES = (1e-6, 1e-9, 1e-12)


def page(folder: Path) -> str:
    """Return the page, and draw its figure."""
    rows, beyond = [], 0
    for motion in KNOWN:
        known = motion()
        doing(known.name)
        growth = known.growth()
        for method in ADAPTIVE:
            cells = []
            for tolerance in TOLERANCES:
                result = known.run(method, tolerance)
                ratio = error(known, result) / tolerance
                cells.append(f"{ratio:.2g} ({result.report.steps})")
                beyond += ratio > 1.0
            rows.append((known.name, f"{growth:.0f}", f"`{method}`", *cells))
    head = ("motion", "growth", "method", *(f"{t:g}" for t in TOLERANCES))
    said = _verdict(beyond, len(rows) * len(TOLERANCES))
    return filled("simulations", known=table(head, rows), verdict=said, chains=yamane_runs.section(folder))


def _verdict(beyond: int, runs: int) -> str:
    if not beyond:
        return f"All {runs} runs are within the tolerance."
    return (
        f"{runs - beyond} of {runs} runs are within the tolerance; the others are those above 1 in the table. What is "
        "controlled is the error of each step. What steps add up to, and what the motion makes of it, is not; a "
        "smaller tolerance helps where it matters."
    )
