"""Rows of numbers from CSV text: the one reader of such text in this library."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import numpy as np

from ....arguments import Array
from ....io.source import MissingFileError, UnreadableError
from ....records import dataclass

__all__ = ["START", "Rows", "read_file", "read_rows"]


START = "# ordern "
"""The start of the comment line that `Result.save` writes above the names of the columns."""
_BLOCK = 1024
_MOST_COLUMNS = 1_000_000
_LONGEST = 1 << 28
"""Characters of a line: a million columns, or the description of a robot, take fewer."""


@dataclass(frozen=True, eq=False)
class Rows:
    """The names of the columns, which are empty where the text has none, and a row of numbers for each sample."""

    names: tuple[str, ...]
    values: Array
    """(samples, columns)"""
    lines: tuple[int, ...]
    """The line of each sample."""
    about: str = ""
    """The description in the comment line of `Result.save`, as text; empty where there is none."""


def read_file(path: str) -> Rows:
    """Read the rows of a file. Errors name the file and, if known, the line."""
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as file:
            return read_rows(file, path)
    except FileNotFoundError:
        raise MissingFileError(f"there is no file {path!r}", path) from None
    except OSError as e:
        raise UnreadableError(f"the file cannot be read: {e.strerror or e}", path) from None


def read_rows(text: TextIO, path: str) -> Rows:
    """Read names and numbers. Comments are lines that begin with #; blank lines are passed over.

    The first line that is neither has the names of the columns, unless all its cells are numbers: then there are none.
    """
    lines = _Lines(text, path)
    try:
        names = tuple(next(csv.reader(lines), []))
        lines.named = True
        if len(names) > _MOST_COLUMNS:
            raise UnreadableError(f"the file has {len(names)} columns; at most {_MOST_COLUMNS} are read", path)
        rows: list[list[float]] = []
        numbers: list[int] = []
        if names and all(map(_numeric, names)):
            rows, numbers, names = [[float(cell) for cell in names]], [lines.number], ("",) * len(names)
        blocks = [np.zeros((0, len(names)))]
        for row in csv.reader(lines):
            try:
                found = [float(cell) for cell in row]
            except ValueError:
                found = []
            if len(found) != len(names):
                raise UnreadableError(_fault(row, names), f"{path}:{lines.number}" if path else f"line {lines.number}")
            rows.append(found)
            numbers.append(lines.number)
            if len(rows) == _BLOCK:
                blocks.append(np.array(rows))
                rows = []
    except UnicodeDecodeError:
        raise UnreadableError("this is not UTF-8 text", path) from None
    except csv.Error as e:
        raise UnreadableError(f"this is not CSV text: {e}", f"{path}:{lines.number}") from None
    if rows:
        blocks.append(np.array(rows))
    return Rows(names if any(map(str.strip, names)) else (), np.concatenate(blocks), tuple(numbers), lines.about)


class _Lines:
    """The lines of a text that are neither blank nor comments, and the number of the last one."""

    def __init__(self, text: TextIO, path: str) -> None:
        self._text, self._path = text, path
        self.number = 0
        self.about = ""
        self.begun = False
        self.named = False

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        while line := self._text.readline(_LONGEST):
            self.number += 1
            if len(line) == _LONGEST:  # a file without lines is not read whole
                raise UnreadableError(f"a line of the file has more than {_LONGEST:,} characters", self._path)
            if self.number == 1 and line.startswith(START):
                self.about = line[len(START) :]
            elif self.begun and not self.named:  # a name in quotes may go over several lines
                return line
            elif not line.startswith("#") and line.strip(" \t\r\n,"):
                self.begun = True
                return line
        raise StopIteration


def _fault(row: list[str], names: tuple[str, ...]) -> str:
    """Return the fault of a line that is not a row of numbers."""
    if len(row) != len(names):
        return f"the line has {len(row)} columns, those before {len(names)}"
    if len(names) == 1 and (mark := next((x for x in ";\t" if x in names[0]), "")):
        return f"the columns are parted by {'semicolons' if mark == ';' else 'tabs'}; write the file with commas"
    k, cell = next((k, cell) for k, cell in enumerate(row) if not _numeric(cell))
    return f"{cell[:40]!r}, in the column {names[k] or k + 1!r}, is not a number"


def _numeric(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
