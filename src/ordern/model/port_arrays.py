"""Arguments and results as algorithms see them: arrays whose parts belong to bodies, freedoms, and pairs of these.

An array is a row of the table in `ports`; a tree says where the range of a body begins and how a number is read or
written. Addresses are numbers where bodies are visited one by one, and affine expressions of the loops' indices where
the body is symbolic: the same text serves both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import TraceError
from ..graph import Scalar
from ..spatial import Force, Freedoms
from .freedoms import Freedom
from .index import Index
from .ports import AXES, check_block, core_shape, core_size, port_kind

if TYPE_CHECKING:
    from .tree import Tree

__all__ = ["ArrayNumbers", "Input", "Output", "Zeros"]

Address = Any
"""An int, or an affine expression of indices."""
Where = Any
"""A body, a freedom, or a pair of bodies or freedoms."""


class ArrayNumbers(Sequence[Any]):
    """The numbers of an argument, of shape (..., size), as a sequence of arrays with one number for each state."""

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array

    @property
    def batch(self) -> tuple[int, ...]:
        """The shape of the batch."""
        return self._array.shape[:-1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers."""
        return self._array.dtype

    def __len__(self) -> int:
        return int(self._array.shape[-1])

    def __getitem__(self, k: Any) -> Any:
        return [self[j] for j in range(*k.indices(len(self)))] if isinstance(k, slice) else self._array[..., k]

    def rows(self, places: NDArray[np.int64]) -> NDArray[Any]:
        """Return numbers by their places (rows, numbers), as an array (rows, batch, numbers)."""
        return np.moveaxis(self._array[..., places], -2, 0)


class _Array:
    """The array of a port: where the numbers of its parts are."""

    def __init__(
        self,
        tree: Tree,
        kind: str,
        read: Callable[[Address], Scalar],
        scalars: Any = None,
        rows: Sequence[int] = (),
    ) -> None:
        """Make an array of a kind from a function that reads a number, and from all numbers if they are known.

        `rows` are the distances between numbers along the first axes, where the array is a part of the columns of
        another one.
        """
        self.kind, self.scalars = port_kind(kind), scalars
        self._name, self._tree, self._read = kind, tree, read
        shape = core_shape(tree.model, kind, tree.frames)
        strides = [*rows, *(math.prod(shape[k + 1 :]) for k in range(len(rows), len(shape)))]
        self._strides = strides
        # rows of numbers of several kinds have no axis of the table
        axes = [AXES.get(axis) if isinstance(axis, str) else None for axis in self.kind.axes]
        self._ranges = [(a, stride) for a, stride in zip(axes, strides, strict=True) if a is not None and a.start]
        rest = [(n, s) for a, n, s in zip(axes, shape, strides, strict=True) if a is None or not a.start]
        self._rest = [0]
        """The addresses of all numbers that a body's range along the other axes holds for each of its entries."""
        for length, stride in rest:
            self._rest = [at + stride * k for at in self._rest for k in range(length)]

    def _number(self, where: Where) -> Address:
        """Return the address of the number of a freedom, or of a pair of freedoms."""
        freedoms = where if isinstance(where, tuple) else (where,)
        if len(freedoms) != len(self._ranges) or any(a.start != "v" for a, _ in self._ranges):
            raise TraceError(f"{len(freedoms)} freedoms are not an index of an array of the kind {self._name!r}")
        return sum(self._tree.start("v", d) * stride for d, (_, stride) in zip(freedoms, self._ranges, strict=True))

    def _entries(self, i: Index) -> list[Address]:
        """Return the addresses at which the entries of a body's range are; the whole array has one."""
        if not self._ranges:
            return [0]
        if len(self._ranges) > 1:
            raise TraceError(f"one body is not an index of an array of the kind {self._name!r}: give two")
        (axis, stride) = self._ranges[0]
        count = 1 if axis.count is None else axis.count(i.kind.joint)
        first = self._tree.start(axis.start, i) * stride
        return [first + stride * k for k in range(count)]

    def numbers(self, i: Index) -> tuple[Scalar, ...]:
        """Read the numbers of a body's part, as they are in the array."""
        read, rest = self._read, self._rest
        return tuple([read(at + more) for at in self._entries(i) for more in rest])


class Input(_Array):
    """An argument of an algorithm, read at a body, at a freedom, or, if it belongs to the robot, at any index."""

    given = True
    """True if the caller gave it."""

    def rows(self, bodies: NDArray[np.int64]) -> Any:
        """Return the numbers of bodies with joints of one kind, as they are in the array: (bodies, batch, numbers)."""
        tables = self._tree.model.tables
        ((axis, stride),) = self._ranges
        count = 1 if axis.count is None else axis.count(tables.kinds[tables.kind[bodies[0]]].joint)
        start = bodies if axis.start == "body" else {"q": tables.q_start, "v": tables.v_start}[axis.start][bodies]
        within = [stride * k + more for k in range(count) for more in self._rest]
        return self.scalars.rows(start[:, None] * stride + np.array(within, np.int64))

    def part(self, i: Index, numbers: Any) -> Any:
        """Return a body's part of the argument from its numbers in the array."""
        value = self.kind.value(numbers)
        if self.kind.turned:
            return Force(i.turn.apply(value.angular), i.turn.apply(value.linear))
        return i.coordinates(self._name, value) if self._ranges else value

    def __getitem__(self, where: Where) -> Any:
        if not isinstance(where, Index):
            return self._read(self._number(where))
        return self.part(where, self.numbers(where))


class Zeros(Input):
    """An argument that the caller did not give, which is zero: terms with it vanish when traced."""

    given = False

    def __init__(self, tree: Tree, kind: str) -> None:
        super().__init__(tree, kind, lambda at: 0.0)

    def part(self, i: Index, numbers: Any) -> Any:
        """Return zeros."""
        return self.kind.value(numbers)

    def rows(self, bodies: NDArray[np.int64]) -> Any:
        """Return zeros, one row for all bodies."""
        numbers = self.numbers(self._tree.index(int(bodies[0])))
        return np.zeros((1, len(numbers)))

    def __getitem__(self, where: Where) -> Any:
        return self.kind.value(self.numbers(where)) if isinstance(where, Index) else 0.0


class Output(_Array):
    """A result of an algorithm, or scratch memory like one: set part by part, and read again."""

    def __init__(
        self,
        tree: Tree,
        kind: str,
        read: Callable[[Address], Scalar],
        write: Callable[[Address, Scalar], None],
        scalars: Any = None,
        rows: Sequence[int] = (),
    ) -> None:
        super().__init__(tree, kind, read, scalars, rows)
        self._write = write
        self.adds = tree.couplings > 0 and self.kind.adds

    def part(self, number: int, kind: str) -> Output:
        """Return one entry along the first axis, as a result of its own kind in the same memory."""
        start = number * core_size(self._tree.model, kind)
        return Output(
            self._tree, kind, lambda at: self._read(at + start), lambda at, x: self._write(at + start, x), self.scalars
        )

    def columns(self, start: int, kind: str) -> Output:
        """Return the columns from `start` on: entries along the last axis, as a result of its own kind.

        The kind has the other axes first, and then those of the columns.
        """
        return Output(
            self._tree, kind, lambda at: self._read(at + start), lambda at, x: self._write(at + start, x), self.scalars,
            self._strides[:-1],
        )  # fmt: skip

    def __getitem__(self, where: Where) -> Any:
        return Freedoms(self.numbers(where)) if isinstance(where, Index) else self._read(self._number(where))

    def __setitem__(self, where: Where, value: Any) -> None:
        if isinstance(where, Index):
            self._set_part(where, value)
        elif isinstance(where, tuple) and isinstance(where[0], Index):
            if isinstance(where[1], Index):
                between_freedoms = all(axis.start == "v" for axis, _ in self._ranges)
                (self._set_block if between_freedoms else self._set_entries)(where[0], where[1], value)
            else:
                self._set_columns(where[0], where[1], value)
        else:
            self._write(self._number(where), value)

    def _put(self, at: Address, x: Scalar, ratio: Scalar) -> None:
        """Write a number; or add it, times the ratio of its joint, to the number that is there."""
        self._write(at, self._read(at) + ratio * x if self.adds else x)

    def _set_part(self, i: Index, value: Any) -> None:
        if self.kind.turned:
            value = [(*i.turn.back(value.angular), *i.turn.back(value.linear))]
        elif len(self.kind.axes) == 1:
            value = [(x,) for x in value]
        else:
            value = [getattr(x, "scalars", x) for x in value]
        entries = self._entries(i)
        check_block(value, len(entries), len(self._rest))
        if i.kind.follows and not self.adds and self._ranges[0][0].start in ("q", "v"):
            return  # the coordinates belong to the joint that it follows
        for at, numbers in zip(entries, value, strict=True):
            for more, x in zip(self._rest, numbers, strict=True):
                self._put(at + more, x, i.ratio)

    def _set_columns(self, i: Index, d: Freedom, value: Sequence[Any]) -> None:
        """Set the numbers between the freedoms of a body and one freedom d, `value` for each freedom of the body."""
        (_, down), (_, across) = self._ranges
        first = self._tree.start("v", i) * down + self._tree.start("v", d) * across
        columns = [x.scalars for x in value]
        check_block(columns, i.kind.joint.nv, len(self._rest))
        for k, numbers in enumerate(columns):
            for more, x in zip(self._rest, numbers, strict=True):
                self._put(first + (k * down + more), x, i.ratio)

    def _set_block(self, one: Index, other: Index, value: Sequence[Sequence[Scalar]]) -> None:
        check_block(value, one.kind.joint.nv, other.kind.joint.nv)
        (_, down), (_, across) = self._ranges
        i, j = self._tree.start("v", one), self._tree.start("v", other)
        block, mirrored = i * down + j * across, j * down + i * across
        ratio, diagonal = one.ratio * other.ratio, one.key == other.key
        for r, row in enumerate(value):
            for c, x in enumerate(row):
                # one half of a block on the diagonal stands for both, so that the matrix is exactly symmetric
                if not (self.kind.symmetric and diagonal and c > r):
                    self._put(block + (r * down + c * across), x, ratio)
                if self.kind.symmetric and not (diagonal and c >= r):
                    self._put(mirrored + (c * down + r * across), x, ratio)

    def _set_entries(self, one: Index, other: Index, value: Sequence[Sequence[Scalar]]) -> None:
        """Set the numbers between a body or its freedoms, and those of another body that belong to that one alone."""
        (rows, down), (columns, across) = self._ranges
        counts = [1 if axis.count is None else axis.count(i.kind.joint) for axis, i in ((rows, one), (columns, other))]
        first = self._tree.start(rows.start, one) * down + self._tree.start(columns.start, other) * across
        places = [r * down + c * across + x for r in range(counts[0]) for c in range(counts[1]) for x in self._rest]
        numbers = [x for row in value for x in row]
        check_block(numbers, len(places))
        ratio = one.ratio if rows.start == "v" else 1.0
        for at, x in zip(places, numbers, strict=True):
            self._put(first + at, x, ratio)
