"""Tables in Markdown, and figures in one style."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

__all__ = ["figure", "grid", "save", "table"]


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines.extend("| " + " | ".join(str(x) for x in row) + " |" for row in rows)
    return "\n".join(lines) + "\n"


def figure(columns: int = 1) -> tuple[Any, Any]:
    """A figure and its axes."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    made, axes = plt.subplots(1, columns, figsize=(5.2 * columns, 3.6), constrained_layout=True)
    return made, axes


def grid(rows: int, columns: int) -> tuple[Any, Any]:
    """A figure with several axes, as an array."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    size = (11.0 if columns > 2 else 5.2 * columns, 3.0 * rows + 0.6)
    made, axes = plt.subplots(rows, columns, figsize=size, layout="constrained")
    return made, axes


def save(figure: Any, folder: Path, name: str, caption: str) -> str:
    """Write a figure; the line of Markdown that shows it."""
    import matplotlib.pyplot as plt

    figure.savefig(folder / f"{name}.svg")
    plt.close(figure)
    return f"![{caption}]({name}.svg)\n"
