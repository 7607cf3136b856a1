"""Kernels in which several warps compute a group of 32 states: one thread of each warp works on a state.

The rows of a group are first copied to shared memory, by instructions in which the threads of a warp copy neighbours:
if each thread read its own row, every instruction would touch 32 lines of memory. Then each warp computes its part of
the work, phase by phase (`limbs.py`). Results are collected in shared memory, and copied in the end.

A state beyond the end of the batch is computed as the last one, and not stored.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...graph import Node, Scalar
from ..emit.builder import Value
from ..emit.target import Target
from ..trace.layout import Layout, Operand
from .entry import Frame, parameters_of
from .limbs import Division
from .plan import Plan
from .spills import Slots

__all__ = ["GROUP", "Team", "write_team"]

GROUP = 32
"""States of a group: the threads of a warp."""
_NEAR = 40
"""Operations after which an argument is read again instead of being kept in a register."""


class Team(Frame):
    """Writes a kernel of blocks with one group of states each."""

    def __init__(
        self, target: Target, layout: Layout, warps: int, passed: int, asynchronous: bool, on_device: bool
    ) -> None:
        """Reserve shared memory for rows and for `passed` values; `asynchronous` copies need no registers."""
        super().__init__(target, parameters_of(layout), GROUP * warps, on_device)
        self.layout = layout
        self.warps, self._asynchronous = warps, asynchronous
        self._areas: list[int] = []
        for operand in (*layout.inputs, layout.output):
            self._areas.append(self.shared)
            self.shared += GROUP * _apart(operand)
        self._passed = self.shared
        self.shared += GROUP * passed
        thread = self.register("tid")
        self.lane, self.warp = thread & (GROUP - 1), thread >> 5
        self._first = self.register("ctaid") * GROUP

    def row(self, k: int) -> Slots:
        """Return the row of the thread's state: of input k, or of the output, which is the last one."""
        operand = [*self.layout.inputs, self.layout.output][k]
        return self.slots_at(self.lane * _apart(operand) + self._areas[k], 1)

    def passed(self) -> Slots:
        """Return the values of the thread's state that pass from one warp to another."""
        return self.slots_at(self.lane + self._passed, GROUP)

    def read_rows(self) -> None:
        """Copy the rows of all arguments to shared memory."""
        e, n = self.e, self.named["%n"]
        for k, operand in enumerate(self.layout.inputs):
            if not operand.size:
                continue
            base, stride = self.named[f"%in{k}"], self.named[f"%in{k}_stride"]
            with e.counted(GROUP, self.warp, self.warps) as r:
                state = self._first + r
                row = base.at((state < n).select(state, n - 1) * stride + self.lane, e.element)
                place = r * _apart(operand) + self._areas[k] + self.lane
                for start, whole in _parts(operand):
                    if whole:
                        self._copy_in(row, place, start)
                    else:
                        with e.if_(self.lane < operand.size - start):
                            self._copy_in(row, place, start)
        if self._asynchronous:
            e.line('call void asm sideeffect "cp.async.wait_all;", "~{memory}"()')
        self.wait()

    def _copy_in(self, row: Value, place: Value, start: int) -> None:
        """Copy number `start` from the address of a row to a place in shared memory."""
        e = self.e
        if self._asynchronous:
            size = e.target.itemsize
            text = f'"cp.async.ca.shared.global [$0+{start * size}], [$1+{start * size}], {size};", "r,l,~{{memory}}"'
            to = self.shared_address(place)
            e.line(f"call void asm sideeffect {text}(i32 {to}, {row.type} {row})")
            return
        self.slots_at(place, 1).write(start, row.load(e.element, start).name)

    def write_rows(self) -> None:
        """Copy the results from shared memory."""
        e, n, operand = self.e, self.named["%n"], self.layout.output
        self.wait()
        if not operand.size:
            return
        with e.counted(GROUP, self.warp, self.warps) as r:
            state = self._first + r
            with e.if_(state < n):
                row = self.named["%out"].at(state * self.named["%out_stride"] + self.lane, e.element)
                place = r * _apart(operand) + self._areas[-1] + self.lane
                for start, whole in _parts(operand):
                    if whole:
                        self._copy_out(row, place, start)
                    else:
                        with e.if_(self.lane < operand.size - start):
                            self._copy_out(row, place, start)

    def _copy_out(self, row: Value, place: Value, start: int) -> None:
        row.store(self.e.const(self.slots_at(place, 1).read(start), self.e.element), start)

    def wait(self) -> None:
        """Wait for all warps of the block, and for what they wrote to shared memory."""
        self.wait_for_block(alone=self.warps == 1)


def _apart(operand: Operand) -> int:
    """Return the distance of rows in shared memory: odd, so that the rows of a warp are in different banks."""
    return operand.size | 1


def _parts(operand: Operand) -> list[tuple[int, bool]]:
    """Return the starts of the parts of a row that a warp copies at once, and whether a part is whole."""
    return [(start, operand.size - start >= GROUP) for start in range(0, operand.size, GROUP)]


def write_team(team: Team, results: Sequence[Scalar], division: Division, plan: Plan) -> None:
    """Write the whole kernel."""
    e = team.e
    team.read_rows()
    stores: dict[int, list[int]] = {}
    others: list[tuple[int, Node | float]] = []
    for k, x in enumerate(results):
        if isinstance(x, Node) and x.args:
            stores.setdefault(x.index, []).append(k)
        else:
            others.append((k, x if isinstance(x, Node) else float(x)))
    with e.switch(team.warp, range(team.warps)) as parts:
        for number, part in enumerate(parts):
            with part, e.block():
                warp = _Warp(team, division, stores, plan)
                for k, x in others if number == 0 else ():
                    warp.store(k, x)
                for phase, nodes in enumerate(division.warps[number]):
                    if phase:
                        team.wait()
                    warp.write(nodes)
    team.write_rows()


class _Warp:
    """Writes the work of one warp."""

    def __init__(self, team: Team, division: Division, stores: dict[int, list[int]], plan: Plan) -> None:
        self._team, self._e, self._division, self._stores, self._plan = team, team.e, division, stores, plan
        self._inputs = [team.row(k) for k in range(len(team.layout.inputs))]
        self._output, self._passed = team.row(-1), team.passed()
        held = (x.entries for x in team.layout.inputs)
        self._held = [None if x is None else {n: k for k, n in enumerate(x)} for x in held]
        self._own: dict[int, str] = {}
        """The names of values that this warp computes."""
        self._read: dict[int, tuple[int, str]] = {}
        """The names of arguments and of values of other warps, and where they were read."""
        self._position = 0
        self._e.memo = {}

    def write(self, nodes: Sequence[Node]) -> None:
        """Write the operations of a phase."""
        for node in nodes:
            self._position += 1
            if self._position % self._plan.piece == 0:
                self._e.leave_unless(self._team.named["%n"].differs(-self._position))
            name = self._own[node.index] = self._e.lower(node, [self.operand(a) for a in node.args])
            for k in self._stores.get(node.index, ()):
                self._output.write(k, name)
            if node.index in self._division.passed:
                self._passed.write(self._division.passed[node.index], name)

    def store(self, k: int, x: Node | float) -> None:
        """Store a result that is a constant or an argument."""
        self._output.write(k, self.operand(x) if isinstance(x, Node) else self._e.constant(x))

    def operand(self, node: Node) -> str:
        """Return the name of a value; what is in shared memory is read again if its last use is far."""
        if node.op == "constant":
            return self._e.constant(node.data)
        if node.index in self._own:
            return self._own[node.index]
        at, name = self._read.get(node.index, (-_NEAR - 1, ""))
        if self._position - at > _NEAR:
            if node.args:
                name = self._passed.read(self._division.passed[node.index])
            else:
                k, n = node.data
                entries = self._held[k]
                name = self._inputs[k].read(n if entries is None else entries[n])
            self._read[node.index] = self._position, name
        return name
