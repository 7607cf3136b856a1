"""The operations of a rolled program: the operations of each block, times the number of its runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...graph import Counts, count
from ...model import BASE, FreedomTables
from ...records import dataclass
from .rolled_program import Block, Loop, Program

__all__ = ["estimate"]

Times = NDArray[np.float64]


def estimate(program: Program) -> Counts:
    """Count the operations per state, if no constant folded."""
    counter, total, once = _Counter(program), Counts(), _Context(1.0, {})
    for section in program.sections:
        total = total + (counter.loop(section, once) if isinstance(section, Loop) else counter.block(section, once))
    return total


@dataclass(frozen=True, slots=True)
class _Context:
    """The number of times that a block runs: in all, and for each value of each freedom of the loops around it."""

    times: float
    freedoms: dict[str, Times]

    def each(self, name: str, often: Times) -> _Context:
        """Return the context of code that runs so often for each value of a freedom."""
        weight = self.freedoms[name]
        total = float(weight @ often)
        share = total / self.times if self.times else 0.0
        others = {other: share * w for other, w in self.freedoms.items()}
        return _Context(total, {**others, name: weight * often})

    def repeated(self, times: float) -> _Context:
        """Return the context of code that runs so often each time."""
        return _Context(self.times * times, {d: w * times for d, w in self.freedoms.items()})


class _Counter:
    def __init__(self, program: Program) -> None:
        self.program, self.model = program, program.model
        self.kind = program.model.tables.kind
        self.kinds = len(program.model.tables.kinds)

    @cached_property
    def free(self) -> FreedomTables:
        return FreedomTables.of(self.model)

    @cached_property
    def above(self) -> NDArray[np.int64]:
        """The number of ancestors of each kind that every body has."""
        parent = self.model.tables.parent
        found = np.zeros((len(parent) + 1, self.kinds), np.int64)  # the base is the last row
        for k, p in enumerate(parent.tolist()):
            if p != BASE:
                found[k] = found[p]
                found[k, self.kind[p]] += 1
        return found[:-1]

    @cached_property
    def pairs(self) -> NDArray[np.int64]:
        """The number of times that a body of one kind has an ancestor of another."""
        found = np.zeros((self.kinds, self.kinds), np.int64)
        np.add.at(found, self.kind, self.above)
        return found

    def block(self, block: Block, context: _Context) -> Counts:
        """Count the operations of a block that runs so often, with the loops inside of it."""
        total = count(block.roots()) * round(context.times)
        for step in block.steps:
            if isinstance(step, Loop):
                total = total + self.loop(step, context, block)
        return total

    def loop(self, loop: Loop, context: _Context, outer: Block | None = None) -> Counts:
        """Count the operations of a loop inside of a block that runs so often."""
        if loop.over in ("elimination path", "same joint"):
            return self.block(loop.blocks[0], self._climbed(loop, context))
        if loop.parent is None:
            return self.block(loop.blocks[0], self._looped(loop, context))
        often = self._ancestors(loop, context, outer) if loop.index == "j" else self._bodies(loop, context)
        return sum((self.block(block, often(block.kinds[loop.index])) for block in loop.blocks), Counts())

    def _ancestors(self, loop: Loop, context: _Context, outer: Block | None) -> Callable[[int], _Context]:
        if loop.of is not None:
            of, body = loop.of, self.free.body
            return lambda kind: context.each(of, (self.above[body, kind] + (self.kind[body] == kind)).astype(float))
        assert outer is not None
        mine = outer.kinds["i"]
        share = context.times / max(1, int((self.kind == mine).sum()))
        return lambda kind: replace(context, times=share * float(self.pairs[mine, kind]))

    def _bodies(self, loop: Loop, context: _Context) -> Callable[[int], _Context]:
        if loop.of is None:
            where = np.array(self.program.path(), np.int64) if loop.over == "path" else slice(None)
            bodies = np.bincount(self.kind[where], minlength=self.kinds)
            return lambda kind: context.repeated(float(bodies[kind]))
        of, t = loop.of, self.free
        order = t.order if loop.over == "moved bodies" else np.arange(len(self.kind))
        so_far = np.zeros((len(order) + 1, self.kinds))
        so_far[1:] = np.cumsum(self.kind[order][:, None] == np.arange(self.kinds), axis=0)
        often = so_far[t.at + t.count] - so_far[t.at] if loop.over == "moved bodies" else so_far[t.body + 1]
        return lambda kind: context.each(of, often[:, kind])

    def _looped(self, loop: Loop, context: _Context) -> _Context:
        """Return the context inside of a loop over freedoms."""
        nv, t = self.model.nv, self.free
        if loop.of is None:
            weight, inner = np.full(nv, context.times), context.repeated(nv)
        elif loop.over == "moved freedoms":
            steps = np.zeros(nv + 1)
            np.add.at(steps, t.v_at, context.freedoms[loop.of])
            np.add.at(steps, t.v_at + t.v_count, -context.freedoms[loop.of])
            weight = np.zeros(nv)
            weight[t.v_order] = np.cumsum(steps)[:-1]
            inner = context.each(loop.of, t.v_count.astype(float))
        else:
            weight = np.cumsum(context.freedoms[loop.of][::-1])[::-1]
            inner = context.each(loop.of, np.arange(1.0, nv + 1.0))
        return _Context(inner.times, {**inner.freedoms, loop.index: weight})

    def _climbed(self, loop: Loop, context: _Context) -> _Context:
        """Return the context inside of a loop over the elimination path of a freedom."""
        up, first, of = self.free.up, self.free.first, loop.of
        assert of is not None
        weight = context.freedoms[of].copy() if loop.itself else np.zeros(len(up))
        passed, often = context.freedoms[of].copy(), np.full(len(up), float(loop.itself))
        leads = (up >= 0) & ((loop.over != "same joint") | (first[up] == first))
        for d in reversed(np.flatnonzero(leads).tolist()):
            weight[up[d]] += passed[d]
            passed[up[d]] += passed[d]
        for d in np.flatnonzero(leads).tolist():
            often[d] = often[up[d]] + 1.0
        inner = context.each(of, often)
        return _Context(inner.times, {**inner.freedoms, loop.index: weight})
