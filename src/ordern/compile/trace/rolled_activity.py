"""Find which numbers of a rolled program have derivatives, and which are still in memory when the program has ended.

A memory is *active* if it depends on an argument that varies, and if the result depends on it. Only active memories
have rates (`rolled_forward`) or adjoints (`rolled_reverse`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...graph import Node
from ...records import dataclass
from .rolled_program import Block, Clear, Copy, Fetched, Loop, Memory, Place, Position, Program, Store

__all__ = ["OWN_ROW", "PARENT_ROW", "Activity", "Lasting", "memory_of"]

OWN_ROW = ((1, Position("row", "i")),)
PARENT_ROW = ((1, Position("row", "p")),)


def memory_of(node: Node) -> Memory | None:
    """Return the memory that a leaf reads; None for all other nodes."""
    place = node.data.place if isinstance(node.data, Fetched) else node.data
    return place.memory if isinstance(place, Place) else None


class Activity:
    """The memories that depend on varied ones, and those that the result depends on."""

    def __init__(self, program: Program, varied: set[Memory], results: set[Memory]) -> None:
        """Follow the flow of numbers through memory, regardless of the order of the loops."""
        self._bits: dict[Memory, int] = {}
        self._masks: dict[int, dict[int, int]] = {}
        flows: dict[Memory, int] = {}
        for section in program.sections:
            for block in section.all():
                self._flow(block, flows)
        depending = self._closure(varied, lambda found: {m for m, x in flows.items() if x & found})
        useful = self._closure(results, lambda found: self._sources(flows, found))
        self.active = depending & useful
        """The memories that have derivatives."""
        self._mask = sum(map(self._bit, self.active))

    def depends(self, block: Block, node: Node) -> bool:
        """Return True if a value of a block depends on an active memory."""
        return bool(self._masks[id(block)].get(node.index, 0) & self._mask)

    def _bit(self, memory: Memory) -> int:
        """Return the number with which a memory is a member of a set of memories that is one number."""
        return self._bits.setdefault(memory, 1 << len(self._bits))

    def _flow(self, block: Block, flows: dict[Memory, int]) -> None:
        """Add to `flows`, for each memory, the memories that the values stored there depend on."""
        masks: dict[int, int] = {}
        for node in block.graph.nodes:
            memory = memory_of(node) if node.op == "leaf" else None
            mask = 0 if memory is None else self._bit(memory)
            for arg in node.args[2:] if node.op == "where_less" else node.args:  # a condition has no derivative
                mask |= masks.get(arg.index, 0)
            if mask:
                masks[node.index] = mask
        self._masks[id(block)] = masks
        for step in block.steps:
            if isinstance(step, Store):
                self._bit(step.place.memory)
                flows[step.place.memory] = flows.get(step.place.memory, 0) | masks.get(step.value.index, 0)
            elif isinstance(step, Copy):
                flows[step.array] = flows.get(step.array, 0) | self._bit(step.source)

    def _closure(self, start: set[Memory], more: Callable[[int], set[Memory]]) -> set[Memory]:
        """Return memories with those that `more` adds to them, again and again, given the bits of those found."""
        found, last = set(start), -1
        while len(found) != last:
            last = len(found)
            found |= more(sum(map(self._bit, found)))
        return found

    def _sources(self, flows: dict[Memory, int], found: int) -> set[Memory]:
        """Return the memories whose numbers flow into found ones."""
        mask = 0
        for memory, x in flows.items():
            if self._bit(memory) & found:
                mask |= x
        return {m for m, bit in self._bits.items() if bit & mask}


@dataclass(frozen=True, slots=True)
class _Write:
    """A step that changes a memory: the number of its section, and its place, None for all of the memory."""

    section: int
    place: Place | None
    direct: bool
    """True if the block is that of a loop over bodies which stands in no other loop."""


class Lasting:
    """Tells which places still hold, at the end of a program, what a block has read or written there."""

    def __init__(self, program: Program) -> None:
        self._sections = program.sections
        self._writes: dict[Memory, list[_Write]] = {}
        for number, section in enumerate(program.sections):
            direct = section.blocks if isinstance(section, Loop) and section.index == "i" else []
            for block in section.all():
                for memory, place in _changes(block):
                    write = _Write(number, place, any(block is b for b in direct))
                    self._writes.setdefault(memory, []).append(write)

    def after_read(self, place: Place, section: int, direct: bool) -> bool:
        """Return True if nothing changes a place after a block of a section has read it."""
        writes = [w for w in self._writes.get(place.memory, ()) if w.section >= section]
        if any(w.section > section for w in writes):
            return False
        if not writes:
            return True
        loop = self._sections[section]
        if not direct or not isinstance(loop, Loop) or place.memory.kind != "field":
            return False
        # children are visited before their parent inward, and after it outward
        reading, writing = (OWN_ROW, PARENT_ROW) if loop.inward else (PARENT_ROW, OWN_ROW)
        return place.terms == reading and all(_is_at(w, writing) for w in writes)

    def after_write(self, place: Place, section: int, direct: bool) -> bool:
        """Return True if nothing changes a place of a loop's own body after its block has run."""
        if not direct or place.memory.kind != "field" or place.terms != OWN_ROW:
            return False
        writes = self._writes[place.memory]
        return all(w.section <= section and (w.section < section or _is_at(w, OWN_ROW)) for w in writes)

    def sections(self, memory: Memory) -> set[int]:
        """Return the numbers of the sections that write to a memory."""
        return {w.section for w in self._writes.get(memory, ())}

    def plain(self, memory: Memory) -> bool:
        """Return True if only the blocks of one loop over bodies write to a memory."""
        return len(self.sections(memory)) == 1 and all(w.direct for w in self._writes[memory])


def _is_at(write: _Write, terms: object) -> bool:
    return write.direct and write.place is not None and write.place.terms == terms


def _changes(block: Block) -> Iterator[tuple[Memory, Place | None]]:
    for step in block.steps:
        if isinstance(step, Store):
            yield step.place.memory, step.place
        elif isinstance(step, (Clear, Copy)):
            yield step.array, None
