"""The equations of motion of a grasp, in the coordinates of arms and object as one robot that contacts close."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..simulate.constraints.looped import LoopedProblem
from ..simulate.forces import External, applied
from ..simulate.integrators.integrator import StepFailedError
from .as_one_robot import from_whole, split
from .monitor import margins
from .projecting import impulse
from .structure import GraspStructure

if TYPE_CHECKING:
    from ..simulate.constraints.structure import Structure
    from .mechanism import Grasp

__all__ = ["GraspProblem"]

Array = NDArray[Any]


class GraspProblem(LoopedProblem):
    """As `LoopedProblem` of the whole robot; the loops are those that arms, contacts and object make."""

    now: GraspStructure
    usual: GraspStructure
    of = "contacts"
    locked = 1e-11

    def __init__(self, grasp: Grasp, tau: Any, dynamics: str | None, smoothing: float, project: bool) -> None:
        robot = grasp.robot
        drift = "project" if project else "none"
        super().__init__(robot, applied(robot, tau), External(robot, None), dynamics, smoothing, drift)
        self.projects = project
        self.entrance = np.zeros(0)
        """The contacts' multipliers where the singular position was entered that is being passed."""

    @property
    def grasp(self) -> Grasp:
        """With the contacts that hold now."""
        return self.now.grasp

    def use(self, structure: Structure) -> None:
        """These contacts hold from now on."""
        assert isinstance(structure, GraspStructure)
        self.now = self.usual = structure
        self.crossing = None
        self.has_passive = self.tree_passive or structure.passive
        self.dynamics_method = self._method or structure.grasp.usual_method()

    # ---- singular positions

    def enter_singular(self, t: float, q: Array, v: Array, usual: float) -> None:
        """A singular position is near."""
        forces = self.contact_forces(t, q, v, self.applied_force(t, q, v))
        super().enter_singular(t, q, v, usual)
        state = from_whole(self.grasp, q, v)
        for g, rows in zip(self.grasp.groups, state.rows(forces), strict=True):
            self.entrance[g.rows] = rows

    def cross(self, rank: int, push: Array) -> None:
        """Keep this many constraints from now on, and replace the others by constant forces."""
        super().cross(rank, push)
        self.entrance = np.zeros(self.usual.nc)

    # ---- contacts

    def contact_forces(self, t: Any, q: Array, v: Array, tau: Array) -> Array:
        """Forces (..., l, 6) of the contacts, by applied joint forces; stops that joints rest on push besides."""
        force = tau + self.passive_force(q, v)
        if self.crossing is not None:
            return self._forces_inside(t, q, v, force)
        if self.held:
            p, _ = self.resting(q, v, self.free_dynamics(q, v, force, t), t)
            force = force + (p[..., None, :] @ self.stop_rows(self.held, q))[..., 0, :]
        return self.now.motion(q, v, force, self.dynamics_method).forces

    def _forces_inside(self, t: Any, q: Array, v: Array, force: Array) -> Array:
        """Near a singular position: weak constraints have the forces that they had where it was entered."""
        push = self.loop_force(t, q, v, self.dynamics(q, v, force, t), force)
        U, sigma, Vt = np.linalg.svd(self.now.jacobian(q, t), full_matrices=False)
        r = self.now.rank
        strong = (Vt[..., :r, :] @ push[..., None])[..., 0] / sigma[..., :r]
        before = (np.swapaxes(U[..., :r], -1, -2) @ self.entrance[..., None])[..., 0]
        found = self.entrance + (U[..., :r] @ (strong - before)[..., None])[..., 0]
        state = from_whole(self.grasp, q, v)
        return state.forces([found[..., g.rows] for g in self.grasp.groups])

    def contact_impulses(self, q: Array, x: Array) -> Array:
        """The impulses (l, 6) of the contacts on the object that impulses x on the joints cause."""
        state = from_whole(self.grasp, q, np.zeros(self.nv))
        return impulse(state, *split(state, x))[2]

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
        off = np.abs(state.residual).max(axis=(-2, -1))
        return (*(forces[:, i] for i in range(forces.shape[1])), off, apart)

    @property
    def extra(self) -> dict[str, tuple[int, ...]]:
        """Names of further series of the result, and the shapes of their entries."""
        forces: dict[str, tuple[int, ...]] = {f"force.{c.name}": (6,) for c in self.grasp.contacts}
        return forces | {"residual": (), "residual.velocity": ()}

    def _open(self, t: float, q: Array) -> StepFailedError:
        found, name = super()._open(t, q), self.now.worst(self.now.residual(q, t))[0]
        if name in self.robot.loop_rows:
            return found
        arm = self.grasp.arm_of(self.grasp.contact_index(name)).name
        text = str(found).replace(f"loop {name!r} cannot be closed", f"contact {name!r} of arm {arm!r} cannot be kept")
        failure = StepFailedError(found.kind, t, text)
        failure.lingers = found.lingers
        return failure
