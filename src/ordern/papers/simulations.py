"""Simulations against reference motions, and the chains of Yamane and Nakamura."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from . import yamane_runs
from .references import ADAPTIVE, KNOWN, Known, error
from .text import doing, table

__all__ = ["TOLERANCES", "page"]

TOLERANCES = (1e-6, 1e-9, 1e-12)


def page(folder: Path) -> str:
    """Make the page, and its figure."""
    return "\n".join(
        [
            "# Simulations, checked\n",
            "## Motions that are known\n",
            _KNOWN,
            _table([known() for known in KNOWN]),
            "## Chains with 30 degrees of freedom (Yamane and Nakamura, Figures 4 and 5)\n",
            yamane_runs.section(folder),
        ]
    )


_KNOWN = """Errors of simulations, in units of the tolerance that was asked for (rtol = atol): the largest
|y - exact| / (1 + |exact|) of any position or velocity at any of four or five times, divided by the tolerance; then the
number of steps. "Growth" is how much an error of the initial state becomes by itself, in the same norm: what is below
1 is within the tolerance, and what is below the growth is within what an error of that size at the start would do.

* double pendulum, 1 s: let go at (2, -0.5) rad; its two equations of motion, by Taylor series in 50 digits;
* heavy top, 0.5 s: let go with its axis at rest at 0.5 rad, spinning at 40 rad/s; elliptic functions in 50 digits;
* projectile, 1.5 s: a ball that flies and spins; its closed form;
* planar arm, 1 s: Saha's, let go stretched; three equations of motion derived by hand, Taylor series in 50 digits.
"""


def _table(motions: Sequence[Known]) -> str:
    rows, beyond = [], 0
    for known in motions:
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
    return table(head, rows) + "\n" + _verdict(beyond, len(rows) * len(TOLERANCES))


def _verdict(beyond: int, runs: int) -> str:
    if not beyond:
        return f"All {runs} runs are within the tolerance.\n"
    return (
        f"{runs - beyond} of {runs} runs are within the tolerance; the others are those above 1 in the table. What is "
        "controlled is the error of each step. What steps add up to, and what the motion makes of it, is not; a "
        "smaller tolerance helps where it matters.\n"
    )
