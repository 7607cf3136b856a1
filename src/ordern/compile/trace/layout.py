"""The layout of a kernel: its arguments, and the places of their numbers in its workspace.

A kernel works on a tile: one vector of states for every number of every argument. The workspace holds the tiles of
the arguments, the tile of the result, and scratch. Each tile is padded to whole blocks of `lanes` vectors, so that
blocks can be transposed into it without looking at where it ends.

A large result that has the same number in several places (a mass matrix is symmetric, and half of it may be zeros) has
a tile of its distinct numbers, which fits into a closer cache, and a table of where they go.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import field, replace

from ...records import dataclass

__all__ = ["Layout", "Operand", "sharing"]

_LARGE = 600
"""The size of a result from which equal numbers are stored once: smaller results fit in the first-level cache."""


@dataclass(frozen=True, slots=True)
class Operand:
    """An argument or the result: its name, and its shape for one state."""

    name: str
    shape: tuple[int, ...]
    entries: tuple[int, ...] | None = None
    """The numbers of a longer array that it holds, in order; None if it holds all."""

    @property
    def size(self) -> int:
        """The number of scalars per state."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class Layout:
    """The arguments and result of a kernel, and the starts of their tiles in the workspace, counted in vectors."""

    inputs: tuple[Operand, ...]
    output: Operand
    lanes: int
    where: tuple[int, ...] = field(default=(), kw_only=True)
    """For each number of a result that repeats numbers, the vector of its tile; empty if they are in order."""

    def _padded(self, operand: Operand) -> int:
        return -(-operand.size // self.lanes) * self.lanes

    def input_tile(self, k: int) -> int:
        """Return the start of the tile of input k."""
        return sum(self._padded(operand) for operand in self.inputs[:k])

    def leaves(self) -> Callable[[tuple[int, int]], int]:
        """Return a function that gives the place of a number in the workspace, from its input and its place there."""
        tiles = [self.input_tile(k) for k in range(len(self.inputs))]
        held = [None if x.entries is None else {n: k for k, n in enumerate(x.entries)} for x in self.inputs]

        def place(leaf: tuple[int, int]) -> int:
            k, n = leaf
            entries = held[k]
            return tiles[k] + (n if entries is None else entries[n])

        return place

    @property
    def output_tile(self) -> int:
        """The start of the tile of the result."""
        return self.input_tile(len(self.inputs))

    @property
    def places(self) -> tuple[int, ...]:
        """For each number of the result the vector of its tile, padded to whole blocks; empty if they are in order."""
        return self.where + (0,) * (self._padded(self.output) - len(self.where)) if self.where else ()

    @property
    def spread_tile(self) -> int:
        """The start of the room for the result with all its repetitions; the result's tile if nothing is repeated."""
        return self.output_tile + max(self.where, default=-1) + 1

    @property
    def scratch(self) -> int:
        """The end of the tiles and start of scratch memory."""
        return self.spread_tile + self._padded(self.output)

    @property
    def signature(self) -> str:
        """The generalized ufunc signature, without the workspace. NumPy has names for lengths of zero alone."""
        core = [f"({','.join(str(n or 'none') for n in o.shape)})" for o in (*self.inputs, self.output)]
        return f"{','.join(core[:-1])}->{core[-1]}"


def sharing(layout: Layout, numbers: Sequence[Hashable]) -> Layout:
    """Return a layout in which equal `numbers` of the result are stored once, if that makes it much smaller."""
    vectors: dict[Hashable, int] = {}
    where = tuple(vectors.setdefault(x, len(vectors)) for x in numbers)
    if len(where) < _LARGE or 4 * len(vectors) > 3 * len(where):
        return layout
    return replace(layout, where=where)
