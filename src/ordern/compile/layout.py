"""Where a kernel keeps its numbers: the arguments it takes, and its workspace.

A kernel works on a tile: one vector of states for every number of every argument. The workspace holds the tiles of
the arguments, the tile of the result, and scratch. Each tile is padded to whole blocks of `lanes` vectors, so that
blocks can be transposed into it without looking at where it ends.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Layout", "Operand"]


@dataclass(frozen=True, slots=True)
class Operand:
    """An argument or the result: its name, the shape of one state's part of it."""

    name: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Numbers per state."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class Layout:
    """The arguments and result of a kernel, and where their tiles are, in vectors from the workspace's start."""

    inputs: tuple[Operand, ...]
    output: Operand
    lanes: int

    def _padded(self, operand: Operand) -> int:
        return -(-operand.size // self.lanes) * self.lanes

    def input_tile(self, k: int) -> int:
        """Where the tile of input k begins."""
        return sum(self._padded(operand) for operand in self.inputs[:k])

    @property
    def output_tile(self) -> int:
        """Where the tile of the result begins."""
        return self.input_tile(len(self.inputs))

    @property
    def scratch(self) -> int:
        """Where the tiles end and scratch begins."""
        return self.output_tile + self._padded(self.output)

    @property
    def signature(self) -> str:
        """The generalized ufunc signature, without the workspace."""
        core = [f"({','.join(map(str, o.shape))})" for o in (*self.inputs, self.output)]
        return f"{','.join(core[:-1])}->{core[-1]}"
