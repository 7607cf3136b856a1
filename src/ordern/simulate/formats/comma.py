"""Motions as CSV files: a comment line with the header in JSON, the names of the columns, a row for each sample.

Numbers are written so that exactly they are read again. Files without the comment line are read as well, if they have
the columns "t", "q.<joint>", "v.<joint>" of the robot that is given. (`pandas.read_csv(path, comment="#")` reads both.)
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ...errors import ModelError
from ..series import columns
from .header import Stored, parsed

if TYPE_CHECKING:
    from ..result import Result

__all__ = ["grouped", "read", "write"]

Array = NDArray[np.float64]

_START = "# ordern "
_ROWS = 1024
_MOST_COLUMNS = 1_000_000
_LONGEST = 1 << 28
"""Characters of a line: a million columns, or the description of a robot, take fewer."""


def write(result: Result, about: dict[str, Any], file: BinaryIO) -> None:
    """Write the header, the names, and all samples."""
    found = {"t": result.t, **columns(result)}
    text = io.TextIOWrapper(file, "utf-8", newline="", write_through=False)
    try:
        text.write(f"{_START}{json.dumps(about, separators=(',', ':'))}\n")
        csv.writer(text, lineterminator="\n").writerow(found)
        for start in range(0, len(result), _ROWS):
            block = np.stack([x[start : start + _ROWS] for x in found.values()], axis=-1)
            text.writelines(",".join(map(repr, row)) + "\n" for row in block.tolist())
    finally:
        text.detach()  # writes what is left, and leaves the file open


def read(file: BinaryIO, size: int) -> Stored:
    """Read what `write` wrote, or columns with names."""
    text = io.TextIOWrapper(file, "utf-8-sig", newline="")
    try:
        if b"\0" in file.read(_ROWS):
            raise ModelError("the file is no text")
        text.seek(0)
        first = _line(text)
        about = parsed(first[len(_START) :]) if first.startswith(_START) else None
        if about is None:
            text.seek(0)
        lines = enumerate(iter(lambda: _line(text), ""), 1 if about is None else 2)
        names = next(csv.reader(_without_comments(lines)), [])
        if not names or len(names) > _MOST_COLUMNS:
            raise ModelError("the file has no names of columns, so it is no motion")
        if len(set(names)) < len(names):
            raise ModelError("two columns of the file have one name")
        values = _numbers(lines, names, getattr(file, "name", ""))
    except UnicodeDecodeError:
        raise ModelError("the file is no text in UTF-8") from None
    except csv.Error as e:
        raise ModelError(f"the names of the columns cannot be read: {e}") from None
    finally:
        text.detach()
    found = {name: values[:, k] for k, name in enumerate(names)}
    return Stored(None, columns=found) if about is None else Stored(about, grouped(about, found))


def _line(text: io.TextIOWrapper) -> str:
    """The next line, none at the end; a file without lines is not read whole."""
    line = text.readline(_LONGEST)
    if len(line) == _LONGEST:
        raise ModelError(f"a line of the file has more than {_LONGEST:,} characters, so it is no motion")
    return line


def _without_comments(lines: Iterator[tuple[int, str]]) -> Iterator[str]:
    """A quoted name may go over several lines; a comment is a line before the names."""
    seen = False
    for _, line in lines:
        if seen or not (line.startswith("#") or line.isspace()):
            seen = True
            yield line


def _numbers(lines: Iterator[tuple[int, str]], names: list[str], path: str) -> Array:
    """The rows; each must have a number for every column."""
    blocks, rows = [np.zeros((0, len(names)))], []
    for number, line in lines:
        try:
            row = [float(x) for x in line.split(",")]
        except ValueError:
            if not line.strip():
                continue
            row = []
        if len(row) != len(names):
            raise ModelError(_fault(line, names), f"{path}:{number}" if path else f"line {number}")
        rows.append(row)
        if len(rows) == _ROWS:
            blocks.append(np.array(rows))
            rows = []
    if rows:
        blocks.append(np.array(rows))
    return np.concatenate(blocks)


def _fault(line: str, names: list[str]) -> str:
    """What is wrong with a line that is no row of numbers."""
    cells = line.strip().split(",")
    if len(cells) != len(names):
        return f"the line has {len(cells)} columns, those before {len(names)}"
    name, cell = next(pair for pair in zip(names, cells, strict=True) if not _numeric(pair[1]))
    return f"{cell[:40]!r}, in the column {name!r}, is no number"


def _numeric(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def grouped(about: dict[str, Any], found: dict[str, Array]) -> dict[str, Array]:
    """Columns, in whatever order, put together to the arrays that the header tells of."""
    n = about["samples"]
    count = len(next(iter(found.values()), ()))
    if count != n:
        raise ModelError(f"the file has {count} samples of {n}: it was cut short, or changed")
    arrays, left = {}, dict(found)
    for name, shape, own in expected(about):
        missing = [x for x in own if x not in left]
        if missing:
            raise ModelError(f"the file has no column {missing[0]!r}, which its header tells of")
        block = [left.pop(x) for x in own]
        arrays[name] = np.stack(block, axis=-1).reshape(n, *shape) if block else np.zeros((n, *shape))
    if left:
        raise ModelError(f"the file has a column {next(iter(left))!r}, which its header does not tell of")
    return arrays


def expected(about: dict[str, Any]) -> Iterator[tuple[str, tuple[int, ...], list[str]]]:
    """The arrays that a header tells of: name, shape of one sample, names of columns."""
    for name in about["arrays"]:
        own = about["q" if name == "q" else "v"] if name in ("q", "v", "a", "tau") else None
        yield name, () if own is None else (len(own),), [name] if own is None else [f"{name}.{x}" for x in own]
    for name, shape in about["extra"]:
        count = math.prod(shape)
        if count > _MOST_COLUMNS:
            raise ModelError(f"the header tells of {count} columns of {name!r}")
        yield f"extra.{name}", tuple(shape), [f"{name}.{k}" for k in range(count)] if shape else [name]
