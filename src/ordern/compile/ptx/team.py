"""Kernels in which several warps compute a group of 32 states: one thread of each warp works on a state.

The rows of a group are first copied to shared memory, by instructions in which the threads of a warp copy neighbours:
if each thread read its own row, every instruction would touch 32 lines of memory. Rows that follow one another without
gaps are copied as one piece. Then each warp computes its part of
the work, phase by phase (`limbs.py`). Results are collected in shared memory, and copied in the end.

A state beyond the end of the batch is computed as the last one, and not stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from ...graph import Node, Scalar
from ...records import dataclass
from ..emit.builder import Value
from ..emit.target import Target
from ..trace.layout import Layout, Operand
from .emitter import Row
from .entry import Frame, parameters_of
from .limbs import Division
from .plan import Plan
from .spills import Slots

__all__ = ["Rows", "Team", "question_team", "write_question"]

GROUP = 32
"""States of a group: the threads of a warp."""
_NEAR = 40
"""Operations after which an argument is read again instead of being kept in a register."""
_CHUNK = 16
"""Bytes that one instruction copies for a thread."""

Where = dict[int, list[tuple[Slots, int]]]
"""The places to which values are stored, by the index of the node."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of all states in an array: the first address, and the numbers from one row to the next."""

    first: Value
    stride: Value


class Team(Frame):
    """Writes a kernel of blocks with one or more groups of states each."""

    def __init__(
        self,
        target: Target,
        parameters: Sequence[str],
        areas: Sequence[Operand],
        division: Division,
        plan: Plan,
        asynchronous: bool,
        on_device: bool,
    ) -> None:
        """Reserve shared memory for rows of these sizes, and for the values that warps pass on.

        Copies that are `asynchronous` need no registers, and nothing waits for them but the end of all copies.
        """
        self.division, self.warps, self._groups = division, len(division.warps), plan.groups
        super().__init__(target, parameters, GROUP * self.warps * plan.groups, on_device)
        self.states = GROUP * plan.groups
        self._asynchronous, self._operands = asynchronous, list(areas)
        self._areas: list[int] = []
        for operand in areas:
            self._areas.append(self.shared)
            self.shared += self.states * operand.size  # areas begin at multiples of a chunk
        self._passed = self.shared
        self.shared += self.states * division.slots
        self._thread = self.register("tid")
        self._lane, self._number = self._thread & (GROUP - 1), self._thread >> 5
        self.warp, self._state = self._number, self._lane
        """The part of the work that the warp does, and the state of the thread within the block."""
        if plan.groups > 1:
            group = self.e.typed("i64", f"udiv i64 {self._number}, {self.warps}")
            self.warp, self._state = self._number - group * self.warps, group * GROUP + self._lane
        self._first = self.register("ctaid") * self.states

    def row(self, k: int) -> Slots:
        """Return the row of the thread's state in an area."""
        return self.slots_at(self._state * self._operands[k].size + self._areas[k], 1)

    def passed(self) -> Slots:
        """Return the values of the thread's state that pass from one warp to another."""
        return self.slots_at(self._state + self._passed, self.states)

    def copy_in(self, k: int, rows: Rows) -> None:
        """Copy rows to an area: as one piece of memory if they are one, otherwise row by row."""
        e, n, operand = self.e, self.named["%n"], self._operands[k]
        if not operand.size:
            return
        with e.if_else(self._in_one_piece(operand, rows)) as (yes, no):
            with yes:
                source = rows.first.at(self._first * operand.size, e.element)
                self._chunks(operand, partial(self._copy_chunk, source, self._areas[k]))
            with no, e.counted(self.states, self._number, self.block // GROUP) as r:
                state = self._first + r
                at = (state < n).select(state, n - 1) * rows.stride + self._lane
                source, place = rows.first.at(at, e.element), r * operand.size + self._areas[k] + self._lane
                for start in range(0, operand.size, GROUP):
                    with e.if_(self._lane < operand.size - start):
                        self._copy_number(source, place, start)

    def copy_out(self, k: int, rows: Rows) -> None:
        """Copy the rows of an area to an array."""
        e, n, operand = self.e, self.named["%n"], self._operands[k]
        if not operand.size:
            return
        with e.if_else(self._in_one_piece(operand, rows)) as (yes, no):
            with yes:
                to = rows.first.at(self._first * operand.size, e.element)
                self._chunks(operand, partial(self._store_chunk, to, self._areas[k]))
            with no, e.counted(self.states, self._number, self.block // GROUP) as r:
                state = self._first + r
                to = rows.first.at(state * rows.stride + self._lane, e.element)
                place = r * operand.size + self._areas[k] + self._lane
                for start in range(0, operand.size, GROUP):
                    with e.if_((state < n) & (self._lane < operand.size - start)):
                        to.store(e.const(self.slots_at(place, 1).read(start), e.element), start)

    def _in_one_piece(self, operand: Operand, rows: Rows) -> Value:
        """Test that the rows of the block follow one another, and begin at a multiple of a chunk."""
        start = rows.first.to("ptrtoint", "i64") & (_CHUNK - 1)
        whole = self._first + self.states <= self.named["%n"]
        return rows.stride.equals(operand.size) & start.equals(0) & whole

    def _chunks(self, operand: Operand, copy: Callable[[Value], None]) -> None:
        """Call `copy` with the number at which each chunk begins that a thread copies."""
        size, chunk = self.states * operand.size, _CHUNK // self.e.target.itemsize
        for start in range(0, size, self.block * chunk):
            number = self._thread * chunk + start
            if start + self.block * chunk <= size:
                copy(number)
            else:
                with self.e.if_(number < size):
                    copy(number)

    def _copy_chunk(self, source: Value, area: int, number: Value) -> None:
        """Copy a chunk to shared memory."""
        e, place = self.e, number + area
        if self._asynchronous:
            text = f'"cp.async.cg.shared.global [$0], [$1], {_CHUNK};", "r,l,~{{memory}}"'
            address = self.shared_address(place)
            e.line(f"call void asm sideeffect {text}(i32 {address}, {source.type} {source.at(number, e.element)})")
            return
        self._move_chunk(source.at(number, e.element), self.shared_pointer(place))

    def _store_chunk(self, to: Value, area: int, number: Value) -> None:
        """Copy a chunk from shared memory."""
        self._move_chunk(self.shared_pointer(number + area), to.at(number, self.e.element))

    def _move_chunk(self, source: Value, to: Value) -> None:
        kind = f"<{_CHUNK // self.e.target.itemsize} x {self.e.element}>"
        moved = self.e.value(f"load {kind}, {source.type} {source}, align {_CHUNK}")
        self.e.line(f"store {kind} {moved}, {to.type} {to}, align {_CHUNK}")

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

    def move(self, source: int, to: int) -> None:
        """Copy an area to another one of the same size."""
        e, size = self.e, self.states * self._operands[source].size
        with e.if_(self._thread < size), e.counted(size, self._thread, self.block) as k:
            self.slots_at(k + self._areas[to], 1).write(0, self.slots_at(k + self._areas[source], 1).read(0))

    def wait(self) -> None:
        """Wait for all warps of the block, and for what they wrote to shared memory."""
        self.wait_for_block(alone=self.block == GROUP)

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


def question_team(
    target: Target, layout: Layout, division: Division, plan: Plan, asynchronous: bool, on_device: bool
) -> Team:
    """Return the frame of a kernel that answers a question: areas are its arguments, then its result."""
    areas = [*layout.inputs, layout.output]
    return Team(target, parameters_of(layout), areas, division, plan, asynchronous, on_device)


def write_question(team: Team, layout: Layout, results: Sequence[Scalar], plan: Plan) -> None:
    """Write the whole kernel of a question."""
    out = len(layout.inputs)
    for k in range(out):
        team.copy_in(k, Rows(team.named[f"%in{k}"], team.named[f"%in{k}_stride"]))
    team.copied()

    def placed() -> Iterable[tuple[Slots, int, Scalar]]:
        to = team.row(out)
        return ((to, k, x) for k, x in enumerate(results))

    team.work(layout, lambda: [team.row(k) for k in range(out)], placed, plan)
    team.wait()
    team.copy_out(out, Rows(team.named["%out"], team.named["%out_stride"]))
