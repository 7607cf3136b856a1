"""Tables in JSON files: columns by name, arrays by kind, or a list of records.

{"t": [0, 1], "q": [[0, 0.5], [1, 0.2]]}                   rows in the order of the robot
{"t": [0, 1], "q": {"shoulder": [0, 1], "elbow": [0.5, 0.2]}}
{"t": [0, 1], "q.shoulder": [0, 1], "q.elbow": [0.5, 0.2]}
[{"t": 0, "shoulder": 0, "elbow": 0.5}, {"t": 1, "shoulder": 1, "elbow": 0.2}]
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import Array
from ..io.source import UnreadableError
from ..simulate.results.formats.by_name import KINDS
from ..simulate.results.formats.rows import Rows
from .values import names_of

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["parsed", "rows"]


def parsed(path: str) -> Any:
    """Return the contents of a JSON file."""
    try:
        return json.loads(Path(path).read_text("utf-8-sig"))
    except OSError as e:
        raise UnreadableError(f"the file cannot be read: {e.strerror or e}", path) from None
    except (ValueError, RecursionError) as e:
        raise UnreadableError(f"this is not JSON: {e}", path) from None


def rows(path: str, robot: Robot) -> Rows:
    """Return the rows of a table in a JSON file."""
    data = parsed(path)
    if isinstance(data, list):
        if not data or not all(isinstance(record, dict) for record in data):
            raise UnreadableError('a list must have an object for each sample, such as {"t": 0, "q": [0, 0]}', path)
        wrong = next((k for k, record in enumerate(data) if record.keys() != data[0].keys()), None)
        if wrong is not None:
            raise UnreadableError(f"sample {wrong} has other names than the first one", path)
        data = {name: [record[name] for record in data] for name in data[0]}
    if not isinstance(data, dict):
        raise UnreadableError("a table is an object with a list for each column, or a list of objects", path)
    columns = dict(_columns(data, robot, path))
    lengths = {len(column) for column in columns.values()}
    if len(lengths) != 1:
        raise UnreadableError(
            f"its columns have different lengths: {sorted(lengths)}" if lengths else "it is empty", path
        )
    values = np.stack(list(columns.values()), axis=-1)
    return Rows(tuple(columns), values, tuple(range(len(values))))


def _columns(data: dict[str, Any], robot: Robot, path: str) -> Iterator[tuple[str, Array]]:
    """Visit the columns of a table, arrays taken apart."""
    for name, value in data.items():
        if isinstance(value, dict):
            for part, column in value.items():
                yield f"{name}.{part}", _numbers(column, 1, f"{name}.{part}", path)
        elif name in KINDS and not (isinstance(value, list) and value and np.ndim(value[0]) == 0):
            labels = names_of(robot, name)
            table = _numbers(value, 2, name, path)
            if table.shape[1] != len(labels):
                why = f"{name} has {table.shape[1]} numbers in each row; {robot.name!r} needs {len(labels)}"
                raise UnreadableError(why, path)
            yield from ((f"{name}.{label}", table[:, k]) for k, label in enumerate(labels))
        else:
            yield name, _numbers(value, 1, name, path)


def _numbers(value: Any, dimensions: int, name: str, path: str) -> Array:
    try:
        array = np.array(value, float)
    except (TypeError, ValueError):
        array = np.zeros(())
    if array.ndim != dimensions:
        shape = "a list of numbers" if dimensions == 1 else "a list with a list of numbers for each sample"
        raise UnreadableError(f"{name!r} must be {shape}", path)
    return array
