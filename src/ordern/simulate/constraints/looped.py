"""The equations of motion of a robot with closed loops, and the way back to where they are closed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...loops.limits import velocity_bias, velocity_rows
from ..integrators.integrator import StepFailedError
from ..integrators.native import kept
from ..results.series import LOOP_FORCE, LOOPS_CLOSED
from ..run.endings import Ending
from ..run.problem import Problem
from .singular_band import Crossing, weak_rank
from .stop_projection import Holding
from .structure import Structure, usual_rank
from .unwrap import Turns

if TYPE_CHECKING:
    from ...robot import Robot
    from ..forces import Applied, External
    from .limits import Stop

__all__ = ["LoopedProblem", "structure_of"]

Array = NDArray[np.float64]

_AT_REST = 1e-12
"""Kinetic energies below this, in J, are those of a mechanism at rest."""
_MIDDLE = (-1.0 / 6.0, 4.0 / 6.0, 4.0 / 6.0, -1.0 / 6.0)
"""Weights of values at -2, -1, 1 and 2 that make that at 0, up to the fourth order."""
_SOON, _TRIES = 1e-6, 16
"""In s, how far from a singular position it is looked for others, and how often that is doubled."""
OPEN = 1e-9
"""A state that is closed no better than this, in rad and m, is no state of the mechanism."""


def structure_of(robot: Robot, closed: Mapping[str, bool], q: Array, t: float, rank: int | None = None) -> Structure:
    """The robot with these loops closed, of this rank if it is known; what is compiled for it is kept."""
    key = ("structure", tuple(sorted(closed.items())))
    same = all(x.active == closed[x.name] for x in robot.constraints)
    found = kept(robot, key, lambda: robot if same else robot.with_loops(closed))
    now = Structure(found, 0)
    return now.with_rank(usual_rank(now, q, t) if rank is None else rank)


class LoopedProblem(Problem):
    """As `Problem`, with K(q) v = -dr/dt kept by forces K^T lambda.

    `robot` is the one that was given; which of its loops are closed may change, and `now` has those of the moment.
    """

    of = "loops"
    """What closes the mechanism, in a report."""
    locked = 1e-12
    """Joints whose answer to an impulse is below this part of what it is without loops cannot move."""

    def __init__(
        self,
        robot: Robot,
        tau: Applied,
        external: External,
        dynamics: str | None,
        smoothing: float,
        drift: str,
        pull: tuple[float, float] | None = None,
        switched: bool = False,
    ) -> None:
        super().__init__(robot, tau, external, dynamics or "", smoothing)
        self.drift, self.pull = drift, pull
        self.tree_passive, self.switched = self.has_passive, switched
        self._method = dynamics
        self.now: Structure
        """Of the loops that are closed; near a singular position, of their strong constraints only."""
        self.usual: Structure
        """The same with all constraints."""
        self.crossing: Crossing | None = None
        self._off = 0.0
        self.turns = Turns()
        self.beside: Array | None = None
        """Positions from which an impact at a singular one is computed."""
        self.reaching: tuple[Stop, ...] = ()
        """Stops at which joints are at the end of the step that is being taken."""

    def use(self, structure: Structure) -> None:
        """These loops are closed from now on."""
        self.now = self.usual = structure
        self.crossing, self.timed = None, structure.timed
        self.has_passive = self.tree_passive or structure.passive
        if self._method is None:
            from ...loops.dynamics import usual_method

            self.dynamics_method = usual_method(structure.robot) if structure.nc else "articulated-body"

    def enter_singular(self, t: float, q: Array, v: Array, usual: float) -> None:
        """A singular position is near: see `crossing`."""
        at = ((1.0, q),) if self.beside is None else tuple(zip(_MIDDLE, self.beside, strict=True))
        push = sum(w * self._push(t, x, v if self.beside is None else self._kept(t, x, v, ())) for w, x in at)
        self.cross(weak_rank(self.usual, q, t, usual), np.asarray(push))

    def _push(self, t: float, q: Array, v: Array) -> Array:
        """The joint forces of loops at a state."""
        force = self.applied_force(t, q, v) + self.passive_force(q, v)
        return self.loop_force(t, q, v, self.dynamics(q, v, force, t), force)

    def cross(self, rank: int, push: Array) -> None:
        """Keep this many constraints from now on, and replace the others by constant forces."""
        self.crossing = Crossing(self.usual.with_rank(rank), push)
        self.now = self.crossing.structure

    def leave_singular(self) -> None:
        """The singular position is passed, or left: all constraints count again."""
        self.crossing, self.now = None, self.usual

    @property
    def closed(self) -> dict[str, bool]:
        """Which loops are."""
        return {x.name: x.active for x in self.now.robot.constraints}

    def passive_force(self, q: Array, v: Array) -> Array:
        """Joint forces of dampers, friction and springs, those of joints that close loops included."""
        force: Array = super().passive_force(q, v) if self.tree_passive else np.zeros(np.shape(v))
        if self.now.passive:
            force = force + self.now.robot.loop_passive_force(q, v, self.smoothing)
        return force

    def free_dynamics(self, q: Array, v: Array, force: Array, t: Any) -> Array:
        """Accelerations without the forces of stops."""
        method = self._method if self.now.nc else None
        if self.crossing is None:
            return self.now.acceleration(q, v, force, t, method, self.pull)
        a = self.now.acceleration(q, v, force + self.crossing.push, t, method, self.pull)
        return a if self.timed else self._without_work(q, v, a, force)

    def _without_work(self, q: Array, v: Array, a: Array, force: Array) -> Array:
        """Accelerations changed along the velocity, which strong constraints allow, so that constraints do no work."""
        twice = 2.0 * np.asarray(self.robot.kinetic_energy(q, v))[..., None]
        power = ((self.robot.inverse_dynamics(q, v, a) - force) * v).sum(axis=-1, keepdims=True)
        return np.asarray(a - np.where(twice > _AT_REST, power / np.maximum(twice, _AT_REST), 0.0) * v)

    def response(self, q: Array, x: Array, t: Any) -> Array:
        """The change of velocities by impulses x on the joints, shared out by the loops.

        At a singular position it is what it tends to along the motion, from responses at positions beside.
        """
        if self.beside is None:
            return self.now.solve(q, x, None, t)
        return np.asarray(sum(w * self.now.solve(at, x, None, t) for w, at in zip(_MIDDLE, self.beside, strict=True)))

    def positions_beside(self, t: float, q: Array, v: Array, a: Array, edge: float) -> Array | None:
        """(4, nq): positions of the motion before and after a singular one, in which constraints are independent."""
        step = _SOON
        for _ in range(_TRIES):
            h = step * np.array([[-2.0], [-1.0], [1.0], [2.0]])
            found, off = self.usual.closed(self.robot.integrate(q, h * v + 0.5 * h * h * a), t)
            if (off <= OPEN).all() and (self.usual.smallest(found, t) > edge).all():
                return found
            step *= 2.0
        return None

    def rates(self, t: float, q: Array, v: Array) -> tuple[Array, float, float]:
        """dv/dt, the power of drives, external forces and loops that time moves, and what passive forces take."""
        if not self.now.timed:
            return super().rates(t, q, v)
        self.evaluations += 1
        applied, passive = self.applied_force(t, q, v), self.passive_force(q, v)
        a = self.dynamics(q, v, applied + passive, t)
        power = float(applied @ v) + float(self.loop_power(t, q, v, a, applied + passive))
        return a, power, -float(passive @ v)

    def powers(self, t: float, q: Array, v: Array, a: Array) -> tuple[float, float]:
        """What `rates` tells of powers, where accelerations are known."""
        applied, passive = self.applied_force(t, q, v), self.passive_force(q, v)
        more = float(self.loop_power(t, q, v, a, applied + passive))
        return float(applied @ v) + more, -float(passive @ v)

    def loop_force(self, t: Any, q: Array, v: Array, a: Array, force: Array) -> Array:
        """Joint forces K^T lambda of the loops, from accelerations and all other joint forces."""
        load = self.robot.inverse_dynamics(q, v, a) - force
        if self.held:
            p = self.resting(q, v, self.free_dynamics(q, v, force, t), t)[0]
            load = load - (p[..., None, :] @ self.stop_rows(self.held, q))[..., 0, :]
        return np.asarray(load)

    def loop_power(self, t: Any, q: Array, v: Array, a: Array, force: Array) -> Array:
        """The power of loops that time moves; all others have none."""
        if not self.now.timed:
            return np.zeros(np.shape(v)[:-1])
        return np.asarray(((self.robot.inverse_dynamics(q, v, a) - force) * v).sum(axis=-1))

    def series(self, t: Array, q: Array, v: Array, a: Array, tau: Array) -> tuple[Array, ...]:
        """Joint forces K^T lambda of the loops, and which of them are closed, if that changes."""
        force = tau + self.passive_force(q, v) + self.external_force(t, q, v)
        load = self.loop_force(t, q, v, a, force)
        if not self.switched:
            return (load,)
        closed = np.array([float(x) for x in self.closed.values()])
        return load, np.broadcast_to(closed, (len(t), len(closed))).copy()

    @property
    def extra(self) -> dict[str, tuple[int, ...]]:
        """Names of further series of the result, and the shapes of their entries."""
        found: dict[str, tuple[int, ...]] = {LOOP_FORCE: (self.nv,)}
        return found | ({LOOPS_CLOSED: (len(self.robot.constraints),)} if self.switched else {})

    # ---- the way back

    def corrected(self, t: float, q: Array, v: Array) -> tuple[Array, Array, float]:
        """The state on the manifold next to that at the end of a step, and the energy that it has more."""
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
        v = self._kept(t, q, v, self.held)
        return q, v, float(robot.kinetic_energy(q, v)) + float(robot.potential_energy(q)) - before

    def _open(self, t: float, q: Array) -> StepFailedError:
        name, off = self.now.worst(self.now.residual(q, t))
        message = f"loop {name!r} cannot be closed after t = {t:.9g} s: it stays open by {off:.3g}"
        failure = StepFailedError(Ending.NOT_CLOSED, t, message)
        failure.lingers = self.crossing is not None and self._off > 0.1 * OPEN  # a shorter step would not help
        return failure

    def _kept(self, t: float, q: Array, v: Array, held: Sequence[Stop]) -> Array:
        """The velocity next to v that keeps loops closed, and joints at stops that they rest on."""
        x = self.now.solve(q, None, -self.now.rate(q, v, t), t)
        return np.asarray(v + (Holding(self, held, t).velocity(q, v, x) if held else x))

    # ---- stops

    def stop_rows(self, stops: Sequence[Stop], q: Array) -> Array:
        """As of trees; of joints that close loops they depend on positions. Those of open ones are zero."""
        E = super().stop_rows(stops, q)
        found = [(k, v) for k, s in enumerate(stops) if (v := self._place(s)) >= 0]
        if not found:
            return E
        E = np.array(np.broadcast_to(E, (*q.shape[:-1], *E.shape)))
        rows = velocity_rows(self.now.robot, q, [v for _, v in found])
        for n, (k, _) in enumerate(found):
            E[..., k, :] = stops[k].side * rows[..., n, :]
        return E

    def stop_bias(self, stops: Sequence[Stop], q: Array, v: Array) -> Array:
        """As of trees; of joints that close loops it is that of their own velocities."""
        bias, robot = super().stop_bias(stops, q, v), self.now.robot
        mine = {s.joint for s in stops if not s.own}
        of = {x.loop.name: velocity_bias(robot, q, v, x) for x in robot.loop_table.loops if x.loop.name in mine}
        for k, s in enumerate(stops):
            if not s.own and s.joint in of:
                bias[..., k] = s.side * of[s.joint][..., s.v]
        return bias

    def held_bias(self, q: Array, v: Array) -> Array:
        """`stop_bias` of the stops that joints rest on; with Baumgarte's stabilisation they are led back to them."""
        bias = super().held_bias(q, v)
        if self.pull is not None and not all(s.own for s in self.held):
            alpha, beta = self.pull
            apart = np.array([s.inside(x) for x in q.reshape(-1, self.nq) for s in self.held]).reshape(bias.shape)
            bias = bias + 2.0 * alpha * (self.stop_rows(self.held, q) @ v[..., None])[..., 0] + beta**2 * apart
        return bias

    def stop_response(self, q: Array, E: Array, t: Any) -> Array:
        """As of trees; zero where loops leave no freedom."""
        response = super().stop_response(q, E, t)
        loose = (self.robot.mass_matrix_solve(q[..., None, :], E) * E).sum(axis=-1)
        return np.where(((response * E).sum(axis=-1) > self.locked * loose)[..., None], response, 0.0)

    def at_stops(self, t: float, q: Array, v: Array, stops: Sequence[Stop]) -> tuple[Array, Array]:
        """The closed state in which joints are exactly at stops that they touch."""
        hold = Holding(self, stops, t)
        q = hold.set(q)
        if self.drift != "project" or not self.now.nc or self.beside is not None:
            return q, v
        q = self.now.one(q, t, hold)[0]
        return q, self._kept(t, q, v, ())

    def _place(self, stop: Stop) -> int:
        """Of a joint that closes a loop, the place of its velocity among those of all; -1 of others."""
        for x in self.now.robot.loop_table.loops if not stop.own and stop.v >= 0 else ():
            if x.loop.name == stop.joint:
                return int(x.v.start) + stop.v
        return -1

    # ---- states within steps

    def corrected_many(self, t: Array, q: Array, v: Array) -> tuple[Array, Array]:
        """States (n, nq), (n, nv) within steps, on the manifold."""
        if self.drift != "project" or not self.now.nc or not len(q):
            return q, v
        q, _ = self.now.closed(q, t)
        return q, self.now.kept(q, v, t)
