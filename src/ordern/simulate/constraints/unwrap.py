"""Coordinates of joints that close loops along a run, where angles are counted through full turns.

A position determines an angle up to full turns. A run starts with the angle within half a turn of the middle of the
joint's limits. From there on, each angle is the one next to the angle before.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ...arguments import Array
from ...loops.coordinates import nearest_coordinates
from ...loops.limits import loop_positions

if TYPE_CHECKING:
    from ...model import TracedLoop
    from ...robot import Robot

__all__ = ["Turns"]


_TURN = 2.0 * math.pi


class Turns:
    """The coordinates of joints that close loops, at the last state of a run and at the position looked at last."""

    def __init__(self) -> None:
        self._last: dict[str, Array] = {}
        self._near: dict[str, Array] = {}

    def renew(self, robot: Robot, q: Array) -> None:
        """Start at this position, or continue from it with the loops of this robot."""
        limited = _limited(robot)
        fresh = loop_positions(robot, q) if limited else np.zeros(0)
        found = {}
        for x in limited:
            before = self._last.get(x.loop.name)
            found[x.loop.name] = fresh[x.q] if before is None else _next_to(x, fresh[x.q], before)
        self._last = found
        self.back()

    def here(self, robot: Robot, q: Array, name: str) -> Array | None:
        """Return the coordinates of a loop's joint at a position next to the one looked at last; None if it is open.

        Events are searched along the motion, so no two positions in sequence are half a turn apart.
        """
        for x in robot.loop_table.loops:
            if x.loop.name == name and name in self._near:
                found = self._near[name] = _next_to(x, nearest_coordinates(robot, q)[x.q], self._near[name])
                return found
        return None

    def along(self, robot: Robot, q: Array) -> dict[str, Array]:
        """Return the coordinates (n, k) at positions (n, nq) that follow the last state, by loop."""
        limited = _limited(robot)
        at = nearest_coordinates(robot, q) if limited else np.zeros((len(q), 0))
        found: dict[str, Array] = {}
        for x in limited:
            rows = np.concatenate([self._last[x.loop.name][None], at[:, x.q]])
            angles = list(x.loop.angles)
            jumps = np.round((rows[:-1, angles] - rows[1:, angles]) / _TURN)
            rows[1:, angles] += _TURN * np.cumsum(jumps, axis=0)
            found[x.loop.name] = rows[1:]
        return found

    def look(self, robot: Robot, q: Array) -> None:
        """Look at positions that follow the last state; the next one to be looked at is next to the last of them."""
        if len(q):
            self._near = {name: rows[-1] for name, rows in self.along(robot, q).items()}

    def go(self, along: dict[str, Array]) -> None:
        """Continue the run at the last of these coordinates."""
        self._last = {name: rows[-1] for name, rows in along.items()}
        self.back()

    def back(self) -> None:
        """Look next to the last state again."""
        self._near = dict(self._last)

    def state(self, robot: Robot) -> Array:
        """Return the coordinates of all loops for a checkpoint; those of open loops are NaN."""
        rows = [self._last.get(x.name, np.full(x.nq, math.nan)) for x in robot.loops]
        return np.concatenate([np.zeros(0), *rows])

    def restore(self, robot: Robot, state: Array) -> None:
        """Continue from a checkpoint."""
        start, self._last = 0, {}
        for x in robot.loops:
            mine = np.array(state[start : start + x.nq])
            start += x.nq
            if x.active or not np.isnan(mine).any():
                self._last[x.name] = mine
        self.back()


def _limited(robot: Robot) -> list[TracedLoop]:
    """Return the closed loops whose joints have limits: nothing depends on the coordinates of others."""
    return [x for x in robot.loop_table.loops if np.isfinite([*x.loop.lower, *x.loop.upper]).any()]


def _next_to(x: TracedLoop, at: Array, before: Array) -> Array:
    """Add full turns to coordinates, so that they are next to others."""
    found = np.array(at)
    for k in x.loop.angles:
        found[k] += _TURN * np.round((before[k] - found[k]) / _TURN)
    return found
