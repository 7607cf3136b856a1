"""Kernels in which several warps compute a group of 32 states: one thread of each warp works on a state.

The rows of a group are first copied to shared memory, by instructions in which the threads of a warp copy neighbours:
if each thread read its own row, every instruction would touch 32 lines of memory. Then each warp computes its part of
the work, phase by phase (`limbs.py`). Results are collected in shared memory, and copied in the end.

A state beyond the end of the batch is computed as the last one, and not stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from ...graph import Node, Scalar
from ..emit.builder import Value
from ..emit.target import Target
from ..trace.layout import Layout, Operand
from .emitter import Row
from .entry import Frame, parameters_of
from .limbs import Division
from .plan import Plan
from .spills import Slots

__all__ = ["GROUP", "Team", "question_team", "write_question"]

GROUP = 32
"""States of a group: the threads of a warp."""
_NEAR = 40
"""Operations after which an argument is read again instead of being kept in a register."""

Where = dict[int, list[tuple[Slots, int]]]
"""The places to which values are stored, by the index of the node."""


class Team(Frame):
    """Writes a kernel of blocks with one group of states each."""

    def __init__(
        self,
        target: Target,
        parameters: Sequence[str],
        areas: Sequence[Operand],
        division: Division,
        asynchronous: bool,
        on_device: bool,
    ) -> None:
        """Reserve shared memory for rows of these sizes, and for the values that warps pass on.

        Copies that are `asynchronous` need no registers, and nothing waits for them but the end of all copies.
        """
        self.division, self.warps = division, len(division.warps)
        super().__init__(target, parameters, GROUP * self.warps, on_device)
        self._asynchronous, self._operands = asynchronous, list(areas)
        self._areas: list[int] = []
        for operand in areas:
            self._areas.append(self.shared)
            self.shared += GROUP * _apart(operand)
        self._passed = self.shared
        self.shared += GROUP * division.slots
        self._thread = self.register("tid")
        self.lane, self.warp = self._thread & (GROUP - 1), self._thread >> 5
        self._first = self.register("ctaid") * GROUP

    def row(self, k: int) -> Slots:
        """Return the row of the thread's state in an area."""
        return self.slots_at(self.lane * _apart(self._operands[k]) + self._areas[k], 1)

    def passed(self) -> Slots:
        """Return the values of the thread's state that pass from one warp to another."""
        return self.slots_at(self.lane + self._passed, GROUP)

    def copy_in(self, k: int, row: Callable[[Value], Value]) -> None:
        """Copy rows to an area; `row` returns the address of the row of a state."""
        e, n, operand = self.e, self.named["%n"], self._operands[k]
        if not operand.size:
            return
        with e.counted(GROUP, self.warp, self.warps) as r:
            state = self._first + r
            source = row((state < n).select(state, n - 1)).at(self.lane, e.element)
            place = r * _apart(operand) + self._areas[k] + self.lane
            for start in range(0, operand.size, GROUP):
                self._if_in(operand, start, partial(self._copy_number, source, place, start))

    def _if_in(self, operand: Operand, start: int, copy: Callable[[], None]) -> None:
        """Copy numbers from `start` on, one for each lane as far as the row goes."""
        if operand.size - start >= GROUP:
            copy()
            return
        with self.e.if_(self.lane < operand.size - start):
            copy()

    def _copy_number(self, source: Value, place: Value, start: int) -> None:
        """Copy number `start` from an address to a place in shared memory."""
        e, size = self.e, self.e.target.itemsize
        if not self._asynchronous:
            self.slots_at(place, 1).write(start, source.load(e.element, start).name)
            return
        text = f'"cp.async.ca.shared.global [$0+{start * size}], [$1+{start * size}], {size};", "r,l,~{{memory}}"'
        e.line(f"call void asm sideeffect {text}(i32 {self.shared_address(place)}, {source.type} {source})")

    def copied(self) -> None:
        """Wait until all copies to shared memory are complete."""
        if self._asynchronous:
            self.e.line('call void asm sideeffect "cp.async.wait_all;", "~{memory}"()')
        self.wait()

    def copy_out(self, k: int, row: Callable[[Value], Value]) -> None:
        """Copy the rows of an area; `row` returns the address of the row of a state."""
        e, n, operand = self.e, self.named["%n"], self._operands[k]
        if not operand.size:
            return
        with e.counted(GROUP, self.warp, self.warps) as r:
            state = self._first + r
            with e.if_(state < n):
                to = row(state).at(self.lane, e.element)
                place = r * _apart(operand) + self._areas[k] + self.lane
                for start in range(0, operand.size, GROUP):
                    self._if_in(operand, start, partial(self._store_number, place, to, start))

    def _store_number(self, place: Value, to: Value, start: int) -> None:
        to.store(self.e.const(self.slots_at(place, 1).read(start), self.e.element), start)

    def move(self, source: int, to: int) -> None:
        """Copy an area to another one of the same size."""
        e, size = self.e, GROUP * _apart(self._operands[source])
        with e.if_(self._thread < size), e.counted(size, self._thread, self.block) as k:
            self.slots_at(k + self._areas[to], 1).write(0, self.slots_at(k + self._areas[source], 1).read(0))

    def wait(self) -> None:
        """Wait for all warps of the block, and for what they wrote to shared memory."""
        self.wait_for_block(alone=self.warps == 1)

    def work(
        self,
        layout: Layout,
        inputs: Callable[[], Sequence[Slots | Row]],
        results: Callable[[], Iterable[tuple[Slots, int, Scalar]]],
        plan: Plan,
    ) -> None:
        """Write the work of all warps: from rows of arguments to results, each with its place.

        `inputs` and `results` are made anew for each warp, so that what one warp reads is not used in another.
        """
        with self.e.switch(self.warp, range(self.warps)) as parts:
            for number, part in enumerate(parts):
                with part, self.e.block():
                    stores: Where = {}
                    warp = _Warp(self, layout, inputs(), stores, plan)
                    for slots, k, x in results():
                        if isinstance(x, Node) and x.args:
                            stores.setdefault(x.index, []).append((slots, k))
                        elif number == 0:
                            slots.write(k, warp.operand(x) if isinstance(x, Node) else self.e.constant(float(x)))
                    for phase, nodes in enumerate(self.division.warps[number]):
                        if phase:
                            self.wait()
                        warp.write(nodes)


def _apart(operand: Operand) -> int:
    """Return the distance of rows in shared memory: odd, so that the rows of a warp are in different banks."""
    return operand.size | 1


class _Warp:
    """Writes the work of one warp."""

    def __init__(self, team: Team, layout: Layout, inputs: Sequence[Slots | Row], stores: Where, plan: Plan) -> None:
        self._team, self._e, self._inputs, self._stores, self._plan = team, team.e, inputs, stores, plan
        self._passed, self._places = team.passed(), team.division.passed
        self._held = [None if x.entries is None else {n: k for k, n in enumerate(x.entries)} for x in layout.inputs]
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
            for slots, k in self._stores.get(node.index, ()):
                slots.write(k, name)
            if node.index in self._places:
                self._passed.write(self._places[node.index], name)

    def operand(self, node: Node) -> str:
        """Return the name of a value; what is in memory is read again if its last use is far."""
        if node.op == "constant":
            return self._e.constant(node.data)
        if node.index in self._own:
            return self._own[node.index]
        at, name = self._read.get(node.index, (-_NEAR - 1, ""))
        if self._position - at > _NEAR:
            name = self._passed.read(self._places[node.index]) if node.args else self._argument(*node.data)
            self._read[node.index] = self._position, name
        return name

    def _argument(self, k: int, n: int) -> str:
        entries, row = self._held[k], self._inputs[k]
        place = n if entries is None else entries[n]
        return row.read(place) if isinstance(row, Slots) else self._e.load(row, place)


def question_team(target: Target, layout: Layout, division: Division, asynchronous: bool, on_device: bool) -> Team:
    """Return the frame of a kernel that answers a question: areas are its arguments, then its result."""
    areas = [*layout.inputs, layout.output]
    return Team(target, parameters_of(layout), areas, division, asynchronous, on_device)


def write_question(team: Team, layout: Layout, results: Sequence[Scalar], plan: Plan) -> None:
    """Write the whole kernel of a question."""
    out = len(layout.inputs)

    def row(name: str) -> Callable[[Value], Value]:
        base, stride = team.named[f"%{name}"], team.named[f"%{name}_stride"]
        return lambda state: base.at(state * stride, team.e.element)

    for k in range(out):
        team.copy_in(k, row(f"in{k}"))
    team.copied()

    def placed() -> Iterable[tuple[Slots, int, Scalar]]:
        to = team.row(out)
        return ((to, k, x) for k, x in enumerate(results))

    team.work(layout, lambda: [team.row(k) for k in range(out)], placed, plan)
    team.wait()
    team.copy_out(out, row("out"))
