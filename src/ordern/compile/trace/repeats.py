"""Straight-line code with loops and branches: `tree.repeat` and `tree.when` in the machine code.

A solver applies one function to its own result again and again. As straight-line code this is one copy after the other,
which takes long to compile. A `RepeatingTree` traces the function once, on leaves that stand for the numbers that
change; what follows reads other leaves, the numbers after the last time. `when` is code that runs only if one of the
states of a vector needs it; what follows reads leaves, too. The operations fall into sections, in the order of tracing:

    plain     straight-line code, also between two branches
    guard     the code of one `when`
    loop      sections of both kinds, which run several times

An operation belongs to the latest section of its operands, so that loops compute what changes and nothing else. But
what only one guard needs is part of this guard, unless it would then be computed again in each turn of a loop: "global
code motion", C. Click, 1995.

A loop may stop early: each state keeps its numbers once they have settled, so that they do not depend on the other
states of a vector, and the loop ends when those of all states have. The last of its numbers is then 1, and 0 before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from ...graph import Graph, Node, Scalar, live, where_less
from ...model import ConcreteTree
from ...records import dataclass
from .layout import Layout
from .unroll import number_leaves, run_text

if TYPE_CHECKING:
    from ..pipeline import Request

__all__ = [
    "Changing",
    "Guard",
    "Guarded",
    "Repeat",
    "RepeatedCode",
    "RepeatingTree",
    "Section",
    "repeats",
    "stages",
    "trace_repeated",
]


class Changing(NamedTuple):
    """A leaf: number k of those that a loop changes, while it runs or after it."""

    loop: int
    k: int
    after: bool


class Guarded(NamedTuple):
    """A leaf: number k of those that a guard computes, after it."""

    guard: int
    k: int
    kind: str = "guarded"
    """Tells it from leaves of arguments, which are pairs of numbers."""


class Section(NamedTuple):
    """A part of the code: of which loop, and of which guard it is; -1 for none."""

    loop: int = -1
    guard: int = -1


@dataclass(frozen=True, slots=True)
class Repeat:
    """One loop: how often it runs, the numbers before it, and what they become each time."""

    count: int
    start: tuple[Scalar, ...]
    step: tuple[Scalar, ...]
    stops: bool = False
    """True if the last number tells in which states the others do not change any more."""


@dataclass(frozen=True, slots=True)
class Guard:
    """Code that runs if the flag of some state is not zero, the numbers before it, and what they become."""

    flag: Node
    before: tuple[Scalar | None, ...]
    """None for a number that nothing reads unless the code has run."""
    numbers: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class RepeatedCode:
    """The scalars of a result, and the loops and guards before them."""

    results: list[Scalar]
    loops: list[Repeat]
    guards: list[Guard]
    sections: list[Section]

    @property
    def operations(self) -> int:
        """The operations of one state, if all guards run."""
        work = [len([node for node in nodes if node.args]) for nodes in stages(self)]
        return sum(
            n * (self.loops[s.loop].count if s.loop >= 0 else 1) for s, n in zip(self.sections, work, strict=True)
        )

    @property
    def length(self) -> int:
        """The operations of the code as it is written."""
        return len([node for node in live(self.roots) if node.args])

    @property
    def roots(self) -> list[Node]:
        """All nodes that have to be computed, in the results, in a loop or in a guard."""
        return [x for _, x in self.uses() if isinstance(x, Node)]

    def uses(self) -> list[tuple[int, Scalar | None]]:
        """Return what results, loops and guards read, each with the section in which it is read."""
        found: list[tuple[int, Scalar | None]] = [(len(self.sections) - 1, x) for x in self.results]
        for number, loop in enumerate(self.loops):
            first, last = self.span(number)
            found += [*((first - 1, x) for x in loop.start), *((last, x) for x in loop.step)]
        for s, section in enumerate(self.sections):
            if section.guard >= 0:
                guard = self.guards[section.guard]
                found += [(s - 1, guard.flag), *((s - 1, x) for x in guard.before), *((s, x) for x in guard.numbers)]
        return found

    def span(self, loop: int) -> tuple[int, int]:
        """Return the first and the last section of a loop."""
        mine = [s for s, section in enumerate(self.sections) if section.loop == loop]
        return mine[0], mine[-1]


class RepeatingTree(ConcreteTree):
    """A tree that visits bodies one by one, and records loops of `repeat` and guards of `when`."""

    graph: Graph
    code: RepeatedCode
    branches = True
    """False if the code of `when` is computed for all states."""
    _settled: Node | None = None
    """The number of a loop that tells in which states others do not change any more, while the loop is traced."""

    def repeat(
        self, count: int, step: Callable[[Sequence[Scalar]], Sequence[Scalar]], start: Any,
        change: Callable[[Sequence[Scalar], Sequence[Scalar]], Scalar] | None = None, first: Scalar = 1.0,
    ) -> Any:  # fmt: skip
        """Trace a function once, as a loop; as often as it is applied if that is once or twice, or within a loop.

        Derivatives stop at loops. So a function is a loop only where these do not go through it (see `Tree.root`).
        """
        code = self.code
        short = count < 3 and change is None
        if self._here != Section() or short or not start or self.differentiated:
            return super().repeat(count, step, start)
        number = len(code.loops)
        code.loops.append(Repeat(count, (), ()))
        code.sections.append(Section(number))
        now = [self.graph.leaf(Changing(number, k, False)) for k in range(len(start))]
        done = None if change is None else self.graph.leaf(Changing(number, len(start), False))
        self._settled = done
        made = list(step(now))
        self._settled = None
        if change is None or done is None:
            code.loops[number] = Repeat(count, tuple(start), tuple(made))
        else:
            settled = where_less(done, 0.5, where_less(change(now, made), 1.0, 1.0, 0.0), 1.0)
            kept = [x if self._keeps(x, y) else where_less(done, 0.5, x, y) for x, y in zip(made, now, strict=True)]
            begun = where_less(first, 1.0, 1.0, 0.0)
            code.loops[number] = Repeat(count, (*start, begun), (*kept, settled), True)
        code.sections.append(Section())
        return [self.graph.leaf(Changing(number, k, True)) for k in range(len(start))]

    def when(
        self, flag: Scalar, compute: Callable[[], Sequence[Scalar]], before: Sequence[Scalar] | None = None
    ) -> list[Scalar]:
        """Trace code as a guard; as straight-line code within a guard, and where derivatives go through it."""
        code, loop = self.code, self._here.loop
        if not (self.branches and isinstance(flag, Node)) or self._here.guard >= 0 or self.differentiated:
            return super().when(flag, compute, before)
        if self._settled is not None:
            flag = where_less(self._settled, 0.5, flag, 0.0)
        assert isinstance(flag, Node)
        number, known = len(code.guards), len(self.graph.nodes)
        code.guards.append(Guard(flag, (), ()))
        code.sections.append(Section(loop, number))
        made: list[Scalar] = list(compute())
        found: list[Scalar] = []
        kept: list[tuple[Scalar | None, Scalar]] = []
        for k, new in enumerate(made):
            old = None if before is None else before[k]
            if new is old or (old is None and not (isinstance(new, Node) and new.args and new.index >= known)):
                found.append(new)  # it does not change, or is known without the guard
                continue
            after = new if old is None else where_less(0.5, flag, new, old)
            key = loop, after.index if isinstance(after, Node) else -1
            if old is not None and key in self._chosen:  # another guard before this one has computed it
                found.append(self._chosen[key])
                continue
            leaf = self.graph.leaf(Guarded(number, len(kept)))
            if old is not None and isinstance(after, Node):
                self._chosen[key] = leaf
            found.append(leaf)
            kept.append((old, after))
        code.guards[number] = Guard(flag, tuple(x for x, _ in kept), tuple(x for _, x in kept))
        code.sections.append(Section(loop))
        return found

    @cached_property
    def _chosen(self) -> dict[tuple[int, int], Node]:
        """The numbers of guards, by their loops and by the nodes that compute them: each is computed in one place."""
        return {}

    @property
    def _here(self) -> Section:
        """The section that is traced."""
        return self.code.sections[-1]

    def _keeps(self, x: Scalar, now: Node) -> bool:
        """Return True if guards, which leave states that have settled as they are, made x of a number of the loop."""
        while isinstance(x, Node) and x is not now and isinstance(x.data, Guarded):
            before = self.code.guards[x.data.guard].before[x.data.k]
            if before is None:
                return False
            x = before
        return x is now


def repeats(request: Request) -> bool:
    """Return True if a request is compiled with loops of `repeat`.

    Derivatives do not go through loops, but come from the equations of their result (`Tree.root`); second derivatives
    go through each time by itself.
    """
    mode, _, rest = request.question.name.partition(" ")
    return request.algorithm.repeats and mode != "hessian" and " " not in rest.rpartition(" by ")[0]


def trace_repeated(request: Request, layout: Layout, branches: bool = True) -> RepeatedCode:
    """Run an algorithm on graph nodes, with loops of `repeat` and, if there are `branches`, guards of `when`."""
    graph = Graph("unrolled")
    tree = RepeatingTree(request.model, regroup=request.algorithm.regroup, **number_leaves(request, graph))
    tree.graph, tree.branches = graph, branches
    tree.code = RepeatedCode([], [], [], [Section()])
    tree.code.results[:] = run_text(request, layout, tree, graph)
    return tree.code


def stages(code: RepeatedCode) -> list[list[Node]]:
    """Return the nodes of each section, in order."""
    nodes, place = live(code.roots), dict[int, int]()
    spans = [code.span(loop) for loop in range(len(code.loops))]
    after = {section.guard: s + 1 for s, section in enumerate(code.sections) if section.guard >= 0}
    for node in nodes:  # as early as possible
        if isinstance(node.data, Changing):
            first, last = spans[node.data.loop]
            place[node.index] = last + 1 if node.data.after else first
        elif isinstance(node.data, Guarded):
            place[node.index] = after[node.data.guard]
        else:
            place[node.index] = max((place[a.index] for a in node.args), default=0)
    readers: dict[int, set[int]] = {}
    fixed: dict[int, int] = {}
    for s, x in code.uses():
        if isinstance(x, Node):
            readers.setdefault(x.index, set()).add(s)
    for s, section in enumerate(code.sections):
        if section.guard >= 0:
            guard = code.guards[section.guard]
            fixed |= {
                x.index: s
                for old, x in zip(guard.before, guard.numbers, strict=True)
                if old is not None and isinstance(x, Node) and x.args
            }
    for node in reversed(nodes):  # readers come later
        where = readers.get(node.index, set())
        if node.index in fixed:
            place[node.index] = fixed[node.index]
        elif node.args and len(where) == 1:
            (s,) = where
            section = code.sections[s]
            if section.guard >= 0 and section.loop == code.sections[place[node.index]].loop:
                place[node.index] = s
        for a in node.args:
            readers.setdefault(a.index, set()).add(place[node.index])
    found: list[list[Node]] = [[] for _ in code.sections]
    for node in nodes:
        found[place[node.index]].append(node)
    return found
