"""Both modes of derivatives of a rolled program: the rates of its answer, and the gradient of its weighted answer.

Rates of positions come from velocities before the program runs, and gradients by positions become gradients by
velocities after its reverse has run: loops over bodies, in which each joint type has its own formula. The tangents of
answers that are positions or poses come from their rates in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ...algorithms.derivatives.coordinates import InCoordinates
from ...algorithms.derivatives.derived import Derived, _Ends, tangent_kind
from ...errors import CompileError
from ...graph import Jet, Node, Scalar
from ...joints import Joint
from ...model import Index, core_size
from ...records import dataclass
from ...spatial import Freedoms
from .rolled_forward import Forward
from .rolled_program import Clear, Copy, Memory, Place, Position, Terms
from .rolled_reverse import Reverse

if TYPE_CHECKING:
    from .roll import RolledTree

__all__ = ["Answer", "Gradient", "Rates", "varied_kinds"]

_Q, _V = ((1, Position("q", "i")),), ((1, Position("v", "i")),)


@dataclass(frozen=True, slots=True)
class Answer:
    """The memories that hold the answer of a question: an array for each body's part, and then further numbers."""

    array: Memory | None
    size: int
    """The size of the array."""
    more: Memory | None
    count: int
    """The number of further numbers."""


def varied_kinds(derived: Derived) -> dict[str, str]:
    """Return the kinds of the numbers by which arguments vary."""
    plain = isinstance(derived, InCoordinates)
    return {p.name: p.kind if plain else tangent_kind(p.kind) for p in derived.base.inputs}


class _Part(NamedTuple):
    """A body's part of an answer that is not a vector: the addresses of its numbers, and of their tangents."""

    numbers: Terms
    tangents: Terms
    columns: list[list[Scalar]]
    """The tangents for a unit rate of each number."""


class _Transformed:
    """The common part of both modes."""

    def __init__(self, tree: RolledTree, derived: Derived, inputs: dict[str, Memory], answer: Answer) -> None:
        self.tree, self.program, self.answer, self.inputs = tree, tree.program, answer, inputs
        self.kind = derived.base.output
        self.wrt = derived.wrt
        self.sizes = {x: core_size(tree.model, kind) for x, kind in varied_kinds(derived).items()}
        self.plain = isinstance(derived, InCoordinates)
        """True if arguments and answers vary by their numbers."""
        self.positions = [p.name for p in derived.base.inputs if p.kind == "q" and not self.plain]
        mapped = tangent_kind(self.kind) != self.kind and not self.plain
        self.by_body, self.by_pose = mapped and answer.array is not None, mapped and answer.array is None

    @property
    def answers(self) -> set[Memory]:
        """The memories of the answer."""
        return {m for m in (self.answer.array, self.answer.more) if m is not None}

    def bodies(self) -> Iterator[Index]:
        """Visit the bodies that have coordinates of their own, as a loop of its own."""
        self.tree.begin_section()
        return (i for i, _ in self.tree.outward() if not i.kind.follows)

    def parts(self, numbers: Memory) -> Iterator[_Part]:
        """Visit the part of the answer that belongs to each body, given the memory of the answer."""
        if self.kind == "q":
            for i in self.bodies():
                yield _Part(_Q, _V, self.tangents(i, numbers))
        elif self.kind == "body_poses":
            self.tree.begin_section()
            for _ in self.tree.outward():
                poses, motions = ((16, Position("body", "i")),), ((6, Position("body", "i")),)
                yield _Part(poses, motions, self.poses(self.read(numbers, 0, poses, 16)))
        else:
            raise CompileError(f"derivatives of answers of the kind {self.kind!r} cannot be compiled as loops")

    def read(self, memory: Memory, offset: int, terms: Any, count: int) -> list[Node]:
        """Read numbers of one body."""
        return [self.tree.fetch(Place(memory, offset + k, terms)) for k in range(count)]

    def rates(self, i: Index, position: Memory) -> list[list[Scalar]]:
        """Return the rates of a joint's positions for each unit velocity."""
        q, nv = Freedoms(self.read(position, 0, _Q, i.kind.joint.nq)), i.kind.joint.nv
        return [list(i.joint.rate(q, _unit(nv, k))) for k in range(nv)]

    def tangents(self, i: Index, position: Memory) -> list[list[Scalar]]:
        """Return the tangents of a joint's positions for unit rates of each of them."""
        nq = i.kind.joint.nq
        q = self.read(position, 0, _Q, nq)
        joint = i.joint.with_parameters(tuple(Jet(x) for x in i.joint.parameters))
        columns = []
        for k in range(nq):
            moved = Freedoms(Jet(x, float(k == n)) for n, x in enumerate(q))
            found = joint.difference(Freedoms(map(Jet, q)), moved)
            columns.append([x.rate if isinstance(x, Jet) else 0.0 for x in found])
        return columns

    def poses(self, results: Sequence[Scalar]) -> list[list[Scalar]]:
        """Return the tangents of poses, or of joints that close loops, for unit rates of each of their numbers."""
        ends = _Ends(cast("Any", self.tree), self.kind, results)
        units = ([float(k == n) for n in range(len(results))] for k in range(len(results)))
        return [ends.tangents(unit) for unit in units]


class Rates(_Transformed):
    """The rates of an answer along tangents of arguments."""

    def trace(self, tangents: dict[str, str], inner: bool) -> Answer:
        """Add rates to the program, and make the rates of the answer its result; or store them in arrays if `inner`."""
        tree, program = self.tree, self.program
        given, program.sections = program.sections, []
        moving = {self.inputs[x]: self._moving(x, self.inputs[name]) for x, name in tangents.items()}
        before, program.sections = program.sections, given
        forward = Forward(program, moving, self.answers)
        program.sections[:0] = before
        tree.begin_section()
        array, more = (None if m is None else forward.array(m) for m in (self.answer.array, self.answer.more))
        if self.by_body:
            return self._bodies(array)
        size, found = self.answer.size, self._numbers(more)
        program.result, result = None, None
        if self.answer.array is not None:
            result = tree.new_array(size) if array is None else array
            program.result = result.number
            if array is None:
                tree.block.steps.append(Clear(result))
        end = tree.new_array(len(found)) if inner and found else None
        for k, x in enumerate(found):
            tree.store(Place(Memory("result"), size + k) if end is None else Place(end, k), x)
        return Answer(result, size, end, len(found))

    def _moving(self, name: str, tangent: Memory) -> Memory:
        """Return the memory of the rates of an argument: of a position, from a velocity."""
        if name not in self.positions or _is_plain(self.tree):
            return tangent
        rates = self.tree.new_array(self.tree.model.nq)
        for i in self.bodies():
            columns = self.rates(i, self.inputs[name])
            v = self.read(tangent, 0, _V, i.kind.joint.nv)
            for k in range(i.kind.joint.nq):
                self.tree.store(Place(rates, k, _Q), _dot(v, [column[k] for column in columns]))
        return rates

    def _bodies(self, rates: Memory | None) -> Answer:
        """Store the tangents of positions, or of the poses of all bodies."""
        numbers = self.answer.array
        assert numbers is not None
        result = self.tree.new_array(core_size(self.tree.model, tangent_kind(self.kind)))
        self.program.result = result.number
        for part in self.parts(numbers):
            count = len(part.columns)
            moving = [0.0] * count if rates is None else self.read(rates, 0, part.numbers, count)
            for k, row in enumerate(zip(*part.columns, strict=True)):
                self.tree.store(Place(result, k, part.tangents), _dot(moving, row))
        return Answer(result, self.program.arrays[result.number], None, 0)

    def _numbers(self, rates: Memory | None) -> list[Scalar]:
        """Return the rates of the numbers after the array, or the tangents of poses."""
        values, count = self.answer.more, self.answer.count
        found: list[Scalar] = [0.0] * count if rates is None else [*self.read(rates, 0, (), count)]
        if self.by_pose and values is not None:
            columns = self.poses(self.read(values, 0, (), count))
            found = [_dot(found, row) for row in zip(*columns, strict=True)]
        return found


class Gradient(_Transformed):
    """The derivatives of a weighted sum of an answer by arguments."""

    def trace(self, cotangent: Memory) -> Answer:
        """Append the reverse of the program; its result has the derivatives, one argument after the other."""
        tree, program, model = self.tree, self.program, self.tree.model
        tree.begin_section()
        result = tree.new_array(sum(self.sizes[x] for x in self.wrt))
        clears = [result]
        gradients: dict[Memory, Place] = {}
        positions: list[tuple[str, Memory, int]] = []
        start = 0
        for x in self.wrt:
            gradients[self.inputs[x]] = Place(result, start)
            if x in self.positions and not _is_plain(tree):
                bars = tree.new_array(model.nq)
                clears.append(bars)
                gradients[self.inputs[x]] = Place(bars, 0)
                positions.append((x, bars, start))
            start += self.sizes[x]
        answers = self._weights(cotangent)
        tree.begin_section()
        tree.block.steps.extend(Clear(x) for x in clears)
        Reverse(program, gradients, answers).append()
        for x, bars, at in positions:
            for i in self.bodies():
                columns = self.rates(i, self.inputs[x])
                bar = self.read(bars, 0, _Q, i.kind.joint.nq)
                for k, column in enumerate(columns):
                    tree.store(Place(result, at + k, _V), _dot(bar, column))
        program.result = result.number
        return Answer(result, start, None, 0)

    def _weights(self, cotangent: Memory) -> dict[Memory, Place]:
        """Return the places at which the adjoints of the answer begin."""
        tree, answer = self.tree, self.answer
        found: dict[Memory, Place] = {}
        if self.by_body:
            assert answer.array is not None
            bars = tree.new_array(answer.size)
            for part in self.parts(answer.array):
                w = self.read(cotangent, 0, part.tangents, len(part.columns[0]) if part.columns else 0)
                for k, column in enumerate(part.columns):
                    tree.store(Place(bars, k, part.numbers), _dot(w, column))
            found[answer.array] = Place(bars, 0)
        elif answer.array is not None:
            found[answer.array] = self._copied(answer.array, cotangent)
        if answer.more is None:
            return found
        if self.by_pose:
            columns = self.poses(self.read(answer.more, 0, (), answer.count))
            w = self.read(cotangent, 0, (), len(columns[0]))
            bars = tree.new_array(answer.count)
            for k, column in enumerate(columns):
                tree.store(Place(bars, k), _dot(w, column))
            found[answer.more] = Place(bars, 0)
        else:
            found[answer.more] = Place(cotangent, answer.size)
        return found

    def _copied(self, array: Memory, cotangent: Memory) -> Place:
        """Return where the adjoints of an array begin: the cotangents, or a copy if they change."""
        if Reverse.writes_once(self.program, array):
            return Place(cotangent, 0)
        bars = self.tree.new_array(self.answer.size)
        self.tree.block.steps.append(Copy(bars, cotangent))
        return Place(bars, 0)


def _is_plain(tree: RolledTree) -> bool:
    """Return True if the rates of all positions are the velocities, in the same order."""
    tables = tree.model.tables
    types = {type(kind.joint) for kind in tables.kinds}
    plain = all(x.integrate is Joint.integrate and x.rate is Joint.rate for x in types)
    return plain and bool((tables.q_start == tables.v_start).all())


def _unit(n: int, k: int) -> Freedoms:
    return Freedoms(float(k == m) for m in range(n))


def _dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    total: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total
