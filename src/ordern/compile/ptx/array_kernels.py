"""Kernels of programs on arrays: one thread applies a piece to one element, or copies one element.

Number c of row r of a table, in state s of S states, is at (c * rows + r) * S + s: neighbouring threads, which handle
neighbouring rows or states, read one line of memory. The parameters of a kernel are 64 bits each: those of all kernels
(see `code`), of which only the number of threads is used; then for each table that it reads or writes

| parameter | meaning |
|---|---|
| address | of the table |
| apart | numbers from one number of an element to the next: rows * S |
| first | the first row, times S |
| step | from a row to the next, times S; or the address of a list of rows, if the key says so |
| scale | S, by which the rows of a list are multiplied; 1 if the table is the same for all states |
| state | 1; 0 if the table is the same for all states |

and then the number of rows and the number of states.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ...graph import Node, live
from ...records import dataclass
from ..arrays.program import Apply, Copy, Rows, View
from ..emit.builder import Number, Value
from ..emit.target import Target
from ..trace.layout import Layout, Operand
from .code import PtxCode
from .emitter import GLOBAL, Row
from .entry import NAME, Frame, parameters_of
from .machine import assembly, thread_target
from .plan import thread_plan
from .spills import Schedule
from .straight import StraightWriter

__all__ = ["Shape", "array_code", "shape_of"]

_PARTS = ("apart", "first", "step", "scale", "state")
_COPIED = 128
"""Threads of a block that copies."""
_NOTHING = Operand("out", (1,))
"""The result that all kernels have among their parameters, which is not used here."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Everything that the code of a step depends on, but for the piece: how its tables are read and written."""

    columns: tuple[tuple[int, ...], ...]
    listed: tuple[bool, ...]
    """True for each table whose rows are a list."""
    several: bool
    """True if there is more than one state."""


def shape_of(step: Apply | Copy, several: bool) -> Shape:
    """Return the shape of a step."""
    views = views_of(step)
    return Shape(tuple(x.columns for x in views), tuple(x.rows.places is not None for x in views), several)


def views_of(step: Apply | Copy) -> list[View]:
    """Return the views that a step reads, then the ones that it writes."""
    if isinstance(step, Copy):
        return [step.source, step.target]
    written = [View(x, Rows(step.count), tuple(range(x.width))) for x in step.results]
    return [x for x in step.inputs if x.columns] + written


class _Element(Row):
    """The address of an element, whose numbers are so far apart as a parameter says."""

    __slots__ = ("_apart", "_columns")

    def __init__(self, base: Value, columns: Sequence[int], apart: Value, constant: bool) -> None:
        super().__init__(base.builder, base.name, base.type, 1, constant)
        self._columns, self._apart = columns, apart

    def at(self, index: Number, of: str = "i8") -> Row:
        """Return the address of a number."""
        assert isinstance(index, int)
        place = Value.at(self, self._apart * self._columns[index], of)
        return Row(self.builder, place.name, self.type, 1, self.constant)


class _ArrayFrame(Frame):
    """The frame of a kernel that works on elements of tables."""

    def __init__(self, target: Target, shape: Shape, block: int, on_device: bool) -> None:
        self._shape = shape
        names = range(len(shape.columns))
        parts = [x for k in names for x in (f"{GLOBAL} %table{k}", *(f"i64 %table{k}_{part}" for part in _PARTS))]
        common = parameters_of(Layout((), _NOTHING, 1))
        super().__init__(target, [*common, *parts, "i64 %rows", "i64 %states"], block, on_device)

    @contextmanager
    def element(self, written: int) -> Iterator[list[_Element]]:
        """Run what is inside for the element of the thread; the last `written` tables are written."""
        e, named = self.e, self.named
        number = self.register("ctaid") * self.block + self.register("tid")
        rows, states = named["%rows"], named["%states"]
        with e.if_(number < rows * states):
            row, state = number, e.const(0)
            if self._shape.several:
                row = e.typed("i64", f"udiv i64 {number}, {states}")
                state = number - row * states
            count = len(self._shape.columns)
            yield [self._element(k, row, state, k < count - written) for k in range(count)]

    def _element(self, k: int, row: Value, state: Value, constant: bool) -> _Element:
        e, shape = self.e, self._shape
        base, *rest = (self.named[f"%table{k}{part}"] for part in ("", *(f"_{part}" for part in _PARTS)))
        apart, first, step, scale, by_state = rest
        if shape.listed[k]:
            places = Value(e, e.value(f"inttoptr i64 {step} to {GLOBAL}"), GLOBAL)
            at = places.load("i64", row) * scale
        else:
            at = first + step * row
        if shape.several:
            at = at + state * by_state
        return _Element(base.at(at, e.element), shape.columns[k], apart, constant)


def array_code(step: Apply | Copy, shape: Shape, dtype: str, arch: str) -> PtxCode:
    """Return the kernel of a step."""
    ir, block, registers = written(step, shape, dtype, arch)
    return PtxCode(assembly(ir, arch), NAME, block, block, "unrolled", 0, registers=registers)


def written(step: Apply | Copy, shape: Shape, dtype: str, arch: str, on_device: bool = True) -> tuple[str, int, int]:
    """Return the kernel of a step as IR text, the threads of a block, and the registers of a thread."""
    target = thread_target(dtype)
    if isinstance(step, Copy):
        entry = _ArrayFrame(target, shape, _COPIED, on_device)
        with entry.element(1) as (source, to):
            single = len(shape.columns[0]) == 1
            for k in range(len(shape.columns[1])):
                entry.e.store(entry.e.load(source, 0 if single else k), to, k)
        return entry.text(), _COPIED, 0
    inputs = tuple(Operand(str(k), (len(view.columns),)) for k, view in enumerate(step.inputs) if view.columns)
    roots = [x for part in step.traced for x in part.flat if isinstance(x, Node)]
    work = [node for node in live(roots) if node.args]
    plan = thread_plan(work, target.itemsize, arch)
    entry = _ArrayFrame(target, shape, plan.block, on_device)
    with entry.element(len(step.results)) as elements:
        stores: dict[int, list[tuple[Row, int]]] = {}
        for row, part, places in zip(elements[len(inputs) :], step.traced, step.stored, strict=True):
            for k, x in enumerate(part.flat[place] for place in places):
                if isinstance(x, Node):
                    stores.setdefault(x.index, []).append((row, k))
                else:
                    entry.e.store(entry.e.constant(float(x)), row, k)
        layout = Layout(inputs, _NOTHING, 1)
        with entry.e.block():
            writer = StraightWriter(entry.e, layout, elements, plan, Schedule(), None)
            writer.write(roots, stores, entry.named["%n"])
    return entry.text(plan.registers), plan.block, plan.registers
