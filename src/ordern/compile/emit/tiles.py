"""Between arrays and tiles: IR text that gathers vectors of states, and scatters results.

Each function moves one operand for `lanes` states at a time; `%lanes` points to one address per state. Where a
state's numbers lie next to each other, blocks of lanes x lanes numbers are loaded as rows and transposed in
registers; otherwise numbers are picked one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...records import dataclass
from ..trace.layout import Layout
from .builder import Number, Value
from .nodes import TextEmitter
from .target import Target
from .transpose import transpose, transposed

__all__ = ["MOST_PREFETCHED", "Prefetch", "columns", "prefetch", "prefetches", "tile_functions"]

MOST_PREFETCHED = 4096
"""Bytes of one state's part of an operand that are prefetched; the processor foresees accesses further on itself."""


@dataclass(frozen=True, slots=True)
class Prefetch:
    """The prefetch of one line of memory, at an offset from an address in a table."""

    row: int
    offset: int
    write: bool

    def emit(self, e: TextEmitter) -> None:
        """Emit the instruction; %wanted is the table."""
        prefetch(e, e.const("%wanted", "ptr").load("ptr", self.row).at(self.offset), self.write)


def prefetches(layout: Layout, target: Target) -> list[Prefetch]:
    """Return the prefetches of the next tile's arguments and of this tile's result.

    The table has `lanes` addresses for each operand. Straight-line code spreads the prefetches over its length: a
    processor has at most a dozen requests under way, and waits if it gets more of them at once.
    """
    operands = [*layout.inputs, layout.output]
    return [
        Prefetch(target.lanes * k + lane, offset, k == len(layout.inputs))
        for k, operand in enumerate(operands)
        for lane in range(target.lanes)
        for offset in range(0, min(operand.size * target.itemsize, MOST_PREFETCHED), 64)
    ]


def prefetch(e: TextEmitter, at: Value, write: bool, locality: int = 2) -> None:
    """Start to fetch the line of memory at an address."""
    flags = (e.const(int(x), "i32") for x in (write, locality, 1))
    e.call("@llvm.prefetch.p0", at, *flags)


def tile_functions(target: Target, places: Sequence[int] = ()) -> str:
    """Return the IR text of @load_rows, @load_strided, @splat and @prefetch_loads, and of their opposites.

    If the vectors of the result's tile have `places`, add @spread, which puts them in order for @store_strided.
    """
    table = [f"@places = internal constant [{len(places)} x i32] [{', '.join(f'i32 {k}' for k in places)}]"]
    return "\n".join(
        [
            *([*table, _spread(target)] if places else []),
            _prefetch(target, store=False),
            _prefetch(target, store=True),
            _rows(target, store=False),
            _rows(target, store=True, placed=bool(places)),
            _strided(target, store=False),
            _strided(target, store=True),
            _single(target, store=False),
            _single(target, store=True, placed=bool(places)),
        ]
    )


def columns(e: TextEmitter, tile: Value, k: Number, count: int, placed: bool) -> list[Value]:
    """Return the addresses of the vectors in a tile for the result's numbers k, k + 1 ..."""
    vector = e.target.vector
    if not placed:
        block = tile.at(k, vector)
        return [block.at(n, vector) for n in range(count)]
    at = e.const("@places", "ptr").at(k, "i32")
    return [tile.at(at.load("i32", n), vector) for n in range(count)]


def _rows(target: Target, store: bool, placed: bool = False) -> str:
    """Move blocks of a contiguous operand; a mask keeps the last block within the array."""
    lanes, vector, size = target.lanes, target.vector, target.itemsize
    suffix, mask_type = f"v{lanes}f{8 * size}.p0", f"<{lanes} x i1>"
    e = TextEmitter(target, arguments=("ptr %lanes", "ptr %tile", "i64 %first", "i64 %n"))
    rows, tile, first, n = e.arguments
    with e.if_(n > first), e.counted(n, first, lanes) as k:
        mask = e.first_lanes(n - k)
        pointers = [rows.load("ptr", lane).at(k, target.element) for lane in range(lanes)]
        vectors = columns(e, tile, k, lanes, placed)
        if store:
            for x, p in zip(transposed(e, vectors), pointers, strict=True):
                e.line(f"call void @llvm.masked.store.{suffix}({vector} {x}, ptr {p}, i32 {size}, {mask_type} {mask})")
        else:
            masked = f"i32 {size}, {mask_type} {mask}, {vector} zeroinitializer"
            loaded = [e.value(f"call {vector} @llvm.masked.load.{suffix}(ptr {p}, {masked})") for p in pointers]
            for x, at in zip(transpose(e, loaded), vectors, strict=True):
                e.store(x, at)
    return e.text("@store_rows" if store else "@load_rows")


def _strided(target: Target, store: bool) -> str:
    """Move an operand number by number, `%stride` bytes apart."""
    vector, element = target.vector, target.element
    e = TextEmitter(target, arguments=("ptr %lanes", "ptr %tile", "i64 %n", "i64 %stride"))
    rows, tile, n, stride = e.arguments
    with e.if_(n > 0), e.counted(n) as k:
        offset, column = k * stride, tile.at(k, vector)
        value = e.load(column) if store else "poison"
        for lane in range(target.lanes):
            p = rows.load("ptr", lane).at(offset)
            if store:
                p.store(e.typed(element, f"extractelement {vector} {value}, i32 {lane}"))
            else:
                value = e.value(f"insertelement {vector} {value}, {element} {p.load(element)}, i32 {lane}")
        if not store:
            e.store(value, column)
    return e.text("@store_strided" if store else "@load_strided")


def _single(target: Target, store: bool, placed: bool = False) -> str:
    """Move one contiguous state: into every lane, or from the first lane."""
    e = TextEmitter(target, arguments=("ptr %array", "ptr %tile", "i64 %n"))
    array, tile, n = e.arguments
    with e.if_(n > 0), e.counted(n) as k:
        p, [column] = array.at(k, target.element), columns(e, tile, k, 1, placed)
        if store:
            p.store(column.load(target.element))
        else:
            e.store(e.splat(p.load(target.element)), column)
    return e.text("@extract" if store else "@splat")


def _spread(target: Target) -> str:
    """Copy each vector of a result to its own place."""
    e = TextEmitter(target, arguments=("ptr %to", "ptr %tile", "i64 %n"))
    to, tile, n = e.arguments
    with e.if_(n > 0), e.counted(n) as k:
        [column] = columns(e, tile, k, 1, placed=True)
        e.store(e.load(column), to.at(k, target.vector))
    return e.text("@spread")


def _prefetch(target: Target, store: bool) -> str:
    """Prefetch the memory of the states from %t on.

    A tile takes microseconds to compute, and its numbers are read in a burst: without a prefetch, the processor would
    start to fetch them only then.
    """
    e = TextEmitter(target, arguments=("ptr %base", "i64 %outer", "i64 %t", "i64 %last", "i64 %bytes"))
    base, outer, t, last, size = e.arguments
    with e.counted(target.lanes) as lane:
        state = t + lane
        row = base.at((state < last).select(state, last) * outer)
        with e.counted(size, step=64) as k:
            prefetch(e, row.at(k), write=store)
    return e.text("@prefetch_stores" if store else "@prefetch_loads")
