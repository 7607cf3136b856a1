"""How many operations a rolled program takes: those of each block, times how often it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...graph import Counts, count
from ...model import BASE, FreedomTables
from ...records import dataclass
from .rolled_program import Block, Climb, Loop, Program, Walk

__all__ = ["estimate"]

Times = NDArray[np.float64]


def estimate(program: Program) -> Counts:
    """Operations per state, if no constant folded."""
    counter, total = _Counter(program), Counts()
    for piece in program.pieces:
        if isinstance(piece, Block):
            total = total + counter.block(piece, _Context(1.0, {}))
        else:
            total = total + counter.step(piece, _Context(1.0, {}))
    return total


@dataclass(frozen=True, slots=True)
class _Context:
    """How often a block runs: in all, and for each value of each freedom that it knows."""

    times: float
    freedoms: dict[str, Times]

    def each(self, name: str, often: Times) -> _Context:
        """What runs so often for each value of a freedom."""
        weight = self.freedoms[name]
        total = float(weight @ often)
        share = total / self.times if self.times else 0.0
        others = {other: share * w for other, w in self.freedoms.items()}
        return _Context(total, {**others, name: weight * often})


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
        """How many ancestors of each kind every body has."""
        parent = self.model.tables.parent
        found = np.zeros((len(parent) + 1, self.kinds), np.int64)  # the base is the last row
        for k, p in enumerate(parent.tolist()):
            if p != BASE:
                found[k] = found[p]
                found[k, self.kind[p]] += 1
        return found[:-1]

    @cached_property
    def pairs(self) -> NDArray[np.int64]:
        """How often a body of one kind has an ancestor of another."""
        found = np.zeros((self.kinds, self.kinds), np.int64)
        np.add.at(found, self.kind, self.above)
        return found

    def block(self, block: Block, context: _Context) -> Counts:
        """The operations of a block that runs so often, with what is inside of it."""
        total = count(block.roots()) * round(context.times)
        for step in block.steps:
            if isinstance(step, (Loop, Climb, Walk)):
                total = total + self.step(step, context, block)
        return total

    def step(self, step: Loop | Climb | Walk, context: _Context, outer: Block | None = None) -> Counts:
        """The operations of a loop inside of a block that runs so often."""
        if isinstance(step, Climb):
            return self.block(step.blocks[0], self._climbed(step, context))
        if isinstance(step, Loop) and step.name:
            return self.block(step.blocks[0], self._looped(step, context))
        often = self._ancestors(step, context, outer) if isinstance(step, Walk) else self._bodies(step, context)
        total, who = Counts(), "j" if isinstance(step, Walk) else "i"
        for block in step.blocks:
            total = total + self.block(block, often(block.kinds[who]))
        return total

    def _ancestors(self, walk: Walk, context: _Context, outer: Block | None) -> Callable[[int], _Context]:
        if walk.of is not None:
            body = self.free.body
            of = walk.of
            return lambda kind: context.each(of, (self.above[body, kind] + (self.kind[body] == kind)).astype(float))
        assert outer is not None
        mine = outer.kinds["i"]
        share = context.times / max(1, int((self.kind == mine).sum()))
        return lambda kind: replace(context, times=share * float(self.pairs[mine, kind]))

    def _bodies(self, loop: Loop, context: _Context) -> Callable[[int], _Context]:
        if loop.moved_by is not None:
            name, t = loop.moved_by, self.free
            inside = np.zeros((len(t.order) + 1, self.kinds))
            inside[1:] = np.cumsum(self.kind[t.order][:, None] == np.arange(self.kinds), axis=0)
            often = inside[t.at + t.count] - inside[t.at]
            return lambda kind: context.each(name, often[:, kind])
        if loop.upto is not None:
            name = loop.upto
            so_far = np.cumsum(self.kind[:, None] == np.arange(self.kinds), axis=0)[self.free.body].astype(float)
            return lambda kind: context.each(name, so_far[:, kind])
        where = np.array(self.program.path(), np.int64) if loop.order.startswith("path") else slice(None)
        bodies = np.bincount(self.kind[where], minlength=self.kinds)
        return lambda kind: _Context(
            context.times * float(bodies[kind]), {d: w * float(bodies[kind]) for d, w in context.freedoms.items()}
        )

    def _looped(self, loop: Loop, context: _Context) -> _Context:
        """Inside of a loop over freedoms."""
        nv, name = self.model.nv, loop.name
        if loop.moved_by is not None:
            of, t = loop.moved_by, self.free
            steps = np.zeros(nv + 1)
            np.add.at(steps, t.v_at, context.freedoms[of])
            np.add.at(steps, t.v_at + t.v_count, -context.freedoms[of])
            weight = np.zeros(nv)
            weight[t.v_order] = np.cumsum(steps)[:-1]
            inner = context.each(of, t.v_count.astype(float))
        elif loop.upto is not None:
            of = loop.upto
            weight = np.cumsum(context.freedoms[of][::-1])[::-1]
            inner = context.each(of, np.arange(1.0, nv + 1.0))
        else:
            weight = np.full(nv, context.times)
            inner = _Context(context.times * nv, {d: w * nv for d, w in context.freedoms.items()})
        return _Context(inner.times, {**inner.freedoms, name: weight})

    def _climbed(self, climb: Climb, context: _Context) -> _Context:
        """Inside of a loop over the freedoms above one."""
        up, first = self.free.up, self.free.first
        weight = context.freedoms[climb.of].copy() if climb.itself else np.zeros(len(up))
        passed, often = context.freedoms[climb.of].copy(), np.full(len(up), float(climb.itself))
        for d in reversed(range(len(up))):
            if up[d] >= 0 and not (climb.within and first[up[d]] != first[d]):
                weight[up[d]] += passed[d]
                passed[up[d]] += passed[d]
        for d in range(len(up)):
            if up[d] >= 0 and not (climb.within and first[up[d]] != first[d]):
                often[d] = often[up[d]] + 1.0
        inner = context.each(climb.of, often)
        return _Context(inner.times, {**inner.freedoms, climb.name: weight})
