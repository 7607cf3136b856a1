"""Find which numbers of a rolled program have derivatives, and which are still in memory when the program has ended.

A memory is *active* if it depends on an argument that varies, and if the result depends on it. Only active memories
have rates (`rolled_forward`) or adjoints (`rolled_reverse`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...graph import Node, live
from ...records import dataclass
from .rolled_program import Block, Clear, Copy, Fetch, Fetched, Loop, Memory, Place, Position, Program, Store

__all__ = ["OWN_ROW", "PARENT_ROW", "Activity", "Lasting", "drop_unused", "memory_of"]

OWN_ROW = ((1, Position("row", "i")),)
PARENT_ROW = ((1, Position("row", "p")),)


def memory_of(node: Node) -> Memory | None:
    """Return the memory that a leaf reads; None for all other nodes."""
    place = node.data.place if isinstance(node.data, Fetched) else node.data
    return place.memory if isinstance(place, Place) else None


class _Flows:
    """The flow of numbers from memory to memory, whatever the order of the loops. Sets of memories are integers."""

    def __init__(self, program: Program, conditions: bool) -> None:
        """Follow the operands of all values; those of `conditions` decide on values, but have no derivatives."""
        self._bits: dict[Memory, int] = {}
        self._into: dict[Memory, int] = {}
        """For each memory, the memories that the values stored there depend on."""
        self.masks: dict[int, dict[int, int]] = {}
        """For each block by identity, and each of its values by index, the memories that it depends on."""
        for section in program.sections:
            for block in section.all():
                self._follow(block, conditions)

    def bit(self, memory: Memory) -> int:
        """Return the integer that stands for the set of one memory."""
        return self._bits.setdefault(memory, 1 << len(self._bits))

    def _follow(self, block: Block, conditions: bool) -> None:
        masks: dict[int, int] = {}
        for node in block.graph.nodes:
            memory = memory_of(node) if node.op == "leaf" else None
            mask = 0 if memory is None else self.bit(memory)
            for arg in node.args if conditions or node.op != "where_less" else node.args[2:]:
                mask |= masks.get(arg.index, 0)
            if mask:
                masks[node.index] = mask
        self.masks[id(block)] = masks
        for step in block.steps:
            if isinstance(step, Store):
                memory, mask = step.place.memory, masks.get(step.value.index, 0)
                self._into[memory] = self._into.get(memory, 0) | mask
            elif isinstance(step, Copy):
                self._into[step.array] = self._into.get(step.array, 0) | self.bit(step.source)

    def reached(self, start: set[Memory]) -> set[Memory]:
        """Return the memories that depend on given ones, with these."""
        return self._closure(start, lambda found: {m for m, x in self._into.items() if x & found})

    def sources(self, ends: set[Memory]) -> set[Memory]:
        """Return the memories that given ones depend on, with these."""

        def before(found: int) -> set[Memory]:
            mask = 0
            for memory, x in self._into.items():
                if self.bit(memory) & found:
                    mask |= x
            return {m for m, bit in self._bits.items() if bit & mask}

        return self._closure(ends, before)

    def _closure(self, start: set[Memory], more: Callable[[int], set[Memory]]) -> set[Memory]:
        """Return memories with those that `more` adds to them, again and again."""
        found, last = set(start), -1
        while len(found) != last:
            last = len(found)
            found |= more(sum(map(self.bit, found)))
        return found


class Activity:
    """The memories that have derivatives."""

    def __init__(self, program: Program, varied: set[Memory], results: set[Memory]) -> None:
        """Find the memories that depend on varied ones, and that results depend on."""
        flows = _Flows(program, conditions=False)
        self.active = flows.reached(varied) & flows.sources(results)
        self._masks, self._mask = flows.masks, sum(map(flows.bit, self.active))

    def depends(self, block: Block, node: Node) -> bool:
        """Return True if a value of a block depends on an active memory."""
        return bool(self._masks[id(block)].get(node.index, 0) & self._mask)


def drop_unused(program: Program) -> None:
    """Drop all steps that the result of a program does not depend on."""
    ends = {Memory("result"), *([] if program.result is None else [Memory("array", program.result)])}
    useful = _Flows(program, conditions=True).sources(ends)

    def prune(block: Block) -> bool:
        """Drop the steps of a block; return True if any are left."""
        kept = [step for step in block.steps if has_effect(step)]
        needed = {node.index for node in live(s.value for s in kept if isinstance(s, Store))}
        block.steps = [step for step in kept if not isinstance(step, Fetch) or step.value.index in needed]
        return bool(block.steps)

    def has_effect(step: Store | Fetch | Clear | Copy | Loop) -> bool:
        if isinstance(step, Loop):
            left = [prune(block) for block in step.blocks]
            return any(left)
        if isinstance(step, Fetch):
            return True
        return (step.place.memory if isinstance(step, Store) else step.array) in useful

    def is_left(section: Loop | Block) -> bool:
        return has_effect(section) if isinstance(section, Loop) else prune(section)

    program.sections = [section for section in program.sections if is_left(section)]


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
