"""The equations of motion of a grasp, in the coordinates of arms and object as one robot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError
from ..simulate.forces import External, applied
from ..simulate.holding import Holding
from ..simulate.integrator import StepFailedError
from ..simulate.limits import Stop
from ..simulate.problem import Problem
from .monitor import margins
from .motion import GraspMotion
from .projecting import Changes, impulse, projected, worst
from .state import GraspState
from .whole import from_whole, to_whole

if TYPE_CHECKING:
    from .mechanism import Grasp

__all__ = ["GraspProblem"]

Array = NDArray[Any]

LOCKED = 1e-11
"""A joint whose inverse inertia is less than this part of what it is without contacts has no freedom."""


class GraspProblem(Problem):
    """As `Problem` of the whole robot, with contacts between tips and object, and loops of the arms' own."""

    def __init__(self, grasp: Grasp, tau: Any, dynamics: str | None, smoothing: float, project: bool) -> None:
        robot = grasp.robot
        super().__init__(robot, applied(robot, tau), External(robot, None), "", smoothing)
        self.has_loop_passive = any(x.is_passive for x in robot.loops if x.active)
        self._tree_passive = self.has_passive
        self.has_passive = self.has_passive or self.has_loop_passive
        self.projects, self._method = project, dynamics
        self.use(grasp)

    def use(self, grasp: Grasp) -> None:
        """These contacts hold from now on."""
        self.grasp = grasp
        self.dynamics_method = self._method or grasp.usual_method()

    # ---- motion

    def passive_force(self, q: Array, v: Array) -> Array:
        """Joint forces of dampers, friction and springs, those of joints that close loops included."""
        force = self.robot.passive_force(q, v, self.smoothing) if self._tree_passive else np.zeros(np.shape(v))
        if self.has_loop_passive:
            force = force + self.robot.loop_passive_force(q, v, self.smoothing)
        return force

    def motion(self, q: Array, v: Array, force: Array) -> GraspMotion:
        """Accelerations and contact forces, by joint forces and those on the object, all in one array (..., nv)."""
        state = from_whole(self.grasp, q, v)
        pushes, wrench = _split(state, force)
        return self.grasp.dynamics(state, np.concatenate(pushes, axis=-1), self.dynamics_method, wrench=wrench)

    def free_dynamics(self, q: Array, v: Array, force: Array, t: Any) -> Array:
        """dv/dt of the whole robot, without the forces of stops; the time does not matter."""
        found = self.motion(q, v, force)
        state = from_whole(self.grasp, q, v)
        w, u = state.velocity[..., :3], state.velocity[..., 3:]
        alpha = found.object_acceleration.copy()
        alpha[..., 3:] -= np.cross(w, u)
        return _joined(state, found.accelerations, alpha)

    def response(self, q: Array, x: Array, t: Any) -> Array:
        """The change of velocities by impulses x on the joints and the object, shared out by the contacts."""
        state, x = self._spread(q, x)
        arms, shift, _ = impulse(state, *_split(state, x))
        return _joined(state, arms, shift)

    def stop_response(self, q: Array, E: Array, t: Any) -> Array:
        """As of trees; zero where contacts leave a joint no freedom."""
        response = super().stop_response(q, E, t)
        loose = (self.robot.mass_matrix_solve(q[..., None, :], E) * E).sum(axis=-1)
        return np.where(((response * E).sum(axis=-1) > LOCKED * loose)[..., None], response, 0.0)

    def contact_impulses(self, q: Array, x: Array) -> Array:
        """The impulses (..., l, 6) of the contacts on the object that impulses x cause."""
        state, x = self._spread(q, x)
        return impulse(state, *_split(state, x))[2]

    def _spread(self, q: Array, x: Array) -> tuple[GraspState, Array]:
        """The state at rest, and impulses of the same batch shape."""
        shape = np.broadcast_shapes(q.shape[:-1], x.shape[:-1])
        q, x = np.broadcast_to(q, (*shape, self.nq)), np.broadcast_to(x, (*shape, self.nv))
        return from_whole(self.grasp, q, np.zeros((*shape, self.nv))), x

    # ---- contacts

    def contact_forces(self, t: Any, q: Array, v: Array, tau: Array) -> Array:
        """Forces (..., l, 6) of the contacts, by applied joint forces; stops that joints rest on push besides."""
        force = tau + self.passive_force(q, v)
        if self.held:
            p, _ = self.resting(q, v, self.free_dynamics(q, v, force, t), t)
            force = force + (p[..., None, :] @ self.stop_rows(self.held, q))[..., 0, :]
        return self.motion(q, v, force).forces

    def margins(self, t: float, q: Array, v: Array) -> Array:
        """What is left before contacts fail, (l, 5)."""
        forces = self.contact_forces(t, q, v, self.applied_force(t, q, v))
        return margins(self.grasp, from_whole(self.grasp, q, v), forces)

    def series(self, t: Array, q: Array, v: Array, a: Array, tau: Array) -> tuple[Array, ...]:
        """The forces of the contacts, and how far tips and object are apart."""
        state = from_whole(self.grasp, q, v)
        forces = self.contact_forces(t, q, v, tau)
        apart = np.zeros(len(t))
        for r in state.velocity_residual:
            apart = np.maximum(apart, np.abs(r).max(axis=(-2, -1), initial=0.0))
        return (*(forces[:, i] for i in range(forces.shape[1])), worst(state), apart)

    @property
    def extra(self) -> dict[str, tuple[int, ...]]:
        """Names of further series of the result, and the shapes of their entries."""
        forces: dict[str, tuple[int, ...]] = {f"force.{c.name}": (6,) for c in self.grasp.contacts}
        return forces | {"residual": (), "residual.velocity": ()}

    # ---- the way back

    def corrected(self, t: float, q: Array, v: Array) -> tuple[Array, Array, float]:
        """The state in which tips and object fit next to that at the end of a step, and the energy that it has more."""
        if not self.projects:
            return q, v, 0.0
        hold = _Hold(self, self.held, t, True) if self.held else None
        before = self._energy(q, v)
        try:
            fits = projected(from_whole(self.grasp, q if hold is None else hold.set(q), v), hold)
        except ArgumentError as e:
            what = str(e).removeprefix("grasp: ")
            raise StepFailedError("not-closed", t, f"after t = {t:.9g} s {what}") from None
        q, v = self._whole(fits, q)
        return q, v, self._energy(q, v) - before

    def corrected_many(self, t: Array, q: Array, v: Array) -> tuple[Array, Array]:
        """States (n, nq), (n, nv) within steps, in which tips and object fit."""
        if not self.projects or not len(q):
            return q, v
        return self._whole(projected(from_whole(self.grasp, q, v)), q)

    def at_stops(self, t: float, q: Array, v: Array, stops: Sequence[Stop]) -> tuple[Array, Array]:
        """The state in which joints are exactly at stops that they touch, and tips and object fit."""
        hold = _Hold(self, stops, t, False)
        q = hold.set(q)
        if not self.projects:
            return q, v
        try:
            fits = projected(from_whole(self.grasp, q, v), hold)
        except ArgumentError:  # no freedom is left to be exactly there
            return q, v
        return self._whole(fits, q)

    def _whole(self, state: GraspState, near: Array) -> tuple[Array, Array]:
        """q and v of a state; of the two quaternions of the object's attitude that which is near."""
        q, v = to_whole(state)
        if self.grasp.object is not None:
            turn = slice(self.grasp.nq, self.grasp.nq + 4)
            other = (q[..., turn] * near[..., turn]).sum(axis=-1, keepdims=True) < 0.0
            q[..., turn] = np.where(other, -q[..., turn], q[..., turn])
        return q, v

    def _energy(self, q: Array, v: Array) -> float:
        return float(self.robot.kinetic_energy(q, v)) + float(self.robot.potential_energy(q))


class _Hold:
    """`Holding` for changes of arms and object: joints that arrive at stops, or rest there."""

    def __init__(self, problem: GraspProblem, stops: Sequence[Stop], t: float, rest: bool) -> None:
        self._stops, self._rest = Holding(problem, stops, t), rest
        self.set = self._stops.set

    def position(self, state: GraspState, arms: Changes, shift: Array) -> tuple[Changes, Array]:
        """Of positions."""
        q, _ = to_whole(state)
        return _parted(state, self._stops.position(q, _joined(state, arms, shift)))

    def velocity(self, state: GraspState, arms: Changes, shift: Array) -> tuple[Changes, Array]:
        """Of velocities: joints at rest do not move; what those do that arrive is left to an impact."""
        if not self._rest:
            return arms, shift
        q, v = to_whole(state)
        return _parted(state, self._stops.velocity(q, v, _joined(state, arms, shift)))


def _split(state: GraspState, x: Array) -> tuple[Changes, Array | None]:
    """Forces on the joints of each arm, and that on the object in the world's axes, from those of the whole robot."""
    grasp = state.grasp
    arms = grasp._split(x)
    return arms, None if grasp.object is None else _turned(state.R, x[..., grasp.nv :])


def _parted(state: GraspState, x: Array) -> tuple[Changes, Array]:
    """The same of changes of velocities: zero for an object that stands still."""
    arms, shift = _split(state, x)
    return arms, np.zeros((*x.shape[:-1], 6)) if shift is None else shift


def _joined(state: GraspState, arms: Changes, shift: Array) -> Array:
    """Velocities of the whole robot, from those of the arms and of the object in the world's axes."""
    if state.grasp.object is None:
        return np.concatenate(arms, axis=-1)
    return np.concatenate([*arms, _turned(np.swapaxes(state.R, -1, -2), shift)], axis=-1)


def _turned(R: Array, x: Array) -> Array:
    both = [(R @ x[..., part, None])[..., 0] for part in (slice(0, 3), slice(3, 6))]
    return np.concatenate(both, axis=-1)
