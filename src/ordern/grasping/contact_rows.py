"""Constraint rows of a grasp: arms and object as one robot, closed by contacts and by the arms' own loops.

K has the rows of the contacts, contact after contact: motions of the object relative to the tips. The rows of the arms'
loops follow. Accelerations, responses and corrections are computed by recursions over arms. Near a singular position,
where only strong constraints count, `Constraints` solves for them with all rows at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..arguments import Array
from ..model import BASE
from ..records import dataclass
from ..rotations import rotate
from ..simulate.constraints.constraints import listed
from .arguments import spread
from .arms import join_rows, split_rows
from .as_one_robot import from_whole, joined, split
from .contact_forces import contact_forces
from .motion import GraspMotion
from .omega import Solved
from .products import times, transposed
from .projecting import respond
from .recursive import jacobians
from .state import GraspState

if TYPE_CHECKING:
    from ..robot import Robot
    from ..simulate.run.problem import Problem
    from .mechanism import Grasp

__all__ = ["ContactMechanism", "ContactRows", "contact_rows"]

Times = Array | float
Pull = tuple[float, float] | None

_MANY = 60
"""From this number of rows on, singular values are the roots of eigenvalues, which are faster to compute."""

_WELL = 1e-2
"""Arms whose smallest singular value is above this part of the largest are far from singular positions."""


class ContactRows:
    """The rows of contacts and of the arms' own loops."""

    ranked: ClassVar[bool] = False
    locked: ClassVar[float] = 1e-11

    def __init__(self, grasp: Grasp) -> None:
        robot = grasp.robot
        self.grasp, self.robot, self.timed = grasp, robot, False
        self.passive = robot.passive_question == "all_passive_force"
        ends = np.cumsum([c.bound.shape[1] for c in grasp.contacts]).tolist()
        names = {c.name: slice(*rows) for c, rows in zip(grasp.contacts, pairwise([0, *ends]), strict=True)}
        loops = {name: slice(grasp.nc + s.start, grasp.nc + s.stop) for name, s in robot.loop_rows.items()}
        self.names: Mapping[str, slice] = names | loops
        self.nc = grasp.nc + robot.nc
        self._loops = []
        """For each arm, which rows are those of its own loops."""
        for arm in grasp.arms:
            own = [loops[f"{arm.name}/{name}"] for name in arm.robot.loop_rows]
            self._loops.append([r for rows in own for r in range(rows.start, rows.stop)])

    def state(self, q: Array, v: Array | None = None) -> GraspState:
        """Return the state of the grasp from q and v of the whole robot."""
        return from_whole(self.grasp, q, np.zeros((*q.shape[:-1], self.robot.nv)) if v is None else v)

    # ---- rows

    def residual(self, q: Array, t: Times) -> Array:
        """Return the distances and angles by which tips are off the object and loops are open, (..., nc)."""
        state = replace(self.state(q), positions_only=True)
        return self._with_loops(state.rows(state.residual), self.robot.loop_residual, q)

    def rate(self, q: Array, v: Array, t: Times) -> Array:
        """Return the rates of the residuals, (..., nc)."""
        return self._with_loops(self.state(q, v).velocity_residual, self.robot.loop_rate, q, v)

    def bias(self, q: Array, v: Array, t: Times) -> Array:
        """Return the derivatives of these rates at constant velocities, (..., nc)."""
        state = self.state(q, v)
        turning = np.zeros((*state.shape, 6))
        turning[..., 3:] = np.cross(state.velocity[..., :3], state.velocity[..., 3:])
        moved = times(state.A, turning[..., None, :]) + state.bias
        return self._with_loops(state.rows(moved - state.convective), self.robot.loop_bias, q, v)

    def jacobian(self, q: Array, t: Times) -> Array:
        """Return K, (..., nc, nv)."""
        state, grasp = self.state(q), self.grasp
        K = np.zeros((*state.shape, self.nc, self.robot.nv))
        for g, J in zip(grasp.groups, self._arms(state), strict=True):
            for m, k in enumerate(g.arms):
                K[..., g.rows[m], grasp.arms[k].v] = -J[..., m, :, :]
        if grasp.object is not None:
            K[..., : grasp.nc, grasp.nv :] = self._of_object(state)
        if self.robot.nc:
            K[..., grasp.nc :, :] = self.robot.loop_jacobian(q)
        return K

    def _arms(self, state: GraspState) -> list[Array]:
        """Return E^T J of each group, (..., m, c, nv): the part of the arms in the rows of their contacts."""
        both = zip(state.positions, state.E, strict=True)
        return [transposed(E) @ jacobians(g, q) for (g, q), E in both]

    def _of_object(self, state: GraspState) -> Array:
        """Return F in the object's own axes, (..., rows, 6): the part of the object in the rows of contacts."""
        return rotate(transposed(state.R)[..., None, :, :], state.all_F)

    def _with_loops(self, rows: list[Array], of_loops: Callable[..., Array], *at: Array) -> Array:
        """Return numbers of all rows, (..., nc), from those of contacts, by groups, and a function of the robot."""
        contacts = join_rows(self.grasp.groups, rows)
        return np.concatenate([contacts, of_loops(*at)], axis=-1) if self.robot.nc else contacts

    # ---- motion

    def motion(self, state: GraspState, force: Array, method: str | None) -> GraspMotion:
        """Return accelerations and contact forces due to forces (..., nv) on the joints and the object."""
        _, wrench = split(state, force)
        return self.grasp.dynamics(state, force[..., : self.grasp.nv], method, wrench=wrench, check=False)

    def acceleration(
        self, q: Array, v: Array, force: Array, t: Times, method: str | None, pull: Pull, rank: int
    ) -> Array:
        """Return accelerations of the whole robot due to such forces."""
        state = self.state(q, v)
        found = self.motion(state, force, method)
        alpha = found.object_acceleration.copy()
        alpha[..., 3:] -= np.cross(state.velocity[..., :3], state.velocity[..., 3:])
        return joined(state, found.accelerations, alpha)

    def solve(self, q: Array, x: Array, c: Array, t: Times, rank: int, positions: bool) -> Array:
        """Solve M a = x + K^T lambda, K a = c, (..., nv), arm by arm."""
        shape = np.broadcast_shapes(q.shape[:-1], x.shape[:-1], c.shape[:-1])
        q, x, c = (spread(y, shape) for y in (q, x, c))
        state = replace(self.state(q), positions_only=positions)
        arms, solved = self._respond(state, x, c)
        return joined(state, arms, solved.acceleration)

    def impulses(self, q: Array, x: Array) -> Array:
        """Return the impulses (l, 6) of the contacts on the object that impulses x on the joints cause."""
        state = self.state(q)
        return state.forces(self._respond(state, x, np.zeros(self.nc))[1].multipliers)

    def _respond(self, state: GraspState, x: Array, c: Array) -> tuple[tuple[Array, ...], Solved]:
        """Solve for arms and object, by impulses x of the whole robot and values c of all rows."""
        pushes, wrench = split(state, x) if x.any() else (None, None)
        groups = self.grasp.groups
        loops = [np.stack([c[..., self._loops[k]] for k in g.arms], axis=-2) if g.looped else None for g in groups]
        return respond(state, split_rows(groups, c), loops, pushes, wrench)

    def multipliers(self, q: Array, v: Array, force: Array, method: str) -> Array:
        """Return the multipliers of the contacts' rows at a state, (nc,); zeros for loops."""
        found, state = np.zeros(self.nc), self.state(q, v)
        rows = state.rows(self.motion(state, force, method).forces)
        found[: self.grasp.nc] = join_rows(self.grasp.groups, rows)
        return found

    def usual_method(self) -> str:
        """Return the default method of forward dynamics."""
        return self.grasp.usual_method()

    # ---- singular positions

    def narrow(self, q: Array, t: Times) -> Array:
        """Return K with as few columns for each arm as it has rows, by an orthogonal transformation."""
        if self.robot.nc:
            return self.jacobian(q, t)
        state, grasp = self.state(q), self.grasp
        K = np.zeros((*state.shape, self.nc, self.nc + 6))
        for g, J in zip(grasp.groups, self._arms(state), strict=True):
            if J.shape[-1] > J.shape[-2]:
                J = transposed(np.asarray(np.linalg.qr(transposed(J), mode="r")))
            for m in range(len(g.arms)):
                rows = g.rows[m]
                K[..., rows[:, None], rows[None, : J.shape[-1]]] = -J[..., m, :, :]
        if grasp.object is not None:
            K[..., self.nc :] = self._of_object(state)
        return K

    def sigma(self, q: Array, t: Times) -> Array:
        """Return the singular values of K, (..., m)."""
        K = self.narrow(q, t)
        if self.nc < _MANY:
            return np.asarray(np.linalg.svd(K, compute_uv=False))
        return np.asarray(np.sqrt(np.maximum(np.linalg.eigvalsh(K @ transposed(K))[..., ::-1], 0.0)))

    def lower_bound(self, q: Array, rank: int) -> Array | None:
        """Return a lower bound of the smallest singular value, (n,): the smallest one of any arm's own rows.

        Return None if there are few rows, or if an arm is near a singular position.
        """
        if self.nc < _MANY or not rank == self.grasp.nc == self.nc:
            return None
        state = self.state(q)
        least, most = np.full(state.shape, np.inf), np.zeros(state.shape)
        for J in self._arms(state):
            if J.shape[-1] < J.shape[-2]:
                return None
            values = np.linalg.eigvalsh(J @ transposed(J)) if J.shape[-2] else np.zeros((*J.shape[:-1], 0))
            least = np.minimum(least, values.min(axis=(-2, -1), initial=np.inf))
            most = np.maximum(most, values.max(axis=(-2, -1), initial=0.0))
        least, most = np.sqrt(np.maximum(least, 0.0)), np.sqrt(most)
        return least if (least > _WELL * most).all() else None

    # ---- words

    def whole(self, name: str) -> str:
        """Return text that names a contact that cannot be kept, or a loop that stays open."""
        if name in self.robot.loop_rows:
            return f"loop {name!r} cannot be closed"
        arm = self.grasp.arm_of(self.grasp.contact_index(name)).name
        return f"contact {name!r} of arm {arm!r} cannot be kept"

    def listed(self, names: list[str]) -> str:
        """Return text that lists contacts and loops."""
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
        """For each contact, True if it holds at the start."""
        return tuple(bool(c.bound.shape[1]) for c in self.grasp.contacts)

    @property
    def grounded(self) -> bool:
        """True if a fixed object, or a loop that is fixed to the ground, takes momentum."""
        return self.grasp.object is None or any(BASE in (x.parent, x.child) for x in self.robot.loops)

    def rows(self, closed: tuple[bool, ...]) -> ContactRows:
        """Return the rows of the contacts that hold."""
        gone = [k for k, x in enumerate(closed) if not x]
        return ContactRows(self.grasp if closed == self.closed else self.grasp.released(*gone))

    def extra(self, problem: Problem) -> dict[str, tuple[int, ...]]:
        """Return the names of the contacts' series, and the shapes of their entries."""
        forces: dict[str, tuple[int, ...]] = {f"force.{c.name}": (6,) for c in self.grasp.contacts}
        return forces | {"residual": (), "residual.velocity": ()}

    def series(self, problem: Problem, t: Array, q: Array, v: Array, a: Array, tau: Array) -> tuple[Array, ...]:
        """Return the forces of the contacts, and the largest residuals and their rates."""
        rows = contact_rows(problem)
        state = rows.state(q, v)
        forces = contact_forces(problem, rows, t, q, v, tau)
        off = np.abs(state.residual).max(axis=(-2, -1))
        apart = np.abs(join_rows(rows.grasp.groups, state.velocity_residual)).max(axis=-1, initial=0.0)
        return (*np.moveaxis(forces, 1, 0), off, apart)


def contact_rows(problem: Problem) -> ContactRows:
    """Return the present rows of a run."""
    rows = problem.now.rows
    assert isinstance(rows, ContactRows)
    return rows
