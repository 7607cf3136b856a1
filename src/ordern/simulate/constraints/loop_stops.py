"""Limits of joints that close loops: watched, reached, bounced off and rested on like those of the tree's joints.

Such a coordinate c is a function of q. On closed positions its rate is E v, with a row E(q) of the matrix that leads
from the tree's velocities to those of joints that close loops; its acceleration is E a + (dE/dt) v.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...errors import ArgumentError
from ...loops.limits import limited_coordinates
from ...records import dataclass
from .limits import Stop

if TYPE_CHECKING:
    from ..run.problem import Problem

__all__ = ["TOUCHES", "LoopStop", "loop_stops"]

Array = NDArray[np.float64]

TOUCHES = 1e-11
"""A coordinate that is no further inside of a limit, in rad and m, is at it: loops are closed to 1e-12."""


@dataclass(frozen=True, slots=True)
class LoopStop(Stop):
    """A limit of one coordinate of a joint that closes a loop; `q` and `v` are its places among the joint's own."""

    problem: Problem

    rounding: ClassVar[float] = 1e-11

    @property
    def own(self) -> bool:
        """It is a function of q."""
        return False

    def inside(self, q: Array) -> float:
        """How far a position is inside of the limit; well inside while the loop is open."""
        at = self.problem.turns.here(self.problem.now.robot, q, self.joint)
        return 1.0 if at is None else float(self.side * (at[self.q] - self.bound))

    def reached(self, q: Array) -> bool:
        """Whether a position is at the limit, or beyond."""
        return self.inside(q) <= TOUCHES


def loop_stops(problem: Problem, mode: str, q0: Array) -> list[Stop]:
    """The stops of loops that a run has to watch."""
    if mode == "ignore":
        return []
    robot = problem.robot
    every = robot if all(x.active for x in robot.loops) else robot.with_loops([x.name for x in robot.loops])
    starts = {x.loop.name: x.v.start for x in every.loop_table.loops}
    found: list[Stop] = []
    for x in limited_coordinates(every):
        v = x.v - starts[x.loop] if x.v >= 0 else -1
        for side, bound in ((1, x.lower), (-1, x.upper)):
            if math.isfinite(bound):
                found.append(LoopStop(x.loop, x.index, v, side, float(bound), problem))
        if v < 0 and mode == "bounce":
            raise ArgumentError(
                f"limits='bounce': coordinate {x.index} of loop {x.loop!r} has a limit, but no velocity of its own to "
                "be reversed; use limits='stop' or 'ignore'"
            )
    problem.turns.renew(problem.now.robot, q0)
    for s in found:
        if s.inside(q0) < -TOUCHES:
            raise ArgumentError(
                f"q0: the joint of loop {s.joint!r} starts {-s.inside(q0):.3g} beyond its "
                f"{'lower' if s.side > 0 else 'upper'} limit {s.bound:g}; with limits={mode!r} a run starts within them"
            )
    return found
