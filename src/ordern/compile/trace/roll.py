"""The rolling compiler, first half: an algorithm traced with a symbolic body.

Each loop is traced once per kind of joint, into a graph whose leaves are entries of the body's row, inputs, and fields
in memory. The result does not depend on how many bodies there are: code for a chain of a hundred thousand links is
no longer than for ten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count as count_from
from typing import Any, TypeVar

from ...errors import TraceError
from ...graph import Graph, Node, Scalar
from ...model import BASE, Carry, Freedom, Index, Kind, Model, PlacedFrame, Tree, core_size, result_scalars
from ...spatial import FixedSize
from .layout import Layout
from .rolled_fields import Columns, Input, Output, OwnField, Pairs, RolledCarry, SharedField, Unit, Vector
from .rolled_program import Block, Climb, Fetch, Leaf, Loop, Program, Store, Walk

__all__ = ["RolledTree", "trace_rolled"]

T = TypeVar("T")


def trace_rolled(
    model: Model,
    function: Callable[..., Any],
    slots: Sequence[tuple[str, bool]],
    layout: Layout,
    options: dict[str, Any],
) -> Program:
    """Run an algorithm on symbolic bodies."""
    tree = RolledTree(model)
    ports = count_from()
    inputs = [tree.input(kind, next(ports)) if given else tree.zeros(kind) for kind, given in slots]
    result = function(tree, *inputs, **options)
    written = 0
    parts = result if isinstance(result, tuple) and result else (result,)
    if isinstance(parts[0], Output):  # further numbers come after it
        tree.program.result = parts[0].id
        written, result = core_size(model, parts[0].kind), parts[1:]
    for k, x in enumerate(result_scalars(result, layout.output.size - written), written):
        tree.store(("result", k), x)
    return tree.finish()


class RolledTree(Tree):
    """A tree whose loops run once per kind of joint, with a symbolic body."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.kinds: tuple[Kind, ...] = model.tables.kinds
        self.program = Program(model, [], [], [], [], None)
        self._stack: list[Block] = []
        self._straight: Block | None = None
        self._fetched = 0
        self._stages = 0
        self._stage: list[tuple[int, str]] = [(0, "")]  # of the loops that are open: their numbers and orders
        self._first_set: dict[int, int] = {}
        self._reads: list[tuple[int, Any, tuple[int, str], int | None]] = []

    def note_read(self, field: int, who: Any) -> None:
        """Remember that a field is read from memory at the present stage."""
        self._reads.append((field, who, self._stage[-1], self._first_set.get(field)))

    def note_set(self, field: int) -> None:
        """Remember that a field is set at the present stage."""
        self._first_set.setdefault(field, self._stage[-1][0])

    def new_field(self, size: int) -> int:
        """Memory for so many numbers of each body; its number."""
        number = len(self.program.field_sizes)
        self.program.field_sizes.append(size)
        self.program.field_bases.append(None)
        if self._stack:
            self._stack[-1].fields.append(number)
        return number

    def store(self, place: Leaf, x: Scalar) -> None:
        """Write a number."""
        self.block.steps.append(Store(place, self.block.graph.lift(x)))

    def fetch(self, place: Leaf) -> Node:
        """Read a number that may change: as it is now."""
        self._fetched += 1
        node = self.block.graph.leaf(("fetch", self._fetched, place))
        self.block.steps.append(Fetch(node))
        return node

    @property
    def block(self) -> Block:
        """The block being traced."""
        if self._stack:
            return self._stack[-1]
        if self._straight is None:
            self._straight = Block(Graph("outside of loops"), {})
            self.program.pieces.append(self._straight)
            self._stages += 1
            self._stage[0] = (self._stages, "")
        return self._straight

    def frame(self, name: Any) -> PlacedFrame:
        """A frame of the model; a path leads to it."""
        found = super().frame(name)
        self.program.frame_body = self.model.frame(name).body
        return found

    def finish(self) -> Program:
        """The program, complete: every field that is read was set before, or is being set from the base outward."""
        for f, who, (stage, order), known in self._reads:
            chained = who == "p" and order in ("outward", "path")
            first = self._first_set.get(f) if known is None else known
            if who != BASE and not (known not in (None, stage) or (chained and first == stage)):
                raise TraceError("a field is read at a body before it was set there")
        return self.program

    def _index(self, who: str, kind: int) -> Index:
        mine, known = self.block, self.model.tables.constants[kind]

        def row(where: slice) -> list[Scalar]:
            if not any(block is mine for block in self._stack):
                raise TraceError("a body's data are used outside of its own iteration")
            graph = self.block.graph  # its own, or that of a walk inside of it
            entries = range(where.start, where.stop)
            return [graph.leaf(("row", k, who)) if known[k] is None else known[k] for k in entries]

        return Index(who, self.kinds[kind], row)

    def _open(self, loop: Loop) -> None:
        """Begin a loop, at the end of what is being traced."""
        if any("i" in block.kinds or "j" in block.kinds for block in self._stack):
            raise TraceError("a loop stands outside of all others, or in loops over freedoms")
        if self._stack:
            self._stack[-1].steps.append(loop)
        else:
            self._straight = None
            self.program.pieces.append(loop)
        self._stages += 1
        self._stage.append((self._stages, loop.order))

    def _close(self) -> None:
        """End it: what was read before may have changed."""
        self._stage.pop()
        if self._stack:
            self._stack[-1].env.clear()
        else:
            self._stages += 1
            self._stage[0] = (self._stages, "")

    def _loop(
        self, order: str, moved_by: Freedom | None = None, upto: Freedom | None = None
    ) -> Iterator[tuple[Index, Index]]:
        loop = Loop(order, [], _name(moved_by), _name(upto))
        self._open(loop)
        # once more at the end, for nothing: a value that a body hands to the next behind the fields' back
        # meets another graph there, and is found out
        for kind in (*range(len(self.kinds)), 0):
            name = f"{order} loop {self._stages}, {type(self.kinds[kind].joint).__name__}"
            block = Block(Graph(name), {"i": kind}, len(self._stack))
            if len(loop.blocks) < len(self.kinds):
                loop.blocks.append(block)
            self._stack.append(block)
            yield self._index("i", kind), Index("p")
            self._stack.pop()
        self._close()

    def _freedom_loop(self, loop: Loop) -> Iterator[Freedom]:
        loop.name = f"d{self._stack[-1].freedoms if self._stack else 0}"
        self._open(loop)
        for _ in range(2):  # once more for nothing, as above
            block = Block(Graph(f"{loop.order} loop {self._stages}"), {}, len(self._stack) + 1)
            if not loop.blocks:
                loop.blocks.append(block)
            self._stack.append(block)
            yield Freedom(loop.name)
            self._stack.pop()
        self._close()

    def _climb(self, d: Freedom, itself: bool, within: bool) -> Iterator[Freedom]:
        outer = self.block
        climb = Climb([], _name(d) or "", f"d{outer.freedoms}", itself, within)
        outer.steps.append(climb)
        block = Block(Graph(f"{outer.graph.name}, above"), dict(outer.kinds), outer.freedoms + 1)
        climb.blocks.append(block)
        self._stack.append(block)
        yield Freedom(climb.name)
        self._stack.pop()
        outer.env.clear()

    def freedoms(self, moved_by: Freedom | None = None, upto: Freedom | None = None) -> Iterator[Freedom]:
        """Freedoms in order."""
        return self._freedom_loop(Loop("freedoms", [], _name(moved_by), _name(upto)))

    def freedoms_inward(self) -> Iterator[Freedom]:
        """All freedoms, the last one first."""
        return self._freedom_loop(Loop("freedoms_inward", []))

    def above(self, d: Freedom, itself: bool = False) -> Iterator[Freedom]:
        """The freedoms that eliminating d changes."""
        return self._climb(d, itself, within=False)

    def within(self, d: Freedom, itself: bool = False) -> Iterator[Freedom]:
        """The freedoms of the same joint before d."""
        return self._climb(d, itself, within=True)

    def unit(self, kind: str, d: Freedom) -> Any:
        """An input of zeros, with a one at a freedom."""
        return Unit(self, kind, d)

    def outward(self, moved_by: Freedom | None = None, upto: Freedom | None = None) -> Iterator[tuple[Index, Index]]:
        """Bodies and their parents, parents first."""
        return self._loop("outward", moved_by, upto)

    def inward(self, moved_by: Freedom | None = None) -> Iterator[tuple[Index, Index]]:
        """Bodies and their parents, children first."""
        return self._loop("inward", moved_by)

    def path(self, frame: PlacedFrame) -> Iterator[tuple[Index, Index]]:
        """Only the bodies between the base and the frame, parents first."""
        return self._loop("path")

    def path_inward(self, frame: PlacedFrame) -> Iterator[tuple[Index, Index]]:
        """Only the bodies between the base and the frame, children first."""
        return self._loop("path_inward")

    def ancestors(self, i: Index | Freedom) -> Iterator[tuple[Index, Index]]:
        """The bodies from i's parent to the root."""
        outer = self.block
        walk = Walk([], _name(i) if isinstance(i, Freedom) else None)
        outer.steps.append(walk)
        for kind in range(len(self.kinds)):
            name = f"{outer.graph.name}, walk, {type(self.kinds[kind].joint).__name__}"
            block = Block(Graph(name), {**outer.kinds, "j": kind}, outer.freedoms)
            walk.blocks.append(block)
            self._stack.append(block)
            yield self._index("j", kind), Index("jp")
            self._stack.pop()
        for key in [key for key in outer.env if key[0] == "carry"]:
            del outer.env[key]  # the walk has changed it

    def field(self, type: FixedSize, base: Any = None) -> Any:
        """Memory for one value per body and one for the base."""
        return SharedField(self, type.zero(), base)

    def own(self) -> Any:
        """Memory for one value per body, of a structure that may differ by kind."""
        return OwnField(self)

    def vector(self) -> Any:
        """Memory for the numbers of each joint's freedoms."""
        return Vector(self)

    def pairs(self) -> Any:
        """Memory for a number for each pair of freedoms."""
        return Pairs(self)

    def columns(self, type: FixedSize) -> Any:
        """Memory for one value per body and freedom."""
        return Columns(self, type.zero())

    def carry(self, value: T) -> Carry[T]:
        """Memory for one value."""
        return RolledCarry(self, value)

    def input(self, kind: str, port: int) -> Any:
        """An argument, which is already in memory."""
        return Input(self, kind, port)

    def output(self, kind: str) -> Any:
        """The result, in memory."""
        return Output(self, kind)


def _name(d: Freedom | None) -> str | None:
    return None if d is None else str(d.key)
