"""The books of a run: energy in, out and left, and momentum, summed up at the end of every step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...joints import Free
from ...model import BASE
from ..results.energy import elastic

if TYPE_CHECKING:
    from ...robot import Robot
    from .chunk import Chunk

__all__ = ["Balance", "conserved"]

Array = NDArray[np.float64]


def conserved(robot: Robot, free_of_forces: bool) -> NDArray[np.bool_]:
    """Which components of the momentum about the world's origin keep their value, if nothing acts on the base.

    Those of a robot that floats: all without gravity; with it, the linear ones across it and the angular one along it,
    where gravity has the direction of an axis.
    """
    keeps = np.zeros(6, dtype=bool)
    roots = [c for c in robot.joints if c.parent == BASE]
    floating = bool(roots) and all(type(c.type) is Free for c in roots)
    passive = any(c.is_passive or any(c.armature) for c in roots)
    if not floating or passive or not free_of_forces:
        return keeps
    g = np.array(robot.gravity)
    if not g.any():
        keeps[:] = True
        return keeps
    keeps[3:] = g == 0.0
    keeps[:3] = (g != 0.0) & (np.count_nonzero(g) == 1)
    return keeps


class Balance:
    """E(t) - E(0) - work + dissipated, and conserved momentum, over all steps."""

    def __init__(self, robot: Robot, keeps: NDArray[np.bool_]) -> None:
        self.robot, self.keeps = robot, keeps
        self.kinetic = self.error = self.work = self.dissipated = 0.0
        self._energy = self.elastic_start = self._lowest = self._highest = 0.0
        self._momentum, self.momentum_error = np.zeros(6), np.zeros(6)
        self.sums = (np.zeros(0), np.zeros(0))
        """Work and losses by the ends of the last steps."""
        self._root = np.array([k for c in robot.joints if c.parent == BASE for k in range(c.v.start, c.v.stop)], int)

    def start(self, q: Array, v: Array) -> None:
        """The books open with this state."""
        T, V = float(self.robot.kinetic_energy(q, v)), float(self.robot.potential_energy(q))
        self.kinetic, self._energy = T, T + V
        self.elastic_start = float(elastic(self.robot, q))
        self._lowest = self._highest = V + self.elastic_start
        if self.keeps.any():
            self._momentum = np.array(self.robot.momentum(q, v))

    def see(self, chunk: Chunk) -> None:
        """Book steps."""
        self.sums = self.enter(chunk.q, chunk.v, chunk.tau, chunk.work, chunk.taken)

    def enter(self, q: Array, v: Array, tau: Array, work: Array, taken: Array) -> tuple[Array, Array]:
        """Book states, (k, nq), (k, nv), with the works since each one before; the sums, and what is lost by then.

        What passive forces took is not lost as far as springs have it.
        """
        # one after the other: the sums must not depend on how many states come at a time
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

    taken = 0.0
    """The energy that passive forces took, springs included."""

    @property
    def potential(self) -> float:
        """The largest potential energy of gravity and springs, less the smallest."""
        return self._highest - self._lowest

    def momentum(self) -> tuple[float | None, ...]:
        """The largest change of each component; None where it is not conserved."""
        return tuple(x if keeps else None for x, keeps in zip(self.momentum_error.tolist(), self.keeps, strict=True))

    def report(self) -> dict[str, Any]:
        """Return energies and errors."""
        return {
            "work": self.work,
            "dissipated": self.dissipated,
            "kinetic": self.kinetic,
            "potential": self.potential,
            "energy_error": self.error,
            "momentum_error": self.momentum(),
        }

    def state(self) -> dict[str, NDArray[Any]]:
        """For a checkpoint."""
        sums = np.array([getattr(self, name) for name in _SUMS])
        return {
            "sums": sums,
            "momentum": self._momentum,
            "momentum_error": self.momentum_error,
            "keeps": self.keeps,
        }

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """From a checkpoint."""
        for name, x in zip(_SUMS, state["sums"].tolist(), strict=True):
            setattr(self, name, x)
        self._momentum, self.momentum_error = np.array(state["momentum"]), np.array(state["momentum_error"])
        self.keeps = np.array(state["keeps"])


_SUMS = ("kinetic", "error", "work", "dissipated", "taken", "_energy", "elastic_start", "_lowest", "_highest")
