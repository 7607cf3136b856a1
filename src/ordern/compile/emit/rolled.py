"""The rolling compiler, second half: blocks become loops over rows of tables.

Memory, in vectors from the start of scratch: one row of slots for the base and each body, and then the arrays. `%data`
points to the tables: rows of numbers; rows of (kind, parent, q start, v start, first freedom if no joint followed
another); the path to the frame; and if there are loops over freedoms, rows of `FreedomTables` and the two orders that
these refer to.
"""

from __future__ import annotations

from collections.abc import Callable
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
from .nodes import TextEmitter
from .target import Target

__all__ = ["emit_rolled"]

_META = 5
_KIND, _PARENT, _Q, _V, _OWN = range(_META)
_FREE = 8
_UP, _BODY, _FIRST, _ROOT, _AT, _COUNT, _V_AT, _V_COUNT = range(_FREE)

Regions = dict[Memory, tuple[int, int]]
"""The start of each memory in the workspace, and the distance between its entries, in vectors."""
Where = dict[Any, str]
"""The names of values that are known inside of a loop: positions, and pointers that depend on them."""


def emit_rolled(program: Program, layout: Layout, target: Target) -> tuple[str, int]:
    """Return IR text of @init and @body, and the number of vectors in the workspace."""
    uses = [_Use.of(section) for section in program.sections]
    regions, end = _assign_memory(program, uses, layout)
    body = _Writer(program, regions, target)
    body.program(uses)
    init = _Writer(program, regions, target)
    init.clear(layout.output_tile, layout.output.size)  # entries that no loop writes stay zero
    return "\n".join([init.function("@init"), body.function("@body")]), end


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
        super().__init__(target)
        self._program, self._regions = program, regions
        self._labels = 0
        self._current = "entry"

    def function(self, name: str) -> str:
        """Return the function's text."""
        head = f"define internal void {name}(ptr %data, ptr %ws) #0 {{"
        return "\n".join([head, "entry:", *self.lines, "  ret void", "}"])

    def clear(self, start: int, size: int) -> None:
        """Write zeros."""
        k, close = self._counted(str(size), inward=False)
        at = self.value(f"add i64 {k}, {start}")
        self.store(self.constant(0.0), self._vectors(at), 0)
        close()

    def program(self, uses: list[_Use]) -> None:
        """Write all sections, one after the other."""
        words = [self.value(f"getelementptr ptr, ptr %data, i64 {k}") for k in range(6)]
        tables = [self.value(f"load ptr, ptr {w}") for w in words]
        self._rows, self._meta, self._path, self._free, self._order, self._v_order = tables
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
        table = start = root = None
        match loop.over:
            case "bodies":
                n = str(len(model.bodies))
            case "freedoms":
                n = str(model.nv)
            case "path":
                n, table, path = str(len(self._program.path())), self._path, self._program.path()
                blocks = [b for b in blocks if b.kinds["i"] in {int(model.tables.kind[body]) for body in path}]
            case "bodies upto":
                n = self.value(f"add i64 {self._of_freedom(loop, where, _BODY)}, 1")
            case "freedoms upto":
                n = self.value(f"add i64 {where[Position('freedom', str(loop.of))]}, 1")
            case "moved bodies":
                n, start, root = (self._of_freedom(loop, where, column) for column in (_COUNT, _AT, _ROOT))
                table = self._order
            case _:
                n, start = (self._of_freedom(loop, where, column) for column in (_V_COUNT, _V_AT))
                table = self._v_order
        if n == "0":
            return
        k, close = self._counted(n, loop.inward)
        if table is not None:
            k = self._integer(table, k if start is None else self.value(f"add i64 {start}, {k}"))
        self._by_kind(loop, blocks, {**where, **self._index(loop, k, root)})
        close()

    def _climb(self, loop: Loop, where: Where) -> None:
        """Write a loop over the freedoms above one: while there are any, or while they are of its joint."""
        here, of_joint = Position("freedom", loop.index), loop.over == "same joint"
        d = where[Position("freedom", str(loop.of))]
        first = self._of_freedom(loop, where, _FIRST) if of_joint else "0"

        def following(d: str, where: Where, of: str) -> str:
            return self.value(f"sub i64 {d}, 1") if of_joint else self._free_entry(where, of, _UP)

        def body(d: str) -> str:
            inner = {**where, here: d}
            self._block(loop.blocks[0], inner)
            return following(d, inner, loop.index)

        begin = d if loop.itself else following(d, where, str(loop.of))
        self._while(begin, f"sge i64 {{}}, {first}", body)

    def _walk(self, loop: Loop, where: Where) -> None:
        """Write a loop while the ancestor's row is not the base's."""
        if loop.of is None:
            begin = where[Position("row", "p")]
        else:
            begin = self.value(f"add i64 {self._of_freedom(loop, where, _BODY)}, 1")

        def body(row: str) -> str:
            inner = {**where, **self._index(loop, self.value(f"sub i64 {row}, 1"))}
            self._by_kind(loop, loop.blocks, inner)
            return inner[Position("row", "jp")]

        self._while(begin, "ne i64 {}, 0", body)

    def _index(self, loop: Loop, k: str, root: str | None = None) -> Where:
        """Load the positions of a loop's body and of its parent (the base if the body is the root); or of a freedom."""
        own, parent = loop.index, loop.parent
        if parent is None:
            return {Position("freedom", own): k}
        meta = self.value(f"getelementptr i64, ptr {self._meta}, i64 {self.value(f'mul i64 {k}, {_META}')}")
        found = {
            Position("body", own): k,
            Position("row", own): self.value(f"add i64 {k}, 1"),
            Position("q", own): self._integer(meta, _Q),
            Position("v", own): self._integer(meta, _V),
            Position("own", own): self._integer(meta, _OWN),
            Position("row", parent): self._integer(meta, _PARENT),
            ("meta", own): meta,
        }
        if root is not None:
            at_base = self.value(f"icmp eq i64 {k}, {root}")
            row = found[Position("row", parent)]
            found[Position("row", parent)] = self.value(f"select i1 {at_base}, i64 0, i64 {row}")
        return found

    def _of_freedom(self, loop: Loop, where: Where, column: int) -> str:
        """Load a number of the freedom that a loop starts from."""
        return self._free_entry(where, str(loop.of), column)

    def _free_entry(self, where: Where, d: str, column: int) -> str:
        """Load an entry of a freedom's row."""
        key = ("free", d, column)
        if key not in where:
            row = self.value(f"mul i64 {where[Position('freedom', d)]}, {_FREE}")
            where[key] = self._integer(self._free, self.value(f"add i64 {row}, {column}"))
        return where[key]

    def _by_kind(self, loop: Loop, blocks: list[Block], where: Where) -> None:
        """Write the blocks of a loop, and a switch to the block of the body's kind."""
        if len(blocks) == 1:
            self._block(blocks[0], where)
            return
        kind = self._integer(where["meta", loop.index], _KIND)
        labels, end = [self._label() for _ in blocks], self._label()
        others = zip(blocks[1:], labels[1:], strict=True)
        cases = " ".join(f"i64 {b.kinds[loop.index]}, label %{label}" for b, label in others)
        self.line(f"switch i64 {kind}, label %{labels[0]} [ {cases} ]")
        for block, label in zip(blocks, labels, strict=True):
            self._begin(label)
            self._block(block, where)
            self.line(f"br label %{end}")
        self._begin(end)

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
            number = self.value(f"add i64 {self._sum(leaf.terms, where)}, {leaf.offset}")
            test = self.value(f"icmp eq i64 {number}, {where[Position('freedom', leaf.d)]}")
            return self.splat(self.value(f"uitofp i1 {test} to {element}"))
        if leaf.memory.kind != "table":
            return self.load(*self._address(leaf, where))
        key = ("row", leaf.terms)
        if key not in where:
            where[key] = self.value(f"getelementptr {element}, ptr {self._rows}, i64 {self._sum(leaf.terms, where)}")
        at = self.value(f"getelementptr {element}, ptr {where[key]}, i64 {leaf.offset}")
        return self.splat(self.value(f"load {element}, ptr {at}"))

    def _address(self, place: Place, where: Where) -> tuple[str, int]:
        """Return pointer and index, in vectors, of a place in the workspace."""
        memory, offset, terms = place
        start, apart = self._regions[memory]
        if not terms:
            return "%ws", start + apart * offset
        key = (apart, terms)
        pointer = where.get(key)
        if pointer is None:
            pointer = where[key] = self._vectors(self._sum(terms, where, apart))
        return pointer, start + apart * offset

    def _sum(self, terms: Terms, where: Where, times: int = 1) -> str:
        """Return the sum of positions, times their strides and a number."""
        total = ""
        for stride, position in terms:
            factor = times * stride
            term = where[position] if factor == 1 else self.value(f"mul i64 {where[position]}, {factor}")
            total = self.value(f"add i64 {total}, {term}") if total else term
        return total

    def _integer(self, pointer: str, k: str | int) -> str:
        return self.value(f"load i64, ptr {self.value(f'getelementptr i64, ptr {pointer}, i64 {k}')}")

    def _vectors(self, offset: str) -> str:
        return self.value(f"getelementptr {self.target.vector}, ptr %ws, i64 {offset}")

    def _label(self) -> str:
        self._labels += 1
        return f"block{self._labels}"

    def _begin(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self._current = label

    def _while(self, begin: str, test: str, body: Callable[[str], str]) -> None:
        """Write a loop while a test of a number holds; the body returns the next number."""
        check, inside, end = (self._label() for _ in range(3))
        before = self._current
        self.line(f"br label %{check}")
        self._begin(check)
        k, hole = f"%while_{check}", len(self.lines)
        self.lines.append("")
        self.line(f"br i1 {self.value('icmp ' + test.format(k))}, label %{inside}, label %{end}")
        self._begin(inside)
        following = body(k)
        self.lines[hole] = f"  {k} = phi i64 [ {begin}, %{before} ], [ {following}, %{self._current} ]"
        self.line(f"br label %{check}")
        self._begin(end)

    def _counted(self, n: str, inward: bool) -> tuple[str, Callable[[], None]]:
        """Open a loop over 0 ... n - 1, or backwards; return the counter and a function that closes it. n > 0."""
        before, body, end = self._current, self._label(), self._label()
        self.line(f"br label %{body}")
        self._begin(body)
        t, following = f"%count_{body}", f"%next_{body}"
        hole = len(self.lines)
        self.lines.append("")
        k = self.value(f"sub i64 {self.value(f'sub i64 {n}, 1')}, {t}") if inward else t

        def close() -> None:
            self.line(f"{following} = add i64 {t}, 1")
            self.lines[hole] = f"  {t} = phi i64 [ 0, %{before} ], [ {following}, %{self._current} ]"
            self.line(f"br i1 {self.value(f'icmp slt i64 {following}, {n}')}, label %{body}, label %{end}")
            self._begin(end)

        return k, close
