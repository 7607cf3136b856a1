"""The rolling compiler, second half: blocks become loops over rows of tables.

`RolledWriter` writes a rolled program through a `Backend`, which knows the language: LLVM IR here, C in `compile/c`.
The tables are rows of numbers; rows of (kind, parent, q start, v start, first freedom if no joint followed another);
the path to the frame; if there are loops over freedoms, rows of `FreedomTables` and the two orders that these refer to;
and if there are walks in reverse, the paths from the root.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ...graph import Node, live
from ..trace.layout import Layout
from ..trace.rolled_check import ON_THE_WAY
from ..trace.rolled_memory import Regions, Use, assign_memory
from ..trace.rolled_program import (
    Block,
    Copy,
    Fetch,
    IsFreedom,
    Loop,
    Memory,
    Place,
    Position,
    Program,
    Store,
    Terms,
)
from .backend import Backend, Quantity
from .nodes import TextEmitter
from .target import Target

__all__ = ["RolledWriter", "Tables", "emit_rolled"]

_META = 5
_KIND, _PARENT, _Q, _V, _OWN = range(_META)
_FREE = 8
_UP, _BODY, _FIRST, _ROOT, _AT, _COUNT, _V_AT, _V_COUNT = range(_FREE)

Where = dict[Any, Any]
"""The values that are known inside of a loop: positions, and addresses that depend on them."""


def emit_rolled(program: Program, layout: Layout, target: Target) -> tuple[str, int]:
    """Return IR text of @init and @body, and the number of vectors in the workspace."""
    uses = [Use.of(section) for section in program.sections]
    given: Regions = {Memory("input", k): (layout.input_tile(k), 1) for k in range(len(layout.inputs))}
    given[Memory("result")] = layout.output_tile, 1
    regions, end = assign_memory(program, uses, layout.scratch, given)
    arguments = ("ptr %data", "ptr %ws")
    init, body = TextEmitter(target, arguments=arguments), TextEmitter(target, arguments=arguments)
    init.clear(init.arguments[1], layout.output_tile, layout.output.size)  # entries that no loop writes stay zero
    data, workspace = body.arguments
    tables = Tables(*(data.at(k, "ptr").load("ptr") for k in range(len(Tables._fields))))
    RolledWriter(program, regions, body, lambda memory: workspace, tables).program(uses)
    return "\n".join([init.text("@init"), body.text("@body")]), end


class Tables(NamedTuple):
    """The addresses of the tables that rolled code reads."""

    rows: Quantity
    meta: Quantity
    path: Quantity
    free: Quantity
    order: Quantity
    v_order: Quantity
    bodies_above: Quantity
    bodies_at: Quantity
    freedoms_above: Quantity
    freedoms_at: Quantity


class RolledWriter:
    """Writes the sections of a program as the lines of one function."""

    def __init__(
        self, program: Program, regions: Regions, e: Backend, base: Callable[[Memory], Quantity], tables: Tables
    ) -> None:
        """Write through `e`; `base` returns the address from which the region of a memory is counted."""
        self._program, self._regions, self._e, self._base, self._tables = program, regions, e, base, tables

    def program(self, uses: list[Use]) -> None:
        """Write all sections, one after the other."""
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
                self._e.store(self._e.constant(x), *self._address(Place(memory, 0), {}))

    def _loop(self, loop: Loop, outer: Where) -> None:
        where = dict(outer)
        if loop.inward and loop.over in ON_THE_WAY:
            self._from_root(loop, where)
        elif loop.over == "ancestors":
            self._walk(loop, where)
        elif loop.over in ON_THE_WAY:
            self._climb(loop, where)
        else:
            self._range(loop, where)

    def _range(self, loop: Loop, where: Where) -> None:
        """Write a loop over a range of numbers, or over a range of a table that holds them."""
        model, blocks = self._program.model, loop.blocks
        n: Quantity
        table = start = root = None
        match loop.over:
            case "bodies":
                n = len(model.bodies)
            case "freedoms":
                n = model.nv
            case "path":
                path, table = self._program.path(), self._tables.path
                n, kinds = len(path), {int(model.tables.kind[body]) for body in path}
                blocks = [block for block in blocks if block.kinds["i"] in kinds]
            case "bodies upto":
                n = self._of(loop, where, _BODY) + 1
            case "freedoms upto":
                n = where[Position("freedom", str(loop.of))] + 1
            case "moved bodies":
                n, start, root = (self._of(loop, where, column) for column in (_COUNT, _AT, _ROOT))
                table = self._tables.order
            case _:
                n, start = (self._of(loop, where, column) for column in (_V_COUNT, _V_AT))
                table = self._tables.v_order
        if isinstance(n, int) and not n:
            return
        with self._e.each(n, loop.inward) as k:
            number = k if table is None else table.load("i64", k if start is None else start + k)
            self._by_kind(loop, blocks, {**where, **self._index(loop, number, root)})

    def _from_root(self, loop: Loop, where: Where) -> None:
        """Write a walk in reverse, which ends at the body or freedom that the walk begins with."""
        itself, tables = loop.itself, self._tables
        last: Quantity = where.get(Position("freedom", str(loop.of)))
        table = None
        if loop.over == "same joint":
            start, stop = self._of(loop, where, _FIRST), last + 1 if itself else last
        else:
            at, table = tables.freedoms_at, tables.freedoms_above
            if loop.over == "ancestors":
                at, table = tables.bodies_at, tables.bodies_above
                itself = loop.of is not None
                last = self._of(loop, where, _BODY) if itself else where[Position("body", "i")]
            start, end = at.load("i64", last), at.load("i64", last + 1)
            stop = end if itself else end - 1
        with self._e.repeat():
            k = self._e.carried(start)
            self._e.leave_unless(k.value.differs(stop))
            number = k.value if table is None else table.load("i64", k.value)
            self._by_kind(loop, loop.blocks, {**where, **self._index(loop, number)})
            k.next = k.value + 1

    def _climb(self, loop: Loop, where: Where) -> None:
        """Write a loop over the freedoms above one: while there are any, or while they are of its joint."""
        here, of_joint = Position("freedom", loop.index), loop.over == "same joint"
        begin = where[Position("freedom", str(loop.of))]
        first: Quantity = self._of(loop, where, _FIRST) if of_joint else 0
        if not loop.itself:
            begin = begin - 1 if of_joint else self._of(loop, where, _UP)
        with self._e.repeat():
            d = self._e.carried(begin)
            self._e.leave_unless(d.value >= first)
            inner = {**where, here: d.value}
            self._block(loop.blocks[0], inner)
            d.next = d.value - 1 if of_joint else self._free_entry(inner, loop.index, _UP)

    def _walk(self, loop: Loop, where: Where) -> None:
        """Write a loop while the ancestor's row is not the base's."""
        begin = where[Position("row", "p")] if loop.of is None else self._of(loop, where, _BODY) + 1
        with self._e.repeat():
            row = self._e.carried(begin)
            self._e.leave_unless(row.value.differs(0))
            inner = {**where, **self._index(loop, row.value - 1)}
            self._by_kind(loop, loop.blocks, inner)
            row.next = inner[Position("row", "jp")]

    def _index(self, loop: Loop, k: Quantity, root: Quantity | None = None) -> Where:
        """Load the positions of a loop's body and of its parent (the base if the body is the root); or of a freedom."""
        own, parent = loop.index, loop.parent
        if parent is None:
            return {Position("freedom", own): k}
        meta = self._tables.meta.at(k * _META, "i64")
        above = meta.load("i64", _PARENT)
        if root is not None:
            above = k.equals(root).select(self._e.const(0), above)
        columns = {"q": _Q, "v": _V, "own": _OWN}
        return {
            Position("body", own): k,
            Position("row", own): k + 1,
            Position("row", parent): above,
            **{Position(of, own): meta.load("i64", column) for of, column in columns.items()},
            ("kind", own): meta.load("i64", _KIND),
        }

    def _of(self, loop: Loop, where: Where, column: int) -> Quantity:
        """Load a number of the freedom that a loop starts from."""
        return self._free_entry(where, str(loop.of), column)

    def _free_entry(self, where: Where, d: str, column: int) -> Quantity:
        """Load an entry of a freedom's row."""
        key = ("free", d, column)
        if key not in where:
            where[key] = self._tables.free.load("i64", where[Position("freedom", d)] * _FREE + column)
        return where[key]

    def _by_kind(self, loop: Loop, blocks: list[Block], where: Where) -> None:
        """Write the blocks of a loop, and a switch to the block of the body's kind."""
        if len(blocks) == 1:
            self._block(blocks[0], where)
            return
        with self._e.switch(where["kind", loop.index], [block.kinds[loop.index] for block in blocks]) as parts:
            for block, part in zip(blocks, parts, strict=True):
                with part:
                    self._block(block, where)

    def _block(self, block: Block, where: Where) -> None:
        """Write stores up to each loop, the loop, and so on; values computed before a loop may be used after it."""
        names: dict[int, str] = {}
        where, self._e.memo = dict(where), {}
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
                    names[step.value.index] = self._e.load(*self._address(step.value.data.place, where))
                continue
            memo = self._e.memo
            if isinstance(step, Loop):
                self._loop(step, where)
            elif step.array in self._regions:
                start, size = self._regions[step.array][0], self._program.arrays[step.array.number]
                if isinstance(step, Copy):
                    source = self._base(step.source), self._regions[step.source][0]
                    self._e.copy(self._base(step.array), start, *source, size)
                else:
                    self._e.clear(self._base(step.array), start, size)
            self._e.memo = memo
        self._stores(pending, names, where)

    def _stores(self, stores: list[Store], names: dict[int, str], where: Where) -> None:
        last = {s.place: s for s in stores}  # of several writes to one place the last one counts
        wanted = [s for s in last.values() if s.place.memory in self._regions]  # the others are never read
        for node in live([s.value for s in wanted]):
            if node.index not in names and node.op != "constant":
                names[node.index] = self._node(node, names, where)
        for s in wanted:
            value = self._e.constant(s.value.data) if s.value.op == "constant" else names[s.value.index]
            self._e.store(value, *self._address(s.place, where))

    def _node(self, node: Node, names: dict[int, str], where: Where) -> str:
        """Write an operation, or read a leaf."""
        if node.op != "leaf":
            operands = [self._e.constant(a.data) if a.op == "constant" else names[a.index] for a in node.args]
            return self._e.lower(node, operands)
        leaf, element = node.data, self._e.element
        if isinstance(leaf, IsFreedom):
            number = self._sum(leaf.terms, where) + leaf.offset
            test = number.equals(where[Position("freedom", leaf.d)])
            return self._e.one_if(test)
        if leaf.memory.kind != "table":
            return self._e.load(*self._address(leaf, where))
        key = ("row", leaf.terms)
        if key not in where:
            where[key] = self._tables.rows.at(self._sum(leaf.terms, where), element)
        return self._e.splat(where[key].load(element, leaf.offset))

    def _address(self, place: Place, where: Where) -> tuple[Quantity, int]:
        """Return pointer and index of a place in memory."""
        memory, offset, terms = place
        base, (start, apart) = self._base(memory), self._regions[memory]
        if not terms:
            return base, start + apart * offset
        key = (str(base), apart, terms)
        pointer = where.get(key)
        if pointer is None:
            pointer = where[key] = base.at(self._sum(terms, where, apart), self._e.vector)
        return pointer, start + apart * offset

    def _sum(self, terms: Terms, where: Where, times: int = 1) -> Quantity:
        """Return the sum of positions, times their strides and a number."""
        found = [where[p] if times * stride == 1 else where[p] * (times * stride) for stride, p in terms]
        total = found[0]
        for term in found[1:]:
            total = total + term
        return total
