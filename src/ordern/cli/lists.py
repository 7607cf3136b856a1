"""Lists of numbers from files: @FILE in the place of a list.

A text file has numbers, or names with values. A JSON file has a list, or an object with names. A table (.csv, .npz,
.parquet, .json) has a row for each sample: the only one, or one that is named: @fall.npz:last, :first, or a number.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..io.source import UnreadableError
from .standard import read_text

if TYPE_CHECKING:
    from ..arguments import Array
    from ..robot import Robot

__all__ = ["from_table", "items"]

_TABLES = (".npz", ".parquet")


def items(text: str, option: str) -> list[tuple[str, str]]:
    """Return the parts of a list, each with file and line if it is from a file."""
    from .values import UsageError

    path = text[1:] if text.startswith("@") else ""
    lines = [(text, "")]
    if path:
        shown = "<stdin>" if path == "-" else path
        contents = _from_json(path) if path.lower().endswith(".json") else _contents(path, option).splitlines()
        uncommented = (re.sub(r"\s*=\s*", "=", line.partition("#")[0]) for line in contents)
        lines = [(line, f"{shown}:{number}") for number, line in enumerate(uncommented, 1)]
    found = [(item, where) for line, where in lines for item in re.split(r"[,\s]+", line) if item]
    if not found:
        raise UsageError(f"{option} has no numbers", path)
    return found


def from_table(text: str, robot: Robot, kind: str, option: str) -> Array | None:
    """Return one row of a table of that kind; None if the text names no table."""
    match = re.fullmatch(r"@(.+?)(?::(first|last|-?\d+))?", text)
    if match is None or not (match[2] or _is_table(match[1])):
        return None
    from .motions import read
    from .values import UsageError

    path, row = match[1], match[2]
    table = read(path, robot, kind, partial=(kind,), timed=False)
    series: Array | None = getattr(table, kind)
    if series is None:
        raise UsageError(f"{option}: the file has no columns of {kind}, such as {kind}.<joint>", path)
    if row is None and len(series) > 1:
        raise UsageError(
            f"{option}: the file has {len(series)} rows; name one: @{path}:last, :first, or its number from 0", path
        )
    number = {"first": 0, "last": -1, None: 0}.get(row)
    number = int(row) if number is None else number
    if not -len(series) <= number < len(series):
        raise UsageError(f"{option}: there is no row {number}; the file has {len(series)}", path)
    found: Array = series[number]
    return found


def _is_table(path: str) -> bool:
    """Return whether a file has named columns or arrays, by its suffix and its first line of names."""
    suffix = Path(path).suffix.lower()
    if suffix in _TABLES:
        return True
    if suffix == ".json":
        from .json_tables import parsed

        return _has_rows(parsed(path))
    if suffix != ".csv":
        return False
    lines = (line.strip() for line in _contents(path, "").splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), "")
    return "=" not in first and bool(re.search(r"[A-Za-z]", re.sub(r"\d+(\.\d*)?(e[+-]?\d+)?(deg)?", "", first)))


def _has_rows(data: Any) -> bool:
    """Return whether JSON is a table, and not a list or an object of single numbers."""
    if isinstance(data, list):
        return bool(data) and isinstance(data[0], dict)
    values = list(data.values()) if isinstance(data, dict) else []
    return any(isinstance(x, (list, dict)) for x in values)


def _from_json(path: str) -> list[str]:
    """Return a list of numbers, or an object with names, as lines."""
    from .json_tables import parsed

    data = parsed(path)
    if isinstance(data, list):
        return [str(x) for x in data]
    if isinstance(data, dict):
        return [f"{name}={x}" for name, x in data.items()]
    raise UnreadableError("a list of numbers, or an object with a number for each name, was expected", path)


def _contents(path: str, option: str) -> str:
    if path == "-":
        return read_text(option)
    try:
        return Path(path).read_text("utf-8-sig")
    except OSError as e:
        raise UnreadableError(f"the file cannot be read: {e.strerror or e}", path) from None
    except UnicodeDecodeError:
        raise UnreadableError("this is not UTF-8 text", path) from None
