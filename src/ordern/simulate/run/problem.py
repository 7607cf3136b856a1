"""The equations of motion that are integrated: a robot, the forces on it, and how its accelerations are computed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ...robot import Robot
    from ..constraints.limits import Stop
    from ..forces import Applied, External

__all__ = ["Problem", "spread"]

Array = NDArray[np.float64]


class Problem:
    """dq/dt = rate(q, v),  M(q) dv/dt + C(q, v) = tau(t, q, v) + J^T external(t, q, v) + passive(q, v).

    Every function takes one state, q of shape (nq,) and v of shape (nv,). Those of q and v alone, and `dynamics`, take
    batches too: they are the robot's own.
    """

    def __init__(
        self,
        robot: Robot,
        tau: Applied,
        external: External,
        dynamics: str = "articulated-body",
        smoothing: float = 0.01,
    ) -> None:
        self.robot, self.tau, self.external = robot, tau, external
        self.dynamics_method, self.smoothing = dynamics, smoothing
        self.nq, self.nv = robot.nq, robot.nv
        self.has_passive = any(c.is_passive for c in robot.joints)
        self.held: tuple[Stop, ...] = ()
        self.end = math.inf
        """Of the current piece of smooth forces: they are asked for no time after it, not even by rounding."""
        self.timed = False
        """Whether time alone moves some loop."""
        self.evaluations = 0
        """How many states' accelerations were computed by `acceleration` and `rates`."""

    def enter(self, t: float, q: Array, v: Array) -> None:
        """Begin a piece between two breaks of the forces at this state."""
        self.external.enter(t)
        self.tau.enter(t, q, v)

    def next_break(self, t: float) -> float:
        """Return the first time after t at which a force may jump or have a kink."""
        return min(self.tau.next_break(t), self.external.next_break(t))

    def applied_force(self, t: float, q: Array, v: Array) -> Array:
        """Joint forces of the drives and of external forces, (nv,)."""
        t = min(t, self.end)
        tau = self.tau(t, q, v)
        return tau if self.external.absent else tau + self.external.joint_force(t, q, v)

    def passive_force(self, q: Array, v: Array) -> Array:
        """Joint forces of dampers, friction and springs."""
        if not self.has_passive:
            return np.zeros(np.shape(v))
        return self.robot.passive_force(q, v, self.smoothing)

    def dynamics(self, q: Array, v: Array, force: Array, t: Any = 0.0) -> Array:
        """Accelerations by all joint forces together, passive ones included, and those of stops."""
        a = self.free_dynamics(q, v, force, t)
        return self.resting(q, v, a, t)[1] if self.held else a

    def free_dynamics(self, q: Array, v: Array, force: Array, t: Any) -> Array:
        """Accelerations without the forces of stops."""
        return self.robot.forward_dynamics(q, v, force, method=self.dynamics_method)

    def response(self, q: Array, x: Array, t: Any) -> Array:
        """The change of velocities by impulses x on the joints."""
        return self.robot.mass_matrix_solve(q, x)

    def stop_rows(self, stops: Sequence[Stop], q: Array) -> Array:
        """(k, nv), or for positions (..., nq) also (..., k, nv): E, with which E v are the velocities off stops."""
        E = np.zeros((len(stops), self.nv))
        for k, s in enumerate(stops):
            if s.own and s.v >= 0:
                E[k, s.v] = s.side
        return E

    def stop_bias(self, stops: Sequence[Stop], q: Array, v: Array) -> Array:
        """(..., k): how fast E v changes while v does not."""
        return np.zeros((*np.shape(v)[:-1], len(stops)))

    def stop_response(self, q: Array, E: Array, t: Any) -> Array:
        """The changes of velocities (..., k, nv) by unit impulses of stops; zero for joints that cannot move."""
        return self.response(q[..., None, :], E, np.asarray(t)[..., None] if np.ndim(t) else t)

    def at_stops(self, t: float, q: Array, v: Array, stops: Sequence[Stop]) -> tuple[Array, Array]:
        """The state in which joints are exactly at stops that they touch."""
        q = q.copy()
        for s in stops:
            q[s.q] = s.bound
        return q, v

    def acceleration(self, t: float, q: Array, v: Array) -> Array:
        """dv/dt at a state, (nv,)."""
        return self.rates(t, q, v)[0]

    def rates(self, t: float, q: Array, v: Array) -> tuple[Array, float, float]:
        """dv/dt, the power of the applied forces, and what passive forces take (minus their power)."""
        self.evaluations += 1
        applied = self.applied_force(t, q, v)
        work = float(applied @ v)
        if not self.has_passive:
            return self.dynamics(q, v, applied, t), work, 0.0
        passive = self.passive_force(q, v)
        return self.dynamics(q, v, applied + passive, t), work, -float(passive @ v)

    def powers(self, t: float, q: Array, v: Array, a: Array) -> tuple[float, float]:
        """What `rates` tells of powers, where accelerations are known."""
        return float(self.applied_force(t, q, v) @ v), -float(self.passive_force(q, v) @ v)

    def loop_power(self, t: Any, q: Array, v: Array, a: Array, force: Array) -> Array:
        """The power of loops that time moves, by all other joint forces: a tree has none."""
        return np.zeros(np.shape(v)[:-1])

    def external_force(self, t: Array, q: Array, v: Array) -> Array:
        """Return the joint forces of external forces at states (k, nq), (k, nv) and times (k,)."""
        return self.external.over(t, q, v)

    def corrected(self, t: float, q: Array, v: Array) -> tuple[Array, Array, float]:
        """The state of the mechanism next to that at the end of a step, and the energy that it has more."""
        return q, v, 0.0

    def corrected_many(self, t: Array, q: Array, v: Array) -> tuple[Array, Array]:
        """The same for states within steps."""
        return q, v

    def series(self, t: Array, q: Array, v: Array, a: Array, tau: Array) -> tuple[Array, ...]:
        """Further series of the result, by the names and shapes of `extra`."""
        return ()

    @property
    def extra(self) -> dict[str, tuple[int, ...]]:
        """Names of further series of the result, and the shapes of their entries."""
        return {}

    def position_rate(self, q: Array, v: Array) -> Array:
        """dq/dt, (nq,)."""
        return self.robot.position_rate(q, v)

    def project(self, q: Array) -> Array:
        """The nearest valid position: quaternions become units."""
        return self.robot.project(q)

    def joint_of(self, index: int | None) -> str:
        """The name of the joint that a component of v belongs to."""
        if index is not None:
            for c in self.robot.independent:
                if c.v_start <= index < c.v_start + c.type.nv:
                    return c.name
        return ""

    def joint_at(self, index: int) -> str:
        """The name of the joint that a component of q belongs to."""
        for c in self.robot.independent:
            if c.q_start <= index < c.q_start + c.type.nq:
                return c.name
        return ""

    def hold(self, stops: list[Stop]) -> None:
        """Joints that rest on stops, from now on: their accelerations are zero, and the stops' forces make them so."""
        self.held = tuple(stops)
        self._fixed = [s.v for s in stops if s.own]

    def stop_forces(self, t: float, q: Array, v: Array) -> Array:
        """The forces of the stops on the joints that rest on them, one each; pulling ones are below zero."""
        force = self.applied_force(t, q, v) + self.passive_force(q, v)
        return self.resting(q, v, self.free_dynamics(q, v, force, t), t)[0]

    def held_bias(self, q: Array, v: Array) -> Array:
        """`stop_bias` of the stops that joints rest on."""
        return self.stop_bias(self.held, q, v)

    def resting(self, q: Array, v: Array, a: Array, t: Any) -> tuple[Array, Array]:
        """Forces of stops that make accelerations of joints zero, and the accelerations with them."""
        E = self.stop_rows(self.held, q)
        response = self.stop_response(q, E, t)
        away = (E @ a[..., None])[..., 0] + self.held_bias(q, v)
        p = -spread(response @ np.swapaxes(E, -1, -2), away)
        a = a + (p[..., None, :] @ response)[..., 0, :]
        a[..., self._fixed] = 0.0
        return p, a


def spread(A: Array, b: Array) -> Array:
    """x with A x = b for symmetric matrices (..., n, n) and vectors (..., n); the shortest one where A is singular.

    It is where loops make one stop do what another does already.
    """
    values, vectors = np.linalg.eigh(A)
    least = 1e-12 * np.abs(values).max(axis=-1, keepdims=True, initial=0.0)
    if (values > least).all():
        return np.asarray(np.linalg.solve(A, b[..., None])[..., 0])
    inverse = np.where(values > least, 1.0 / np.where(values > least, values, 1.0), 0.0)
    across = (np.swapaxes(vectors, -1, -2) @ b[..., None])[..., 0]
    return np.asarray((vectors @ (inverse * across)[..., None])[..., 0])
