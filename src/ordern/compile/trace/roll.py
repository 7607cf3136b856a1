"""The rolling compiler, first half: an algorithm traced with a symbolic body.

Each loop is traced once per kind of joint, into a graph whose leaves are entries of the body's row, inputs, and fields
in memory. The result does not depend on how many bodies there are: code for a chain of a hundred thousand links is
no longer than for ten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from itertools import count as count_from
from typing import TYPE_CHECKING, Any, TypeVar

from ...algorithms.derivatives.derived import Derived
from ...errors import TraceError
from ...graph import Graph, Node, Scalar
from ...model import (
    BASE,
    Frame,
    Freedom,
    Index,
    Input,
    Kind,
    Model,
    Output,
    PlacedFrame,
    Register,
    Tree,
    core_size,
    result_scalars,
)
from ...records import dataclass
from ...spatial import FixedSize
from .layout import Layout
from .rolled_activity import drop_unused
from .rolled_check import check_reads
from .rolled_derived import trace_derived
from .rolled_fields import RolledColumns, RolledField, RolledOwn, RolledPairs, RolledRegister, RolledVector
from .rolled_numbers import VariedColumns
from .rolled_program import (
    Affine,
    Block,
    Clear,
    Fetch,
    Fetched,
    IsFreedom,
    Leaf,
    Loop,
    Memory,
    Over,
    Place,
    Position,
    Program,
    Store,
)

if TYPE_CHECKING:
    from ..pipeline import Request

__all__ = ["RolledTree", "trace_rolled"]

T = TypeVar("T")


def trace_rolled(request: Request, layout: Layout) -> Program:
    """Run an algorithm on symbolic bodies."""
    tree = RolledTree(request.model, len(request.ports))
    tree.frames = request.frames
    ports = count_from()
    if isinstance(request.algorithm.function, Derived):
        given = [p.name for p in request.question.inputs if not p.optional or p.name in request.present]
        memories = {name: Memory("input", next(ports)) for name in given}
        trace_derived(tree, request.algorithm.function, memories, dict(request.options))
        drop_unused(tree.program)
        check_reads(tree.program)
        return tree.program
    inputs = [tree.input(kind, next(ports)) if given else tree.zeros(kind) for kind, given in request.slots]
    result = request.algorithm.function(tree, *inputs, **dict(request.options))
    written = 0
    parts = result if isinstance(result, tuple) and result else (result,)
    if isinstance(parts[0], Output):  # further numbers come after it
        array: Memory = parts[0].scalars
        tree.program.result = array.number
        written, result = tree.program.arrays[array.number], parts[1:]
    for k, x in enumerate(result_scalars(result, layout.output.size - written), written):
        tree.store(Place(Memory("result"), k), x)
    check_reads(tree.program)
    return tree.program


@dataclass(slots=True)
class _Scope:
    """A block that is being traced."""

    block: Block
    known: dict[Any, Any] = field(default_factory=dict)
    """Values that need not be read from memory: they were set or read in this block, and have not changed since."""
    freedoms: int = 0
    """The number of loops over freedoms around it."""


class RolledTree(Tree):
    """A tree whose loops run once per kind of joint, with a symbolic body."""

    def __init__(self, model: Model, varied: int = 0) -> None:
        """Make a tree; `varied` is the input with the numbers that vary, for a structure."""
        self.model = model
        self.kinds: tuple[Kind, ...] = model.tables.kinds
        self._varied = None if model.variation is None else VariedColumns(model, Memory("input", varied))
        self.program = Program(model)
        self._stack: list[_Scope] = []
        self._straight: _Scope | None = None
        self._fetched = 0
        self._loops = 0

    def new_field(self, base: list[float]) -> int:
        """Declare a field with these numbers at the base; return its number."""
        self.program.field_bases.append(base)
        number = len(self.program.field_bases) - 1
        if self._stack:
            self.block.fields.append(number)
        return number

    def new_array(self, size: int) -> Memory:
        """Declare an array of so many numbers."""
        self.program.arrays.append(size)
        return Memory("array", len(self.program.arrays) - 1)

    def store(self, place: Place, x: Scalar) -> None:
        """Write a number."""
        block = self._scope.block
        block.steps.append(Store(place, block.graph.lift(x)))

    def fetch(self, place: Place) -> Node:
        """Read a number that may change: as it is now."""
        self._fetched += 1
        block = self._scope.block
        node = block.graph.leaf(Fetched(self._fetched, place))
        block.steps.append(Fetch(node))
        return node

    def leaf(self, leaf: Leaf) -> Node:
        """Return a leaf of the graph that is being traced."""
        return self._scope.block.graph.leaf(leaf)

    def start(self, of: str, where: Index | Freedom) -> Affine:
        """Return the number at which the range of a body along an axis begins."""
        return Affine(0, ((1, Position("freedom" if isinstance(where, Freedom) else of, where.key)),))

    @property
    def _scope(self) -> _Scope:
        if self._stack:
            return self._stack[-1]
        if self._straight is None:
            self._straight = _Scope(Block(Graph("outside of loops"), {}))
            self.program.sections.append(self._straight.block)
        return self._straight

    @property
    def block(self) -> Block:
        """The block that is being traced."""
        return self._scope.block

    @property
    def known(self) -> dict[Any, Any]:
        """The values of that block that need not be read from memory."""
        return self._scope.known

    def frame(self, name: Any) -> PlacedFrame:
        """Return a frame of the model; a path leads to it."""
        found = super().frame(name)
        self.program.frame_body = self.model.frame(name).body
        return found

    @property
    def gravity(self) -> Sequence[Scalar]:
        """The acceleration of gravity."""
        own = self.model.gravity
        return (
            own if self._varied is None else [x if isinstance(x, float) else self.leaf(x) for x in self._varied.gravity]
        )

    def varied_placement(self, frame: Frame) -> Callable[[], Sequence[Scalar]] | None:
        """Return a function that reads the twelve numbers of a frame's placement; None if they are fixed."""
        places = None if self._varied is None else self._varied.frame(frame)
        return None if places is None else lambda: [self.leaf(place) for place in places]

    def _index(self, who: str, kind: int) -> Index:
        mine, known = self.block, self.model.tables.constants[kind]
        varied = {} if self._varied is None else self._varied.of_kind(kind, who)
        table, row = Memory("table"), ((self.model.tables.rows.shape[1], Position("body", who)),)

        def numbers(where: slice) -> list[Scalar]:
            if not any(scope.block is mine for scope in self._stack):
                raise TraceError("a body's data are used outside of its own iteration")
            leaf = self.block.graph.leaf  # of its own graph, or of the graph of a walk inside of it
            entries = range(where.start, where.stop)
            if varied:
                return [
                    leaf(varied[k]) if k in varied else leaf(Place(table, k, row)) if known[k] is None else known[k]
                    for k in entries
                ]
            return [leaf(Place(table, k, row)) if known[k] is None else known[k] for k in entries]

        return Index(who, self.kinds[kind], numbers)

    def _open(self, loop: Loop) -> None:
        """Begin a loop, at the end of the code that is being traced."""
        if any(scope.block.kinds for scope in self._stack):
            raise TraceError("a loop stands outside of all others, or in loops over freedoms")
        self._loops += 1
        if self._stack:
            self.block.steps.append(loop)
        else:
            self._straight = None
            self.program.sections.append(loop)

    def _close(self) -> None:
        """End it: values that were read before may have changed."""
        if self._stack:
            self.known.clear()

    def _bodies(self, loop: Loop) -> Iterator[tuple[Index, Index]]:
        """Trace a loop over bodies."""
        self._open(loop)
        inside = self._stack[-1].freedoms if self._stack else 0
        # once more at the end, for nothing: a value that one body gives the next without a field meets another graph
        # there, which raises an error
        for kind in (*range(len(self.kinds)), 0):
            direction = f"{loop.over}{', inward' if loop.inward else ''}"
            name = f"loop {self._loops} over {direction}, {type(self.kinds[kind].joint).__name__}"
            scope = _Scope(Block(Graph(name), {"i": kind}), freedoms=inside)
            if len(loop.blocks) < len(self.kinds):
                loop.blocks.append(scope.block)
            self._stack.append(scope)
            yield self._index("i", kind), Index("p")
            self._stack.pop()
        self._close()

    def _freedoms(self, loop: Loop) -> Iterator[Freedom]:
        """Trace a loop over freedoms."""
        self._open(loop)
        inside = self._stack[-1].freedoms if self._stack else 0
        loop.index = f"d{inside}"
        for _ in range(2):  # once more for nothing, as above
            scope = _Scope(Block(Graph(f"loop {self._loops} over {loop.over}"), {}), freedoms=inside + 1)
            if not loop.blocks:
                loop.blocks.append(scope.block)
            self._stack.append(scope)
            yield Freedom(loop.index)
            self._stack.pop()
        self._close()

    def _path(self, loop: Loop) -> Iterator[Freedom]:
        """Trace a loop over freedoms that leads away from one, inside of any loop."""
        outer = self._scope
        loop.index = f"d{outer.freedoms}"
        outer.block.steps.append(loop)
        block = Block(Graph(f"{outer.block.graph.name}, {loop.over}"), dict(outer.block.kinds))
        loop.blocks.append(block)
        self._stack.append(_Scope(block, freedoms=outer.freedoms + 1))
        yield Freedom(loop.index)
        self._stack.pop()
        outer.known.clear()

    def on_base(self, i: Index) -> bool:
        """Return True if all bodies of its kind hang on the base."""
        tables = self.model.tables
        return all(p == BASE for p, k in zip(tables.parent, tables.kind, strict=True) if self.kinds[k] is i.kind)

    def clear(self, output: Output) -> None:
        """Write zeros to the memory of a result."""
        self.known.pop(output.scalars, None)
        self.block.steps.append(Clear(output.scalars))

    def freedoms(self, moved_by: Freedom | None = None, upto: Freedom | None = None) -> Iterator[Freedom]:
        """Visit freedoms in order."""
        of = moved_by if upto is None else upto
        over: Over = "freedoms" if of is None else "moved freedoms" if upto is None else "freedoms upto"
        return self._freedoms(Loop(over, "", of=None if of is None else of.key))

    def freedoms_inward(self) -> Iterator[Freedom]:
        """Visit all freedoms, the last one first."""
        return self._freedoms(Loop("freedoms", "", inward=True))

    def elimination_path(self, d: Freedom, itself: bool = False) -> Iterator[Freedom]:
        """Visit the path of d in the elimination tree."""
        return self._path(Loop("elimination path", "", of=d.key, itself=itself))

    def same_joint(self, d: Freedom, itself: bool = False) -> Iterator[Freedom]:
        """Visit the freedoms of the same joint before d."""
        return self._path(Loop("same joint", "", of=d.key, itself=itself))

    def outward(self, moved_by: Freedom | None = None, upto: Freedom | None = None) -> Iterator[tuple[Index, Index]]:
        """Visit bodies and their parents, parents first."""
        of = moved_by if upto is None else upto
        over: Over = "bodies" if of is None else "moved bodies" if upto is None else "bodies upto"
        return self._bodies(Loop(over, "i", of=None if of is None else of.key))

    def inward(self, moved_by: Freedom | None = None) -> Iterator[tuple[Index, Index]]:
        """Visit bodies and their parents, children first."""
        if moved_by is not None:
            return self._bodies(Loop("moved bodies", "i", of=moved_by.key, inward=True))
        return self._bodies(Loop("bodies", "i", inward=True))

    def path(self, frame: PlacedFrame) -> Iterator[tuple[Index, Index]]:
        """Visit only the bodies between the base and the frame, parents first."""
        return self._bodies(Loop("path", "i"))

    def path_inward(self, frame: PlacedFrame) -> Iterator[tuple[Index, Index]]:
        """Visit only the bodies between the base and the frame, children first."""
        return self._bodies(Loop("path", "i", inward=True))

    def ancestors(self, i: Index | Freedom) -> Iterator[tuple[Index, Index]]:
        """Visit the bodies from i's parent to the root."""
        outer = self._scope
        loop = Loop("ancestors", "j", of=i.key if isinstance(i, Freedom) else None)
        outer.block.steps.append(loop)
        for kind in range(len(self.kinds)):
            name = f"{outer.block.graph.name}, walk, {type(self.kinds[kind].joint).__name__}"
            block = Block(Graph(name), {**outer.block.kinds, "j": kind})
            loop.blocks.append(block)
            self._stack.append(_Scope(block, freedoms=outer.freedoms))
            yield self._index("j", kind), Index("jp")
            self._stack.pop()
        for memory in [key for key in outer.known if isinstance(key, Memory)]:
            del outer.known[memory]  # the walk may have changed it; fields it cannot set

    def field(self, type: FixedSize[T], base: Any = None) -> Any:
        """Return memory for one value per body and one for the base."""
        return RolledField(self, type.zero(), base)

    def own(self, type: Any = None) -> Any:
        """Return memory for one value per body, of a structure that may differ by kind."""
        return RolledOwn(self)

    def vector(self) -> RolledVector:
        """Return memory for the numbers of each joint's freedoms."""
        return RolledVector(self)

    def pairs(self) -> RolledPairs:
        """Return memory for a number for each pair of freedoms."""
        return RolledPairs(self)

    def columns(self, type: FixedSize[T]) -> Any:
        """Return memory for one value per body and freedom."""
        return RolledColumns(self, type.zero())

    def register(self, value: T) -> Register[T]:
        """Return memory for one value."""
        return RolledRegister(self, value)

    def input(self, kind: str, port: int) -> Input:
        """Return an argument, which is already in memory."""
        return self.argument(kind, Memory("input", port))

    def argument(self, kind: str, memory: Memory) -> Input:
        """Return an argument whose numbers are in a memory that does not change."""
        return Input(self, kind, lambda at: self.leaf(_place(memory, at)))

    def begin_section(self) -> None:
        """End the straight code that is being traced: what follows comes after all sections of the program."""
        self._straight = None

    def part(self, kind: str, memory: Memory, start: int) -> Output:
        """Return a result that is part of an array, and begins at a number of it; it is only written."""

        def write(at: Affine | int, x: Scalar) -> None:
            self.store(_place(memory, at + start), x)

        def read(at: Affine | int) -> Scalar:
            raise TraceError("a part of a result cannot be read")

        return Output(self, kind, read, write, memory)

    def unit(self, kind: str, d: Freedom) -> Input:
        """Return an argument of zeros, with a one at a freedom."""
        return Input(self, kind, lambda at: self.leaf(IsFreedom(at.offset, at.terms, d.key)))

    def output(self, kind: str) -> Output:
        """Return a result, in memory."""
        memory = self.new_array(core_size(self.model, kind, self.frames))

        # a number that was just written is not read again; one written with other indices may be the same number
        def read(at: Affine | int) -> Scalar:
            place = _place(memory, at)
            terms, written = self.known.get(memory, ((), {}))
            if terms == place.terms and place.offset in written:
                return written[place.offset]
            return self.fetch(place)

        def write(at: Affine | int, x: Scalar) -> None:
            place = _place(memory, at)
            terms, written = self.known.get(memory, (None, {}))
            if terms != place.terms:
                self.known[memory] = (place.terms, written := {})
            written[place.offset] = x
            self.store(place, x)

        found = Output(self, kind, read, write, memory)
        if found.adds:
            self.block.steps.append(Clear(memory))
        return found


def _place(memory: Memory, at: Affine | int) -> Place:
    return Place(memory, at) if isinstance(at, int) else Place(memory, at.offset, at.terms)
