"""Text for terminals: colours where they are wanted, tables whose columns line up, errors."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

__all__ = ["complain", "figures", "paint", "table", "to_json"]

_COLOURS = {"red": "31", "yellow": "33", "blue": "34", "green": "32", "bold": "1", "dim": "2"}


def paint(text: str, colour: str, stream: TextIO | None = None) -> str:
    """Return the text in a colour, if the stream (standard output) is a terminal and NO_COLOR is not set."""
    stream = stream or sys.stdout
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not stream.isatty()
    return text if plain else f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m"


def table(
    rows: Sequence[Sequence[str]], right: Sequence[int] = (), *, head: bool = False, most: int | None = None
) -> list[str]:
    """Return the lines of a table. Columns in `right` are set flush right, and the first row is bold if it is a `head`.

    At most `most` rows are shown, besides the head; the last line then has the number of the others.
    """
    shown = rows[: None if most is None else most + head]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = [
        "  ".join(
            cell.rjust(width) if k in right else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in shown
    ]
    if head:
        lines[0] = paint(lines[0], "bold")
    return lines if len(shown) == len(rows) else [*lines, f"... and {len(rows) - len(shown)} more"]


def figures(
    head: Sequence[str], rows: Iterable[tuple[str, Sequence[float]]], *, digits: int = 6, most: int | None = None
) -> list[str]:
    """Return the lines of a table of numbers: a head, and in each row a name and its numbers."""
    cells = [head, *((name, *(f"{x:.{digits}g}" for x in numbers)) for name, numbers in rows)]
    return table(cells, range(1, len(head)), head=True, most=most)


def to_json(data: Any, indent: int | None = None) -> str:
    """Return JSON for standard output; letters are escaped unless its encoding is a Unicode one."""
    unicode = (getattr(sys.stdout, "encoding", None) or "").lower().startswith("utf")
    return json.dumps(data, indent=indent, ensure_ascii=not unicode)


def complain(message: str, where: str = "", *, as_json: bool = False) -> None:
    """Print an error to standard error, and as JSON to standard output. The message may begin with the place."""
    print(f"ordern: error: {message}", file=sys.stderr)
    if as_json:
        print(to_json({"error": message.removeprefix(f"{where}: "), "where": where}))
