"""Between arrays and tiles: IR text that gathers vectors of states, and scatters results.

Each function moves one operand for `lanes` states at a time; `%lanes` points to one address per state. Where a
state's numbers lie next to each other, blocks of lanes x lanes numbers are loaded as rows and transposed in
registers; otherwise numbers are picked one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...records import dataclass
from ..trace.layout import Layout
from .nodes import TextEmitter
from .target import Target
from .transpose import transpose, transposed

__all__ = ["MOST_EXPECTED", "Ask", "asks", "columns", "loop", "tile_functions"]

MOST_EXPECTED = 4096
"""Bytes of one state's part of an operand that are asked for ahead; beyond it they come in order, unasked."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A line of memory that will be needed: at an offset from one of the addresses in a table."""

    row: int
    offset: int
    write: bool

    def emit(self, e: TextEmitter) -> None:
        """Ask for it; %wanted is the table."""
        row = e.value(f"load ptr, ptr {e.value(f'getelementptr ptr, ptr %wanted, i64 {self.row}')}")
        at = e.value(f"getelementptr i8, ptr {row}, i64 {self.offset}")
        e.line(f"call void @llvm.prefetch.p0(ptr {at}, i32 {int(self.write)}, i32 2, i32 1)")


def asks(layout: Layout, target: Target) -> list[Ask]:
    """What the next tile's arguments and this one's result need; the table has `lanes` addresses for each operand.

    Straight-line code asks for it piece by piece: a processor has a dozen requests under way at most, and waits if it
    is given more of them at once.
    """
    operands = [*layout.inputs, layout.output]
    return [
        Ask(target.lanes * k + lane, offset, k == len(layout.inputs))
        for k, operand in enumerate(operands)
        for lane in range(target.lanes)
        for offset in range(0, min(operand.size * target.itemsize, MOST_EXPECTED), 64)
    ]


def tile_functions(target: Target, places: Sequence[int] = ()) -> str:
    """IR text of @load_rows, @load_strided, @splat and @expect_load, and of their opposites.

    If the vectors of the result's tile have `places`, there is @spread too, which puts them in order: for
    @store_strided, which expects it.
    """
    table = [f"@places = internal constant [{len(places)} x i32] [{', '.join(f'i32 {k}' for k in places)}]"]
    return "\n".join(
        [
            *([*table, _spread(target)] if places else []),
            _expect(target, store=False),
            _expect(target, store=True),
            _rows(target, store=False),
            _rows(target, store=True, placed=bool(places)),
            _strided(target, store=False),
            _strided(target, store=True),
            _single(target, store=False),
            _single(target, store=True, placed=bool(places)),
        ]
    )


def columns(e: TextEmitter, k: str, count: int, placed: bool) -> list[str]:
    """Addresses of the vectors in %tile for the result's numbers k, k + 1 ..."""
    vector = e.target.vector
    if not placed:
        block = e.value(f"getelementptr {vector}, ptr %tile, i64 {k}")
        return [e.value(f"getelementptr {vector}, ptr {block}, i64 {n}") for n in range(count)]
    at = e.value(f"getelementptr i32, ptr @places, i64 {k}")
    found = []
    for n in range(count):
        place = e.value(f"load i32, ptr {e.value(f'getelementptr i32, ptr {at}, i64 {n}')}")
        found.append(e.value(f"getelementptr {vector}, ptr %tile, i32 {place}"))
    return found


def _rows(target: Target, store: bool, placed: bool = False) -> str:
    """Blocks of a contiguous operand; a mask keeps the last block within the array."""
    lanes, vector, size = target.lanes, target.vector, target.itemsize
    suffix, mask = f"v{lanes}f{8 * size}.p0", f"<{lanes} x i1>"
    e = TextEmitter(target)
    e.line("%left = sub i64 %n, %k")
    e.line(f"%left0 = insertelement <{lanes} x i64> poison, i64 %left, i32 0")
    e.line(f"%lefts = shufflevector <{lanes} x i64> %left0, <{lanes} x i64> poison, <{lanes} x i32> zeroinitializer")
    counting = ", ".join(f"i64 {k}" for k in range(lanes))
    e.line(f"%mask = icmp ult <{lanes} x i64> <{counting}>, %lefts")
    pointers = []
    for lane in range(lanes):
        slot = e.value(f"getelementptr ptr, ptr %lanes, i64 {lane}")
        start = e.value(f"load ptr, ptr {slot}")
        pointers.append(e.value(f"getelementptr {target.element}, ptr {start}, i64 %k"))
    vectors = columns(e, "%k", lanes, placed)
    if store:
        for column, pointer in zip(transposed(e, vectors), pointers, strict=True):
            e.line(f"call void @llvm.masked.store.{suffix}({vector} {column}, ptr {pointer}, i32 {size}, {mask} %mask)")
    else:
        rows = [
            e.value(
                f"call {vector} @llvm.masked.load.{suffix}(ptr {p}, i32 {size}, {mask} %mask, {vector} zeroinitializer)"
            )
            for p in pointers
        ]
        for column, at in zip(transpose(e, rows), vectors, strict=True):
            e.store(column, at, 0)
    name = "@store_rows" if store else "@load_rows"
    return loop(name, "ptr %lanes, ptr %tile, i64 %first, i64 %n", e, step=lanes, first="%first")


def _strided(target: Target, store: bool) -> str:
    """Number by number, `%stride` bytes apart."""
    vector, element = target.vector, target.element
    e = TextEmitter(target)
    e.line("%offset = mul i64 %k, %stride")
    e.line(f"%column = getelementptr {vector}, ptr %tile, i64 %k")
    value = e.load("%column", 0) if store else "poison"
    for lane in range(target.lanes):
        slot = e.value(f"getelementptr ptr, ptr %lanes, i64 {lane}")
        start = e.value(f"load ptr, ptr {slot}")
        p = e.value(f"getelementptr i8, ptr {start}, i64 %offset")
        if store:
            x = e.value(f"extractelement {vector} {value}, i32 {lane}")
            e.line(f"store {element} {x}, ptr {p}, align {target.itemsize}")
        else:
            x = e.value(f"load {element}, ptr {p}, align {target.itemsize}")
            value = e.value(f"insertelement {vector} {value}, {element} {x}, i32 {lane}")
    if not store:
        e.store(value, "%column", 0)
    name = "@store_strided" if store else "@load_strided"
    return loop(name, "ptr %lanes, ptr %tile, i64 %n, i64 %stride", e, step=1)


def _single(target: Target, store: bool, placed: bool = False) -> str:
    """One contiguous state: into every lane, or from the first."""
    element, size = target.element, target.itemsize
    e = TextEmitter(target)
    e.line(f"%p = getelementptr {element}, ptr %array, i64 %k")
    [column] = columns(e, "%k", 1, placed)
    if store:
        x = e.value(f"load {element}, ptr {column}, align {size}")
        e.line(f"store {element} {x}, ptr %p, align {size}")
    else:
        x = e.value(f"load {element}, ptr %p, align {size}")
        e.store(e.splat(x), column, 0)
    return loop("@extract" if store else "@splat", "ptr %array, ptr %tile, i64 %n", e, step=1)


def _spread(target: Target) -> str:
    """The vectors of a result, each to where it belongs."""
    e = TextEmitter(target)
    [column] = columns(e, "%k", 1, placed=True)
    e.store(e.load(column, 0), e.value(f"getelementptr {target.vector}, ptr %to, i64 %k"), 0)
    return loop("@spread", "ptr %to, ptr %tile, i64 %n", e, step=1)


def _expect(target: Target, store: bool) -> str:
    """Ask for the memory of the states from %t on, so that it is at hand when their turn comes.

    A tile takes microseconds to compute and its numbers come in a burst: without being asked, the processor would
    start to fetch them only then.
    """
    name, write = ("@expect_store", 1) if store else ("@expect_load", 0)
    return "\n".join(
        [
            f"define internal void {name}(ptr %base, i64 %outer, i64 %t, i64 %last, i64 %bytes) #0 {{",
            "entry:",
            "  br label %lane",
            "lane:",
            "  %j = phi i64 [ 0, %entry ], [ %j_next, %lane_end ]",
            "  %s = add i64 %t, %j",
            "  %in = icmp slt i64 %s, %last",
            "  %i = select i1 %in, i64 %s, i64 %last",
            "  %far = mul i64 %i, %outer",
            "  %row = getelementptr i8, ptr %base, i64 %far",
            "  br label %line",
            "line:",
            "  %k = phi i64 [ 0, %lane ], [ %k_next, %line ]",
            "  %at = getelementptr i8, ptr %row, i64 %k",
            f"  call void @llvm.prefetch.p0(ptr %at, i32 {write}, i32 2, i32 1)",
            "  %k_next = add i64 %k, 64",
            "  %more = icmp slt i64 %k_next, %bytes",
            "  br i1 %more, label %line, label %lane_end",
            "lane_end:",
            "  %j_next = add i64 %j, 1",
            f"  %lanes_left = icmp slt i64 %j_next, {target.lanes}",
            "  br i1 %lanes_left, label %lane, label %end",
            "end:",
            "  ret void",
            "}",
        ]
    )


def loop(name: str, arguments: str, body: TextEmitter, step: int, first: str = "0") -> str:
    """A function that runs its body for k = first, first + step ... below n."""
    return "\n".join(
        [
            f"define internal void {name}({arguments}) #0 {{",
            "entry:",
            f"  %some = icmp sgt i64 %n, {first}",
            "  br i1 %some, label %loop, label %end",
            "loop:",
            f"  %k = phi i64 [ {first}, %entry ], [ %next, %loop ]",
            *body.lines,
            f"  %next = add i64 %k, {step}",
            "  %more = icmp slt i64 %next, %n",
            "  br i1 %more, label %loop, label %end",
            "end:",
            "  ret void",
            "}",
        ]
    )
