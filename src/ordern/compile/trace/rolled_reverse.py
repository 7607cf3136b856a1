"""Reverse mode on a rolled program: the program itself, and then its steps and loops in reverse.

Every active field and array gets another one for its adjoints, the derivatives of the weighted sum of results by its
numbers. In reverse order,

    mem[place] = x        becomes    bar(x) += bar[place],  bar[place] = 0
    x = mem[place]        becomes    bar[place] += bar(x)
    a loop outward        becomes    a loop inward, and so on

so that a sum over children becomes a value that the children read from their parent.

The fields are the tape: a reversed block reads numbers of the model, arguments, and fields that nothing has changed
since. Numbers that were overwritten, and results of slow operations that are in no field, are kept in a field or array
of their own, with a number for each run of the block. All else is computed again.

Reference: Griewank and Walther 2008, Evaluating Derivatives, chapters 3 and 4.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...errors import CompileError
from ...graph import Graph, Node, Scalar
from ...graph.derive import reverse
from ...records import dataclass
from .rolled_activity import Activity, Lasting, memory_of
from .rolled_adjoints import Adjoints, Cells
from .rolled_program import Block, Clear, Copy, Fetch, Fetched, Loop, Memory, Place, Program, Store
from .rolled_replay import Replay, Tape

__all__ = ["Reverse"]


@dataclass(frozen=True, slots=True)
class Around:
    """The place of a block in a program: the number of its section, and the loops around it from outside in."""

    section: int
    loops: tuple[Loop, ...]

    def inside(self, loop: Loop) -> Around:
        """Return the place of the blocks of a loop."""
        return Around(self.section, (*self.loops, loop))

    @property
    def direct(self) -> bool:
        """True inside of one loop over bodies alone."""
        return len(self.loops) == 1 and self.loops[0].index == "i"


class Reverse:
    """Appends the reverse of a program to it."""

    def __init__(self, program: Program, gradients: Mapping[Memory, Place], answers: Mapping[Memory, Place]) -> None:
        """Make the adjoints of a program's memories.

        `gradients` are the places at which the adjoints of arguments begin, `answers` those at which the adjoints of
        the results begin, which are there already.
        """
        self._program = program
        self._activity = Activity(program, set(gradients), set(answers))
        self._lasting = Lasting(program)
        self._adjoints = Adjoints(program, self._activity, gradients, answers)
        self._tape = Tape(program, self._lasting)

    @staticmethod
    def writes_once(program: Program, array: Memory) -> bool:
        """Return True if a program writes each number of an array at most once, and reads none of them."""
        blocks = [block for section in program.sections for block in section.all()]
        read = any(memory_of(node) == array for block in blocks for node in block.graph.nodes)
        return not read and Lasting(program).plain(array)

    def append(self) -> None:
        """Append the reversed sections to the program."""
        program = self._program
        forward = program.sections[:-1]  # the last one clears adjoints
        for number in reversed(range(len(forward))):
            section = forward[number]
            around = Around(number, ())
            self._adjoints.begin(section)
            if isinstance(section, Loop):
                found: Loop | Block = self._loop(section, around)
            else:
                found = self._block(section, around)
            self._adjoints.end(found)
        self._adjoints.drop_dead_zeros(len(forward))

    def _loop(self, loop: Loop, around: Around) -> Loop:
        """Return a loop that visits the same bodies or freedoms from the last to the first."""
        blocks = [self._block(block, around.inside(loop)) for block in loop.blocks]
        return Loop(loop.over, loop.index, blocks, loop.of, not loop.inward, loop.itself)

    def _block(self, block: Block, around: Around) -> Block:
        """Return the reverse of a block."""
        graph = Graph(f"{block.graph.name}, reversed")
        replay = Replay(block, graph, self._tape, around)
        draft = replay.draft
        cells = Cells(draft, self._adjoints.is_fresh if around.direct else lambda place: False)
        ends: list[tuple[Node, Scalar]] = []

        def read(leaves: list[Node]) -> None:
            """Add to the adjoints of numbers that the block has read before all steps that were reversed so far."""
            places = [self._adjoints.of(_place_of(leaf)) for leaf in leaves]
            active = [(leaf, place) for leaf, place in zip(leaves, places, strict=True) if place is not None]
            if ends and active:
                copies = [replay.copy(leaf) for leaf, _ in active]
                bars = reverse([x for x, _ in ends], [w for _, w in ends], copies)
                for (_, place), bar in zip(active, bars, strict=True):
                    cells.add(place, bar)

        fetched: list[Node] = []
        for step in reversed(block.steps):
            if isinstance(step, Fetch):
                fetched.append(step.value)
                continue
            read(fetched)
            fetched = []
            if isinstance(step, Store):
                self._store(block, step, cells, ends, replay)
            elif isinstance(step, Loop):
                cells.settle()
                cells.steps.append(self._loop(step, around))
            else:
                self._array(step, cells)
        read([*fetched, *(node for node in block.graph.nodes if isinstance(node.data, Place))])
        for field in block.fields:
            for place in self._adjoints.bases(field):
                cells.put(place, 0.0)
        cells.settle()
        return Block(graph, dict(block.kinds), replay.steps(cells.steps))

    def _store(self, block: Block, step: Store, cells: Cells, ends: list[tuple[Node, Scalar]], replay: Replay) -> None:
        place = self._adjoints.of(step.place)
        if place is None:
            return
        bar = cells.get(place)
        cells.put(place, 0.0)
        if self._activity.depends(block, step.value) and not (type(bar) is float and bar == 0.0):
            ends.append((replay.copy(step.value), bar))

    def _array(self, step: Clear | Copy, cells: Cells) -> None:
        place = self._adjoints.of(Place(step.array, 0))
        if place is None:
            return
        if isinstance(step, Copy) and self._adjoints.of(Place(step.source, 0)) is not None:
            raise CompileError("the derivative of a derivative of this method cannot be compiled as loops")
        cells.settle()
        cells.steps.append(Clear(place.memory))


def _place_of(leaf: Node) -> Place:
    place: Place = leaf.data.place if isinstance(leaf.data, Fetched) else leaf.data
    return place
