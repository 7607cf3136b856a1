"""Straight-line code as a kernel: all values of a state are in the registers of one thread.

The assembler moves operations to where they wait least, and in long code keeps so many values alive that most of them
are spilled. It moves nothing across a branch. So long code is cut into pieces by branches that are never taken: Talos
then spills a quarter less, and the derivatives of a quadruped are assembled in five seconds instead of forty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ...errors import CompileError
from ...graph import Node, Scalar, live
from ...model import Model
from ..emit.builder import Value
from ..trace.columns import StraightCode
from ..trace.layout import Layout
from ..trace.repeats import Changing, RepeatedCode, stages
from .emitter import Row, ThreadEmitter
from .entry import Entry
from .plan import Plan
from .spills import Schedule, Slots

__all__ = ["StraightWriter", "read_ahead", "require_assembled", "write_stages", "write_straight"]

_PIECE = 1000
"""Operations of a basic block: the time in which LLVM selects instructions grows faster than the length of a block."""
_LONGEST = 120_000
"""Operations of code with iterations that are assembled in less than a minute."""
Stores = dict[int, list[tuple[Row, int]]]
"""The places to which values are stored, by the index of the node."""


class StraightWriter:
    """Writes nodes in order. Arguments are read some operations before their first use, results stored when known."""

    def __init__(
        self,
        e: ThreadEmitter,
        layout: Layout,
        rows: Sequence[Row],
        plan: Plan,
        schedule: Schedule,
        slots: Slots | None,
        given: Mapping[Any, str] | None = None,
    ) -> None:
        """Read arguments as early as the plan says, unless they are `given`; with a schedule, values wait in slots."""
        self._e, self._rows, self._plan = e, rows, plan
        self._schedule, self._slots = schedule, slots
        self._held = [None if x.entries is None else {n: k for k, n in enumerate(x.entries)} for x in layout.inputs]
        self._names: dict[int, str] = {}
        self._given = dict(given or {})
        self._done = 0
        """The operations that are written."""

    def write(self, roots: Iterable[Node], stores: Stores, always: Value) -> None:
        """Write what the roots need, and store nodes, by their index, at places.

        The branches between pieces leave the innermost loop or block unless `always` is positive, which it is.
        """
        self.write_nodes(live(roots), stores, always)

    def write_nodes(self, nodes: Sequence[Node], stores: Stores, always: Value, outward: int = 0) -> None:
        """Write nodes, the next ones; branches leave a loop or block that is so many further outward."""
        work, begun = [node for node in nodes if node.args], self._done
        reads = read_ahead(work, self._plan.ahead)
        for position, node in enumerate(work, begun):
            if position and position % self._plan.piece == 0:
                self._e.leave_unless(always.differs(-position), outward)
            elif position and position % _PIECE == 0:
                self._e.begin_block()
            for leaf in reads.get(position - begun, ()):
                self.operand(leaf)
            self._operation(node, position, stores)
        self._done += len(work)
        for node in nodes:
            if not node.args:
                self._store(node, stores)

    def give(self, names: Mapping[Any, str]) -> None:
        """Use names for leaves, by what the leaves hold."""
        self._given.update(names)

    def scalar(self, x: Scalar) -> str:
        """Return the name of a node's value, or a constant."""
        return self.operand(x) if isinstance(x, Node) else self._e.constant(float(x))

    def _operation(self, node: Node, position: int, stores: Stores) -> None:
        """Write an operation, with all that moves before and after it."""
        slots = self._slots
        for index, slot in self._schedule.read.get(position, ()):
            assert slots is not None
            self._names[index] = slots.read(slot)
        self._names[node.index] = self._e.lower(node, [self.operand(a) for a in node.args])
        self._store(node, stores)
        for index, slot in self._schedule.write.get(position, ()):
            assert slots is not None
            slots.write(slot, self._names[index])

    def _store(self, node: Node, stores: Stores) -> None:
        for row, index in stores.get(node.index, ()):
            self._e.store(self.operand(node), row, index)

    def operand(self, node: Node) -> str:
        """Return the name of a value that was written, of a constant, or of an argument."""
        if node.op == "constant":
            return self._e.constant(node.data)
        if node.index not in self._names:
            self._read(node)
        return self._names[node.index]

    def _read(self, leaf: Node) -> None:
        if leaf.data in self._given:
            self._names[leaf.index] = self._given[leaf.data]
            return
        k, n = leaf.data
        entries = self._held[k]
        self._names[leaf.index] = self._e.load(self._rows[k], n if entries is None else entries[n])


def read_ahead(work: Sequence[Node], ahead: int) -> dict[int, list[Node]]:
    """Return, for positions of the work, the leaves to read there: so many operations before they are first used."""
    found: dict[int, list[Node]] = {}
    seen: set[int] = set()
    for position, node in enumerate(work):
        for a in node.args:
            if a.op == "leaf" and a.index not in seen:
                seen.add(a.index)
                found.setdefault(max(0, position - ahead), []).append(a)
    return found


def require_assembled(code: RepeatedCode, model: Model) -> None:
    """Raise an error if the driver would take minutes to assemble steps with contacts."""
    if code.length > _LONGEST:
        raise CompileError(
            f"a step of {model.name!r} with contacts has {code.length:,} operations, and a GPU takes at most "
            f"{_LONGEST:,}; leave out contacts, or compute on the processor"
        )


def write_stages(e: ThreadEmitter, writer: StraightWriter, code: RepeatedCode, stores: Stores, always: Value) -> None:
    """Write code with loops of `repeat`: the numbers that a loop changes are in registers.

    A thread leaves a loop that may stop early by itself; those of its warp wait for the last one.
    """
    staged = stages(code)
    for number, loop in enumerate(code.loops):
        writer.write_nodes(staged[2 * number], stores, always)
        for node in staged[2 * number + 1]:
            for leaf in (a for a in node.args if a.op == "leaf" and not isinstance(a.data, Changing)):
                writer.operand(leaf)  # once, not each time
        starts = [Value(e, writer.scalar(x), e.element) for x in loop.start]
        with e.repeat():
            times, numbers = e.carried(1), [e.carried(x) for x in starts]
            writer.give({Changing(number, k, False): x.value.name for k, x in enumerate(numbers)})
            writer.write_nodes(staged[2 * number + 1], stores, always, outward=1)
            for x, y in zip(numbers, loop.step, strict=True):
                x.next = Value(e, writer.scalar(y), e.element)
            more, times.next = times.value < loop.count, times.value + 1
            e.leave_unless(more & (numbers[-1].next < 0.5) if loop.stops else more)
        writer.give({Changing(number, k, True): x.next.name for k, x in enumerate(numbers)})
    writer.write_nodes(staged[-1], stores, always)


def write_straight(
    entry: Entry, code: StraightCode | RepeatedCode, writer: Callable[[Sequence[Row]], StraightWriter]
) -> int:
    """Write the scalars of a result to its row, by a writer for the rows of the arguments.

    Return the numbers of the workspace.
    """
    with entry.state() as arguments:
        stores: Stores = {}
        for k, x in enumerate(code.results):
            if isinstance(x, Node):
                stores.setdefault(x.index, []).append((arguments.output, k))
            else:
                entry.e.store(entry.e.constant(float(x)), arguments.output, k)
        with entry.e.block():
            if isinstance(code, RepeatedCode):
                write_stages(entry.e, writer(arguments.inputs), code, stores, entry.named["%n"])
            else:
                writer(arguments.inputs).write(code.roots, stores, entry.named["%n"])
    return entry.workspace(0)
