"""The rolling compiler, first half: an algorithm traced with a symbolic body.

Each loop is traced once per kind of joint, into a graph whose leaves are entries of the body's row, inputs, and fields
in memory. The result does not depend on how many bodies there are: code for a chain of a hundred thousand links is
no longer than for ten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count as count_from
from typing import Any, TypeVar

import numpy as np

from ..errors import TraceError
from ..graph import Counts, Graph, Node, Scalar, count
from ..model import BASE, Carry, Index, Kind, Model, PlacedFrame, Tree, check_block, result_scalars
from ..spatial import FixedSize, Force, Freedoms, Motion, leaves, rebuild
from .data import path_to
from .layout import Layout

__all__ = ["Block", "Flush", "Loop", "Program", "Store", "Walk", "estimate", "trace_rolled"]

T = TypeVar("T")

Leaf = tuple[Any, ...]
"""A place in memory. The first word says which memory:

("row", k, who), ("input", which, port, k, who), ("scalar", port, k), ("field", id, k, who), ("carry", id, k), and for
results ("q_out", k, who), ("v_out", k, who), ("pair", r, c, who, who), ("column", r, c, who), ("span", r, c, who),
("body_out", k, who), ("result", k).

Who is "i", "p" in a loop; "j", "jp" in a walk; or the number of a body.
"""


@dataclass(frozen=True, slots=True)
class Store:
    """Write a value to a place."""

    place: Leaf
    value: Node


@dataclass(slots=True)
class Flush:
    """All stores so far are done before what follows is read."""


@dataclass(slots=True)
class Block:
    """A loop body for one kind of joint (in a walk, for a pair of kinds); or code outside of loops."""

    graph: Graph
    kinds: dict[str, int]
    steps: list[Store | Walk | Flush] = field(default_factory=list)
    env: dict[Any, Any] = field(default_factory=dict)

    def roots(self) -> list[Node]:
        """The values that are stored."""
        return [step.value for step in self.steps if isinstance(step, Store)]


@dataclass(slots=True)
class Walk:
    """A loop over the ancestors of a body, inside a loop: one block per kind of ancestor."""

    blocks: list[Block]


@dataclass(slots=True)
class Loop:
    """A loop over bodies: one block per kind. `order` is outward, inward, path or path_inward."""

    order: str
    blocks: list[Block]


@dataclass(slots=True)
class Program:
    """A traced algorithm: loops and straight code, and how much memory its fields take."""

    model: Model
    pieces: list[Loop | Block]
    field_sizes: list[int]
    field_bases: list[list[float] | None]
    carry_sizes: list[int]
    frame_body: int | None
    adds: bool = False
    """Whether results are sums that need a zero to start from."""

    def path(self) -> list[int]:
        """The bodies from the base to the frame."""
        return path_to(self.model, self.frame_body)


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
    if not isinstance(result, _Output):
        block = tree.block
        for k, x in enumerate(result_scalars(result, layout.output.size)):
            block.steps.append(Store(("result", k), block.graph.lift(x)))
    return tree.finish()


class RolledTree(Tree):
    """A tree whose loops run once per kind of joint, with a symbolic body."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.kinds: tuple[Kind, ...] = model.tables.kinds
        self.program = Program(model, [], [], [], [], None)
        self._stack: list[Block] = []
        self._straight: Block | None = None
        self._first_set: dict[int, int] = {}
        self._reads: set[tuple[int, Any, int]] = set()

    def note_read(self, field: int, who: Any) -> None:
        """Remember that a field is read from memory in the present piece."""
        self._reads.add((field, who, len(self.program.pieces)))

    def note_set(self, field: int) -> None:
        """Remember that a field is set in the present piece."""
        self._first_set.setdefault(field, len(self.program.pieces))

    @property
    def block(self) -> Block:
        """The block being traced."""
        if self._stack:
            return self._stack[-1]
        if self._straight is None:
            self._straight = Block(Graph("outside of loops"), {})
            self.program.pieces.append(self._straight)
        return self._straight

    def frame(self, name: Any) -> PlacedFrame:
        """A frame of the model; a path leads to it."""
        found = super().frame(name)
        self.program.frame_body = self.model.frame(name).body
        return found

    def finish(self) -> Program:
        """The program, complete: every field that is read was set before, or is being set from the base outward."""
        for f, who, piece in self._reads:
            loop = self.program.pieces[piece - 1]
            chained = who == "p" and isinstance(loop, Loop) and loop.order in ("outward", "path")
            set_in = self._first_set.get(f, piece + 1)
            if who != BASE and not (set_in < piece or (chained and set_in == piece)):
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

    def _loop(self, order: str) -> Iterator[tuple[Index, Index]]:
        self._straight = None
        loop = Loop(order, [])
        self.program.pieces.append(loop)
        # once more at the end, for nothing: a value that a body hands to the next behind the fields' back
        # meets another graph there, and is found out
        for kind in (*range(len(self.kinds)), 0):
            name = f"{order} loop {len(self.program.pieces)}, {type(self.kinds[kind].joint).__name__}"
            block = Block(Graph(name), {"i": kind})
            if len(loop.blocks) < len(self.kinds):
                loop.blocks.append(block)
            self._stack.append(block)
            yield self._index("i", kind), Index("p")
            self._stack.pop()

    def outward(self) -> Iterator[tuple[Index, Index]]:
        """Bodies and their parents, parents first."""
        return self._loop("outward")

    def inward(self) -> Iterator[tuple[Index, Index]]:
        """Bodies and their parents, children first."""
        return self._loop("inward")

    def path(self, frame: PlacedFrame) -> Iterator[tuple[Index, Index]]:
        """Only the bodies between the base and the frame, parents first."""
        return self._loop("path")

    def path_inward(self, frame: PlacedFrame) -> Iterator[tuple[Index, Index]]:
        """Only the bodies between the base and the frame, children first."""
        return self._loop("path_inward")

    def ancestors(self, i: Index) -> Iterator[tuple[Index, Index]]:
        """The bodies from i's parent to the root."""
        outer = self.block
        walk = Walk([])
        outer.steps.append(walk)
        for kind in range(len(self.kinds)):
            name = f"{outer.graph.name}, walk, {type(self.kinds[kind].joint).__name__}"
            block = Block(Graph(name), {**outer.kinds, "j": kind})
            walk.blocks.append(block)
            self._stack.append(block)
            yield self._index("j", kind), Index("jp")
            self._stack.pop()
        for key in [key for key in outer.env if key[0] == "carry"]:
            del outer.env[key]  # the walk has changed it

    def field(self, type: FixedSize, base: Any = None) -> Any:
        """Memory for one value per body and one for the base."""
        return _SharedField(self, type.zero(), base)

    def own(self) -> Any:
        """Memory for one value per body, of a structure that may differ by kind."""
        return _OwnField(self)

    def carry(self, value: T) -> Carry[T]:
        """Memory for one value."""
        return _RolledCarry(self, value)

    def input(self, kind: str, port: int) -> Any:
        """An argument, which is already in memory."""
        return _Input(self, kind, port)

    def output(self, kind: str) -> Any:
        """The result, in memory."""
        return _Output(self, kind)


class _SharedField:
    """One class of value for every body and the base, at any index that a loop gives."""

    def __init__(self, tree: RolledTree, zero: Any, base: Any) -> None:
        self.tree, self.zero = tree, zero
        self.id = len(tree.program.field_sizes)
        tree.program.field_sizes.append(len(leaves(zero)))
        known = [not isinstance(x, Node) for x in leaves(base)] if base is not None else []
        tree.program.field_bases.append([float(x) for x in leaves(base if known and all(known) else zero)])
        if not all(known):
            self[tree.base] = base

    def __getitem__(self, index: Index) -> Any:
        block, who = self.tree.block, index.key
        key = (self.id, who)
        if key not in block.env:
            self.tree.note_read(self.id, who)
            size = self.tree.program.field_sizes[self.id]
            scalars = iter([block.graph.leaf(("field", self.id, k, who)) for k in range(size)])
            block.env[key] = rebuild(self.zero, scalars)
        return block.env[key]

    def __setitem__(self, index: Index, value: Any) -> None:
        block, who = self.tree.block, index.key
        if "j" in block.kinds:
            raise TraceError("a walk along ancestors carries its values; it does not set fields")
        scalars = leaves(value)
        if type(value) is not type(self.zero) and not isinstance(value, (Node, float)):
            raise TraceError(f"a field of {type(self.zero).__name__} was given a {type(value).__name__}")
        block.env[self.id, who] = value
        self.tree.note_set(self.id)
        for k, x in enumerate(scalars):
            block.steps.append(Store(("field", self.id, k, who), block.graph.lift(x)))


class _OwnField:
    """A value of a structure that may differ by kind, at a loop's own body only.

    Scalars that are constants, entries of the row or inputs are not stored but read again where they are needed.
    """

    def __init__(self, tree: RolledTree) -> None:
        self.tree = tree
        self.id = len(tree.program.field_sizes)
        tree.program.field_sizes.append(0)
        tree.program.field_bases.append(None)
        self._shape: dict[int, tuple[Any, list[Scalar | Leaf]]] = {}

    def __setitem__(self, index: Index, value: Any) -> None:
        block = self.tree.block
        if index.key != "i":
            raise TraceError("an own field is set at a loop's own body only")
        block.env[self.id, "i"] = value
        spec: list[Scalar | Leaf] = []
        kept = 0
        for x in leaves(value):
            node = block.graph.lift(x)
            if node.op == "constant":
                spec.append(float(node.data))
            elif node.op == "leaf" and node.data[0] in ("row", "input"):
                spec.append(node.data[:-1])
            else:
                spec.append(("field", self.id, kept))
                block.steps.append(Store(("field", self.id, kept, "i"), node))
                kept += 1
        self._shape[block.kinds["i"]] = (value, spec)
        sizes = self.tree.program.field_sizes
        sizes[self.id] = max(sizes[self.id], kept)

    def __getitem__(self, index: Index) -> Any:
        block, who = self.tree.block, index.key
        key = (self.id, who)
        if key not in block.env:
            kind = block.kinds.get(str(who))
            if kind is None or kind not in self._shape:
                raise TraceError("an own field is read at a loop's own body only, after it was set there")
            value, spec = self._shape[kind]
            scalars = [x if isinstance(x, float) else block.graph.leaf((*x, who)) for x in spec]
            block.env[key] = rebuild(value, iter(scalars))
        return block.env[key]


class _RolledCarry(Carry[T]):
    """One value in memory, for the walk that follows."""

    def __init__(self, tree: RolledTree, value: T) -> None:
        self._tree, self._like = tree, value
        self._id = len(tree.program.carry_sizes)
        tree.program.carry_sizes.append(len(leaves(value)))
        self.value = value

    @property
    def value(self) -> T:
        block = self._tree.block
        key = ("carry", self._id)
        if key not in block.env:
            size = self._tree.program.carry_sizes[self._id]
            scalars = [block.graph.leaf(("carry", self._id, k)) for k in range(size)]
            block.env[key] = rebuild(self._like, iter(scalars))
        return block.env[key]  # type: ignore[no-any-return]

    @value.setter
    def value(self, value: T) -> None:
        block = self._tree.block
        block.env["carry", self._id] = value
        for k, x in enumerate(leaves(value)):
            block.steps.append(Store(("carry", self._id, k), block.graph.lift(x)))


class _Input:
    def __init__(self, tree: RolledTree, kind: str, port: int) -> None:
        self.tree, self.kind, self.port = tree, kind, port

    def __getitem__(self, i: Index) -> Any:
        graph, who = self.tree.block.graph, i.key
        if self.kind == "scalar":
            return graph.leaf(("scalar", self.port, 0))
        if self.kind == "motion":
            return Motion.of(tuple(graph.leaf(("scalar", self.port, k)) for k in range(6)))
        where = {"q": "q_input", "v": "v_input", "f": "v_input", "bodies": "body_input"}[self.kind]
        joint = i.kind.joint
        n = 6 if self.kind == "bodies" else joint.nq if self.kind == "q" else joint.nv
        x = [graph.leaf(("input", where, self.port, k, who)) for k in range(n)]
        if self.kind == "bodies":
            return Force(i.turn.apply((x[0], x[1], x[2])), i.turn.apply((x[3], x[4], x[5])))
        return i.coordinates(self.kind, Freedoms(x))


class _Output:
    def __init__(self, tree: RolledTree, kind: str) -> None:
        self.tree, self.kind = tree, kind
        self.adds = tree.couplings > 0 and kind in ("f", "symmetric", "matrix", "columns", "spans")
        tree.program.adds |= self.adds

    def _put(self, place: Leaf, x: Scalar) -> None:
        """Store a number; or add it, since a joint that follows another adds to what that one has."""
        block = self.tree.block
        if self.adds:
            x = block.graph.leaf(place) + x
        block.steps.append(Store(place, block.graph.lift(x)))

    def __setitem__(self, where: Index | tuple[Index, Index], value: Any) -> None:
        block = self.tree.block
        if isinstance(where, tuple):
            check_block(value, where[0].kind.joint.nv, where[1].kind.joint.nv)
            i, j = (w.key for w in where)
            scale = where[0].ratio * where[1].ratio
            entries = [(r, c, scale * x) for r, row in enumerate(value) for c, x in enumerate(row)]
            if self.kind == "matrix":
                if self.adds:
                    block.steps.append(Flush())  # an earlier piece may be this place, if one joint follows the other
                for r, c, x in entries:
                    self._put(("pair", r, c, i, j), x)
                return
            if i == j:  # one half stands for both, so that the matrix is exactly symmetric
                entries = [(r, c, x) for r, c, x in entries if c <= r]
            for r, c, x in entries:
                self._put(("pair", r, c, i, j), x)
            block.steps.append(Flush())  # both may be one place, if one joint follows the other
            for r, c, x in entries:
                if i != j or r != c:
                    self._put(("pair", c, r, j, i), x)
            return
        who, joint = where.key, where.kind.joint
        if self.kind == "wrenches":
            six = (*where.turn.back(value.angular), *where.turn.back(value.linear))
            for k, x in enumerate(six):
                block.steps.append(Store(("body_out", k, who), block.graph.lift(x)))
            return
        check_block(value, joint.nq if self.kind == "q" else joint.nv)
        if self.kind == "spans":
            for r, row in enumerate(value):
                for c, x in enumerate(row):
                    self._put(("span", r, c, who), where.ratio * x)
            return
        if self.kind == "columns":
            for c, motion in enumerate(value):
                for r, x in enumerate(motion.scalars):
                    self._put(("column", r, c, who), where.ratio * x)
            return
        block.env["out", who] = value
        if where.kind.follows and self.kind != "f":
            return
        for k, x in enumerate(value):
            self._put(("q_out" if self.kind == "q" else "v_out", k, who), where.ratio * x)

    def __getitem__(self, i: Index) -> Freedoms:
        found: Freedoms = self.tree.block.env["out", i.key]
        return found


def estimate(program: Program) -> Counts:
    """Operations per state, if no constant folded."""
    kind = program.model.tables.kind
    bodies = np.bincount(kind, minlength=len(program.model.tables.kinds))
    on_path = np.bincount(kind[np.array(program.path(), np.int64)], minlength=len(bodies))
    pairs: Any = None
    total = Counts()
    for piece in program.pieces:
        if isinstance(piece, Block):
            total = total + count(piece.roots())
            continue
        times = on_path if piece.order.startswith("path") else bodies
        for block in piece.blocks:
            total = total + count(block.roots()) * int(times[block.kinds["i"]])
            for step in block.steps:
                if isinstance(step, Walk):
                    pairs = _ancestor_pairs(program.model) if pairs is None else pairs
                    for inner in step.blocks:
                        times_inner = pairs[inner.kinds["i"], inner.kinds["j"]]
                        total = total + count(inner.roots()) * int(times_inner)
    return total


def _ancestor_pairs(model: Model) -> Any:
    """How often a body of one kind has an ancestor of another."""
    t = model.tables
    n, kinds = len(t.parent), len(t.kinds)
    above = np.zeros((n + 1, kinds), np.int64)
    found = np.zeros((kinds, kinds), np.int64)
    for k in range(n):
        p = int(t.parent[k])
        above[k] = above[p] if p != BASE else 0
        found[t.kind[k]] += above[k]
        above[k, t.kind[k]] += 1
    return found
