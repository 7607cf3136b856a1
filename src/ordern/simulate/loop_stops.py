"""Limits of joints that close loops, watched like those of the tree's joints."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError
from .limits import Stop
from .loop_books import loop_positions
from .looped import LoopedProblem

__all__ = ["LoopStop", "loop_stops"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LoopStop(Stop):
    """A limit of one coordinate of a joint that closes a loop; `q` is its place among the joint's own."""

    problem: LoopedProblem

    def inside(self, q: Array) -> float:
        """How far a position is inside of the limit; well inside while the loop is open."""
        now = self.problem.now.robot
        for x in now.loop_table.loops:
            if x.loop.name == self.joint:
                return float(self.side * (loop_positions(now, q)[x.q][self.q] - self.bound))
        return 1.0


def loop_stops(problem: LoopedProblem, mode: str, q0: Array) -> list[Stop]:
    """The stops of loops that a run has to watch."""
    found: list[Stop] = []
    for loop in problem.robot.loops if mode != "ignore" else ():
        for k in range(loop.nq):
            for side, bound in ((1, loop.lower[k]), (-1, loop.upper[k])):
                if math.isfinite(bound):
                    found.append(LoopStop(loop.name, k, -1, side, float(bound), problem))
    if found and mode == "bounce":
        raise ArgumentError(
            f"limits='bounce': loop {found[0].joint!r} has limits, and joints that close loops cannot bounce; use "
            "limits='stop' or 'ignore', or cut the loop at another joint"
        )
    for s in found:
        if s.inside(q0) < 0.0:
            raise ArgumentError(
                f"q0: the joint of loop {s.joint!r} starts {-s.inside(q0):.3g} beyond its "
                f"{'lower' if s.side > 0 else 'upper'} limit {s.bound:g}; with limits={mode!r} a run starts within them"
            )
    return found
