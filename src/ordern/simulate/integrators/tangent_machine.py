"""The machine that runs steps together with their derivatives, for a batch of states.

A value is an array of coordinates or velocities (n, m), and its derivatives by k numbers (n, m, k): by the tangent of
the position at the start, the velocity there, and the joint forces. Positions are coordinates, all of which vary, since
stages leave the valid positions.

Derivatives of accelerations come from those of inverse dynamics, da = M^-1 (dtau - dID), and for loops from the
equations of `ordern.loops.implicit`; so the acceleration itself is not differentiated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arguments import Array
from ...loops.dynamics import BAUMGARTE
from ...loops.implicit import ImplicitMotion
from ...records import dataclass
from .numpy_machine import turns_velocities

if TYPE_CHECKING:
    from ...robot import Robot

__all__ = ["TangentMachine", "Varied"]


@dataclass(frozen=True, slots=True)
class Varied:
    """Numbers (n, m), and their derivatives (n, m, k)."""

    x: Array
    d: Array


class TangentMachine:
    """Runs steps of a robot for n states, with constant joint forces `tau` and forces `external` on bodies."""

    def __init__(
        self, robot: Robot, tau: Varied, external: Array | None, smoothing: float, h: float, rank: int | None = None
    ) -> None:
        """Begin steps of length h; loops have `rank` independent constraints, and are stabilised as in rollouts."""
        self.robot, self.tau, self.external, self.smoothing, self.h = robot, tau, external, smoothing, h
        self._rank, self._ask = rank, robot._kernels.ask

    def acceleration(self, node: float, q: Varied, v: Varied) -> Varied:
        """Return dv/dt."""
        robot, nv = self.robot, self.robot.nv
        more: dict[str, Any] = {} if self.external is None else {"external": self.external}
        forces = self.tau.x
        if robot.passive_question:
            forces = forces + self._ask(robot.passive_question, q.x, v.x, self.smoothing)
        given: dict[str, Any] = {"q": q.x, "v": v.x, "smoothing": self.smoothing, **more}
        if robot.nc:
            known = None if self._rank == robot.nc else self._rank
            motion = robot.closed_dynamics(
                q.x, v.x, forces, **more, stabilise=(BAUMGARTE, BAUMGARTE), rank=known, check=False
            )
            implicit = ImplicitMotion(robot, q.x, None, motion.tolerance, self._rank)
            force = motion.found if implicit.regular else motion.multipliers
            given |= {"a": motion.a, "multipliers": force, "alpha": BAUMGARTE}
            d = robot.derivatives.closed_forces_left(**given, wrt=("q", "v"))
            change = -(d.q @ q.d + d.v @ v.d)
            return Varied(motion.a, implicit.changes(change[:, :nv] + self.tau.d, change[:, nv:], None)[0])
        a = self._ask("forward_dynamics", q.x, v.x, forces, **more)
        d = robot.derivatives.forces_left(**given, a=a, wrt=("q", "v"))
        return Varied(a, self._ask("mass_matrix_inverse", q.x) @ (self.tau.d - d.q @ q.d - d.v @ v.d))

    def rate(self, q: Varied, v: Varied) -> Varied:
        """Return dq/dt."""
        d = self.robot.derivatives.coordinate_rate(q.x, v.x)
        return Varied(self._ask("position_rate", q.x, v.x), d.q @ q.d + d.v @ v.d)

    def add(self, x: Varied | None, terms: Sequence[tuple[float, Varied]]) -> Varied:
        """Return x plus a weighted sum times the step; without x, the second part alone."""
        total, rates = (sum(c * getattr(k, name) for c, k in terms) for name in ("x", "d"))
        if x is None:
            return Varied(self.h * total, self.h * rates)
        return Varied(x.x + self.h * total, x.d + self.h * rates)

    def euler(self, q: Varied, v: Varied, a: Varied) -> tuple[Varied, Varied]:
        """Return the state after a step of semi-implicit Euler; the derivatives of positions are tangents."""
        robot = self.robot
        start = self.tangents(q)
        if not turns_velocities(robot):
            after = self.add(v, ((1.0, a),))
            d = robot.derivatives.integrate(q.x, after.x, self.h, wrt=("q", "v"))
            return Varied(robot.integrate(q.x, after.x, self.h), d.q @ start + d.v @ after.d), after
        given = (q.x, v.x, a.x, self.h)
        found = []
        for name in ("euler_position", "euler_velocity"):
            d = getattr(robot.derivatives, name)(*given, wrt=("q", "v", "a"))
            found.append(Varied(self._ask(name, *given), d.q @ start + d.v @ v.d + d.a @ a.d))
        return found[0], found[1]

    def project(self, q: Varied) -> Varied:
        """Return positions with normalised quaternions; their derivatives are tangents."""
        d = self.robot.derivatives.coordinate_projection(q.x)
        end = Varied(self.robot.normalize(q.x), d.q @ q.d)
        return Varied(end.x, self.tangents(end))

    def tangents(self, q: Varied) -> Array:
        """Return derivatives of coordinates as tangents, (n, nv, k)."""
        still = np.zeros_like(q.x)
        return np.asarray(self.robot.derivatives.coordinate_tangent(q.x, still, wrt="x").x @ q.d)
