"""The equations of motion that are integrated: a robot, its constraints, and the forces on it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, final

import numpy as np

from ...arguments import Array
from ...loops.limits import velocity_bias, velocity_rows
from ...records import dataclass
from ..constraints.constraints import OPEN, Constraints, Mechanism
from ..constraints.loop_rows import LoopMechanism, LoopRows
from ..constraints.stop_projection import Holding, spread
from ..constraints.unwrap import Turns
from ..integrators.integrator import StepFailedError
from ..integrators.native import kept
from .endings import Ending

if TYPE_CHECKING:
    from ...robot import Robot
    from ..constraints.limits import Stop
    from ..contacts.touching import Touching
    from ..forces import Applied, External

__all__ = ["OPEN", "Crossing", "Problem"]


MIDDLE = (-1.0 / 6.0, 4.0 / 6.0, 4.0 / 6.0, -1.0 / 6.0)
"""Weights of values at -2, -1, 1 and 2 whose sum is the value at 0, up to the fourth order."""
_AT_REST = 1e-12
"""Kinetic energies below this, in J, are those of a mechanism at rest."""


@dataclass(frozen=True)
class Crossing:
    """A singular position that the motion is passing: weak constraints act by constant forces."""

    push: Array
    """The joint forces of all constraints at the entrance, (nv,)."""
    multipliers: Array
    """The multipliers of the rows at the entrance, where something depends on them."""


@final
class Problem:
    """dq/dt = rate(q, v),  M dv/dt + C = tau + J^T external + passive + K^T lambda,  K v = -dr/dt.

    `robot` is the robot of the run. Its constraints may open and close: `now` has those of the moment. Functions of a
    time take one state; those of q and v alone, and `dynamics`, take batches too.
    """

    def __init__(
        self,
        robot: Robot,
        tau: Applied,
        external: External,
        dynamics: str | None = None,
        smoothing: float = 0.01,
        *,
        mechanism: Mechanism | None = None,
        drift: str = "none",
        pull: tuple[float, float] | None = None,
        switched: bool = False,
    ) -> None:
        self.robot, self.tau, self.external, self.smoothing = robot, tau, external, smoothing
        self.nq, self.nv, self.drift, self.pull = robot.nq, robot.nv, drift, pull
        self.constrained, self.switched, self.sparing = mechanism is not None, switched, False
        self.mechanism: Mechanism = mechanism or LoopMechanism(robot)
        self._method, self._tree_passive = dynamics, robot.has_passive
        self.now: Constraints
        """Of the rows that are closed; near a singular position, their strong ones."""
        self.usual: Constraints
        """The same with all rows."""
        self.crossing: Crossing | None = None
        self.turns = Turns()
        self.touching: Touching | None = None
        """The contacts of the robot, if the run has a model of them."""
        self.held: tuple[Stop, ...] = ()
        self._fixed: list[int] = []
        self.reaching: tuple[Stop, ...] = ()
        """Stops at which joints are at the end of the step that is being taken."""
        self.beside: Array | None = None
        """Positions from which an impact at a singular one is computed."""
        self.calm: Callable[[float, Array, Array], bool] | None = None
        """A function of a state that tells whether steps may go on through the next sample of a controller."""
        self._off = 0.0
        self.end = math.inf
        """The end of the current piece of smooth forces: no force is evaluated after it, not even by rounding."""
        self.evaluations = 0
        """The number of states whose accelerations `acceleration` and `rates` computed."""
        if mechanism is None:
            self.use((), kept(robot, ("tree",), lambda: Constraints(LoopRows(robot), 0)))
        else:
            self.close(mechanism.closed, 0)

    def close(self, closed: tuple[bool, ...], rank: int | None = None, q: Array | None = None, t: float = 0.0) -> None:
        """Close these sets of rows from now on, with a known rank, or with the one that they have near q."""
        rows = self.mechanism.rows(closed)
        self.use(closed, Constraints(rows, rank or 0) if q is None else Constraints.near(rows, q, t))

    def use(self, closed: tuple[bool, ...], constraints: Constraints) -> None:
        """Keep these constraints from now on."""
        self.closed, self.now, self.usual = closed, constraints, constraints
        constraints.sparing = self.sparing
        self.crossing, self.timed = None, constraints.timed
        self.has_passive = self._tree_passive or constraints.passive or self.touching is not None
        self.dynamics_method = self._method or constraints.rows.usual_method()

    # ---- forces and accelerations

    def enter(self, t: float, q: Array, v: Array) -> None:
        """Begin a piece between two breaks of the forces at this state."""
        self.external.enter(t)
        self.tau.enter(t, q, v)

    def next_break(self, t: float) -> float:
        """Return the first time after t at which a force may jump or have a kink."""
        return min(self.tau.next_break(t), self.external.next_break(t))

    def applied_force(self, t: float, q: Array, v: Array) -> Array:
        """Return joint forces of the drives and of external forces, (nv,)."""
        t = min(t, self.end)
        tau = self.tau(t, q, v)
        return tau if self.external.absent else tau + self.external.joint_force(t, q, v)

    def external_force(self, t: Array, q: Array, v: Array) -> Array:
        """Return the joint forces of external forces at states (k, nq), (k, nv) and times (k,)."""
        return self.external.over(t, q, v)

    def touch_by(self, contacts: Touching) -> None:
        """Let contacts act from now on."""
        self.touching, self.has_passive = contacts, True

    def passive_force(self, q: Array, v: Array) -> Array:
        """Return joint forces of dampers, friction and springs, and of compliant contacts."""
        force = self.joint_passive_force(q, v)
        return force if self.touching is None else force + self.touching.force(q, v)

    def joint_passive_force(self, q: Array, v: Array) -> Array:
        """Return joint forces of dampers, friction and springs, those of joints that close loops included."""
        force: Array = self.robot.passive_force(q, v, self.smoothing) if self._tree_passive else np.zeros(np.shape(v))
        return force + self.now.robot.loop_passive_force(q, v, self.smoothing) if self.now.passive else force

    def dynamics(self, q: Array, v: Array, force: Array, t: Any = 0.0) -> Array:
        """Return accelerations by all joint forces together, passive ones included, and those of stops."""
        a = self.free_dynamics(q, v, force, t)
        if self.touching is not None:
            a = self.touching.accelerated(t, q, v, a)
        return self.resting(q, v, a, t)[1] if self.held else a

    def free_dynamics(self, q: Array, v: Array, force: Array, t: Any) -> Array:
        """Return accelerations without the forces of stops."""
        if not self.constrained:
            return self.robot.forward_dynamics(q, v, force, method=self.dynamics_method)
        method = self._method if self.now.nc else None
        if self.crossing is None:
            return self.now.acceleration(q, v, force, t, method, self.pull)
        a = self.now.acceleration(q, v, force + self.crossing.push, t, method, self.pull)
        return a if self.timed else self._without_work(q, v, a, force)

    def _without_work(self, q: Array, v: Array, a: Array, force: Array) -> Array:
        """Change accelerations along the velocity, which strong rows allow, so that constraints do no work."""
        twice = 2.0 * np.asarray(self.robot.kinetic_energy(q, v))[..., None]
        power = ((self.robot.inverse_dynamics(q, v, a) - force) * v).sum(axis=-1, keepdims=True)
        return np.asarray(a - np.where(twice > _AT_REST, power / np.maximum(twice, _AT_REST), 0.0) * v)

    def acceleration(self, t: float, q: Array, v: Array) -> Array:
        """Return dv/dt at a state, (nv,)."""
        return self.rates(t, q, v)[0]

    def rates(self, t: float, q: Array, v: Array) -> tuple[Array, float, float]:
        """Return dv/dt, the power of applied forces and of rows that time moves, and what passive forces take."""
        self.evaluations += 1
        force = applied = self.applied_force(t, q, v)
        taken = 0.0
        if self.has_passive:
            passive = self.passive_force(q, v)
            force, taken = applied + passive, -float(passive @ v)
        a = self.dynamics(q, v, force, t)
        taken += self._lost_to_contacts(q, v, a, force)
        power = float(applied @ v)
        return a, power + float(self.loop_power(q, v, a, force)) if self.timed else power, taken

    def powers(self, t: float, q: Array, v: Array, a: Array) -> tuple[float, float]:
        """Return the powers of `rates`, where accelerations are known."""
        applied, passive = self.applied_force(t, q, v), self.passive_force(q, v)
        more = float(self.loop_power(q, v, a, applied + passive)) if self.timed else 0.0
        return float(applied @ v) + more, -float(passive @ v) + self._lost_to_contacts(q, v, a, applied + passive)

    def _lost_to_contacts(self, q: Array, v: Array, a: Array, force: Array) -> float:
        """Return the power that rigid contacts take, which no force of the state alone has."""
        rigid = self.touching is not None and self.touching.model == "rigid"
        return -float(self.loop_power(q, v, a, force)) if rigid else 0.0

    def loop_power(self, q: Array, v: Array, a: Array, force: Array) -> Array:
        """Return the power of rows that time moves; all others have none."""
        return np.asarray(((self.robot.inverse_dynamics(q, v, a) - force) * v).sum(axis=-1))

    def loop_force(self, t: Any, q: Array, v: Array, a: Array, force: Array) -> Array:
        """Return joint forces K^T lambda of the constraints, from accelerations and all other joint forces."""
        load = self.robot.inverse_dynamics(q, v, a) - force
        return np.asarray(load - self.held_force(t, q, v, force)) if self.held else load

    # ---- states

    def position_rate(self, q: Array, v: Array) -> Array:
        """Return dq/dt, (nq,)."""
        return self.robot.position_rate(q, v)

    def project(self, q: Array) -> Array:
        """Return the nearest valid position: quaternions become units."""
        return self.robot.normalize(q)

    def corrected(self, t: float, q: Array, v: Array) -> tuple[Array, Array, float]:
        """Return the state of the mechanism next to the end of a step, and the energy that it has more."""
        if self.drift != "project" or not self.now.nc:
            return q, v, 0.0
        robot, at = self.robot, (*self.held, *self.reaching)
        hold = Holding(self, at, t) if at else None
        before = float(robot.kinetic_energy(q, v)) + float(robot.potential_energy(q))
        closed, off = self.now.one(q if hold is None else hold.set(q), t, hold)
        if self.reaching and not off <= OPEN:  # no freedom is left to be exactly there
            closed, off = self.now.one(q, t, Holding(self, self.held, t))
        q = closed
        if not off <= OPEN:
            raise self._open(t, q)
        self._off = off
        v = self.kept(t, q, v, self.held)
        return q, v, float(robot.kinetic_energy(q, v)) + float(robot.potential_energy(q)) - before

    def _open(self, t: float, q: Array) -> StepFailedError:
        name, off = self.now.worst(self.now.residual(q, t))
        message = f"{self.now.rows.whole(name)} after t = {t:.9g} s: it stays open by {off:.3g}"
        failure = StepFailedError(Ending.NOT_CLOSED, t, message)
        failure.lingers = self.crossing is not None and self._off > 0.1 * OPEN  # a shorter step would not help
        return failure

    def kept(self, t: float, q: Array, v: Array, held: Sequence[Stop] = ()) -> Array:
        """Return the velocity next to v that keeps the rows, and joints at stops that they rest on."""
        x = self.now.solve(q, None, -self.now.rate(q, v, t), t)
        return np.asarray(v + (Holding(self, held, t).velocity(q, v, x) if held else x))

    def corrected_many(self, t: Array, q: Array, v: Array) -> tuple[Array, Array]:
        """Return states (n, nq), (n, nv) within steps, with the rows closed."""
        if self.drift != "project" or not self.now.nc or not len(q):
            return q, v
        q, _ = self.now.closed(q, t)
        return q, self.now.kept(q, v, t)

    def joint_of(self, index: int | None) -> str:
        """Return the name of the joint that a component of v belongs to."""
        return "" if index is None else next((c.name for c in self.robot.independent if index in _range(c.v)), "")

    def joint_at(self, index: int) -> str:
        """Return the name of the joint that a component of q belongs to."""
        return next((c.name for c in self.robot.independent if index in _range(c.q)), "")

    # ---- singular positions

    def solve_compiled(self) -> None:
        """Solve single states by compiled code from now on: next to singular positions roundings matter."""
        self.sparing = self.now.sparing = self.usual.sparing = False

    def cross(self, rank: int, push: Array, multipliers: Array) -> None:
        """Keep this many rows from now on, and replace the others by constant forces."""
        self.crossing, self.now = Crossing(push, multipliers), self.usual.with_rank(rank)

    def leave_singular(self) -> None:
        """Count all rows again: the singular position is passed, or left."""
        self.crossing, self.now = None, self.usual

    def response(self, q: Array, x: Array, t: Any) -> Array:
        """Return the change of velocities by impulses x on the joints, which the rows share.

        At a singular position it is the limit along the motion, from responses at positions beside.
        """
        if self.beside is None:
            return self.now.solve(q, x, None, t)
        return np.asarray(sum(w * self.now.solve(at, x, None, t) for w, at in zip(MIDDLE, self.beside, strict=True)))

    # ---- stops

    def stop_rows(self, stops: Sequence[Stop], q: Array) -> Array:
        """Return E, (k, nv) or (..., k, nv), with which E v are the velocities off stops; zero for open loops.

        It depends on positions (..., nq) where joints that close loops are among them.
        """
        E, loops = np.zeros((len(stops), self.nv)), []
        for k, s in enumerate(stops):
            if s.own and s.v >= 0:
                E[k, s.v] = s.side
            elif (place := self._place(s)) >= 0:
                loops.append((k, place))
        if not loops:
            return E
        E = np.array(np.broadcast_to(E, (*q.shape[:-1], *E.shape)))
        rows = velocity_rows(self.now.robot, q, [v for _, v in loops])
        for n, (k, _) in enumerate(loops):
            E[..., k, :] = stops[k].side * rows[..., n, :]
        return E

    def _place(self, stop: Stop) -> int:
        """Return the place of a closing joint's velocity among those of all closing joints; -1 for other stops."""
        for x in self.now.robot.loop_table.loops if not stop.own and stop.v >= 0 else ():
            if x.loop.name == stop.joint:
                return int(x.v.start) + stop.v
        return -1

    def stop_bias(self, stops: Sequence[Stop], q: Array, v: Array) -> Array:
        """Return how fast E v changes at constant v, (..., k)."""
        bias, robot = np.zeros((*np.shape(v)[:-1], len(stops))), self.now.robot
        mine = {s.joint for s in stops if not s.own}
        of = {x.loop.name: velocity_bias(robot, q, v, x) for x in robot.loop_table.loops if x.loop.name in mine}
        for k, s in enumerate(stops):
            if not s.own and s.joint in of:
                bias[..., k] = s.side * of[s.joint][..., s.v]
        return bias

    def stop_response(self, q: Array, E: Array, t: Any) -> Array:
        """Return the changes of velocities (..., k, nv) by unit impulses of stops; zero for joints that cannot move."""
        response = self.response(q[..., None, :], E, np.asarray(t)[..., None] if np.ndim(t) else t)
        if not self.now.nc:
            return response
        loose = (self.robot.mass_matrix_solve(q[..., None, :], E) * E).sum(axis=-1)
        moves = (response * E).sum(axis=-1) > self.now.rows.locked * loose
        return np.where(moves[..., None], response, 0.0)

    def at_stops(self, t: float, q: Array, v: Array, stops: Sequence[Stop]) -> tuple[Array, Array]:
        """Return the closed state in which joints are exactly at stops that they touch."""
        hold = Holding(self, stops, t)
        q = hold.set(q)
        if self.drift != "project" or not self.now.nc or self.beside is not None:
            return q, v
        q = self.now.one(q, t, hold)[0]
        return q, self.kept(t, q, v)

    def hold(self, stops: list[Stop]) -> None:
        """Let joints rest on these stops from now on: stop forces make their accelerations zero."""
        self.held = tuple(stops)
        self._fixed = [s.v for s in stops if s.own]

    def stop_forces(self, t: Any, q: Array, v: Array) -> Array:
        """Return the forces of the stops on the joints that rest on them, (..., k); negative ones pull."""
        one = np.ndim(t) == 0
        applied = self.applied_force(t, q, v) if one else self.tau.over(t, q, v) + self.external_force(t, q, v)
        force = applied + self.passive_force(q, v)
        return self.resting(q, v, self.free_dynamics(q, v, force, t), t)[0]

    def held_force(self, t: Any, q: Array, v: Array, force: Array) -> Array:
        """Return the joint forces (..., nv) of the stops that joints rest on, by all other joint forces."""
        p = self.resting(q, v, self.free_dynamics(q, v, force, t), t)[0]
        return np.asarray((p[..., None, :] @ self.stop_rows(self.held, q))[..., 0, :])

    def resting(self, q: Array, v: Array, a: Array, t: Any) -> tuple[Array, Array]:
        """Return forces of stops that make accelerations of joints zero, and the accelerations with them."""
        E = self.stop_rows(self.held, q)
        response = self.stop_response(q, E, t)
        away = (E @ a[..., None])[..., 0] + self._held_bias(q, v)
        p = -spread(response @ np.swapaxes(E, -1, -2), away)
        a = a + (p[..., None, :] @ response)[..., 0, :]
        a[..., self._fixed] = 0.0
        return p, a

    def _held_bias(self, q: Array, v: Array) -> Array:
        """Return `stop_bias` of the held stops; with Baumgarte's stabilisation, joints are led back to them."""
        bias = self.stop_bias(self.held, q, v)
        if self.pull is not None and not all(s.own for s in self.held):
            alpha, beta = self.pull
            apart = np.array([s.inside(x) for x in q.reshape(-1, self.nq) for s in self.held]).reshape(bias.shape)
            bias = bias + 2.0 * alpha * (self.stop_rows(self.held, q) @ v[..., None])[..., 0] + beta**2 * apart
        return bias


def _range(part: slice) -> range:
    return range(part.start, part.stop)
