"""The numbers of a rolled program that its reverse needs: read again, kept on a tape, or computed again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import CompileError
from ...graph import OPS, Graph, Node, Scalar, live
from .rolled_activity import Lasting
from .rolled_program import Block, Fetch, Fetched, IsFreedom, Leaf, Loop, Memory, Place, Position, Program, Store, Terms

if TYPE_CHECKING:
    from .rolled_adjoints import Steps
    from .rolled_reverse import Around

__all__ = ["Replay", "Tape"]

_LARGEST_TAPE = 1 << 27
"""Numbers of one state that a tape may hold: a gigabyte in double precision."""
_SLOW = ("divisions", "other")
"""The columns of operation counts with operations that take longer than reading their result."""


class Tape:
    """Finds where numbers of the program are when its reverse runs, and keeps those that are nowhere."""

    def __init__(self, program: Program, lasting: Lasting) -> None:
        self._program, self._lasting = program, lasting
        self._places: dict[tuple[int, int], Place] = {}
        self._counts: dict[int, int] = {}
        self._memories: dict[tuple[int, int], Memory] = {}
        self._size = 0

    def stored(self, block: Block, around: Around) -> dict[int, Place]:
        """Return the places of results of operations that a block stores, and that nothing changes later."""
        last = {s.place: s.value for s in block.steps if isinstance(s, Store)}
        lasting = self._lasting.after_write
        return {
            value.index: place
            for place, value in last.items()
            if value.args and lasting(place, around.section, around.direct)
        }

    def leaf(self, block: Block, node: Node, around: Around) -> Leaf:
        """Return the place of the number that a leaf has read."""
        leaf: Leaf = node.data
        if isinstance(leaf, IsFreedom):
            return leaf
        place = leaf.place if isinstance(leaf, Fetched) else leaf
        constant = place.memory.kind in ("table", "input")
        if constant or self._lasting.after_read(place, around.section, around.direct):
            return place
        return self.kept(block, node, around)

    def kept(self, block: Block, node: Node, around: Around) -> Place:
        """Return the place at which a number is kept, for each run of the block."""
        key = (id(block), node.index)
        if key not in self._places:
            number = self._counts[id(block)] = self._counts.get(id(block), -1) + 1
            self._places[key] = self._place(block, around, number)
            block.steps.append(Store(self._places[key], node))
        return self._places[key]

    def _place(self, block: Block, around: Around, number: int) -> Place:
        """Return a place for one more number; blocks of one loop, for different kinds of joints, share places."""
        owner = id(around.loops[-1]) if around.loops else id(block)
        if around.direct:
            memory = self._memories.get((owner, 0))
            if memory is None:
                self._program.field_bases.append([])
                memory = self._memories[owner, 0] = Memory("field", len(self._program.field_bases) - 1)
            return Place(memory._replace(component=number), 0, ((1, Position("row", "i")),))
        terms, size = self._terms(around.loops)
        if (owner, number) not in self._memories:
            self._size += size
            if self._size > _LARGEST_TAPE:
                raise CompileError(
                    f"the gradient as loops would keep more than {_LARGEST_TAPE:,} numbers of each state in memory. "
                    "Choose another method, or use jvp, which keeps none"
                )
            self._program.arrays.append(size)
            self._memories[owner, number] = Memory("array", len(self._program.arrays) - 1)
        return Place(self._memories[owner, number], 0, terms)

    def _terms(self, loops: tuple[Loop, ...]) -> tuple[Terms, int]:
        """Return the address of a run of a block inside of loops, and the number of addresses."""
        model, stride = self._program.model, 1
        terms: Terms = ()
        for loop in reversed(loops):
            freedom = loop.parent is None
            terms = ((stride, Position("freedom" if freedom else "body", loop.index)), *terms)
            stride *= model.nv if freedom else len(model.bodies)
        return terms, stride


class Replay:
    """Writes the reverse of one block: as a draft beside a copy of the block, and then without what need not run again.

    The draft has all operations of the block, since derivatives pass through them. In the block that it becomes, their
    results are read from memory where they are there; only what is not is computed again, where it is first needed.
    """

    def __init__(self, block: Block, graph: Graph, tape: Tape, around: Around) -> None:
        self._block, self._graph, self._tape, self._around = block, graph, tape, around
        self.draft = Graph(f"{graph.name}, draft")
        self._copies: dict[int, Scalar] = {}
        self._originals: dict[int, Node] = {}
        for node in live(block.roots()):
            self._copy(node)
        for step in block.steps:
            if isinstance(step, Fetch):
                self._copy(step.value)
        self._stored = tape.stored(block, around)
        self._built: dict[int, Scalar] = {}

    def _copy(self, node: Node) -> None:
        found: Scalar
        if node.op == "constant":
            found = float(node.data)
        elif node.op == "leaf":
            found = self.draft.leaf(("read", node.data))
        else:
            found = self.draft.apply(OPS[node.op], *(self._copies[a.index] for a in node.args))
        self._copies[node.index] = found
        if isinstance(found, Node):
            self._originals.setdefault(found.index, node)

    def copy(self, node: Node) -> Node:
        """Return the copy of a value of the block in the draft."""
        if node.index not in self._copies:
            self._copy(node)
        return self.draft.lift(self._copies[node.index])

    def steps(self, drafts: Steps) -> Steps:
        """Return the steps of a draft as steps of the reversed block."""
        made: Steps = []
        for step in drafts:
            if isinstance(step, Fetch):
                made.append(Fetch(self._graph.leaf(step.value.data)))
            elif isinstance(step, Store):
                made.append(Store(step.place, self._graph.lift(self._value(step.value))))
            else:
                made.append(step)
        return made

    def _value(self, root: Node) -> Scalar:
        """Return a value of the draft in the reversed block, with the operations that it still needs."""
        stack = [root]
        while stack:
            node = stack[-1]
            if node.index in self._built:
                stack.pop()
                continue
            known = self._known(node)
            if known is not None:
                self._built[node.index] = known
                continue
            missing = [a for a in node.args if a.index not in self._built]
            if missing:
                stack.extend(sorted(missing, key=lambda a: -a.index))
            else:
                operands = (self._built[a.index] for a in node.args)
                self._built[node.index] = self._graph.apply(OPS[node.op], *operands)
        return self._built[root.index]

    def _known(self, node: Node) -> Scalar | None:
        """Return a number that is in memory; None if it is computed again."""
        if node.op == "constant":
            return float(node.data)
        block, around = self._block, self._around
        original = self._originals.get(node.index)
        if original is None:
            return self._graph.leaf(node.data) if node.op == "leaf" else None
        if node.op == "leaf":
            return self._graph.leaf(self._tape.leaf(block, original, around))
        if original.index in self._stored:
            return self._graph.leaf(self._stored[original.index])
        if around.direct and OPS[node.op].counts_as in _SLOW and node.op != "where_less":
            return self._graph.leaf(self._tape.kept(block, original, around))
        return None
