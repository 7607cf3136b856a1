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

from ....arguments import Array
from ....errors import ModelError
from ..series import columns, extra_labels
from .header import Stored, parsed
from .rows import START, read_rows

if TYPE_CHECKING:
    from ..result import Result

__all__ = ["read", "stored", "write"]


_ROWS = 1024
_MOST_COLUMNS = 1_000_000


def write(result: Result, about: dict[str, Any], file: BinaryIO) -> None:
    """Write the header, the names, and all samples."""
    found = {"t": result.t, **columns(result)}
    text = io.TextIOWrapper(file, "utf-8", newline="", write_through=False)
    try:
        text.write(f"{START}{json.dumps(about, separators=(',', ':'))}\n")
        csv.writer(text, lineterminator="\n").writerow(found)
        for start in range(0, len(result), _ROWS):
            block = np.stack([x[start : start + _ROWS] for x in found.values()], axis=-1)
            text.writelines(",".join(map(repr, row)) + "\n" for row in block.tolist())
    finally:
        text.detach()  # flushes, and leaves the file open


def read(file: BinaryIO, size: int) -> Stored:
    """Read a file of `write`, or another table with names of columns."""
    if b"\0" in file.read(_ROWS):
        raise ModelError("the file is not text")
    file.seek(0)
    text = io.TextIOWrapper(file, "utf-8-sig", newline="")
    try:
        rows = read_rows(text, getattr(file, "name", ""))
    finally:
        text.detach()
    if not rows.names:
        raise ModelError("the file has no names of columns, so it is not a motion")
    if len(set(rows.names)) < len(rows.names):
        raise ModelError("two columns of the file have one name")
    return stored({name: rows.values[:, k] for k, name in enumerate(rows.names)}, rows.about)


def stored(found: dict[str, Array], header: str | bytes | None) -> Stored:
    """Return the contents of a file: columns, and the text of its header if it has one."""
    if not header:
        return Stored(None, columns=found)
    about = parsed(header)
    return Stored(about, _grouped(about, found))


def _grouped(about: dict[str, Any], found: dict[str, Array]) -> dict[str, Array]:
    """Return the arrays that the header names, from columns in any order."""
    n = about["samples"]
    count = len(next(iter(found.values()), ()))
    if count != n:
        raise ModelError(f"the file has {count} samples of {n}: it was cut short, or changed")
    arrays, left = {}, dict(found)
    for name, shape, own in _expected(about):
        plain = [f"{name.removeprefix('extra.')}.{k}" for k in range(len(own))]
        if any(x not in left for x in own) and all(x in left for x in plain):
            own = plain
        missing = [x for x in own if x not in left]
        if missing:
            raise ModelError(f"the file has no column {missing[0]!r}, which its header names")
        block = [left.pop(x) for x in own]
        arrays[name] = np.stack(block, axis=-1).reshape(n, *shape) if block else np.zeros((n, *shape))
    if left:
        raise ModelError(f"the file has a column {next(iter(left))!r}, which its header does not name")
    return arrays


def _expected(about: dict[str, Any]) -> Iterator[tuple[str, tuple[int, ...], list[str]]]:
    """Yield the arrays of a header: name, shape of one sample, names of columns."""
    for name in about["arrays"]:
        own = about["q" if name == "q" else "v"] if name in ("q", "v", "a", "tau") else None
        yield name, () if own is None else (len(own),), [name] if own is None else [f"{name}.{x}" for x in own]
    for name, shape in about["extra"]:
        count = math.prod(shape)
        if count > _MOST_COLUMNS:
            raise ModelError(f"the header names {count} columns of {name!r}")
        known = extra_labels(name, (about["q"], about["v"]))
        parts = known if len(known) == count else range(count)
        yield f"extra.{name}", tuple(shape), [f"{name}.{x}" for x in parts] if shape else [name]
