"""Values that do not fit into registers: which of them wait in memory, and when.

A thread has 255 registers of 32 bits, and the dynamics of a humanoid robot keep 450 values alive. The assembler would
choose what to keep by itself, but knows only the memory of the thread, and takes minutes for long code. Here the value
whose next use is farthest goes to a slot of memory (Belady's rule), from where it is read again just before that use.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import field

from ...graph import Node
from ...records import dataclass
from .emitter import ThreadEmitter

__all__ = ["Schedule", "Slots", "spill_schedule"]


@dataclass(slots=True)
class Schedule:
    """When values move, by the position of an operation: the index of a node, and its slot."""

    read: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    """Values to read before an operation."""
    write: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    """Values to write after an operation."""
    count: int = 0
    """The number of slots."""


class _Uses:
    """The positions at which each value of straight-line code is used."""

    def __init__(self, work: Sequence[Node]) -> None:
        self._at: dict[int, list[int]] = {}
        for position in range(len(work) - 1, -1, -1):
            for index in {a.index for a in work[position].args if a.args}:
                self._at.setdefault(index, []).append(position)

    def after(self, index: int, position: int) -> int | None:
        """Return the next use of a value after a position, which never decreases; None if there is none."""
        at = self._at.get(index, [])
        while at and at[-1] <= position:
            at.pop()
        return at[-1] if at else None


def spill_schedule(work: Sequence[Node], keep: int) -> Schedule:
    """Return when values of straight-line code move, if so many of them are in registers at the same time."""
    uses, found = _Uses(work), Schedule()
    held: dict[int, int] = {}  # the next use of values in registers
    farthest: list[tuple[int, int]] = []  # a heap of (-next use, value), also of uses that are past
    slots: dict[int, int] = {}
    free: list[int] = []

    def hold(index: int, use: int) -> None:
        held[index] = use
        heapq.heappush(farthest, (-use, index))

    for position, node in enumerate(work):
        operands = {a.index for a in node.args if a.args}
        for index in operands - held.keys():
            found.read.setdefault(position, []).append((index, slots[index]))
        for index in operands:
            held.pop(index, None)
            use = uses.after(index, position)
            if use is not None:
                hold(index, use)
            elif index in slots:
                free.append(slots.pop(index))
        use = uses.after(node.index, position)
        if use is not None:
            hold(node.index, use)
        while len(held) > keep:
            minus, index = heapq.heappop(farthest)
            if held.get(index) != -minus:
                continue
            del held[index]
            if index not in slots:
                slots[index] = free.pop() if free else found.count
                found.count = max(found.count, slots[index] + 1)
                found.write.setdefault(position, []).append((index, slots[index]))
    return found


class Slots:
    """Memory of a thread for values that wait: its own ("local"), or a part of what its block shares ("shared").

    LLVM would keep what was just stored in a register, and so undo the choice. Therefore slots are read and written
    by instructions that it does not look into.
    """

    def __init__(self, e: ThreadEmitter, base: str, space: str, apart: int, on_device: bool) -> None:
        """Begin at an address; the slots are `apart` numbers from each other."""
        self._e, self._base, self._space, self._apart, self._on_device = e, base, space, apart, on_device
        self._letter = "f" if e.dtype == "float32" else "d"
        self._kind = f"{space}.f{8 * e.target.itemsize}"
        self._address = "r" if space == "shared" else "l"

    def read(self, slot: int) -> str:
        """Read a value."""
        e = self._e
        if not self._on_device:
            return e.value(f"load volatile {e.element}, ptr {self._at(slot)}")
        text = f'asm sideeffect "ld.{self._kind} $0, [$1+{self._bytes(slot)}];", "={self._letter},{self._address}"'
        return e.value(f"call {e.element} {text}({self._pointer})")

    def write(self, slot: int, name: str) -> None:
        """Write a value."""
        e = self._e
        if not self._on_device:
            e.line(f"store volatile {e.element} {name}, ptr {self._at(slot)}")
            return
        text = f'asm sideeffect "st.{self._kind} [$0+{self._bytes(slot)}], $1;", "{self._address},{self._letter}"'
        e.line(f"call void {text}({self._pointer}, {e.element} {name})")

    @property
    def _pointer(self) -> str:
        return f"i32 {self._base}" if self._space == "shared" else f"i64 {self._base}"

    def _bytes(self, slot: int) -> int:
        return slot * self._apart * self._e.target.itemsize

    def _at(self, slot: int) -> str:
        return self._e.value(f"getelementptr i8, ptr {self._base}, i64 {self._bytes(slot)}")
