"""How a kernel uses a GPU: threads in a block, registers of a thread, and how early it reads its arguments.

The tables have one row for each generation of devices for which the choice was measured; others use the row of the
newest generation before them, or the oldest row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from ...graph import Node
from ...records import dataclass
from .machine import generation

__all__ = ["Plan", "live_values", "loop_plan", "straight_plan", "team_plan"]


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
_THREADS = {
    # (words of 32 bits that are live at the same time, up to; plan)
    70: (
        (250, Plan(128, 0, _ANY, _ANY)),
        (_ANY, Plan(128, 0, 100, 300)),
    ),
}
_TEAMS = {
    # (bytes of a number, plan)
    70: {4: Plan(0, 128, 0, _ANY, team="limbs"), 8: Plan(0, 168, 0, _ANY, team="limbs")},
}
_LOOPS = {70: Plan(128, 0, 0, 300)}
_CROWDED = 250
"""Live words from which the values of a state are too many for the registers of one thread."""
_T = TypeVar("_T")


def _row(table: Mapping[int, _T], arch: str) -> _T:
    """Return the row of the newest generation that is not newer than a device."""
    known = generation(arch)
    return table[max((x for x in table if x <= known), default=min(table))]


def straight_plan(work: Sequence[Node], itemsize: int, arch: str) -> Plan:
    """Return the plan of straight-line code with one state a thread, by the values that are live at the same time."""
    words = live_values(work) * itemsize // 4
    return next(plan for most, plan in _row(_THREADS, arch) if words <= most)


def team_plan(work: Sequence[Node], itemsize: int, arch: str) -> Plan | None:
    """Return the plan of straight-line code that can be divided among warps; None if a thread can do all of it."""
    return _row(_TEAMS, arch)[itemsize] if live_values(work) * itemsize // 4 > _CROWDED else None


def loop_plan(arch: str) -> Plan:
    """Return the plan of code with loops, whose values are in memory between them."""
    return _row(_LOOPS, arch)


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
