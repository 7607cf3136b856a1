"""Derivatives of the forces of a simulation: constants, tables over time, and functions that know their Jacobian."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import Array
from ..errors import ArgumentError
from .forces import Applied, Constant, External, Function, Table, Tabled, called

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["StepForces", "Varied", "varied_drives", "varied_loads"]


class Varied:
    """Forces that are numbers: a row for all times, or rows at the times of a table."""

    def __init__(self, table: Table | None, values: Array) -> None:
        self.table, self.values = table, values
        """The rows, (rows, ...)."""

    def at(self, starts: Array, t: Array) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
        """Return the two rows that set the forces at times of steps with these starts, and the share of the second."""
        table = self.table
        if table is None:
            zero = np.zeros(len(t), np.intp)
            return zero, zero, np.zeros(len(t))
        piece = np.searchsorted(table.t, starts, side="right") - 1
        last = len(table.t) - 1
        first, second = np.clip(piece, 0, last), np.clip(piece + 1, 0, last)
        constant = (piece < 0) | (piece >= last) | table.hold
        gap = np.where(constant, 1.0, table.t[second] - table.t[first])
        return first, second, np.where(constant, 0.0, (t - table.t[first]) / gap)


def varied_drives(forces: Applied) -> Varied | None:
    """Return the drives' forces as numbers; None if they are a function."""
    if isinstance(forces, Tabled):
        return Varied(forces.table, forces.table.values)
    if isinstance(forces, Constant) or forces.kind == "none":
        return Varied(None, forces(0.0, np.zeros(0), np.zeros(0))[None])
    return None


def varied_loads(external: External) -> Varied | None:
    """Return the external forces as numbers; None if there are none."""
    return None if external.table is None else Varied(external.table, external.table.values)


class StepForces:
    """The forces during some steps of a motion, and their derivatives: what `ArrayMachine` asks for."""

    def __init__(self, robot: Robot, drives: Applied, external: External, t: Array, h: Array) -> None:
        """Begin for steps with these starts and lengths, (steps,)."""
        self.robot, self._t, self._h = robot, t, h
        self._drives, self._loads = varied_drives(drives), varied_loads(external)
        self._function = drives if isinstance(drives, Function) else None
        self.rates: dict[str, Array] = {}
        """The rates of rows, "tau" and "external", each (directions, rows, ...)."""
        self.collected: dict[str, Array] = {}
        """The derivatives by rows, (rows, directions, ...)."""

    def _times(self, node: float) -> Array:
        return self._t + node * self._h

    def _before(self, node: float) -> Array:
        """Return the times of a stage at which functions are called: just before the end, where they may jump."""
        return np.minimum(self._times(node), np.nextafter(self._t + self._h, -np.inf))

    def _value(self, forces: Varied, rows: Array, node: float) -> Array:
        """Return forces at a stage from rows, (rows, ...)."""
        first, second, share = forces.at(self._t, self._times(node))
        share = share.reshape(-1, *(1,) * (rows.ndim - 1))
        return np.asarray((1.0 - share) * rows[first] + share * rows[second])

    def _moved(self, forces: Varied | None, name: str, node: float) -> Any:
        if forces is None or name not in self.rates:
            return np.zeros((1, 1, self.robot.nv) if name == "tau" else (1, 1, len(self.robot.bodies), 6))
        return self._value(forces, np.moveaxis(self.rates[name], 0, 1), node)

    def _collect(self, forces: Varied, name: str, node: float, weights: Array) -> None:
        if name not in self.collected:
            return
        first, second, share = forces.at(self._t, self._times(node))
        share = share.reshape(-1, *(1,) * (weights.ndim - 1))
        np.add.at(self.collected[name], first, (1.0 - share) * weights)
        np.add.at(self.collected[name], second, share * weights)

    # what the machine asks for -------------------------------------------------------------------------------------

    def drives(self, node: float, q: Array, v: Array) -> Array:
        """Return the drives' forces at a stage."""
        if self._drives is not None:
            return self._value(self._drives, self._drives.values, node)[:, None]
        function = self._function
        assert function is not None
        states = zip(self._before(node), q[:, 0], v[:, 0], strict=True)
        return np.array([called(self.robot, function.function, float(t), x, y) for t, x, y in states])[:, None]

    def loads(self, node: float) -> Array | None:
        """Return external forces at a stage."""
        return None if self._loads is None else self._value(self._loads, self._loads.values, node)[:, None]

    def push_drives(self, node: float, q: Array, v: Array, rates: tuple[Array, Array]) -> Array:
        """Return the rates of the drives' forces."""
        if self._drives is not None:
            return np.asarray(self._moved(self._drives, "tau", node))
        by_q, by_v = self._jacobians(node, q, v)
        return np.asarray(rates[0] @ by_q.swapaxes(-1, -2) + rates[1] @ by_v.swapaxes(-1, -2))

    def push_loads(self, node: float) -> Array:
        """Return the rates of external forces."""
        found: Array = self._moved(self._loads, "external", node)
        return found

    def pull_drives(self, node: float, q: Array, v: Array, weights: Array) -> tuple[Array, Array] | None:
        """Collect the derivatives by rows; return those of a function by q and v."""
        if self._drives is not None:
            self._collect(self._drives, "tau", node, weights)
            return None
        by_q, by_v = self._jacobians(node, q, v)
        return weights @ by_q, weights @ by_v

    def pull_loads(self, node: float, weights: Array) -> None:
        """Collect the derivatives by rows."""
        assert self._loads is not None
        self._collect(self._loads, "external", node, weights)

    def _jacobians(self, node: float, q: Array, v: Array) -> tuple[Array, Array]:
        """Return the derivatives of a function by q and v at all states, (steps, nv, nq) and (steps, nv, nv)."""
        assert self._function is not None
        jacobian: Any = self._function.function.jacobian  # type: ignore[attr-defined]
        nq, nv = self.robot.nq, self.robot.nv
        found = []
        for t, x, y in zip(self._before(node), q[:, 0], v[:, 0], strict=True):
            pair = [np.asarray(one, float) for one in jacobian(float(t), x, y)]
            if [one.shape for one in pair] != [(nv, nq), (nv, nv)]:
                shapes = ", ".join(str(one.shape) for one in pair)
                raise ArgumentError(
                    f"tau: `jacobian` returned arrays of shapes {shapes}; give the derivatives of the forces by the "
                    f"numbers of q, ({nv}, {nq}), and by v, ({nv}, {nv})"
                )
            found.append(pair)
        return np.array([one[0] for one in found]), np.array([one[1] for one in found])
