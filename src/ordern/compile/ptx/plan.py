"""How a kernel uses a GPU: threads in a block, registers of a thread, and which threads share a state.

The tables have one row for each generation of devices for which the choice was measured; others use the row of the
newest generation before them, or the oldest row. `straight_plan` explains the choice. Measured on an H200: forward
and inverse dynamics, mass matrices, derivatives and rollouts of Panda, Go2, Talos, G1 and chains. The limits between
these robots were not measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from ...graph import Node
from ...records import dataclass
from .limbs import Division, undivided
from .machine import generation, shared_bytes
from .spills import spill_schedule

__all__ = ["Plan", "live_values", "loop_plan", "repeat_plan", "shared_numbers", "straight_plan", "thread_plan"]


@dataclass(frozen=True, slots=True)
class Plan:
    """The choices of a kernel."""

    block: int
    """Threads in a block."""
    registers: int
    """The most registers of a thread, of 32 bits; 0 if the assembler chooses."""
    ahead: int
    """Operations between the reading of an argument and its first use."""
    piece: int
    """Operations between branches that are never taken, across which the assembler moves nothing."""
    keep: int = 0
    """Values in registers at the same time, of 32 bits; others wait in slots. 0 if the assembler chooses."""
    space: str = "local"
    """The memory of the slots: "local" or "shared"."""
    team: str = ""
    """"limbs" if the warps of a block divide the work of 32 states, "rows" if one warp does it; they read rows through
    shared memory. Empty if each thread of a block computes a state of its own."""
    groups: int = 1
    """Groups of 32 states in a block of a team: warps with the same work run side by side, and read the same code."""


_ANY = 1 << 30
_GROUP = 32
_THREADS = {
    # (words of 32 bits that are live at the same time, up to; plan): occupancy is worth more than a few spills
    90: (
        (80, Plan(128, 72, _ANY, _ANY)),
        (120, Plan(128, 128, _ANY, _ANY)),
        (155, Plan(128, 168, _ANY, _ANY)),
        (255, Plan(128, 0, _ANY, _ANY)),
        (_ANY, Plan(128, 0, 100, 300)),
    ),
}
_LIMBS = {
    # (bytes of a number; words that are live in the warp with most of them, up to; plan)
    90: (
        (4, _ANY, Plan(0, 128, 0, _ANY, team="limbs")),
        (8, 180, Plan(0, 128, 0, _ANY, team="limbs")),
        (8, _ANY, Plan(0, 0, 0, _ANY, team="limbs")),
    ),
}
_ROWS = {90: (Plan(0, 0, 0, _ANY, team="rows"), Plan(0, 0, 0, 300, team="rows"))}
"""For code whose values fit into registers, and for code whose values do not."""
_SLOTS = {90: Plan(64, 0, 100, _ANY, keep=200, space="shared")}
_LOOPS = {90: Plan(128, 0, 0, 300)}
_REPEATS = {90: Plan(64, 255, 100, 300)}
"""If the assembler chooses the registers of such code in double precision, it takes 32, and spills all else."""
_EASY = 120
"""Live words up to which 16 warps fit on a multiprocessor: these hide that threads read their own rows."""
_CROWDED = 255
"""Live words from which the values of a state are too many for the registers of one thread."""
_SHORT = 40
"""Numbers of a result that threads may write to their own rows."""
_ROW_BYTES = 28 * 1024
"""Bytes of the rows of 32 states with which 8 warps fit on a multiprocessor."""
_SLOT_BYTES = 1500
"""Bytes of slots with which 4 warps fit on a multiprocessor."""
_T = TypeVar("_T")


def _row(table: Mapping[int, _T], arch: str) -> _T:
    """Return the row of the newest generation that is not newer than a device."""
    known = generation(arch)
    return table[max((x for x in table if x <= known), default=min(table))]


def loop_plan(arch: str) -> Plan:
    """Return the plan of code with loops, whose values are in memory between them."""
    return _row(_LOOPS, arch)


def repeat_plan(arch: str) -> Plan:
    """Return the plan of straight-line code with iterations: what they read is live all the time, in one thread."""
    return _row(_REPEATS, arch)


def thread_plan(work: Sequence[Node], itemsize: int, arch: str) -> Plan:
    """Return the plan of straight-line code with one state a thread, by the values that are live at the same time."""
    words = live_values(work) * itemsize // 4
    return next(plan for most, plan in _row(_THREADS, arch) if words <= most)


def straight_plan(
    work: list[Node], rows: int, result: int, division: Callable[[], Division], itemsize: int, arch: str
) -> tuple[Plan, Division | None]:
    """Return the plan of straight-line code, and the division of its work if warps read rows through shared memory.

    `rows` are the numbers of all rows of a state, `result` those of its result. In this order:

    * few live values and a short result: one state a thread, which reads and writes its own rows;
    * values that fit into the registers of a thread, or a result that is long but fits into shared memory: one state a
      thread, and rows go through shared memory;
    * too many values, of a robot with limbs: a warp for each limb;
    * too many values for registers, but not for shared memory: slots there;
    * all else: the assembler spills.
    """
    words, room = live_values(work) * itemsize // 4, _GROUP * rows * itemsize
    if words <= _EASY and result <= _SHORT:
        return thread_plan(work, itemsize, arch), None
    fits, crowded = room <= min(_ROW_BYTES, shared_bytes(arch)), words > _CROWDED
    if fits and not crowded:
        return _row(_ROWS, arch)[0], undivided(work)
    if crowded:
        found = division()
        plan = _limb_plan(found, itemsize, arch)
        if len(found.warps) > 1 and shared_numbers(rows, found, plan) * itemsize <= shared_bytes(arch):
            return plan, found
    if fits and result > _SHORT:
        return _row(_ROWS, arch)[1], undivided(work)
    slots = _row(_SLOTS, arch)
    if crowded and spill_schedule(work, slots.keep * 4 // itemsize).count * itemsize <= _SLOT_BYTES:
        return slots, None
    return thread_plan(work, itemsize, arch), None


def _limb_plan(division: Division, itemsize: int, arch: str) -> Plan:
    """Return the plan of divided work, by the values that are live in a warp."""
    most = max(live_values([node for phase in warp for node in phase]) for warp in division.warps) * itemsize // 4
    return next(plan for size, words, plan in _row(_LIMBS, arch) if size == itemsize and most <= words)


def shared_numbers(rows: int, division: Division, plan: Plan) -> int:
    """Return the numbers of shared memory that a block of a team needs, for rows of so many numbers."""
    return _GROUP * plan.groups * (rows + division.slots)


def live_values(work: Sequence[Node]) -> int:
    """Return the largest number of values that are needed later, at any point of straight-line code."""
    last = {a.index: position for position, node in enumerate(work) for a in node.args if a.args}
    ends = [0] * len(work)
    for position in last.values():
        ends[position] += 1
    most = now = 0
    for position, node in enumerate(work):
        now += (node.index in last) - ends[position]
        most = max(most, now)
    return most
