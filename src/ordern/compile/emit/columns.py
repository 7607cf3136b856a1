"""Straight-line code with loops over columns, as LLVM IR: see `compile/trace/columns.py`.

@body calls the chunks of straight-line code, then a function for each loop. Values that pass from one to the other are
in the workspace. The array that is the result lies in the result's tile, so that loops work there in place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...graph import Node, live
from ...records import dataclass
from ..trace.columns import Array, ColumnLoop, ColumnPlace, IsColumn, Kept, Outside, StraightCode
from ..trace.layout import Layout
from ..trace.unroll import body_function, emit_chunks
from .builder import Value
from .nodes import Constants, TextEmitter
from .target import Target
from .tiles import Prefetch

__all__ = ["ColumnWriter", "column_stores", "emit_columns", "is_result", "needed_numbers"]

_NEAR = 40
"""Operations after which a number is read again instead of being kept in a register."""


@dataclass(frozen=True, slots=True)
class _Memory:
    """The places of arrays and of values of the straight-line code in the workspace."""

    arrays: dict[int, int]
    outside: dict[int, int]
    end: int


def emit_columns(
    code: StraightCode, layout: Layout, target: Target, prefetches: Sequence[Prefetch] = ()
) -> tuple[str, int]:
    """Return the IR text of @init and @body, and the number of vectors in the workspace."""
    memory = _memory(code, layout)
    constants = Constants(target)
    init = TextEmitter(target, arguments=("ptr %data", "ptr noalias %ws"))
    fill = TextEmitter(target, constants, ("ptr noalias %ws", "ptr noalias %constants"))
    stores: dict[int, list[int]] = {}

    def set_to(x: object, place: int, e: TextEmitter) -> None:
        if isinstance(x, Node):
            stores.setdefault(x.index, []).append(place)
        elif not isinstance(x, Kept):
            e.store(e.constant(float(x)), "%ws", place)  # type: ignore[arg-type]

    for place, x in enumerate(code.results):
        set_to(x, layout.output_tile + place, init)
    for array in code.arrays:
        for at, x in array.initial.items():  # the loops overwrite them in every tile
            set_to(x, memory.arrays[array.number] + at, fill)
    for node in code.outside:
        stores.setdefault(node.index, []).append(memory.outside[node.index])
    chunks, size = emit_chunks(code.roots, stores, layout, memory.end, constants, target, prefetches)
    needed = needed_numbers(code)
    loops = [_loop_function(k, loop, memory, needed, constants, target) for k, loop in enumerate(code.loops)]
    names = ["@fill", *(f"@columns{k}" for k, text in enumerate(loops) if text), "@copy"]
    body = body_function([f"@chunk{k}" for k in range(len(chunks))], bool(prefetches), names)
    functions = [fill.text("@fill"), *chunks, *loops, _copy_function(_copies(code, memory, layout), target), body]
    return "\n".join([constants.text(), init.text("@init"), *functions]), size


def _memory(code: StraightCode, layout: Layout) -> _Memory:
    """Return where arrays and values are: the array that is the result as a whole is in its tile."""
    end, arrays = layout.scratch, {}
    for array in code.arrays:
        if not array.closed:
            continue
        if is_result(array, code):
            arrays[array.number] = layout.output_tile
        else:
            arrays[array.number], end = end, end + len(array.values)
    outside = {node.index: end + k for k, node in enumerate(code.outside)}
    return _Memory(arrays, outside, end + len(outside))


def is_result(array: Array, code: StraightCode) -> bool:
    """Tell whether an array is the result as a whole."""
    return len(array.values) == len(code.results) and all(
        x is y or (type(x) is float and type(y) is float and x == y)
        for x, y in zip(array.values, code.results, strict=True)
    )


def needed_numbers(code: StraightCode) -> set[tuple[int, int]]:
    """Return the numbers of arrays that the result has, or that a loop reads."""
    found = {(x.array, x.at) for x in code.results if isinstance(x, Kept)}
    for loop in code.loops:
        for node in loop.graph.nodes:
            if node.op == "leaf" and isinstance(node.data, ColumnPlace):
                found |= {(node.data.array, node.data.offset + node.data.stride * c) for c in loop.columns}
    return found


def _loop_function(
    number: int,
    loop: ColumnLoop,
    memory: _Memory,
    needed: set[tuple[int, int]],
    constants: Constants,
    target: Target,
) -> str:
    """Return the IR text of the function of a loop; empty if nothing that it sets is needed."""
    stores = column_stores(loop, needed)
    if not stores:
        return ""
    e = TextEmitter(target, constants, ("ptr noalias %ws", "ptr noalias %constants"))
    ws = e.arguments[0]
    with e.counted(loop.columns.stop, loop.columns.start) as c:
        array, outside = (lambda k: (ws, memory.arrays[k])), (lambda k: (ws, memory.outside[k]))
        ColumnWriter(e, c, array, outside).emit(stores)
    return e.text(f"@columns{number}")


def column_stores(loop: ColumnLoop, needed: set[tuple[int, int]]) -> dict[ColumnPlace, Any]:
    """Return what a loop stores, as far as it is needed."""
    return {
        place: x
        for place, x in loop.stores.items()
        if any((place.array, place.offset + place.stride * c) in needed for c in loop.columns)
    }


class ColumnWriter:
    """Writes the code of one column."""

    def __init__(
        self,
        e: TextEmitter,
        column: Value,
        array: Callable[[int], tuple[Value, int]],
        outside: Callable[[int], tuple[Value, int]],
    ) -> None:
        """Write through `e`; `array` and `outside` return the address and the first index of arrays and values."""
        self._e, self._column, self._array, self._outside = e, column, array, outside
        self._rows: dict[tuple[str, int], Value] = {}
        """The address of a memory plus stride times column, by the memory and the stride."""
        self._names: dict[int, str] = {}
        self._read_at: dict[int, int] = {}

    def emit(self, stores: dict[ColumnPlace, Any], before: Callable[[int], None] | None = None) -> None:
        """Write the operations in the order of the text, and each number as soon as it is known.

        `before` is called with the position of each operation, before it is written.
        """
        places: dict[int, list[ColumnPlace]] = {}
        for place, x in stores.items():
            if isinstance(x, Node):
                places.setdefault(x.index, []).append(place)
            else:
                self._store(self._e.constant(float(x)), place)
        nodes = live(x for x in stores.values() if isinstance(x, Node))
        for position, node in enumerate(nodes):
            if before is not None:
                before(position)
            if node.args:
                self._names[node.index] = self._e.lower(node, [self._operand(a, position) for a in node.args])
            for place in places.get(node.index, ()):
                self._store(self._operand(node, position), place)

    def _operand(self, node: Node, position: int) -> str:
        if node.args:
            return self._names[node.index]
        if node.op == "constant":
            return self._e.constant(node.data)
        if node.index not in self._names or position - self._read_at[node.index] > _NEAR:
            self._names[node.index] = self._leaf(node.data)
            self._read_at[node.index] = position
        return self._names[node.index]

    def _leaf(self, leaf: Outside | IsColumn | ColumnPlace) -> str:
        if isinstance(leaf, Outside):
            return self._e.load(*self._outside(leaf.node))
        if isinstance(leaf, IsColumn):
            return self._e.one_if(self._column.equals(leaf.column))
        return self._e.load(*self._address(leaf))

    def _store(self, name: str, place: ColumnPlace) -> None:
        self._e.store(name, *self._address(place))

    def _address(self, place: ColumnPlace) -> tuple[Value, int]:
        """Return pointer and index of a place."""
        base, start = self._array(place.array)
        key = str(base), place.stride
        if key not in self._rows:
            self._rows[key] = base.at(self._column * place.stride, self._e.vector)
        return self._rows[key], start + place.offset


def _copies(code: StraightCode, memory: _Memory, layout: Layout) -> list[tuple[int, int]]:
    """Return pairs of places in the workspace: numbers of the result that loops have set elsewhere, and their place."""
    kept = [(n, x) for n, x in enumerate(code.results) if isinstance(x, Kept)]
    pairs = [(memory.arrays[x.array] + x.at, layout.output_tile + n) for n, x in kept]
    return [pair for pair in pairs if pair[0] != pair[1]]


def _copy_function(pairs: list[tuple[int, int]], target: Target) -> str:
    """Return the IR text of a function that copies vectors of the workspace."""
    e = TextEmitter(target, arguments=("ptr noalias %ws", "ptr noalias %constants"))
    for start, to in pairs:
        e.store(e.load("%ws", start), "%ws", to)
    return e.text("@copy")
