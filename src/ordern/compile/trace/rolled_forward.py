"""Forward mode on a rolled program: the rates of all numbers beside the numbers.

Every active field and array gets another one for its rates. Loops keep their order. Where a block reads a number it
reads the rate too, and where it stores a value it stores the value's rate.

Reference: Griewank and Walther 2008, Evaluating Derivatives, chapter 3.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...graph.derive import forward
from .rolled_activity import Activity, memory_of
from .rolled_program import Block, Clear, Copy, Fetch, Fetched, Memory, Place, Program, Store

__all__ = ["Forward"]

Rates = Mapping[Memory, Memory]


class Forward:
    """Adds rates to a program, in place."""

    def __init__(self, program: Program, rates: Rates, results: set[Memory]) -> None:
        """Add the rates of all memories that depend on arguments, given the memories of the arguments' rates."""
        self._program = program
        self._activity = Activity(program, set(rates), results)
        self._rates: dict[Memory, Memory] = dict(rates)
        self._fields: dict[int, int] = {}
        self._fetched = 0
        for section in list(program.sections):
            for block in section.all():
                self._block(block)

    def array(self, memory: Memory) -> Memory | None:
        """Return the rates of a memory; None if it is constant."""
        if memory not in self._rates and memory in self._activity.active:
            self._rates[memory] = self._new(memory)
        return self._rates.get(memory)

    def _new(self, memory: Memory) -> Memory:
        program = self._program
        if memory.kind == "array":
            program.arrays.append(program.arrays[memory.number])
            return Memory("array", len(program.arrays) - 1)
        return memory._replace(number=self._field(memory.number))

    def _field(self, number: int) -> int:
        """Return the field of a field's rates, which are zero at the base."""
        if number not in self._fields:
            bases = self._program.field_bases
            bases.append([0.0] * len(bases[number]))
            self._fields[number] = len(bases) - 1
        return self._fields[number]

    def _block(self, block: Block) -> None:
        block.fields += [self._field(f) for f in block.fields if self._is_active(f)]
        graph, rates = block.graph, {}
        for node in list(graph.nodes):
            leaf, memory = node.data, memory_of(node)
            found = None if memory is None else self.array(memory)
            if isinstance(leaf, Place) and found is not None:
                rates[node.index] = graph.leaf(leaf._replace(memory=found))
            elif isinstance(leaf, Fetched) and found is not None:
                self._fetched += 1
                rates[node.index] = graph.leaf(Fetched(-self._fetched, leaf.place._replace(memory=found)))
        stores = [s for s in block.steps if isinstance(s, Store) and s.place.memory in self._activity.active]
        moving = iter(forward([s.value for s in stores], rates))
        steps, block.steps = block.steps, []
        for step in steps:
            block.steps.append(step)
            if isinstance(step, Fetch) and step.value.index in rates:
                block.steps.append(Fetch(rates[step.value.index]))
            elif isinstance(step, Store) and (memory := self._stored(step)) is not None:
                block.steps.append(Store(step.place._replace(memory=memory), graph.lift(next(moving))))
            elif isinstance(step, (Clear, Copy)) and (found := self.array(step.array)) is not None:
                source = self.array(step.source) if isinstance(step, Copy) else None
                block.steps.append(Clear(found) if source is None else Copy(found, source))

    def _stored(self, step: Store) -> Memory | None:
        return self.array(step.place.memory) if step.place.memory in self._activity.active else None

    def _is_active(self, field: int) -> bool:
        return any(m.kind == "field" and m.number == field for m in self._activity.active)
