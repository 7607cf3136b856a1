"""Straight-line code with iterations: `tree.repeat` as a loop in the machine code.

A solver applies one function to its own result again and again. As straight-line code this is one copy after the other,
which takes long to compile. A `RepeatingTree` traces the function once, on leaves that stand for the numbers that
change; what follows reads other leaves, the numbers after the last time. The operations fall into stages:

    stage 0, 2, 4 ...    straight-line code before, between and after the loops
    stage 1, 3 ...       the code of a loop

An operation belongs to the latest stage of its operands. The numbers that change are in memory: `now` while a loop
reads them, `next` while it computes them, from which they are copied at the end of each time.

A loop may stop early: each state keeps its numbers once they have settled, so that they do not depend on the other
states of a vector, and the loop ends when those of all states have. The last of its numbers is then 1, and 0 before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

from ...graph import Graph, Node, Scalar, live, where_less
from ...model import ConcreteTree
from ...records import dataclass
from ..emit.builder import Builder, Value
from ..emit.nodes import Constants, TextEmitter
from ..emit.target import Target
from ..emit.tiles import Prefetch
from .layout import Layout
from .unroll import assign_slots, cut, emit_chunk, number_leaves, run_text, share

if TYPE_CHECKING:
    from ..pipeline import Request

__all__ = [
    "Changing",
    "Repeat",
    "RepeatedCode",
    "RepeatingTree",
    "emit_repeated",
    "repeats",
    "stages",
    "trace_repeated",
]


class Changing(NamedTuple):
    """A leaf: number k of those that a loop changes, while it runs or after it."""

    loop: int
    k: int
    after: bool


@dataclass(frozen=True, slots=True)
class Repeat:
    """One loop: how often it runs, the numbers before it, and what they become each time."""

    count: int
    start: tuple[Scalar, ...]
    step: tuple[Scalar, ...]
    stops: bool = False
    """True if the last number tells in which states the others do not change any more."""


@dataclass(frozen=True, slots=True)
class RepeatedCode:
    """The scalars of a result, and the loops before them."""

    results: list[Scalar]
    loops: list[Repeat]

    @property
    def operations(self) -> int:
        """The operations of one state."""
        staged = stages(self)
        work = [len([node for node in nodes if node.args]) for nodes in staged]
        return sum(n * (self.loops[s // 2].count if s % 2 else 1) for s, n in enumerate(work))

    @property
    def length(self) -> int:
        """The operations of the code as it is written."""
        return len([node for node in live(self.roots) if node.args])

    @property
    def roots(self) -> list[Node]:
        """All nodes that have to be computed, in the results or in a loop."""
        numbers = [*self.results, *(x for loop in self.loops for x in (*loop.start, *loop.step))]
        return [x for x in numbers if isinstance(x, Node)]


class RepeatingTree(ConcreteTree):
    """A tree that visits bodies one by one, and records loops of `repeat`."""

    graph: Graph
    loops: list[Repeat]
    _inside = False

    def repeat(
        self, count: int, step: Callable[[Sequence[Scalar]], Sequence[Scalar]], start: Any,
        change: Callable[[Sequence[Scalar], Sequence[Scalar]], Scalar] | None = None, first: Scalar = 1.0,
    ) -> Any:  # fmt: skip
        """Trace a function once, as a loop; as often as it is applied if that is once or twice, or within a loop.

        Derivatives stop at loops. So a function is a loop only where these do not go through it (see `Tree.root`).
        """
        differentiated = self.differentiating is not None and not self.solving
        if self._inside or count < 3 or not start or differentiated:
            return super().repeat(count, step, start)
        number = len(self.loops)
        self._inside = True
        now = [self.graph.leaf(Changing(number, k, False)) for k in range(len(start))]
        made = list(step(now))
        self._inside = False
        if change is None:
            self.loops.append(Repeat(count, tuple(start), tuple(made)))
        else:
            done = self.graph.leaf(Changing(number, len(start), False))
            settled = where_less(done, 0.5, where_less(change(now, made), 1.0, 1.0, 0.0), 1.0)
            kept = [where_less(done, 0.5, new, old) for new, old in zip(made, now, strict=True)]
            begun = where_less(first, 1.0, 1.0, 0.0)
            self.loops.append(Repeat(count, (*start, begun), (*kept, settled), True))
        return [self.graph.leaf(Changing(number, k, True)) for k in range(len(start))]


def repeats(request: Request) -> bool:
    """Return True if a request is compiled with loops of `repeat`.

    Derivatives do not go through loops, but come from the equations of their result (`Tree.root`); second derivatives
    go through each time by itself.
    """
    mode, _, rest = request.question.name.partition(" ")
    return request.algorithm.repeats and mode != "hessian" and " " not in rest.rpartition(" by ")[0]


def trace_repeated(request: Request, layout: Layout) -> RepeatedCode:
    """Run an algorithm on graph nodes, with loops of `repeat`."""
    graph = Graph("unrolled")
    tree = RepeatingTree(request.model, regroup=request.algorithm.regroup, **number_leaves(request, graph))
    tree.graph, tree.loops = graph, []
    return RepeatedCode(run_text(request, layout, tree, graph), tree.loops)


def stages(code: RepeatedCode) -> list[list[Node]]:
    """Return the nodes of each stage, in order."""
    found: list[list[Node]] = [[] for _ in range(2 * len(code.loops) + 1)]
    stage: dict[int, int] = {}
    for node in live(code.roots):
        if node.op == "leaf" and isinstance(node.data, Changing):
            stage[node.index] = 2 * node.data.loop + (2 if node.data.after else 1)
        else:
            stage[node.index] = max((stage[a.index] for a in node.args), default=0)
        found[stage[node.index]].append(node)
    return found


def emit_repeated(
    code: RepeatedCode, layout: Layout, target: Target, prefetches: Sequence[Prefetch] = ()
) -> tuple[str, int]:
    """Return the IR text of @init and @body, and the number of vectors in the workspace; see `emit_unrolled`."""
    init, constants = TextEmitter(target, arguments=("ptr %data", "ptr noalias %ws")), Constants(target)
    now, end = [], layout.scratch
    for loop in code.loops:
        now.append(end)
        end += 2 * len(loop.start)
    stores: dict[int, list[int]] = {}
    moves: list[list[tuple[Scalar, int]]] = [[] for _ in range(2 * len(code.loops) + 1)]
    """Leaves and constants that are copied at the end of a stage: all other numbers are stored when they are known."""

    def set_to(x: Scalar, place: int, stage: int | None) -> None:
        if isinstance(x, Node) and x.args:
            stores.setdefault(x.index, []).append(place)
        elif stage is not None:
            moves[stage].append((x, place))
        elif isinstance(x, Node):
            stores.setdefault(x.index, []).append(place)
        else:
            init.store(init.constant(float(x)), "%ws", place)

    places = layout.places or range(len(code.results))
    for place, x in dict(zip(places, code.results, strict=False)).items():
        set_to(x, layout.output_tile + place, None)
    for number, loop in enumerate(code.loops):
        for k, (x, y) in enumerate(zip(loop.start, loop.step, strict=True)):
            set_to(x, now[number] + k, 2 * number)
            set_to(y, now[number] + len(loop.start) + k, 2 * number + 1)
    known = layout.leaves()

    def place_of(leaf: Any) -> int:
        return now[leaf.loop] + leaf.k if isinstance(leaf, Changing) else known(leaf)

    chunks = [cut(nodes) for nodes in stages(code)]
    starts = [sum(map(len, chunks[:s])) for s in range(len(chunks) + 1)]
    spans = [(starts[s], starts[s + 1] - 1) for s in range(1, len(chunks), 2)]
    slots, size = assign_slots([chunk for stage in chunks for chunk in stage], end, spans)
    texts, names = [], ("ws", "constants", "wanted") if prefetches else ("ws", "constants")
    for s, stage in enumerate(chunks):
        for k, chunk in enumerate(stage):
            e = TextEmitter(target, constants, [f"ptr noalias %{name}" for name in names])
            early = share(prefetches, k, len(stage)) if s == 0 else ()
            emit_chunk(chunk, slots, stores, place_of, e, early)
            texts.append(e.text(f"@chunk{starts[s] + k}"))
    for s, pairs in enumerate(moves):
        texts.append(_move(s, pairs, place_of, constants, target))
    for number, loop in enumerate(code.loops):
        texts.append(_advance(number, now[number], len(loop.start), target))
    body = _body(code.loops, starts, now, bool(prefetches), target)
    return "\n".join([constants.text(), init.text("@init"), *texts, body]), size


def _move(
    stage: int, pairs: Sequence[tuple[Scalar, int]], place_of: Callable[[Any], int], constants: Constants, on: Target
) -> str:
    """Return the IR text of a function that copies leaves and constants to their places."""
    e = TextEmitter(on, constants, ("ptr noalias %ws", "ptr noalias %constants"))
    for x, place in pairs:
        e.store(e.load("%ws", place_of(x.data)) if isinstance(x, Node) else e.constant(float(x)), "%ws", place)
    return e.text(f"@moved{stage}")


def _advance(number: int, now: int, n: int, target: Target) -> str:
    """Return the IR text of a function that copies the next numbers of a loop to where it reads them."""
    e = TextEmitter(target, arguments=("ptr noalias %ws", "ptr noalias %constants"))
    for name, place in [(e.load("%ws", now + n + k), now + k) for k in range(n)]:
        e.store(name, "%ws", place)
    return e.text(f"@renewed{number}")


def _body(loops: Sequence[Repeat], starts: Sequence[int], now: Sequence[int], prefetching: bool, target: Target) -> str:
    """Return the IR text of @body: stage after stage, those of loops as often as they run."""
    b = Builder([f"ptr %{name}" for name in ("data", "ws", *(("wanted",) if prefetching else ()))])
    _, ws, *wanted = b.arguments
    constants = b.const("@constants", "ptr")

    def run(stage: int) -> None:
        for k in range(starts[stage], starts[stage + 1]):
            b.call(f"@chunk{k}", ws, constants, *wanted)
        b.call(f"@moved{stage}", ws, constants)

    for number, loop in enumerate(loops):
        run(2 * number)
        settled = ws.at(now[number] + len(loop.start) - 1, target.vector)
        with b.if_(_unsettled(b, settled, target)) if loop.stops else nullcontext(), b.counted(loop.count):
            run(2 * number + 1)
            b.call(f"@renewed{number}", ws, constants)
            if loop.stops:
                b.leave_unless(_unsettled(b, settled, target))
    run(2 * len(loops))
    return b.text("@body")


def _unsettled(b: Builder, place: Value, target: Target) -> Value:
    """Test whether the number of some state is zero."""
    lanes, vector, align = target.lanes, target.vector, min(64, target.lanes * target.itemsize)
    numbers = b.value(f"load {vector}, ptr {place}, align {align}")
    below = b.value(f"fcmp oeq {vector} {numbers}, zeroinitializer")
    bits = b.value(f"bitcast <{lanes} x i1> {below} to i{lanes}")
    return b.typed("i1", f"icmp ne i{lanes} {bits}, 0")
