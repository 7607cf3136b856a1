"""The machine that runs steps on NumPy arrays, state by state, with any forces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ...arguments import Array
from .rk_step import Point

if TYPE_CHECKING:
    from ...robot import Robot

__all__ = ["Equations", "NumpyMachine", "turns_velocities"]


class Equations(Protocol):
    """The equations of motion that are integrated, such as a `Problem`."""

    robot: Robot

    def rates(self, t: float, q: Array, v: Array) -> tuple[Array, float, float]:
        """Return dv/dt, the power of applied forces, and the power that passive forces take."""


def turns_velocities(robot: Robot) -> bool:
    """Return True if a joint has its own step of semi-implicit Euler; the steps of other joints are sums."""
    return any(c.type.turns_velocities for c in robot.joints)


class NumpyMachine:
    """Runs steps on arrays of shapes (nq,), (nv,) and (2,)."""

    def __init__(self, equations: Equations, t: float, h: float, rtol: float = 0.0, atol: float = 1.0) -> None:
        self.equations, self.t, self.h, self.rtol, self.atol = equations, t, h, rtol, atol
        self._robot = equations.robot

    def slope(self, node: float, q: Array, v: Array) -> Point[Array]:
        """Return the rates at a stage."""
        a, power, taken = self.equations.rates(self.t + node * self.h, q, v)
        return Point(self._robot.position_rate(q, v), a, np.array([power, taken]))

    def acceleration(self, node: float, q: Array, v: Array) -> Array:
        """Return dv/dt at a stage."""
        return self.equations.rates(self.t + node * self.h, q, v)[0]

    def rate(self, q: Array, v: Array) -> Array:
        """Return dq/dt."""
        return self._robot.position_rate(q, v)

    def add(self, x: Array | None, terms: Sequence[tuple[float, Array]]) -> Array:
        """Return x plus a weighted sum times the step; without x, the second part alone."""
        (c, k), *rest = terms
        total = c * k
        for c, k in rest:
            total = total + c * k
        return np.asarray(self.h * total if x is None else x + self.h * total)

    def euler(self, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
        """Return the state after a step of semi-implicit Euler."""
        robot, h = self._robot, self.h
        if turns_velocities(robot):
            return robot.kernel("euler_position")(q, v, a, h), robot.kernel("euler_velocity")(q, v, a, h)
        after = self.add(v, ((1.0, a),))
        return robot.integrate(q, after, h), after

    def project(self, q: Array) -> Array:
        """Return positions whose quaternions have unit length."""
        return self._robot.normalize(q)

    def error(self, before: Point[Array], after: Point[Array], q: Array, v: Array) -> Any:
        """Return the mean square of (q, v) relative to atol + rtol times the larger of both states."""
        total = 0.0
        for y0, y1, e in ((before.q, after.q, q), (before.v, after.v, v)):
            scale = self.atol + self.rtol * np.maximum(np.abs(y0), np.abs(y1))
            total += float(np.sum((e / scale) ** 2))
        return total / max(1, q.size + v.size)
