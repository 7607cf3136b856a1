"""Forces of loops on the bodies of a tree, propagated inward from each loop's two bodies to its top.

At the top the forces of both sides cancel, but for rounding. The sweep ends there, so that a loop has exactly no effect
on the bodies inward of its top.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...model import BASE, Index, Tree
from ...spatial import Chain, Force, Forces, Real, Transform
from ..field_types import Loads
from .relative import Relative

__all__ = ["LoopLoads"]


class LoopLoads:
    """Forces of each loop, as many as it needs: on its child, and the opposite forces on its parent."""

    def __init__(self, tree: Tree, counts: Sequence[int]) -> None:
        self.tree, self.loops = tree, tree.model.loop_table.loops
        self._loads = [tree.field(Loads(n)) for n in counts]
        self._inside = [tree.field(Real) for _ in counts]
        for i, _ in tree.outward():
            for load, inside, n in zip(self._loads, self._inside, counts, strict=True):
                load[i], inside[i] = Loads(n).zero(), 1.0

    def put(self, number: int, at: Relative, forces: tuple[Force, ...]) -> None:
        """Apply forces to the child of a loop, in the frame on the child, and the opposite forces to its parent."""
        loop, load = self.loops[number], self._loads[number]
        ends = ((loop.child, Forces(forces)), (loop.parent, at.X.T @ Forces(tuple(-f for f in forces))))
        for end, mine in ends:
            if end.bodies:  # else it is on the loop's top, where it does nothing
                frame = self.tree.end(end)
                load[frame.body] += frame.placement.T @ mine
        if loop.top != BASE:
            self._inside[number][Index(loop.top)] = 0.0

    def passing(self, i: Index, p: Index, X: Transform | Chain) -> list[Force]:
        """Return the forces of all loops that pass through a body, loop after loop, and add them to its parent p."""
        found: list[Force] = []
        for loop, load, inside in zip(self.loops, self._loads, self._inside, strict=True):
            here = load[i].columns if loop.top == BASE else tuple(f * inside[i] for f in load[i].columns)
            found += here
            load[p] += X.T @ Forces(here)
        return found
