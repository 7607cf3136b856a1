"""The energy balance of a run, and its momentum, at the end of every step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...arguments import Array
from ...joints import Free
from ...model import BASE
from ..results.energy import elastic
from .saved import Saved

if TYPE_CHECKING:
    from ...robot import Robot
    from .chunk import Chunk

__all__ = ["Balance", "conserved"]


def conserved(robot: Robot, free_of_forces: bool) -> NDArray[np.bool_]:
    """Return which components of the momentum about the world's origin are constant, (6,).

    A robot that floats and has no external forces conserves all of them without gravity. With gravity along an axis, it
    conserves the linear momentum across this axis and the angular momentum about it.
    """
    keeps = np.zeros(6, dtype=bool)
    roots = [c for c in robot.joints if c.parent == BASE]
    floating = bool(roots) and all(type(c.type) is Free for c in roots)
    passive = any(c.is_passive or any(c.armature) for c in roots)
    fluid = robot.in_fluid or any(b.drags for b in robot.bodies)
    if not floating or passive or fluid or not free_of_forces:
        return keeps
    g = np.array(robot.gravity)
    if not g.any():
        keeps[:] = True
        return keeps
    keeps[3:] = g == 0.0
    keeps[:3] = (g != 0.0) & (np.count_nonzero(g) == 1)
    return keeps


class Balance(Saved):
    """The errors of the energy balance, E(t) - E(0) - work + dissipated, and of conserved momentum, over all steps."""

    saved = (
        *("kinetic", "error", "work", "dissipated", "taken", "_energy", "elastic_start", "_lowest", "_highest"),
        *("_momentum", "momentum_error", "keeps"),
    )

    def __init__(self, robot: Robot, keeps: NDArray[np.bool_]) -> None:
        self.robot, self.keeps = robot, keeps
        self.kinetic = self.error = self.work = self.dissipated = 0.0
        self.taken = 0.0
        """The energy that passive forces took, springs included."""
        self._energy = self.elastic_start = self._lowest = self._highest = 0.0
        self._momentum, self.momentum_error = np.zeros(6), np.zeros(6)
        self.sums = (np.zeros(0), np.zeros(0))
        """Work and dissipated energy at the ends of the last steps."""
        self._root = np.array([k for c in robot.joints if c.parent == BASE for k in range(c.v.start, c.v.stop)], int)

    def start(self, q: Array, v: Array) -> None:
        """Begin with this state."""
        T, V = float(self.robot.kinetic_energy(q, v)), float(self.robot.potential_energy(q))
        self.kinetic, self._energy = T, T + V
        self.elastic_start = float(elastic(self.robot, q))
        self._lowest = self._highest = V + self.elastic_start
        if self.keeps.any():
            self._momentum = np.array(self.robot.momentum(q, v))

    def see(self, chunk: Chunk) -> None:
        """Add the steps of a chunk."""
        self.sums = self.enter(chunk.q, chunk.v, chunk.tau, chunk.work, chunk.taken)

    def enter(self, q: Array, v: Array, tau: Array, work: Array, taken: Array) -> tuple[Array, Array]:
        """Add states (k, nq), (k, nv), with the works since the state before each; return work and dissipated energy.

        The energy that passive forces took is dissipated, except for the part that springs store.
        """
        # one after the other: the sums must not depend on the number of states in a call
        W, D = np.cumsum([self.work, *work])[1:], np.cumsum([self.taken, *taken])[1:]
        springs = elastic(self.robot, q)
        lost = D - (springs - self.elastic_start)
        if len(W):
            T, V = self.robot.kinetic_energy(q, v), self.robot.potential_energy(q)
            drift = T + V - self._energy - W + D
            self._lowest = min(self._lowest, float(np.min(V + springs)))
            self._highest = max(self._highest, float(np.max(V + springs)))
            self.kinetic = max(self.kinetic, float(np.max(T)))
            self.error = max(self.error, float(np.max(np.abs(drift))))
            self.work, self.taken, self.dissipated = float(W[-1]), float(D[-1]), float(lost[-1])
            if self.keeps.any():
                self.keeps &= not tau[:, self._root].any()
                change = np.abs(self.robot.momentum(q, v) - self._momentum).max(axis=0)
                self.momentum_error = np.maximum(self.momentum_error, change)
        return W, lost

    def report(self) -> dict[str, Any]:
        """Return energies and errors; an entry of the momentum error is None where momentum is not conserved."""
        errors = zip(self.momentum_error.tolist(), self.keeps, strict=True)
        return {
            "work": self.work,
            "dissipated": self.dissipated,
            "kinetic": self.kinetic,
            "potential": self._highest - self._lowest,
            "energy_error": self.error,
            "momentum_error": tuple(x if keeps else None for x, keeps in errors),
        }
