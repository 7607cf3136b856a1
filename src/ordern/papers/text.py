"""Tables in Markdown, figures in one style, and marks around what depends on the machine."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

__all__ = [
    "MEASURED",
    "ROUNDING",
    "conditions",
    "doing",
    "grid",
    "measured",
    "rounding",
    "save",
    "table",
    "telling",
]

MEASURED = ("<!-- measured: depends on the machine -->", "<!-- end of what was measured -->")
"""Marks around measured text, which depends on the machine and the day."""
ROUNDING = ("<!-- rounding: depends on it -->", "<!-- end of what depends on rounding -->")
"""Marks around numbers that depend on rounding: on another processor they differ, at about the same size."""
_LISTENERS: list[Callable[[str], object]] = []


@contextmanager
def telling(listener: Callable[[str], object]) -> Iterator[None]:
    """Call a function with the steps of the pages, within this context."""
    _LISTENERS.append(listener)
    try:
        yield
    finally:
        _LISTENERS.pop()


def doing(what: str) -> None:
    """Report the next step."""
    for listener in _LISTENERS:
        listener(what)


def measured(text: str) -> str:
    """Return the text, marked as measured."""
    return f"{MEASURED[0]}\n\n{text.rstrip()}\n\n{MEASURED[1]}\n"


def rounding(text: str) -> str:
    """Return the text, marked as dependent on rounding."""
    return f"{ROUNDING[0]}\n\n{text.rstrip()}\n\n{ROUNDING[1]}\n"


def conditions() -> str:
    """Return the date and the machine of a measurement."""
    from importlib.metadata import version

    from ..compile import cores
    from ..compile.emit.target import host

    day = datetime.now(timezone.utc).date().isoformat()
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "llvmlite"))
    return (
        f"Measured on {day}, with Python {platform.python_version()}, {packages}, on {platform.system()}, on a "
        f"processor that LLVM knows as {host().cpu}, {cores()} cores.\n"
    )


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines.extend("| " + " | ".join(str(x) for x in row) + " |" for row in rows)
    return "\n".join(lines) + "\n"


def grid(rows: int = 1, columns: int = 1) -> tuple[Any, Any]:
    """Return a figure and its axes, an array if there are several."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    size = (11.0 if columns > 2 else 5.2 * columns, 3.0 * rows + 0.6)
    made, axes = plt.subplots(rows, columns, figsize=size, layout="constrained")
    return made, axes


def save(figure: Any, folder: Path, name: str, caption: str) -> str:
    """Write a figure, and return the line of Markdown that shows it."""
    import matplotlib.pyplot as plt

    with plt.rc_context({"svg.hashsalt": name}):  # the same picture is the same file
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)
    return f"![{caption}]({name}.svg)\n"
