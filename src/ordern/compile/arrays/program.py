"""A program on arrays: what a text that works on all bodies at once does, as a list of steps.

Each array is a table of rows, one for each body or pair of bodies. A row holds the numbers of an element, such as a
6x6 matrix, for each state of the batch. A step applies a piece to rows of some tables and writes rows of new ones, or
copies rows. The steps are the same for all states of a robot: a machine that runs them needs no Python per body.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arguments import AnyArray
from ...model import Piece
from ...records import dataclass

__all__ = ["Apply", "Copy", "Program", "Rows", "Table", "View", "first_places", "used"]


@dataclass(frozen=True, slots=True)
class Table:
    """A table of rows: its number, how many rows it has, and the numbers of a row for each state."""

    number: int
    rows: int
    width: int
    batched: bool
    """True if a row has its numbers for each state of the batch; False if for all states at once."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a table in an order: first, first + step, ... or those that `places` lists."""

    count: int
    first: int = 0
    step: int = 1
    places: NDArray[np.int64] | None = field(default=None, compare=False)

    @classmethod
    def of(cls, places: AnyArray) -> Rows:
        """Return rows by their places; evenly spaced ones need no list."""
        count = len(places)
        if count < 2:
            return cls(count, int(places[0]) if count else 0, 1)
        step = int(places[1] - places[0])
        if (np.diff(places) == step).all():
            return cls(count, int(places[0]), step)
        return cls(count, places=np.ascontiguousarray(places, np.int64))

    @property
    def all_places(self) -> NDArray[np.int64]:
        """The places of the rows."""
        return self.first + self.step * np.arange(self.count) if self.places is None else self.places

    def some(self, which: slice | AnyArray) -> Rows:
        """Return some of the rows."""
        if isinstance(which, slice) and self.places is None:
            r = range(self.count)[which]
            return Rows(len(r), self.first + self.step * r.start, self.step * r.step)
        return Rows.of(self.all_places[which])


@dataclass(frozen=True, slots=True)
class View:
    """Rows of a table, and of each row the numbers at some places, in an order."""

    table: Table
    rows: Rows
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Apply:
    """Apply a piece to rows of tables; each result is a new table."""

    piece: Piece
    cores: tuple[tuple[int, ...], ...]
    """The shapes of the elements of the inputs."""
    inputs: tuple[View, ...]
    results: tuple[Table, ...]
    traced: tuple[AnyArray, ...] = field(compare=False)
    """The elements of the results, as nodes of a graph whose leaves are (input, number); inputs without numbers do not
    count."""
    stored: tuple[tuple[int, ...], ...]
    """For each result the places of the numbers that its table has: equal numbers of an element are there once."""
    count: int
    """The number of elements. An input with a single row is the same for all."""


@dataclass(frozen=True, slots=True)
class Copy:
    """Copy rows to rows of another table; a source with one row, or one number, is the same for all."""

    source: View
    target: View


@dataclass(frozen=True, slots=True)
class Program:
    """The steps, in order."""

    steps: tuple[Apply | Copy, ...]
    tables: tuple[Table, ...]
    inputs: tuple[Table, ...]
    """The tables of the arguments: a row of one number for each number of the argument."""
    constants: dict[int, AnyArray]
    """The numbers of tables that are known, by the number of the table: (rows, width)."""
    result: Table

    def last_uses(self) -> list[int]:
        """Return for each table the number of the last step that reads or writes it."""
        found = [-1] * len(self.tables)
        for k, step in enumerate(self.steps):
            for table in used(step):
                found[table.number] = k
        found[self.result.number] = len(self.steps)
        return found

    def places(self) -> tuple[list[int], int]:
        """Return where each table starts in one memory, in numbers per state, and how many numbers it needs.

        Tables that are never needed at the same time share their place. Tables of constants stay, and have none: -1.
        """
        last, starts = self.last_uses(), [-1] * len(self.tables)
        free: list[tuple[int, int]] = []  # parts (start, size) that are not in use, in order
        end = 0

        def take(size: int) -> int:
            nonlocal end
            for k, (start, length) in enumerate(free):
                if length >= size:
                    free[k : k + 1] = [(start + size, length - size)] if length > size else []
                    return start
            end += size
            return end - size

        def give(start: int, size: int) -> None:
            free.append((start, size))
            free.sort()
            merged: list[tuple[int, int]] = []
            for at, length in free:
                if merged and sum(merged[-1]) == at:
                    merged[-1] = merged[-1][0], merged[-1][1] + length
                else:
                    merged.append((at, length))
            free[:] = merged

        for table in self.inputs:
            starts[table.number] = take(table.rows * table.width)
        for k, step in enumerate(self.steps):
            tables = [x for x in dict.fromkeys(used(step)) if x.number not in self.constants]
            for table in tables:
                if starts[table.number] < 0:
                    starts[table.number] = take(table.rows * table.width)
            for table in tables:
                if last[table.number] == k and table not in self.inputs:
                    give(starts[table.number], table.rows * table.width)
        return starts, end


def used(step: Apply | Copy) -> list[Table]:
    """Return the tables that a step reads or writes."""
    if isinstance(step, Copy):
        return [step.source.table, step.target.table]
    return [*(x.table for x in step.inputs), *step.results]


def first_places(labels: Sequence[Any]) -> tuple[int, ...]:
    """Return for each label the first place that has the same."""
    first: dict[Any, int] = {}
    return tuple(first.setdefault(x, k) for k, x in enumerate(labels))
