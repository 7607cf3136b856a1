"""The workspace of a rolled program: where each field and array is, and how long each must be kept.

First comes one row of slots for the base and each body: a slot holds one number of a field. Then come the arrays.
"""

from __future__ import annotations

from ...graph import Node, live
from ...records import dataclass
from .rolled_program import Block, Copy, Fetched, Loop, Memory, Place, Program, Store

__all__ = ["Regions", "Use", "assign_memory"]

Regions = dict[Memory, tuple[int, int]]
"""The start of each memory, and the distance between its entries, counted in numbers."""


@dataclass(frozen=True, slots=True)
class Use:
    """The memories that a section reads, the fields that it reads or writes, and the nodes that its blocks need."""

    read: set[Memory]
    fields: set[int]
    needed: dict[int, list[Node]]
    """By the identity of the block."""

    @classmethod
    def of(cls, section: Loop | Block) -> Use:
        """Return the use of memory by a section of a program."""
        needed = {id(block): live(block.roots()) for block in section.all()}
        leaves = (node.data for nodes in needed.values() for node in nodes if node.op == "leaf")
        places = (leaf.place if isinstance(leaf, Fetched) else leaf for leaf in leaves)
        read = {place.memory for place in places if isinstance(place, Place)}
        read |= {step.source for block in section.all() for step in block.steps if isinstance(step, Copy)}
        stores = (step for block in section.all() for step in block.steps if isinstance(step, Store))
        used = (*read, *(step.place.memory for step in stores))
        return cls(read, {memory.number for memory in used if memory.kind == "field"}, needed)


def assign_memory(program: Program, uses: list[Use], start: int, given: Regions) -> tuple[Regions, int]:
    """Place every field and array that is read, beside the `given` regions of arguments and result.

    Return all regions, and where the workspace ends.
    """
    slots = _assign_slots(uses)
    width = max(slots.values(), default=-1) + 1
    regions = {**given, **{memory: (start + slot, width) for memory, slot in slots.items()}}
    if program.result is not None:
        regions[Memory("array", program.result)] = given[Memory("result")]
    end = start + (len(program.model.bodies) + 1) * width
    for memory in sorted({memory for use in uses for memory in use.read}):
        if memory.kind == "array" and memory not in regions:
            regions[memory], end = (end, 1), end + program.arrays[memory.number]
    return regions, end


def _assign_slots(uses: list[Use]) -> dict[Memory, int]:
    """Find a slot for each number of each field that is read; fields whose lives do not overlap share slots."""
    first: dict[int, int] = {}  # by field: the base's values of all its numbers are written together
    last: dict[Memory, int] = {}
    for number, use in enumerate(uses):
        last.update((memory, number) for memory in use.read if memory.kind == "field")
        for f in use.fields:
            first.setdefault(f, number)
    slots: dict[Memory, int] = {}
    busy: list[int] = []
    for memory in sorted(last, key=lambda memory: (first[memory.number], memory)):
        slot = next((s for s, end in enumerate(busy) if end < first[memory.number]), len(busy))
        if slot == len(busy):
            busy.append(0)
        slots[memory], busy[slot] = slot, last[memory]
    return slots
