"""The rules that every rolled program keeps: loops are well nested, places are in bounds, numbers are set before read.

A program that breaks a rule is a defect of the compiler, or of a transformation of programs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ordern.compile.trace.layout import Layout
from ordern.compile.trace.rolled_check import ON_THE_WAY, check_reads
from ordern.compile.trace.rolled_program import (
    Block,
    Clear,
    Copy,
    Fetch,
    Fetched,
    IsFreedom,
    Loop,
    Memory,
    Place,
    Position,
    Program,
    Terms,
)
from ordern.graph import Node, live
from tests.graph.rules import check as check_graph

__all__ = ["check"]


def check(program: Program, layout: Layout) -> None:
    """Raise an AssertionError unless loops are well nested and places are known, in bounds, and set before read."""
    check_reads(program)
    checker = _Checker(program, layout)
    for section in program.sections:
        if isinstance(section, Loop):
            checker.loop(section, {}, ())
        else:
            checker.block(section, {}, ())


class _Checker:
    def __init__(self, program: Program, layout: Layout) -> None:
        self.program, self.layout = program, layout
        t = program.model.tables
        n, own = len(t.parent), np.cumsum([0, *(c.type.nv for c in program.model.joints)])[:-1]
        self.kinds = t.kind
        self.columns = {"body": np.arange(n), "row": np.arange(1, n + 1), "q": t.q_start, "v": t.v_start, "own": own}
        if program.result is not None:
            assert program.arrays[program.result] <= layout.output.size, "the result is larger than the output"

    def loop(self, loop: Loop, kinds: dict[str, int], freedoms: tuple[str, ...]) -> None:
        """Check a loop inside of bodies of these kinds, and of loops over these freedoms."""
        where = f"loop over {loop.over}"
        assert loop.of is None or loop.of in freedoms, f"{where}: {loop.of} is no freedom of a loop around it"
        assert loop.over in ON_THE_WAY or not kinds, f"{where}: stands inside of a loop over bodies"
        if loop.parent is None:
            assert loop.index not in freedoms, f"{where}: the name {loop.index} is in use"
            assert len(loop.blocks) == 1, f"{where}: has {len(loop.blocks)} blocks"
            assert loop.blocks[0].kinds == kinds, f"{where}: its block is for other kinds"
            self.block(loop.blocks[0], kinds, (*freedoms, loop.index))
            return
        assert loop.index not in kinds, f"{where}: the name {loop.index} is in use"
        assert loop.over != "ancestors" or loop.of or "i" in kinds, f"{where}: there is no body to start from"
        for kind, block in enumerate(loop.blocks):
            assert block.kinds == {**kinds, loop.index: kind}, f"{where}: block {kind} is for other kinds"
            self.block(block, block.kinds, freedoms)
        assert len(loop.blocks) == len(self.program.model.tables.kinds), f"{where}: a kind has no block"

    def block(self, block: Block, kinds: dict[str, int], freedoms: tuple[str, ...]) -> None:
        """Check a block, and the loops inside of it."""
        check_graph(block.graph)
        fetched: set[Node] = set()
        for node in block.graph.nodes:
            if node.op == "leaf":
                self._leaf(node, block, freedoms)
        for step in block.steps:
            where = f"{block.graph.name}: {step!r}"
            if isinstance(step, Loop):
                self.loop(step, kinds, freedoms)
            elif isinstance(step, (Clear, Copy)):
                assert step.array.kind == "array", f"{where}: is no array"
            elif isinstance(step, Fetch):
                assert isinstance(step.value.data, Fetched), f"{where}: fetches no place"
                fetched.add(step.value)
            else:
                assert step.value.graph is block.graph, f"{where}: stores a value of another block"
                assert step.place.memory.kind in ("field", "array", "result"), f"{where}: this memory is read only"
                self._in_bounds(step.place, block, freedoms)
                late = [n for n in live([step.value]) if isinstance(n.data, Fetched) and n not in fetched]
                assert not late, f"{where}: needs {late}, which is fetched later"

    def _leaf(self, node: Node, block: Block, freedoms: tuple[str, ...]) -> None:
        leaf, where = node.data, f"{block.graph.name}: {node!r}"
        if isinstance(leaf, IsFreedom):
            assert leaf.d in freedoms, f"{where}: there is no freedom {leaf.d}"
            self._bounds(leaf.offset, leaf.terms, block, freedoms)
            return
        assert isinstance(leaf, (Place, Fetched)), f"{where}: is no place"
        place = leaf.place if isinstance(leaf, Fetched) else leaf
        assert place.memory.kind in ("table", "input", "field", "array"), f"{where}: this memory cannot be read"
        self._in_bounds(place, block, freedoms)

    def _in_bounds(self, place: Place, block: Block, freedoms: tuple[str, ...]) -> None:
        low, high = self._bounds(place.offset, place.terms, block, freedoms)
        size = self._size(place.memory)
        assert low >= 0 and high < size, f"{block.graph.name}: {place} is {low} ... {high} of {size} numbers"

    def _size(self, memory: Memory) -> int:
        tables = self.program.model.tables
        match memory.kind:
            case "table":
                return int(tables.rows.size)
            case "input":
                return self.layout.inputs[memory.number].size
            case "result":
                return self.layout.output.size
            case "field":
                assert memory.number < len(self.program.field_bases), f"{memory} does not exist"
                return len(tables.parent) + 1
        assert memory.kind == "array", f"{memory} does not exist"
        return self.program.arrays[memory.number]

    def _bounds(self, offset: int, terms: Terms, block: Block, freedoms: tuple[str, ...]) -> tuple[int, int]:
        """Return the least and the largest value of an affine expression, over all bodies of the block's kinds."""
        parts: dict[str, NDArray[np.int64]] = {}
        for stride, position in terms:
            values = self._values(position, block, freedoms)
            parts[position.who] = parts.get(position.who, 0) + stride * values
        return offset + sum(int(x.min()) for x in parts.values()), offset + sum(int(x.max()) for x in parts.values())

    def _values(self, position: Position, block: Block, freedoms: tuple[str, ...]) -> NDArray[np.int64]:
        """Return the values that a position takes in a block."""
        of, who = position
        if of == "freedom":
            assert who in freedoms, f"{block.graph.name}: there is no freedom {who}"
            return np.arange(self.program.model.nv)
        own = {"p": "i", "jp": "j"}.get(who, who)
        assert own in block.kinds, f"{block.graph.name}: there is no body {who}"
        assert own == who or of == "row", f"{block.graph.name}: {position} is a number of a parent"
        bodies = self.kinds == block.kinds[own]
        found: NDArray[np.int64] = (self.columns[of] if own == who else self.program.model.tables.parent + 1)[bodies]
        return found
