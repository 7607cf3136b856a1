"""Pages from their templates, tables in Markdown, and figures in one style."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ..arguments import Array

__all__ = ["conditions", "doing", "filled", "grid", "lines", "save", "table", "telling"]

_TEMPLATES = Path(__file__).parent / "templates"
_LISTENERS: list[Callable[[str], object]] = []


@contextmanager
def telling(listener: Callable[[str], object], page: str, pause: float) -> Iterator[None]:
    """Within this context, report the steps of a page to a function, those at least `pause` seconds apart."""
    last = time.perf_counter()

    def seldom(what: str) -> None:
        nonlocal last
        now = time.perf_counter()
        if now - last >= pause:
            listener(f"{page}: {what}")
            last = now

    _LISTENERS.append(seldom)
    try:
        yield
    finally:
        _LISTENERS.pop()


def doing(what: str) -> None:
    """Report the next step."""
    for listener in _LISTENERS:
        listener(what)


def filled(template: str, **values: object) -> str:
    """Return the text of a file of `templates/`, with values in place of the names in braces."""
    return (_TEMPLATES / f"{template}.md").read_text(encoding="utf-8").rstrip().format(**values)


def conditions() -> str:
    """Return the date and the machine of a measurement."""
    from importlib.metadata import version

    from ..compile import cores
    from ..compile.emit.target import host

    day = datetime.now(timezone.utc).date().isoformat()
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "llvmlite"))
    return (
        f"Measured on {day}, with Python {platform.python_version()}, {packages}, on {platform.system()}, on a "
        f"processor that LLVM knows as {host().cpu}, {cores()} cores."
    )


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines.extend("| " + " | ".join(str(x) for x in row) + " |" for row in rows)
    return "\n".join(lines)


def grid(rows: int = 1, columns: int = 1) -> tuple[Any, Any]:
    """Return a figure and its axes, an array if there are several."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    size = (11.0 if columns > 2 else 5.2 * columns, 3.0 * rows + 0.6)
    made, axes = plt.subplots(rows, columns, figsize=size, layout="constrained")
    return made, axes


def lines(
    axes: Any,
    x: Sequence[float] | Array,
    named: Mapping[str, Sequence[float] | Array],
    title: str,
    across: str,
    up: str,
    *,
    scale: str = "linear",
    width: float | None = None,
    font: float | None = None,
    columns: int = 1,
) -> None:
    """Draw a line for each series, with its name in the legend. `across` and `up` are the labels of the axes."""
    for name, y in named.items():
        axes.plot(x, y, label=name, linewidth=width)
    axes.set(title=title, xlabel=across, ylabel=up, xscale=scale, yscale=scale)
    axes.legend(fontsize=font, ncols=columns)


def save(figure: Any, folder: Path, name: str) -> None:
    """Write a figure as an SVG file."""
    import matplotlib.pyplot as plt

    with plt.rc_context({"svg.hashsalt": name}):  # the same picture is the same file
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)
