"""The adjoints of a rolled program in memory: their places, where they begin as zero, and how a block changes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from ...graph import Graph, Node, Scalar, live
from .rolled_activity import OWN_ROW, PARENT_ROW, Activity
from .rolled_program import Block, Clear, Copy, Fetch, Fetched, Loop, Memory, Place, Program, Store

__all__ = ["Adjoints", "Cells"]

_AT_BASE = Place(Memory("field"), 0)[1:]
Steps = list[Store | Fetch | Clear | Copy | Loop]


class Adjoints:
    """The places of adjoints, and the sections in which they begin.

    The adjoint of a field is zero until a reversed section adds to it. If that section visits all bodies, and visits
    a body before all others that add to the body's adjoint, the body's own visit begins it. Otherwise the loop before
    that section writes zeros.
    """

    def __init__(
        self,
        program: Program,
        activity: Activity,
        gradients: Mapping[Memory, Place],
        answers: Mapping[Memory, Place],
    ) -> None:
        """Make places beside those of gradients and answers; arrays are cleared in a block after the program."""
        self._program, self._activity = program, activity
        self._starts = {**gradients, **answers}
        self._fields: dict[int, int] = {}
        self._begun: set[Memory] = set()
        self._fresh: set[Memory] = set()
        self._zeros: set[Memory] = set()
        self._on_path = _only_on_paths(program)
        self._clears = Block(Graph("adjoints begin"), {})
        program.sections.append(self._clears)

    def of(self, place: Place) -> Place | None:
        """Return the place of the adjoint of a number; None if it has no derivative."""
        memory = place.memory
        if memory not in self._activity.active:
            return None
        if memory not in self._starts:
            self._starts[memory] = Place(self._new(memory), 0)
        start = self._starts[memory]
        return Place(start.memory, start.offset + place.offset, place.terms)

    def bases(self, field: int) -> list[Place]:
        """Return the adjoints of the numbers of a field at the base."""
        components = [m for m in self._activity.active if m.kind == "field" and m.number == field]
        return [place for m in sorted(components) if (place := self.of(Place(m, 0))) is not None]

    def is_fresh(self, place: Place) -> bool:
        """Return True if a number is zero before the visit of its own body in this section."""
        return place.memory in self._fresh and place.terms == OWN_ROW

    def _new(self, memory: Memory) -> Memory:
        program = self._program
        if memory.kind == "array":
            program.arrays.append(program.arrays[memory.number])
            found = Memory("array", len(program.arrays) - 1)
            self._clears.steps.append(Clear(found))
            return found
        if memory.number not in self._fields:
            program.field_bases.append([0.0] * len(program.field_bases[memory.number]))
            self._fields[memory.number] = len(program.field_bases) - 1
        return memory._replace(number=self._fields[memory.number])

    def begin(self, section: Loop | Block) -> None:
        """Prepare for the reverse of a section: find the adjoints that begin in it."""
        self._fresh, self._zeros = set(), set()
        places: dict[Memory, set[tuple[object, ...]]] = {}
        for block in section.all():
            for place in _accesses(block):
                if place.memory.kind == "field" and (bar := self.of(place)) is not None:
                    places.setdefault(bar.memory, set()).add(bar[1:])
        for memory, where in places.items():
            if memory in self._begun or where == {_AT_BASE}:
                continue
            self._begun.add(memory)
            own = isinstance(section, Loop) and section.over == "bodies" and self._by_own_visit(section, where)
            (self._fresh if own else self._zeros).add(memory)

    @staticmethod
    def _by_own_visit(section: Loop, where: Iterable[tuple[object, ...]]) -> bool:
        """Return True if bodies begin their own adjoints in the reverse of a loop over all bodies."""
        terms = {at[1] for at in where}
        return terms <= ({OWN_ROW, PARENT_ROW} if section.inward else {OWN_ROW})

    def end(self, found: Loop | Block) -> None:
        """Append a reversed section, and write the zeros that it needs."""
        if self._fresh:
            assert isinstance(found, Loop)
            for block in found.blocks:
                written = {s.place for s in block.steps if isinstance(s, Store)}
                _write_zeros(block, [m for m in self._fresh if Place(m, 0, OWN_ROW) not in written])
        sections = self._program.sections
        for over, memories in (
            ("path", self._zeros & self._path_adjoints()),
            ("bodies", self._zeros - self._path_adjoints()),
        ):
            if memories:
                before = next((s for s in reversed(sections) if isinstance(s, Loop) and s.over == over), None)
                if before is None:
                    kinds = range(len(self._program.model.tables.kinds))
                    before = Loop("bodies", "i", [Block(Graph("adjoints begin"), {"i": k}) for k in kinds])
                    sections.append(before)
                for block in before.blocks:
                    _write_zeros(block, memories)
        sections.append(found)

    def _path_adjoints(self) -> set[Memory]:
        """Return the adjoints of fields that only loops over paths use."""
        return {m for m in self._begun if any(f in self._on_path for f, bar in self._fields.items() if bar == m.number)}

    def drop_dead_zeros(self, start: int) -> None:
        """Drop zeros that are written after the last reading, in the sections from `start` on."""
        sections = self._program.sections
        last: dict[Memory, int] = {}
        for number in range(start, len(sections)):
            for block in sections[number].all():
                for node in live(block.roots()):
                    if isinstance(node.data, Fetched):
                        last[node.data.place.memory] = number
        for number in range(start, len(sections)):
            section = sections[number]
            # inward, no other body comes back to the one that was visited
            if isinstance(section, Loop) and section.over in ("bodies", "path") and section.inward:
                over = {m for m in self._begun if last.get(m, -1) <= number}
                for block in section.blocks:
                    block.steps = [step for step in block.steps if not _is_zero_of(step, over)]


def _is_zero_of(step: object, memories: set[Memory]) -> bool:
    """Return True if a step writes zero to one of these memories, at the body of its loop."""
    if not isinstance(step, Store) or step.place.memory not in memories or step.place.terms != OWN_ROW:
        return False
    return step.value.op == "constant" and step.value.data == 0.0


def _write_zeros(block: Block, memories: Iterable[Memory]) -> None:
    """Write zero to fields at the body of a block, before all else."""
    zeros: Steps = [Store(Place(m, 0, OWN_ROW), block.graph.constant(0.0)) for m in sorted(memories)]
    block.steps[:0] = zeros


def _accesses(block: Block) -> Iterator[Place]:
    """Visit the places that a block reads or writes."""
    for node in block.graph.nodes:
        leaf = node.data.place if isinstance(node.data, Fetched) else node.data
        if isinstance(leaf, Place):
            yield leaf
    for step in block.steps:
        if isinstance(step, Store):
            yield step.place


def _only_on_paths(program: Program) -> set[int]:
    """Return the fields that loops use only on the path to a frame."""
    on: set[int] = set()
    off: set[int] = set()
    for section in program.sections:
        if isinstance(section, Loop):
            for block in section.all():
                fields = {place.memory.number for place in _accesses(block) if place.memory.kind == "field"}
                (on if section.over == "path" else off).update(fields)
    return on - off


class Cells:
    """The adjoints that one reversed block reads and changes. They are written at its end, or before a loop."""

    def __init__(self, graph: Graph, is_fresh: Callable[[Place], bool]) -> None:
        self._graph, self._is_fresh = graph, is_fresh
        self._now: dict[Place, Scalar] = {}
        self._before: dict[Place, Scalar] = {}
        self._written: set[Place] = set()
        self._count = 0
        self.steps: Steps = []

    def get(self, place: Place) -> Scalar:
        """Return an adjoint as it is now."""
        if place not in self._now:
            self._settle_others(place)
            if self._is_fresh(place) and place not in self._written:
                self._now[place] = 0.0  # to be written, even if it stays zero
            else:
                self._now[place] = self._before[place] = self._fetch(place)
        return self._now[place]

    def put(self, place: Place, x: Scalar) -> None:
        """Set an adjoint."""
        if place not in self._now:
            self._settle_others(place)
        self._now[place] = x

    def add(self, place: Place, x: Scalar) -> None:
        """Add to an adjoint."""
        if not (type(x) is float and x == 0.0):
            self.put(place, self.get(place) + x)

    def settle(self) -> None:
        """Write all adjoints that have changed, and forget them."""
        for memory in sorted({place.memory for place in self._now}):
            self._settle(memory)

    def _settle(self, memory: Memory) -> None:
        for place in [place for place in self._now if place.memory == memory]:
            x, before = self._now.pop(place), self._before.pop(place, None)
            if memory.kind != "input" and (before is None or x is not before):
                self.steps.append(Store(place, self._graph.lift(x)))
                self._written.add(place)

    def _settle_others(self, place: Place) -> None:
        """Write the numbers of a memory at other indices, which may be the same number."""
        if any(other.memory == place.memory and _may_meet(other, place) for other in self._now):
            self._settle(place.memory)

    def _fetch(self, place: Place) -> Node:
        if place.memory.kind == "input":
            return self._graph.leaf(place)
        self._count += 1
        leaf = self._graph.leaf(Fetched(self._count, place))
        self.steps.append(Fetch(leaf))
        return leaf


_APART = ({"i", "p"}, {"i", "j"}, {"i", "jp"}, {"j", "jp"})
"""Bodies that are never the same."""


def _may_meet(one: Place, other: Place) -> bool:
    """Return True if two places of a memory may be the same number, while their expressions differ."""
    if one.terms == other.terms:
        return False
    if len(one.terms) != 1 or len(other.terms) != 1 or one.memory.kind != "field":
        return True
    return {one.terms[0][1].who, other.terms[0][1].who} not in _APART
