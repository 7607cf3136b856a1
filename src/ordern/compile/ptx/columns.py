"""Straight-line code with loops over columns as a kernel: see `compile/trace/columns.py`.

The values of the straight-line code that loops read, and the arrays in which columns work, are in the workspace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...graph import Node
from ..emit.builder import Value
from ..emit.columns import ColumnWriter, column_stores, needed_numbers
from ..trace.columns import Kept, StraightCode
from .emitter import Row
from .entry import Arguments, Entry
from .straight import StraightWriter

__all__ = ["write_columns"]

_PIECE = 300
"""Operations between branches that are never taken."""


def write_columns(entry: Entry, code: StraightCode, writer: Callable[[Sequence[Row]], StraightWriter]) -> int:
    """Write the straight-line code by a writer for the rows of the arguments, then the loops.

    Return the numbers of the workspace.
    """
    end, arrays = 0, {}
    for array in code.arrays:
        if array.closed:
            arrays[array.number], end = end, end + len(array.values)
    outside = {node.index: end + k for k, node in enumerate(code.outside)}
    end += len(outside)
    with entry.state(end) as arguments:
        stores = _stores(entry, code, arguments, arrays, outside)
        writer(arguments.inputs).write(code.roots, stores, entry.named["%n"])
        _loops(entry, code, arguments.workspace, arrays, outside)
        for k, x in enumerate(code.results):
            if isinstance(x, Kept):
                entry.e.store(entry.e.load(arguments.workspace, arrays[x.array] + x.at), arguments.output, k)
    return entry.workspace(end)


def _stores(
    entry: Entry, code: StraightCode, arguments: Arguments, arrays: dict[int, int], outside: dict[int, int]
) -> dict[int, list[tuple[Row, int]]]:
    """Store all constants of arrays and results; return where nodes are stored, by their index."""
    stores: dict[int, list[tuple[Row, int]]] = {}

    def set_to(x: Any, row: Row, index: int) -> None:
        if isinstance(x, Node):
            stores.setdefault(x.index, []).append((row, index))
        elif not isinstance(x, Kept):
            entry.e.store(entry.e.constant(float(x)), row, index)

    for k, x in enumerate(code.results):
        set_to(x, arguments.output, k)
    for array in code.arrays:
        for at, x in array.initial.items():
            set_to(x, arguments.workspace, arrays[array.number] + at)
    for node in code.outside:
        set_to(node, arguments.workspace, outside[node.index])
    return stores


def _loops(entry: Entry, code: StraightCode, workspace: Row, arrays: dict[int, int], outside: dict[int, int]) -> None:
    """Write the loops over columns."""

    def within(places: dict[int, int]) -> Callable[[int], tuple[Value, int]]:
        return lambda k: (workspace, places[k])

    def cut(position: int) -> None:
        """Cut long code: see `straight.py`."""
        if position and position % _PIECE == 0:
            entry.e.leave_unless(entry.named["%n"].differs(-position))

    needed = needed_numbers(code)
    for loop in code.loops:
        stores = column_stores(loop, needed)
        if stores:
            entry.e.memo = {}
            with entry.e.counted(loop.columns.stop, loop.columns.start) as c:
                ColumnWriter(entry.e, c, within(arrays), within(outside)).emit(stores, cut)
