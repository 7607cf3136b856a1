"""Corrections of a closed mechanism that keep joints at their stops, joints that close loops included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...arguments import Array

if TYPE_CHECKING:
    from ..run.problem import Problem
    from .limits import Stop

__all__ = ["Holding", "spread"]


class Holding:
    """Stops at which joints stay while loops are closed: x with K x = c gets a part that gives E x its wanted value.

    That part is the response to impulses of the stops, so that K x does not change.
    """

    def __init__(self, problem: Problem, stops: Sequence[Stop], t: float) -> None:
        self.problem, self.stops, self.t = problem, tuple(stops), t
        self._fixed = [s.v for s in stops if s.own]

    def off(self, q: Array) -> float:
        """Return how far joints that close loops are off their stops."""
        return max((abs(s.inside(q)) for s in self.stops if not s.own), default=0.0)

    def set(self, q: Array) -> Array:
        """Return the same position with the tree's joints at their stops."""
        q = q.copy()
        for s in self.stops:
            if s.own:
                q[s.q] = s.bound
        return q

    def position(self, q: Array, x: Array) -> Array:
        """Return a correction of positions that leads to the stops."""
        x = self._with(q, x, np.array([0.0 if s.own else -s.inside(q) for s in self.stops]))
        x[self._fixed] = 0.0
        return x

    def velocity(self, q: Array, v: Array, x: Array) -> Array:
        """Return a correction of velocities after which joints do not move at their stops."""
        x = self._with(q, x, -self.problem.stop_rows(self.stops, q) @ v)
        x[self._fixed] = -v[self._fixed]
        return x

    def _with(self, q: Array, x: Array, wanted: Array) -> Array:
        """Return x, changed so that E x has the wanted value."""
        E = self.problem.stop_rows(self.stops, q)
        response = self.problem.stop_response(q, E, self.t)
        return np.asarray(x + spread(response @ E.T, wanted - E @ x) @ response)


def spread(A: Array, b: Array) -> Array:
    """Solve A x = b for symmetric matrices (..., n, n) and vectors (..., n); return the shortest x where A is singular.

    A is singular where loops make one stop do what another does already.
    """
    values, vectors = np.linalg.eigh(A)
    least = 1e-12 * np.abs(values).max(axis=-1, keepdims=True, initial=0.0)
    if (values > least).all():
        return np.asarray(np.linalg.solve(A, b[..., None])[..., 0])
    inverse = np.where(values > least, 1.0 / np.where(values > least, values, 1.0), 0.0)
    across = (np.swapaxes(vectors, -1, -2) @ b[..., None])[..., 0]
    return np.asarray((vectors @ (inverse * across)[..., None])[..., 0])
