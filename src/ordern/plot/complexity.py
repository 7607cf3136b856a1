"""The cost of methods against the size of robots."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algorithms import methods as methods_of
from ..arguments import Array
from ..errors import ArgumentError
from .style import COLOURS, INK, curve, dress, figure, finished, legend

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["complexity"]


def complexity(
    robots: Sequence[Robot],
    question: str = "forward_dynamics",
    methods: Iterable[str] | None = None,
    *,
    count: str = "total",
    title: str | None = None,
    width: float = 5.6,
    save: str | os.PathLike[str] | None = None,
) -> Any:
    """Draw operations of methods for robots of growing size, on logarithmic scales, with lines of order n and n^3.

    The numbers are exact, from `kernel.counts()`; `count` is "total", "multiplications", "additions" ... The robots are
    ordered by their freedoms. `methods` are names, by default of the first seven methods that accept all robots.

    >>> import ordern as on
    >>> from ordern import plot
    >>> figure = plot.complexity([on.chain(n) for n in (2, 4, 8)], methods=["articulated-body", "composite-body"])
    >>> len(figure.axes[0].get_lines()) >= 2
    True
    """
    robots = sorted(robots, key=lambda r: r.nv)
    sizes = [r.nv for r in robots]
    if len(set(sizes)) < 2:
        raise ArgumentError("complexity: give at least two robots with different numbers of freedoms")
    chosen = list(methods) if methods is not None else _usual(robots, question)
    if not 1 <= len(chosen) <= len(COLOURS):
        raise ArgumentError(f"complexity: give between 1 and {len(COLOURS)} methods, not {len(chosen)}")
    made = figure(width, 0.66 * width)
    ax = made.subplots()
    handles, lowest = [], np.inf
    for k, method in enumerate(chosen):
        counts = [_operations(robot, question, method, count) for robot in robots]
        lowest = min(lowest, counts[0])
        handles += ax.plot(sizes, counts, marker="o", markersize=2.5, label=method, **curve(k))
    ax.set_xscale("log")
    ax.set_yscale("log")
    heading = question.replace("_", " ") if title is None else title
    dress(ax, heading, "freedoms n", "operations" if count == "total" else count)
    ax.grid(True, which="minor", color="#f5f5f8", linewidth=0.4)
    _growth(ax, np.array(sizes, dtype=float), lowest)
    ax.set_xticks(sizes, [str(n) for n in sizes])
    ax.minorticks_off()
    legend(ax, handles, above=False)
    return finished(made, save)


def _usual(robots: Sequence[Robot], question: str) -> list[str]:
    found = [
        m.name
        for m in methods_of(question)
        if not (m.pieces or m.alias_of or (m.refuses and any(m.refuses(r) for r in robots)))
    ]
    return found[: len(COLOURS)]


def _operations(robot: Robot, question: str, method: str, count: str) -> int:
    counts = robot.kernel(question, method, way="unrolled").counts()
    found = getattr(counts, count, None)
    if not isinstance(found, int):
        raise ArgumentError(f"complexity: there is no count {count!r}; use 'total', 'multiplications' or 'additions'")
    return found


def _growth(ax: Any, n: Array, start: float) -> None:
    """Draw slopes of order n and n cubed, from below the first point."""
    for power, name in ((1, "n"), (3, "n³")):
        y = 0.6 * start * (n / n[0]) ** power
        top = ax.get_ylim()[1]
        seen = y <= top
        if seen.sum() > 1:
            ax.plot(n[seen], y[seen], color="#b5b5bf", linewidth=0.8, linestyle=(0, (2, 2)), zorder=0.5)
            end = (n[seen][-1], y[seen][-1])
            ax.annotate(name, end, textcoords="offset points", xytext=(3, -2), fontsize=7.5, color=INK)
