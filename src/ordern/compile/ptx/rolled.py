"""A rolled program as a kernel: each thread runs all loops for its state.

The fields and arrays of a program are in a workspace in the memory of the device, in which the numbers of the states of
a block alternate: when the threads of a warp read the same number of their states, they read one line of memory. All
threads are at the same body at the same time, so what they read of the tables is the same.
"""

from __future__ import annotations

from ..emit.rolled import RolledWriter, Tables
from ..trace.rolled_memory import Regions, Use, assign_memory
from ..trace.rolled_program import Memory, Program
from ..trace.rolled_tables import Data
from .emitter import Row
from .entry import Arguments, Entry

__all__ = ["write_rolled"]

_ALIGNED = 16
"""Each table begins at a multiple of so many bytes."""


def write_rolled(entry: Entry, program: Program) -> tuple[int, bytes]:
    """Write a program; return the numbers of its workspace, and its tables."""
    e, layout = entry.e, entry.layout
    data = Data(program.model, e.dtype, program.frame_body, program.has_freedoms, program.walks_from_root)
    places, tables = _packed(data)
    uses = [Use.of(section) for section in program.sections]
    given: Regions = {Memory("input", k): (0, 1) for k in range(len(layout.inputs))}
    given[Memory("result")] = 0, 1
    regions, end = assign_memory(program, uses, 0, given)
    addresses = Tables(*(entry.named["%tables"].at(place) for place in places))
    with entry.state(max(1, end)) as arguments:
        e.clear(arguments.output, 0, layout.output.size)  # entries that no loop writes are zero
        RolledWriter(program, regions, e, lambda memory: _base(memory, program, arguments), addresses).program(uses)
    return entry.workspace(max(1, end)), tables


def _base(memory: Memory, program: Program, arguments: Arguments) -> Row:
    """Return the address from which the places of a memory are counted."""
    if memory.kind == "input":
        return arguments.inputs[memory.number]
    result = memory.kind == "result" or (memory.kind == "array" and memory.number == program.result)
    return arguments.output if result else arguments.workspace


def _packed(data: Data) -> tuple[list[int], bytes]:
    """Return all tables one after the other, and where each begins."""
    places, packed = [], b""
    for array in data.arrays:
        packed += bytes(-len(packed) % _ALIGNED)
        places.append(len(packed))
        packed += array.tobytes()
    return places, packed
