"""Straight-line code with loops over columns: `tree.each_column` traced once for each limb.

An algorithm that solves for the columns of a matrix does the same for each of them. As straight-line code this is n
copies, which take long to compile, and are too long for the cache of instructions. But the columns of one limb, a run
of freedoms without branches, have their zeros in the same rows. So a `ColumnTree` traces one symbolic column for each
limb, while rows remain concrete: `M[k, c]` is a place `offset + stride * c` in memory. All other code is straight-line,
and comes before the loops.

Numbers of a matrix that are the same constant in all columns of a limb are folded, others are read from memory. A
column may read what was set before the loop, and its own numbers; that it reads no number of another column is checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import TraceError
from ...graph import Graph, Node, Scalar, count
from ...model import ConcreteTree, Freedom, Input, Model, Output, core_size
from ...records import dataclass
from .layout import Layout
from .rolled_program import Affine, Position
from .unroll import number_leaves, run_text

if TYPE_CHECKING:
    from ..pipeline import Request

__all__ = ["Array", "ColumnLoop", "ColumnPlace", "IsColumn", "Kept", "Outside", "StraightCode", "trace_columns"]

LEAST_FREEDOMS = 20
"""Robots with fewer freedoms get straight-line code for every column, which compiles in a second or two."""
_COLUMN = ((1, Position("freedom", "column")),)


class Array:
    """Numbers that a text sets: those of the straight-line code, and marks where a loop has set others."""

    def __init__(self, number: int, size: int, loop: ColumnLoop | None) -> None:
        self.number, self.loop = number, loop
        self.values: list[Any] = [0.0] * size
        self.initial: dict[int, Scalar] = {}
        """Numbers of the straight-line code that loops read from memory, by their address."""
        self.closed = False
        """True if a loop has read or set numbers: straight-line code, which runs before, may not change them."""


class Kept:
    """A number of an array that a loop has set: it is in memory. In results it stands for a scalar."""

    __slots__ = ("array", "at")

    def __init__(self, array: int, at: int) -> None:
        self.array, self.at = array, at


class ColumnPlace(NamedTuple):
    """The number `offset + stride * column` of an array."""

    array: int
    offset: int
    stride: int


class Outside(NamedTuple):
    """A value of the straight-line code, by the index of its node."""

    node: int


class IsColumn(NamedTuple):
    """The number 1 in one column, and 0 in others."""

    column: int


@dataclass(slots=True)
class ColumnLoop:
    """The code for one column of a limb."""

    columns: range
    graph: Graph
    stores: dict[ColumnPlace, Scalar] = field(default_factory=dict)
    reads: set[ColumnPlace] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class StraightCode:
    """The scalars of a result, and loops over columns that come after the straight-line code."""

    results: list[Any]
    """Nodes of the straight-line code, floats, and numbers that loops keep in memory."""
    loops: list[ColumnLoop]
    arrays: list[Array]
    graph: Graph

    @property
    def roots(self) -> list[Node]:
        """The nodes that straight-line code has to compute."""
        initial = [x for array in self.arrays for x in array.initial.values()]
        return [x for x in (*self.results, *initial, *self.outside) if isinstance(x, Node)]

    @property
    def outside(self) -> list[Node]:
        """The nodes of the straight-line code that loops read."""
        leaves = (node.data for loop in self.loops for node in loop.graph.nodes if node.op == "leaf")
        found = sorted({leaf.node for leaf in leaves if isinstance(leaf, Outside)})
        return [self.graph.nodes[k] for k in found]

    @property
    def length(self) -> int:
        """The operations of the code as it is written."""
        return count(self.roots).total + sum(_operations(loop) for loop in self.loops)

    @property
    def operations(self) -> int:
        """The operations of one state."""
        return count(self.roots).total + sum(len(loop.columns) * _operations(loop) for loop in self.loops)


def _operations(loop: ColumnLoop) -> int:
    return count(x for x in loop.stores.values() if isinstance(x, Node)).total


def trace_columns(request: Request, layout: Layout) -> StraightCode:
    """Run an algorithm on graph nodes, with one symbolic column for each limb in loops over columns."""
    graph = Graph("unrolled")
    tree = ColumnTree(request.model, request.algorithm.regroup, **number_leaves(request, graph))
    results = run_text(request, layout, tree, graph)
    return StraightCode(results, tree.loops, tree.arrays, graph)


def limbs(up: Sequence[int]) -> list[range]:
    """Return runs of freedoms without branches: each is the only one that follows the one before it."""
    followers = [0] * (len(up) + 1)
    for above in up:
        followers[above] += 1  # the base is the last entry
    starts = [k for k in range(len(up)) if k == 0 or up[k] != k - 1 or followers[k - 1] > 1]
    return [range(start, stop) for start, stop in zip(starts, [*starts[1:], len(up)], strict=True)]


class ColumnTree(ConcreteTree):
    """A tree that visits bodies one by one, and the columns of a limb at once."""

    def __init__(self, model: Model, regroup: bool = False, **varied: Any) -> None:
        """Make a tree; `varied` is an argument of `ConcreteTree` with the numbers that vary."""
        super().__init__(model, regroup=regroup, **varied)
        self.loops: list[ColumnLoop] = []
        self.arrays: list[Array] = []
        self._loop: ColumnLoop | None = None

    def each_column(self) -> Iterator[Freedom]:
        """Visit one symbolic column for each limb."""
        if self.model.nv < LEAST_FREEDOMS:
            yield from super().each_column()
            return
        if self._loop is not None:
            raise TraceError("a loop over columns stands inside of another one")
        runs = limbs(self._freedoms.up.tolist())[::-1]
        while runs:
            columns = runs.pop()
            self._loop = loop = ColumnLoop(columns, Graph(f"columns {columns.start} to {columns.stop - 1}"))
            yield Freedom(Affine(0, _COLUMN))
            self._loop = None
            parts = self._parts(loop)
            if len(parts) > 1:  # some columns are zero: once more, each part by itself
                runs += parts[::-1]
            else:
                self._close(loop)

    def _parts(self, loop: ColumnLoop) -> list[range]:
        """Return the columns of a loop in runs in which the same matrices have a column of zeros."""
        size = self.model.nv**2
        matrices = sorted({(place.array, place.offset // size) for place in loop.reads if place.stride == 1})

        def nonzero(c: int) -> list[bool]:
            places = [p for p in loop.reads if p.stride == 1]
            found = {(p.array, p.offset // size) for p in places if self._value(p, c) != 0.0}
            return [m in found for m in matrices]

        kinds = [nonzero(c) for c in loop.columns]
        starts = [n for n in range(len(kinds)) if n == 0 or kinds[n] != kinds[n - 1]]
        ends = [*starts[1:], len(kinds)]
        return [loop.columns[start:end] for start, end in zip(starts, ends, strict=True)]

    def _value(self, place: ColumnPlace, c: int) -> Any:
        """Return the number of a place in a column: 0.0, or something else."""
        x = self.arrays[place.array].values[place.offset + place.stride * c]
        return x if type(x) is float else None

    def _close(self, loop: ColumnLoop) -> None:
        """Mark what a loop has set, and check that no column reads what another one sets."""
        self.loops.append(loop)
        for place in loop.reads:
            array = self.arrays[place.array]
            array.closed = True
            addresses = [place.offset + place.stride * c for c in loop.columns]
            array.initial.update((n, array.values[n]) for n in addresses if not isinstance(array.values[n], Kept))
        written: dict[tuple[int, int], set[int]] = {}
        for place in loop.stores:
            for c in loop.columns:
                at = place.offset + place.stride * c
                self.arrays[place.array].closed = True
                self.arrays[place.array].values[at] = Kept(place.array, at)
                written.setdefault((place.array, at), set()).add(c)
        for place in loop.reads:
            for c in loop.columns:
                if written.get((place.array, place.offset + place.stride * c), {c}) != {c}:
                    raise TraceError("a column reads a number that another column sets: use `freedoms` for such a loop")

    def _last(self, d: Freedom | None) -> Freedom | None:
        """Return the last column in the place of a symbolic one."""
        if d is None or not isinstance(d.key, Affine):
            return d
        assert self._loop is not None
        return Freedom(self._loop.columns[-1])

    def freedoms(self, moved_by: Freedom | None = None, upto: Freedom | None = None) -> Iterator[Freedom]:
        """Visit freedoms in order; up to a symbolic column: up to the last one."""
        return super().freedoms(moved_by, self._last(upto))

    def elimination_path(self, d: Freedom, itself: bool = False) -> Iterator[Freedom]:
        """Visit the path of d in the elimination tree; for a symbolic column: that of the last one."""
        return super().elimination_path(self._last(d) or d, itself)

    def unit(self, kind: str, d: Freedom) -> Input:
        """Return an argument of zeros, with a one at a freedom."""
        loop = self._loop
        if loop is None or not isinstance(d.key, Affine):
            return super().unit(kind, d)

        def read(at: int) -> Scalar:
            if at not in loop.columns:
                return 0.0
            return 1.0 if len(loop.columns) == 1 else loop.graph.leaf(IsColumn(at))

        return Input(self, kind, read)

    def output(self, kind: str) -> Output:
        """Return a result: scalars in the order of its array, or numbers in memory."""
        array = Array(len(self.arrays), core_size(self.model, kind, self.frames), self._loop)
        self.arrays.append(array)
        read, write = (lambda at: self._read(array, at)), (lambda at, x: self._write(array, at, x))
        return Output(self, kind, read, write, array.values)

    def _read(self, array: Array, at: Affine | int) -> Scalar:
        loop = self._loop
        if loop is array.loop:  # of straight-line code, or of this loop
            x = array.values[self._number(at)]
            if isinstance(x, Kept):
                raise TraceError("straight-line code reads a number that a loop over columns has set")
            return x
        if loop is None:
            raise TraceError("a result of a loop over columns is read after it")
        if isinstance(at, int):
            return self._outer(loop, array, at)
        place = ColumnPlace(array.number, at.offset, at.terms[0][0])
        if place in loop.stores:
            return loop.stores[place]
        addresses = [place.offset + place.stride * c for c in loop.columns]
        values = [array.values[n] for n in addresses]
        if all(type(x) is float and x == values[0] for x in values):
            return values[0]
        loop.reads.add(place)
        return loop.graph.leaf(place)

    def _outer(self, loop: ColumnLoop, array: Array, at: int) -> Scalar:
        """Return a number that is the same for all columns."""
        x = array.values[at]
        if isinstance(x, Kept):
            return loop.graph.leaf(ColumnPlace(array.number, at, 0))
        return loop.graph.leaf(Outside(x.index)) if isinstance(x, Node) else x

    def _write(self, array: Array, at: Affine | int, x: Scalar) -> None:
        loop = self._loop
        if loop is array.loop:
            if array.closed:
                raise TraceError("straight-line code sets a number after a loop over columns has used its array")
            array.values[self._number(at)] = x
            return
        if loop is None or isinstance(at, int):
            raise TraceError("a loop over columns sets a number that does not belong to its column")
        loop.stores[ColumnPlace(array.number, at.offset, at.terms[0][0])] = x

    def _number(self, at: Affine | int) -> int:
        if not isinstance(at, int):
            raise TraceError("an array that is made in a loop over columns has no columns of its own")
        return at
