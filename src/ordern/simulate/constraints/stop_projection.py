"""Corrections of a closed mechanism's state that leave joints at stops, those that close loops included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..run.problem import spread
from .limits import Stop

if TYPE_CHECKING:
    from ..run.problem import Problem

__all__ = ["Holding"]

Array = NDArray[np.float64]


class Holding:
    """Stops at which joints are kept while loops are closed: x with K x = c gets a part along which E x is as asked.

    That part is the response to impulses of the stops, so that what K x is does not change.
    """

    def __init__(self, problem: Problem, stops: Sequence[Stop], t: float) -> None:
        self.problem, self.stops, self.t = problem, tuple(stops), t
        self._fixed = [s.v for s in stops if s.own]

    def off(self, q: Array) -> float:
        """How far joints that close loops are off their stops."""
        return max((abs(s.inside(q)) for s in self.stops if not s.own), default=0.0)

    def set(self, q: Array) -> Array:
        """The same position with the tree's joints at their stops."""
        q = q.copy()
        for s in self.stops:
            if s.own:
                q[s.q] = s.bound
        return q

    def position(self, q: Array, x: Array) -> Array:
        """A correction of positions that leads to the stops."""
        x = self._with(q, x, np.array([0.0 if s.own else -s.inside(q) for s in self.stops]))
        x[self._fixed] = 0.0
        return x

    def velocity(self, q: Array, v: Array, x: Array) -> Array:
        """A correction of velocities after which joints do not move at their stops."""
        x = self._with(q, x, -self.problem.stop_rows(self.stops, q) @ v)
        x[self._fixed] = -v[self._fixed]
        return x

    def _with(self, q: Array, x: Array, asked: Array) -> Array:
        """x, changed so that E x is what is asked."""
        E = self.problem.stop_rows(self.stops, q)
        response = self.problem.stop_response(q, E, self.t)
        return np.asarray(x + spread(response @ E.T, asked - E @ x) @ response)
