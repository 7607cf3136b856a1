"""The rolling compiler, second half: blocks become loops over rows of tables.

Memory, in vectors from the start of scratch: one row of slots for the base and each body, and then the arrays. `%data`
points to the tables: rows of numbers; rows of (kind, parent, q start, v start, first freedom if no joint followed
another); the path to the frame; and if there are loops over freedoms, rows of `FreedomTables` and the two orders that
these refer to.
"""

from __future__ import annotations

from typing import Any

from ...graph import Node, live
from ...records import dataclass
from ..trace.layout import Layout
from ..trace.rolled_program import (
    Block,
    Fetch,
    Fetched,
    IsFreedom,
    Loop,
    Memory,
    Place,
    Position,
    Program,
    Store,
    Terms,
)
from .builder import Number, Value
from .nodes import TextEmitter
from .target import Target

__all__ = ["emit_rolled"]

_META = 5
_KIND, _PARENT, _Q, _V, _OWN = range(_META)
_FREE = 8
_UP, _BODY, _FIRST, _ROOT, _AT, _COUNT, _V_AT, _V_COUNT = range(_FREE)

Regions = dict[Memory, tuple[int, int]]
"""The start of each memory in the workspace, and the distance between its entries, in vectors."""
Where = dict[Any, Value]
"""The values that are known inside of a loop: positions, and pointers that depend on them."""


def emit_rolled(program: Program, layout: Layout, target: Target) -> tuple[str, int]:
    """Return IR text of @init and @body, and the number of vectors in the workspace."""
    uses = [_Use.of(section) for section in program.sections]
    regions, end = _assign_memory(program, uses, layout)
    body = _Writer(program, regions, target)
    body.program(uses)
    init = _Writer(program, regions, target)
    init.clear(layout.output_tile, layout.output.size)  # entries that no loop writes stay zero
    return "\n".join([init.text("@init"), body.text("@body")]), end


@dataclass(frozen=True, slots=True)
class _Use:
    """The memories that a section reads, the fields that it reads or writes, and the nodes that its blocks need."""

    read: set[Memory]
    fields: set[int]
    needed: dict[int, list[Node]]
    """By the identity of the block."""

    @classmethod
    def of(cls, section: Loop | Block) -> _Use:
        needed = {id(block): live(block.roots()) for block in section.all()}
        leaves = (node.data for nodes in needed.values() for node in nodes if node.op == "leaf")
        places = (leaf.place if isinstance(leaf, Fetched) else leaf for leaf in leaves)
        read = {place.memory for place in places if isinstance(place, Place)}
        stores = (step for block in section.all() for step in block.steps if isinstance(step, Store))
        used = (*read, *(step.place.memory for step in stores))
        return cls(read, {memory.number for memory in used if memory.kind == "field"}, needed)


def _assign_memory(program: Program, uses: list[_Use], layout: Layout) -> tuple[Regions, int]:
    """Place every memory that is read or is the result; return the regions, and where they end."""
    slots = _assign_slots(uses)
    width = max(slots.values(), default=-1) + 1
    regions: Regions = {memory: (layout.scratch + slot, width) for memory, slot in slots.items()}
    regions[Memory("result")] = layout.output_tile, 1
    if program.result is not None:
        regions[Memory("array", program.result)] = layout.output_tile, 1
    end = layout.scratch + (len(program.model.bodies) + 1) * width
    for memory in sorted({memory for use in uses for memory in use.read}):
        if memory.kind == "input":
            regions[memory] = layout.input_tile(memory.number), 1
        elif memory.kind == "array" and memory not in regions:
            regions[memory], end = (end, 1), end + program.arrays[memory.number]
    return regions, end


def _assign_slots(uses: list[_Use]) -> dict[Memory, int]:
    """Find a slot for each number of each field that is read; fields whose lives do not overlap share slots."""
    first: dict[int, int] = {}  # by field: the base's values of all its numbers are written together
    last: dict[Memory, int] = {}
    for number, use in enumerate(uses):
        last.update((memory, number) for memory in use.read if memory.kind == "field")
        for f in use.fields:
            first.setdefault(f, number)
    slots: dict[Memory, int] = {}
    busy: list[int] = []
    for memory in sorted(last, key=lambda memory: (first[memory.number], memory)):
        slot = next((s for s, end in enumerate(busy) if end < first[memory.number]), len(busy))
        if slot == len(busy):
            busy.append(0)
        slots[memory], busy[slot] = slot, last[memory]
    return slots


class _Writer(TextEmitter):
    """Writes one function."""

    def __init__(self, program: Program, regions: Regions, target: Target) -> None:
        super().__init__(target, arguments=("ptr %data", "ptr %ws"))
        self._program, self._regions = program, regions
        self._workspace = self.arguments[1]

    def clear(self, start: int, size: int) -> None:
        """Write zeros."""
        with self.counted(size) as k:
            self.store(self.constant(0.0), self._workspace.at(k + start, self.target.vector))

    def program(self, uses: list[_Use]) -> None:
        """Write all sections, one after the other."""
        words = [self.arguments[0].at(k, "ptr") for k in range(6)]
        self._rows, self._meta, self._path, self._free, self._order, self._v_order = (w.load("ptr") for w in words)
        seen: set[int] = set()
        for section, use in zip(self._program.sections, uses, strict=True):
            self._needed = use.needed
            for f in sorted(use.fields - seen):
                self._base_value(f)
            seen |= use.fields
            if isinstance(section, Loop):
                self._loop(section, {})
            else:
                self._block(section, {})

    def _base_value(self, f: int) -> None:
        """Write the base's value of a field."""
        for k, x in enumerate(self._program.field_bases[f]):
            if (memory := Memory("field", f, k)) in self._regions:
                self.store(self.constant(x), *self._address(Place(memory, 0), {}))

    def _loop(self, loop: Loop, outer: Where) -> None:
        where = dict(outer)
        if loop.over == "ancestors":
            self._walk(loop, where)
        elif loop.over in ("elimination path", "same joint"):
            self._climb(loop, where)
        else:
            self._range(loop, where)

    def _range(self, loop: Loop, where: Where) -> None:
        """Write a loop over a range of numbers, or over a range of a table that holds them."""
        model, blocks = self._program.model, loop.blocks
        n: Number
        table = start = root = None
        match loop.over:
            case "bodies":
                n = len(model.bodies)
            case "freedoms":
                n = model.nv
            case "path":
                path, table = self._program.path(), self._path
                n, kinds = len(path), {int(model.tables.kind[body]) for body in path}
                blocks = [block for block in blocks if block.kinds["i"] in kinds]
            case "bodies upto":
                n = self._of(loop, where, _BODY) + 1
            case "freedoms upto":
                n = where[Position("freedom", str(loop.of))] + 1
            case "moved bodies":
                n, start, root = (self._of(loop, where, column) for column in (_COUNT, _AT, _ROOT))
                table = self._order
            case _:
                n, start = (self._of(loop, where, column) for column in (_V_COUNT, _V_AT))
                table = self._v_order
        if not isinstance(n, Value) and not n:
            return
        with self.counted(n) as t:
            k = (n if isinstance(n, Value) else self.const(n)) - 1 - t if loop.inward else t
            if table is not None:
                k = table.load("i64", k if start is None else start + k)
            self._by_kind(loop, blocks, {**where, **self._index(loop, k, root)})

    def _climb(self, loop: Loop, where: Where) -> None:
        """Write a loop over the freedoms above one: while there are any, or while they are of its joint."""
        here, of_joint = Position("freedom", loop.index), loop.over == "same joint"
        begin = where[Position("freedom", str(loop.of))]
        first: Number = self._of(loop, where, _FIRST) if of_joint else 0
        if not loop.itself:
            begin = begin - 1 if of_joint else self._of(loop, where, _UP)
        with self.repeat():
            d = self.carried(begin)
            self.leave_unless(d.value >= first)
            inner = {**where, here: d.value}
            self._block(loop.blocks[0], inner)
            d.next = d.value - 1 if of_joint else self._free_entry(inner, loop.index, _UP)

    def _walk(self, loop: Loop, where: Where) -> None:
        """Write a loop while the ancestor's row is not the base's."""
        begin = where[Position("row", "p")] if loop.of is None else self._of(loop, where, _BODY) + 1
        with self.repeat():
            row = self.carried(begin)
            self.leave_unless(row.value.differs(0))
            inner = {**where, **self._index(loop, row.value - 1)}
            self._by_kind(loop, loop.blocks, inner)
            row.next = inner[Position("row", "jp")]

    def _index(self, loop: Loop, k: Value, root: Value | None = None) -> Where:
        """Load the positions of a loop's body and of its parent (the base if the body is the root); or of a freedom."""
        own, parent = loop.index, loop.parent
        if parent is None:
            return {Position("freedom", own): k}
        meta = self._meta.at(k * _META, "i64")
        above = meta.load("i64", _PARENT)
        if root is not None:
            above = k.equals(root).select(self.const(0), above)
        columns = {"q": _Q, "v": _V, "own": _OWN}
        return {
            Position("body", own): k,
            Position("row", own): k + 1,
            Position("row", parent): above,
            **{Position(of, own): meta.load("i64", column) for of, column in columns.items()},
            ("kind", own): meta.load("i64", _KIND),
        }

    def _of(self, loop: Loop, where: Where, column: int) -> Value:
        """Load a number of the freedom that a loop starts from."""
        return self._free_entry(where, str(loop.of), column)

    def _free_entry(self, where: Where, d: str, column: int) -> Value:
        """Load an entry of a freedom's row."""
        key = ("free", d, column)
        if key not in where:
            where[key] = self._free.load("i64", where[Position("freedom", d)] * _FREE + column)
        return where[key]

    def _by_kind(self, loop: Loop, blocks: list[Block], where: Where) -> None:
        """Write the blocks of a loop, and a switch to the block of the body's kind."""
        if len(blocks) == 1:
            self._block(blocks[0], where)
            return
        with self.switch(where["kind", loop.index], [block.kinds[loop.index] for block in blocks]) as parts:
            for block, part in zip(blocks, parts, strict=True):
                with part:
                    self._block(block, where)

    def _block(self, block: Block, where: Where) -> None:
        """Write stores up to each loop, the loop, and so on; values computed before a loop may be used after it."""
        names: dict[int, str] = {}
        where, self.memo = dict(where), {}
        for f in block.fields:
            self._base_value(f)
        pending: list[Store] = []
        needed = self._needed[id(block)]
        if not all(isinstance(step, Store) for step in block.steps):
            # a leaf that is read after a loop has the value from before the stores ahead of the loop
            for node in needed:
                if isinstance(node.data, Place) and node.data.memory.kind == "field":
                    names[node.index] = self._node(node, names, where)
        used = {node.index for node in needed}
        for step in block.steps:
            if isinstance(step, Store):
                pending.append(step)
                continue
            self._stores(pending, names, where)
            pending = []
            if isinstance(step, Fetch):
                if step.value.index in used:
                    names[step.value.index] = self.load(*self._address(step.value.data.place, where))
                continue
            memo = self.memo
            if isinstance(step, Loop):
                self._loop(step, where)
            elif step.array in self._regions:
                self.clear(self._regions[step.array][0], self._program.arrays[step.array.number])
            self.memo = memo
        self._stores(pending, names, where)

    def _stores(self, stores: list[Store], names: dict[int, str], where: Where) -> None:
        last = {s.place: s for s in stores}  # of several writes to one place the last one counts
        wanted = [s for s in last.values() if s.place.memory in self._regions]  # the others are never read
        for node in live([s.value for s in wanted]):
            if node.index not in names and node.op != "constant":
                names[node.index] = self._node(node, names, where)
        for s in wanted:
            value = self.constant(s.value.data) if s.value.op == "constant" else names[s.value.index]
            self.store(value, *self._address(s.place, where))

    def _node(self, node: Node, names: dict[int, str], where: Where) -> str:
        """Write an operation, or read a leaf."""
        if node.op != "leaf":
            operands = [self.constant(a.data) if a.op == "constant" else names[a.index] for a in node.args]
            return self.lower(node, operands)
        leaf, element = node.data, self.target.element
        if isinstance(leaf, IsFreedom):
            number = self._sum(leaf.terms, where) + leaf.offset
            test = number.equals(where[Position("freedom", leaf.d)])
            return self.splat(test.to("uitofp", element))
        if leaf.memory.kind != "table":
            return self.load(*self._address(leaf, where))
        key = ("row", leaf.terms)
        if key not in where:
            where[key] = self._rows.at(self._sum(leaf.terms, where), element)
        return self.splat(where[key].load(element, leaf.offset))

    def _address(self, place: Place, where: Where) -> tuple[Value, int]:
        """Return pointer and index, in vectors, of a place in the workspace."""
        memory, offset, terms = place
        start, apart = self._regions[memory]
        if not terms:
            return self._workspace, start + apart * offset
        key = (apart, terms)
        pointer = where.get(key)
        if pointer is None:
            pointer = where[key] = self._workspace.at(self._sum(terms, where, apart), self.target.vector)
        return pointer, start + apart * offset

    def _sum(self, terms: Terms, where: Where, times: int = 1) -> Value:
        """Return the sum of positions, times their strides and a number."""
        found = [where[p] if times * stride == 1 else where[p] * (times * stride) for stride, p in terms]
        total = found[0]
        for term in found[1:]:
            total = total + term
        return total
