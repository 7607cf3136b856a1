"""The record of a kernel as PTX: its text, and all that a launcher must know.

A kernel computes states 0, 1 ... n - 1. Each argument is an array of rows, one for each state, and the numbers of a row
are next to each other. The parameters of the entry are 64 bits each, in this order:

| parameter | meaning |
|---|---|
| for each argument: address, stride | numbers from the row of a state to the next; 0 if one row serves all states |
| address and stride of the result | rows of the result; they may not overlap the arguments |
| address of the workspace | 0 if `workspace` is 0 |
| address of the tables | the bytes `tables`, aligned to 16 bytes; 0 if there are none |
| number of states n | at least 1 |

The arguments are the ports of the request, in order; the numbers of a varied robot come last, if the code reads any. A
block has exactly `block` threads in one dimension, and computes `states` states at a time. A kernel without a workspace
needs ceil(n / states) blocks. A kernel with a workspace takes any number of blocks, which take groups of states by
turns: as many blocks as fit on the device at once are enough. Its workspace has `workspace` numbers for each of the
`states` states of each block that is launched.

The result of a state does not depend on its place in the batch, nor on the number of blocks.
"""

from __future__ import annotations

from ...records import dataclass

__all__ = ["PtxCode"]


@dataclass(frozen=True, slots=True)
class PtxCode:
    """A kernel as PTX."""

    text: str
    entry: str
    """The name of the kernel."""
    block: int
    """Threads in a block, exactly."""
    states: int
    """States that a block computes at a time."""
    way: str
    """"unrolled" or "rolled"."""
    operations: int
    """Arithmetic operations per state."""
    shared_bytes: int = 0
    """Bytes of dynamic shared memory of a block."""
    workspace: int = 0
    """Numbers of global memory for each state of a launched block."""
    tables: bytes = b""
    """Constants that the code reads: to be uploaded once."""
    numbers: tuple[int, ...] | None = None
    """The places of the numbers that vary which the code reads (see `ordern.compile.pipeline.Code`); None for all."""
    registers: int = 0
    """The most registers of a thread; 0 if the assembler chooses."""
