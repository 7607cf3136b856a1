"""Check that a rolled program reads no field before it is set.

This runs whenever an algorithm is traced, since an algorithm from outside the library may read a field too early. The
tests check the other rules of programs.
"""

from __future__ import annotations

from ...errors import TraceError
from ...graph import live
from .rolled_program import Block, Clear, Copy, Fetch, Loop, Memory, Place, Position, Program, Store, Terms

__all__ = ["ON_THE_WAY", "check_reads"]

_AT_PARENT: Terms = ((1, Position("row", "p")),)
ON_THE_WAY = ("ancestors", "elimination path", "same joint")
"""Loops that start at a body or freedom of the loop around them."""


def check_reads(program: Program) -> None:
    """Raise a TraceError if a field or a result is read before it is set."""
    reads = _Reads(program)
    for section in program.sections:
        reads.stages += 1
        if isinstance(section, Loop):
            reads.loop(section, reads.stages, frozenset())
        else:
            reads.block(section, reads.stages, frozenset())


class _Reads:
    """Visits a program in order. A stage is a loop, or straight code between loops."""

    def __init__(self, program: Program) -> None:
        self.program, self.stages = program, 0
        self._first_set: dict[tuple[str, int], int] = {}

    def loop(self, loop: Loop, stage: int, chained: frozenset[Memory]) -> None:
        """Visit the blocks of a loop. From the base outward, a loop may read at the parent what it sets itself."""
        if loop.index == "i" and not loop.inward:
            steps = (step for block in loop.blocks for step in block.steps if isinstance(step, Store))
            chained = frozenset(step.place.memory for step in steps)
        for block in loop.blocks:
            self.block(block, stage, chained)

    def block(self, block: Block, stage: int, chained: frozenset[Memory]) -> None:
        """Visit the steps of a block, and the leaves that it needs."""
        for node in live(block.roots()):
            if node.op == "leaf" and isinstance(node.data, Place):
                self._read(node.data, stage, chained)
        for step in block.steps:
            if isinstance(step, Fetch):
                self._read(step.value.data.place, stage, chained)
            elif isinstance(step, Store):
                self._first_set.setdefault(step.place.memory[:2], stage)
            elif isinstance(step, (Clear, Copy)):
                self._first_set.setdefault(step.array[:2], stage)
            elif step.over in ON_THE_WAY:
                self.loop(step, stage, chained)
            else:
                self.stages += 1
                self.loop(step, self.stages, chained)

    def _read(self, place: Place, stage: int, chained: frozenset[Memory]) -> None:
        kind, number, _ = place.memory
        first = self._first_set.get((kind, number))
        if kind == "array" and first is None:
            raise TraceError("a result of an algorithm is read before any of it was set")
        at_base = not place.terms and place.offset == 0
        if kind != "field" or at_base or not self.program.field_bases[number]:  # own fields know where they were set
            return
        if first in (None, stage) and not (place.terms == _AT_PARENT and place.memory in chained):
            raise TraceError("a field is read at a body before it was set there")
