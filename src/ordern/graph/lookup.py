"""Entries of tables: the operation that reads a number from a table of constants, at a place that is computed.

Every table is an operation of its own, with one operand, the place. Its name has a digest of its numbers, so that equal
tables are one operation, in all processes. Places are rounded down, and clamped to the table. In machine code a table
is an array of constants, and each state of a vector reads its own entry; elsewhere it is a tree of choices.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import CompileError
from . import scalars
from .ops import TABLES, Op, Scalar, apply

__all__ = ["table_entry"]

_LONGEST = 1024
"""The longest table that is a tree of choices in machine code."""


def table_entry(values: Sequence[float], place: Scalar) -> Scalar:
    """Return the entry of a table at a place, which is rounded down; beyond the ends, the first or the last entry.

    >>> table_entry((5.0, 7.0, 9.0), 1.8), table_entry((5.0, 7.0, 9.0), -3.0), table_entry((5.0, 7.0, 9.0), 40.0)
    (7.0, 5.0, 9.0)
    """
    numbers = tuple(map(float, values))
    if len(numbers) == 1:
        return numbers[0]
    name = f"table_{hashlib.sha256(repr(numbers).encode()).hexdigest()[:16]}"
    if name not in TABLES:
        TABLES[name] = _operation(name, numbers)
    return apply(name, place)


def _operation(name: str, values: tuple[float, ...]) -> Op:
    array = np.array(values)

    def evaluate(x: Scalar) -> Scalar:
        if isinstance(x, (float, int, np.floating, np.ndarray)):
            inside = np.minimum(np.maximum(np.where(np.isnan(x), 0.0, x), 0.0), len(array) - 1.0)
            found = array[inside.astype(np.int64)]
            return found.astype(x.dtype) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else found[()]
        return _tree(values, 0, len(values), x)

    def lower(emitter: Any, x: str) -> str:
        if getattr(emitter, "constants", None) is None:
            if len(values) > _LONGEST:
                raise CompileError(
                    f"a table of {len(values):,} numbers, such as a height field, is too long for code without arrays "
                    f"of constants, as that of GPUs and of loops over long robots; at most {_LONGEST:,} are possible"
                )
            return _selected(emitter, values, 0, len(values), x)
        return str(emitter.entry(emitter.constants.table(name, values), len(values), x))

    return Op(name, 1, evaluate, lambda x: None, lower, lambda x: (0.0,), c=_choices(values, 0, len(values)))


def _tree(values: Sequence[float], first: int, end: int, x: Scalar) -> Scalar:
    if end - first == 1:
        return values[first]
    middle = (first + end) // 2
    low, high = _tree(values, first, middle, x), _tree(values, middle, end, x)
    return scalars.where_less(x, float(middle), low, high)


def _selected(emitter: Any, values: Sequence[float], first: int, end: int, x: str) -> str:
    if end - first == 1:
        return str(emitter.constant(values[first]))
    middle = (first + end) // 2
    low, high = (_selected(emitter, values, a, b, x) for a, b in ((first, middle), (middle, end)))
    return str(emitter.select_less(x, emitter.constant(float(middle)), low, high))


def _choices(values: Sequence[float], first: int, end: int) -> str:
    """Return the C expression of a table, as nested choices."""
    if end - first == 1:
        return repr(values[first])
    middle = (first + end) // 2
    return f"({{0}} < {float(middle)!r} ? {_choices(values, first, middle)} : {_choices(values, middle, end)})"
