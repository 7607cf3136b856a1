"""Machine code with loops and guards (see `repeats`).

The numbers that a loop changes are in memory: `now` while it reads them, `next` while it computes them, from which they
are copied at the end of each turn. The numbers of a guard have a place each. Before the guard they are copied there;
but where nothing reads an old number after the guard, both share one place, and a guard that does not run costs a test.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from ...graph import Node, Scalar
from ..emit.builder import Builder, Value
from ..emit.nodes import Constants, TextEmitter
from ..emit.target import Target
from ..emit.tiles import Prefetch
from .layout import Layout
from .repeats import Changing, Guarded, RepeatedCode, stages
from .unroll import assign_slots, cut, emit_chunk, share

__all__ = ["emit_repeated"]


def emit_repeated(
    code: RepeatedCode, layout: Layout, target: Target, prefetches: Sequence[Prefetch] = ()
) -> tuple[str, int]:
    """Return the IR text of @init and @body, and the number of vectors in the workspace; see `emit_unrolled`."""
    return _Writer(code, layout, target).written(prefetches)


class _Writer:
    """The places of all numbers, and what is stored and copied where."""

    def __init__(self, code: RepeatedCode, layout: Layout, target: Target) -> None:
        self.code, self.layout, self.target = code, layout, target
        self.init = TextEmitter(target, arguments=("ptr %data", "ptr noalias %ws"))
        self.constants = Constants(target)
        self.staged = stages(code)
        self._homes = {node.index: s for s, nodes in enumerate(self.staged) for node in nodes}
        self._loops = {section.guard: section.loop for section in code.sections}
        self.end = layout.scratch
        self.stores: dict[int, list[int]] = {}
        """Places to which numbers are stored when they are known."""
        self.late: dict[int, list[tuple[Node, int]]] = {}
        """Of sections that are one function: places to which numbers are stored at its end."""
        self.moves: list[list[tuple[Scalar | int, int]]] = [[] for _ in code.sections]
        """What is copied at the end of a section: leaves, constants, or other places."""
        self.now = [self._reserve(2 * len(loop.start)) for loop in code.loops]
        self.flags: dict[int, int] = {}
        self.cells: dict[Guarded, int] = {}
        self.renewed: list[list[int]] = []
        """The numbers of each loop that are copied at the end of a turn."""
        self._known = layout.leaves()
        self._of_guards()
        self._of_loops()
        places = layout.places or range(len(code.results))
        for place, x in dict(zip(places, code.results, strict=False)).items():
            self._set(x, layout.output_tile + place)

    def _reserve(self, n: int) -> int:
        self.end += n
        return self.end - n

    def _set(self, x: Scalar | None, place: int, section: int | None = None) -> None:
        """Store a number when it is known; leaves and constants at the end of a section, if one is given."""
        if isinstance(x, Node) and (x.args or section is None):
            self.stores.setdefault(x.index, []).append(place)
        elif section is not None and x is not None:
            self.moves[section].append((x, place))
        elif x is not None:
            self.init.store(self.init.constant(float(x)), "%ws", place)

    def place_of(self, leaf: Any) -> int:
        """Return where a leaf is in the workspace."""
        if isinstance(leaf, Changing):
            return self.now[leaf.loop] + leaf.k
        return self.cells[leaf] if isinstance(leaf, Guarded) else self._known(leaf)

    # ---- what is where

    def _of_guards(self) -> None:
        last = self._last_readers()
        work = [len([node for node in nodes if node.args]) for nodes in self.staged]
        for s, section in enumerate(self.code.sections):
            if section.guard < 0:
                continue
            guard = self.code.guards[section.guard]
            if guard.flag.index not in self.flags:
                self.flags[guard.flag.index] = self._reserve(1)
                self._set(guard.flag, self.flags[guard.flag.index])
            short = work[s] > 0 and len(cut([node for node in self.staged[s] if node.args])) == 1
            for k, (old, new) in enumerate(zip(guard.before, guard.numbers, strict=True)):
                leaf = Guarded(section.guard, k)
                if old is None:
                    self.cells[leaf] = self._reserve(1)
                    self._set(new, self.cells[leaf], s)
                    continue
                shared = isinstance(old, Node) and self._same_loop(old, section.loop) and last.get(old.index, -1) <= s
                if shared and isinstance(old, Node):
                    self.cells[leaf] = self.place_of(old.data)
                else:
                    self.cells[leaf] = self._reserve(1)
                    self._set(old, self.cells[leaf], s - 1)
                if not (isinstance(new, Node) and new.args):
                    self.moves[s].append((new, self.cells[leaf]))
                elif short:
                    self.late.setdefault(s, []).append((new, self.cells[leaf]))
                else:
                    between = self._reserve(1)
                    self._set(new, between)
                    self.moves[s].append((between, self.cells[leaf]))

    def _last_readers(self) -> dict[int, int]:
        """Return the last section that reads each leaf of a loop or a guard."""
        found: dict[int, int] = {}
        reads = [
            *self.code.uses(),
            *((s, a) for s, nodes in enumerate(self.staged) for node in nodes for a in node.args),
        ]
        for s, x in reads:
            if isinstance(x, Node):
                found[x.index] = max(found.get(x.index, -1), s)
        return found

    def _same_loop(self, old: Node, loop: int) -> bool:
        """Return True if a leaf has a place of its own, and this is set in each turn of the loop, if there is one."""
        if isinstance(old.data, Changing):
            return (-1 if old.data.after else old.data.loop) == loop
        if isinstance(old.data, Guarded):
            return self._loops[old.data.guard] == loop
        if old.args:  # stored when it is known: that must be in each turn
            home = self.code.sections[self._homes[old.index]]
            assert home.loop == loop, "a guard in a loop keeps a number from before the loop"
        return False

    def _of_loops(self) -> None:
        for number, loop in enumerate(self.code.loops):
            first, last = self.code.span(number)
            now, n, renewed = self.now[number], len(loop.start), []
            for k, (x, y) in enumerate(zip(loop.start, loop.step, strict=True)):
                self._set(x, now + k, first - 1)
                if isinstance(y, Node) and isinstance(y.data, (Changing, Guarded)) and self.place_of(y.data) == now + k:
                    continue
                self._set(y, now + n + k, last)
                renewed.append(k)
            self.renewed.append(renewed)

    # ---- text

    def written(self, prefetches: Sequence[Prefetch]) -> tuple[str, int]:
        """Return the IR text, and the number of vectors in the workspace."""
        chunks = []
        for nodes in self.staged:
            chunks.append(
                cut([node for node in nodes if node.args or (node.op == "leaf" and node.index in self.stores)])
            )
        starts = [sum(map(len, chunks[:s])) for s in range(len(chunks) + 1)]
        spans = []
        for number in range(len(self.code.loops)):
            first, last = self.code.span(number)
            spans.append((starts[first], starts[last + 1] - 1))
        slots, size = assign_slots([chunk for stage in chunks for chunk in stage], self.end, spans)
        texts, names = [], ("ws", "constants", "wanted") if prefetches else ("ws", "constants")
        for s, stage in enumerate(chunks):
            for k, chunk in enumerate(stage):
                e = TextEmitter(self.target, self.constants, [f"ptr noalias %{name}" for name in names])
                early = share(prefetches, k, len(stage)) if s == 0 else ()
                emit_chunk(chunk, slots, self.stores, self.place_of, e, early, self.late.get(s, ()))
                texts.append(e.text(f"@chunk{starts[s] + k}"))
        texts += [self._moved(s) for s in range(len(self.moves)) if self.moves[s]]
        texts += [self._advance(number) for number in range(len(self.code.loops)) if self.renewed[number]]
        body = self._body(starts, bool(prefetches))
        return "\n".join([self.constants.text(), self.init.text("@init"), *texts, body]), size

    def _moved(self, section: int) -> str:
        """Return the IR text of a function that copies leaves, constants and places."""
        e = TextEmitter(self.target, self.constants, ("ptr noalias %ws", "ptr noalias %constants"))
        for x, place in self.moves[section]:
            if isinstance(x, int):
                e.store(e.load("%ws", x), "%ws", place)
            else:
                e.store(
                    e.load("%ws", self.place_of(x.data)) if isinstance(x, Node) else e.constant(float(x)), "%ws", place
                )
        return e.text(f"@moved{section}")

    def _advance(self, number: int) -> str:
        """Return the IR text of a function that copies the next numbers of a loop to where it reads them."""
        e = TextEmitter(self.target, arguments=("ptr noalias %ws", "ptr noalias %constants"))
        now, n = self.now[number], len(self.code.loops[number].start)
        for name, place in [(e.load("%ws", now + n + k), now + k) for k in self.renewed[number]]:
            e.store(name, "%ws", place)
        return e.text(f"@renewed{number}")

    def _body(self, starts: Sequence[int], prefetching: bool) -> str:
        """Return the IR text of @body: section after section, those of loops as often as they run."""
        b = Builder([f"ptr %{name}" for name in ("data", "ws", *(("wanted",) if prefetching else ()))])
        _, ws, *wanted = b.arguments
        constants, sections = b.const("@constants", "ptr"), self.code.sections

        def run(s: int) -> None:
            guard = sections[s].guard
            flag = None if guard < 0 else self.flags[self.code.guards[guard].flag.index]
            with nullcontext() if flag is None else b.if_(self._some(b, ws, flag, "une")):
                for k in range(starts[s], starts[s + 1]):
                    b.call(f"@chunk{k}", ws, constants, *wanted)
                if self.moves[s]:
                    b.call(f"@moved{s}", ws, constants)

        s = 0
        while s < len(sections):
            number = sections[s].loop
            if number < 0:
                run(s)
                s += 1
                continue
            loop, last = self.code.loops[number], self.code.span(number)[1]
            settled = self.now[number] + len(loop.start) - 1
            with b.if_(self._some(b, ws, settled, "oeq")) if loop.stops else nullcontext(), b.counted(loop.count):
                for t in range(s, last + 1):
                    run(t)
                if self.renewed[number]:
                    b.call(f"@renewed{number}", ws, constants)
                if loop.stops:
                    b.leave_unless(self._some(b, ws, settled, "oeq"))
            s = last + 1
        return b.text("@body")

    def _some(self, b: Builder, ws: Value, place: int, test: str) -> Value:
        """Test whether the number of some state is zero ("oeq") or is not ("une")."""
        target = self.target
        lanes, vector, align = target.lanes, target.vector, min(64, target.lanes * target.itemsize)
        numbers = b.value(f"load {vector}, ptr {ws.at(place, vector)}, align {align}")
        below = b.value(f"fcmp {test} {vector} {numbers}, zeroinitializer")
        bits = b.value(f"bitcast <{lanes} x i1> {below} to i{lanes}")
        return b.typed("i1", f"icmp ne i{lanes} {bits}, 0")
