"""Constraint rows of a grasp: arms and object as one robot, closed by contacts and by the arms' own loops.

The rows of K are those that contacts bind, contact after contact, by which the object moves against the tips, and then
those of the arms' loops. Accelerations, responses and corrections are those of the grasp, by recursions over arms. At
a singular position, where only strong constraints count, they are solved for with all rows at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..model import BASE
from ..records import dataclass
from ..simulate.constraints.constraints import listed
from .as_one_robot import from_whole, joined, split
from .contact_forces import contact_forces
from .motion import GraspMotion
from .omega import Solved
from .projecting import Changes, respond
from .recursive import jacobians
from .state import GraspState

if TYPE_CHECKING:
    from ..robot import Robot
    from ..simulate.run.problem import Problem
    from .mechanism import Grasp

__all__ = ["ContactMechanism", "ContactRows", "contact_rows"]

Array = NDArray[Any]

_MANY = 60
"""From so many rows on, singular values are the roots of eigenvalues, which take a fraction of the time."""

_WELL = 1e-2
"""Arms whose smallest singular value is above this part of the largest are far from singular positions."""


class ContactRows:
    """The rows of contacts and of the arms' own loops."""

    ranked: ClassVar[bool] = False
    locked: ClassVar[float] = 1e-11

    def __init__(self, grasp: Grasp) -> None:
        robot = grasp.robot
        self.grasp, self.robot, self.timed = grasp, robot, False
        self.passive = any(x.is_passive for x in robot.loops if x.active)
        names: dict[str, slice] = {}
        at = 0
        for c in grasp.contacts:
            names[c.name] = slice(at, at + c.bound.shape[1])
            at = names[c.name].stop
        self._contacts, self.nc = at, at + robot.nc
        loops = {name: slice(at + s.start, at + s.stop) for name, s in robot.loop_rows.items()}
        self.names: Mapping[str, slice] = names | loops
        self._loops = [
            np.array([r for name in a.robot.loop_rows for r in _range(self.names[f"{a.name}/{name}"])], dtype=np.intp)
            for a in grasp.arms
        ]
        """For each arm, which rows are those of its own loops."""

    def _state(self, q: Array, v: Array | None = None) -> GraspState:
        return from_whole(self.grasp, q, np.zeros((*q.shape[:-1], self.robot.nv)) if v is None else v)

    # ---- rows

    def residual(self, q: Array, t: Any) -> Array:
        """Return by how much tips are off the object, and loops open, (..., nc)."""
        state = replace(self._state(q), positions_only=True)
        return self._gathered(state.rows(state.residual), self.robot.loop_residual(q) if self.robot.nc else None)

    def rate(self, q: Array, v: Array, t: Any) -> Array:
        """Return how fast that changes, (..., nc)."""
        own = self.robot.loop_rate(q, v) if self.robot.nc else None
        return self._gathered(self._state(q, v).velocity_residual, own)

    def bias(self, q: Array, v: Array, t: Any) -> Array:
        """Return how fast the rates of residuals change at constant velocities, (..., nc)."""
        state = self._state(q, v)
        still = tuple(np.zeros_like(x) for x in state.v)
        turning = np.zeros((*state.shape, 6))
        turning[..., 3:] = np.cross(state.velocity[..., :3], state.velocity[..., 3:])
        moved = (state.A @ turning[..., None, :, None])[..., 0] + state.bias
        rows = state.rows(moved - self.grasp._tip_accelerations(state.q, state.v, still))
        return self._gathered(rows, self.robot.loop_bias(q, v) if self.robot.nc else None)

    def jacobian(self, q: Array, t: Any) -> Array:
        """Return K, (..., nc, nv)."""
        state, grasp = self._state(q), self.grasp
        K = np.zeros((*state.shape, self.nc, self.robot.nv))
        for g, J in zip(grasp.groups, self._arms(state), strict=True):
            for m, k in enumerate(g.arms):
                K[..., g.rows[m], grasp.arms[k].v] = -J[..., m, :, :]
        if grasp.object is not None:
            K[..., : self._contacts, grasp.nv :] = self._of_object(state)
        if self.robot.nc:
            K[..., self._contacts :, :] = self.robot.loop_jacobian(q)
        return K

    def _arms(self, state: GraspState) -> list[Array]:
        """Return how velocities of each group's arms meet the rows of their contacts, (..., m, c, nv)."""
        groups = zip(self.grasp.groups, state.E, strict=True)
        return [np.swapaxes(E, -1, -2) @ jacobians(g, state.stacked(state.q, g)) for g, E in groups]

    def _of_object(self, state: GraspState) -> Array:
        """Return how the object's velocity along its own axes meets the rows of contacts, (..., rows, 6)."""
        F = np.zeros((*state.shape, self._contacts, 6))
        for g, own in zip(self.grasp.groups, state.F, strict=True):
            F[..., g.rows, :] = own
        return np.concatenate([F[..., :3] @ state.R, F[..., 3:] @ state.R], axis=-1)

    def _gathered(self, rows: list[Array], loops: Array | None) -> Array:
        found = np.zeros((*rows[0].shape[:-2], self.nc))
        for g, x in zip(self.grasp.groups, rows, strict=True):
            found[..., g.rows] = x
        if loops is not None:
            found[..., self._contacts :] = loops
        return found

    # ---- motion

    def motion(self, q: Array, v: Array, force: Array, method: str | None) -> GraspMotion:
        """Return accelerations and contact forces, by forces on the joints and the object, in one array (..., nv)."""
        state = self._state(q, v)
        pushes, wrench = split(state, force)
        return self.grasp.dynamics(state, np.concatenate(pushes, axis=-1), method, wrench=wrench, check=False)

    def acceleration(self, q: Array, v: Array, force: Array, t: Any, method: str | None, pull: Any, rank: int) -> Array:
        """Return accelerations of the whole robot by such forces."""
        found = self.motion(q, v, force, method)
        state = self._state(q, v)
        w, u = state.velocity[..., :3], state.velocity[..., 3:]
        alpha = found.object_acceleration.copy()
        alpha[..., 3:] -= np.cross(w, u)
        return joined(state, found.accelerations, alpha)

    def solve(self, q: Array, x: Array, c: Array, t: Any, rank: int, positions: bool) -> Array:
        """Solve M a = x + K^T lambda, K a = c, (..., nv), arm by arm."""
        shape = np.broadcast_shapes(q.shape[:-1], x.shape[:-1], c.shape[:-1])
        q, x, c = (np.broadcast_to(y, (*shape, y.shape[-1])) for y in (q, x, c))
        state = self._state(q)
        if positions:
            state = replace(state, positions_only=True)
        arms, solved = self._respond(state, x, c)
        return joined(state, arms, solved.acceleration)

    def impulses(self, q: Array, x: Array) -> Array:
        """Return the impulses (l, 6) of the contacts on the object that impulses x on the joints cause."""
        state = self._state(q)
        return state.forces(self._respond(state, x, np.zeros(self.nc))[1].multipliers)

    def _respond(self, state: GraspState, x: Array, c: Array) -> tuple[Changes, Solved]:
        """Solve for arms and object, by impulses x of the whole robot and values c of all rows."""
        pushes, wrench = split(state, x) if x.any() else (None, None)
        groups = self.grasp.groups
        loops = [np.stack([c[..., self._loops[k]] for k in g.arms], axis=-2) if g.looped else None for g in groups]
        return respond(state, [c[..., g.rows] for g in groups], loops, pushes, wrench)

    def multipliers(self, q: Array, v: Array, force: Array, method: str) -> Array:
        """Return the multipliers of the contacts' rows at a state, (nc,); zeros for loops."""
        forces = self.motion(q, v, force, method).forces
        return self._gathered(self._state(q, v).rows(forces), None)

    def usual_method(self) -> str:
        """Return the method of forward dynamics that is used unless one is given."""
        return self.grasp.usual_method()

    # ---- singular positions

    def narrow(self, q: Array, t: Any) -> Array:
        """Return K with each arm's columns turned into as few as it has rows."""
        if self.robot.nc:
            return self.jacobian(q, t)
        state, grasp = self._state(q), self.grasp
        K = np.zeros((*state.shape, self.nc, self.nc + 6))
        for g, J in zip(grasp.groups, self._arms(state), strict=True):
            if J.shape[-1] > J.shape[-2]:
                J = np.swapaxes(np.linalg.qr(np.swapaxes(J, -1, -2), mode="r"), -1, -2)
            for m in range(len(g.arms)):
                rows = g.rows[m]
                K[..., rows[:, None], rows[None, : J.shape[-1]]] = -J[..., m, :, :]
        if grasp.object is not None:
            K[..., self.nc :] = self._of_object(state)
        return K

    def sigma(self, q: Array, t: Any) -> Array:
        """Return the singular values of K, (..., m)."""
        K = self.narrow(q, t)
        if self.nc < _MANY:
            return np.asarray(np.linalg.svd(K, compute_uv=False))
        return np.sqrt(np.maximum(np.linalg.eigvalsh(K @ np.swapaxes(K, -1, -2))[..., ::-1], 0.0))

    def lower_bound(self, q: Array, rank: int) -> Array | None:
        """Return the smallest singular value of any arm's own rows, (n,), below which that of all is not.

        That is with many rows, while all arms can move their tips well in all ways that contacts bind; else None.
        """
        if self.nc < _MANY or not rank == self._contacts == self.nc:
            return None
        state = self._state(q)
        least, most = np.full(state.shape, np.inf), np.zeros(state.shape)
        for J in self._arms(state):
            if J.shape[-1] < J.shape[-2]:
                return None
            values = np.linalg.eigvalsh(J @ np.swapaxes(J, -1, -2)) if J.shape[-2] else np.zeros((*J.shape[:-1], 0))
            least = np.minimum(least, values.min(axis=(-2, -1), initial=np.inf))
            most = np.maximum(most, values.max(axis=(-2, -1), initial=0.0))
        least, most = np.sqrt(np.maximum(least, 0.0)), np.sqrt(most)
        return least if (least > _WELL * most).all() else None

    # ---- words

    def whole(self, name: str) -> str:
        """Return the words for a contact that cannot be kept, or a loop that stays open."""
        if name in self.robot.loop_rows:
            return f"loop {name!r} cannot be closed"
        arm = self.grasp.arm_of(self.grasp.contact_index(name)).name
        return f"contact {name!r} of arm {arm!r} cannot be kept"

    def listed(self, names: list[str]) -> str:
        """Return contacts and loops in words."""
        kinds = {"contact": [x for x in names if x not in self.robot.loop_rows]}
        kinds["loop"] = [x for x in names if x in self.robot.loop_rows]
        return " and ".join(listed(kind, mine) for kind, mine in kinds.items() if mine)


@dataclass(frozen=True)
class ContactMechanism:
    """A grasp whose contacts may be released."""

    grasp: Grasp
    of: ClassVar[str] = "contacts"

    @property
    def robot(self) -> Robot:
        """Arms and object as one robot."""
        return self.grasp.robot

    @property
    def closed(self) -> tuple[bool, ...]:
        """Which contacts hold at the start."""
        return tuple(bool(c.bound.shape[1]) for c in self.grasp.contacts)

    @property
    def grounded(self) -> bool:
        """Whether an object that stands still, or a loop that is fixed to the ground, takes momentum."""
        return self.grasp.object is None or any(BASE in (x.parent, x.child) for x in self.robot.loops)

    def rows(self, closed: tuple[bool, ...]) -> ContactRows:
        """Return the rows of the contacts that hold."""
        gone = [k for k, x in enumerate(closed) if not x]
        return ContactRows(self.grasp if closed == self.closed else self.grasp.released(*gone))

    def extra(self, problem: Problem) -> dict[str, tuple[int, ...]]:
        """Return the names of the series of contacts, and the shapes of their entries."""
        forces: dict[str, tuple[int, ...]] = {f"force.{c.name}": (6,) for c in self.grasp.contacts}
        return forces | {"residual": (), "residual.velocity": ()}

    def series(self, problem: Problem, t: Array, q: Array, v: Array, a: Array, tau: Array) -> tuple[Array, ...]:
        """Return the forces of the contacts, and how far tips and object are apart."""
        rows = contact_rows(problem)
        state = from_whole(rows.grasp, q, v)
        forces = contact_forces(problem, rows, t, q, v, tau)
        apart = np.zeros(len(t))
        for r in state.velocity_residual:
            apart = np.maximum(apart, np.abs(r).max(axis=(-2, -1), initial=0.0))
        off = np.abs(state.residual).max(axis=(-2, -1))
        return (*(forces[:, i] for i in range(forces.shape[1])), off, apart)


def contact_rows(problem: Problem) -> ContactRows:
    """Return the contact rows of the moment."""
    rows = problem.now.rows
    assert isinstance(rows, ContactRows)
    return rows


def _range(rows: slice) -> range:
    return range(rows.start, rows.stop)
