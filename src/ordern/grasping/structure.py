"""Arms and object as one robot that contacts close, and loops of the arms' own: what a simulation needs of it.

The rows of K are those that contacts bind, contact after contact, by which the object moves against the tips, and then
those of the arms' loops. Accelerations, responses and corrections are those of the grasp, by recursions over arms. At
a singular position, where only strong constraints count, they are solved for with all rows at once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..simulate.constraints.structure import Structure, listed, usual_rank
from .as_one_robot import from_whole, joined, split
from .motion import GraspMotion
from .omega import Omega
from .projecting import Changes, answered
from .recursive import compliance, jacobians
from .state import GraspState

if TYPE_CHECKING:
    from .mechanism import Grasp

__all__ = ["GraspStructure"]

Array = NDArray[Any]

_MANY = 60
"""From so many rows on, singular values are the roots of eigenvalues, which take a fraction of the time."""

_WELL = 1e-2
"""Arms whose smallest singular value is above this part of the largest are far from singular positions."""


class GraspStructure(Structure):
    """The constraints of a grasp; `rank` of them count, and if `strong` the others are left out."""

    def __init__(self, grasp: Grasp, rank: int, strong: bool = False) -> None:
        robot = grasp.robot
        super().__init__(robot, rank)
        self.grasp, self.strong = grasp, strong
        self.rows, at = {}, 0
        for c in grasp.contacts:
            self.rows[c.name] = slice(at, at + c.bound.shape[1])
            at = self.rows[c.name].stop
        self._contacts, self.nc = at, at + robot.nc
        self.rows |= {name: slice(at + s.start, at + s.stop) for name, s in robot.loop_rows.items()}
        self.redundant = rank < self.nc
        self._no_change = np.zeros(self.nc)
        self._loops = [
            np.array([r for name in a.robot.loop_rows for r in _range(self.rows[f"{a.name}/{name}"])], dtype=np.intp)
            for a in grasp.arms
        ]
        """For each arm, which rows are those of its own loops."""

    @classmethod
    def of(cls, grasp: Grasp, q: Array) -> GraspStructure:
        """Of the rank that constraints have next to a position."""
        plain = cls(grasp, 0)
        return cls(grasp, usual_rank(plain, q))

    def with_rank(self, rank: int) -> GraspStructure:
        """The same, of whose constraints this many count."""
        return GraspStructure(self.grasp, rank, True)

    def _state(self, q: Array, v: Array | None = None) -> GraspState:
        return from_whole(self.grasp, q, np.zeros((*q.shape[:-1], self.robot.nv)) if v is None else v)

    # ---- motion

    def motion(self, q: Array, v: Array, force: Array, method: str | None) -> GraspMotion:
        """Accelerations and contact forces, by joint forces and those on the object, all in one array (..., nv)."""
        state = self._state(q, v)
        pushes, wrench = split(state, force)
        return self.grasp.dynamics(state, np.concatenate(pushes, axis=-1), method, wrench=wrench, check=False)

    def acceleration(self, q: Array, v: Array, force: Array, t: Any, method: str | None, pull: Any) -> Array:
        """Accelerations of the whole robot by such forces."""
        if self.strong:
            return self._by_pieces(q, force - self.robot.bias_force(q, v), -self.bias(q, v, t), t)
        found = self.motion(q, v, force, method)
        state = self._state(q, v)
        w, u = state.velocity[..., :3], state.velocity[..., 3:]
        alpha = found.object_acceleration.copy()
        alpha[..., 3:] -= np.cross(w, u)
        return joined(state, found.accelerations, alpha)

    def bias(self, q: Array, v: Array, t: Any) -> Array:
        """How fast the rates of residuals change while velocities do not, (..., nc)."""
        state = self._state(q, v)
        still = tuple(np.zeros_like(x) for x in state.v)
        turning = np.zeros((*state.shape, 6))
        turning[..., 3:] = np.cross(state.velocity[..., :3], state.velocity[..., 3:])
        moved = (state.A @ turning[..., None, :, None])[..., 0] + state.bias
        rows = state.rows(moved - self.grasp._tip_accelerations(state.q, state.v, still))
        return self._gathered(rows, self.robot.loop_bias(q, v) if self.robot.nc else None)

    def solve(self, q: Array, x: Array | None, c: Array | None, t: Any) -> Array:
        """M a = x + K^T lambda, K a = c, of shape (..., nv)."""
        return self._solved(q, x, c, t, False)

    def correction(self, q: Array, r: Array, t: Any) -> Array:
        """As of other robots; rows that keep no positions are free to give way."""
        return self._solved(q, None, -r, t, True)

    def _solved(self, q: Array, x: Array | None, c: Array | None, t: Any, positions: bool) -> Array:
        x = self._no_force if x is None else x
        c = self._no_change if c is None else c
        shape = np.broadcast_shapes(q.shape[:-1], x.shape[:-1], c.shape[:-1])
        q, x, c = (np.broadcast_to(y, (*shape, y.shape[-1])) for y in (q, x, c))
        if self.strong:
            return self._by_pieces(q, x, c, t)
        state = self._state(q)
        if positions:
            state = replace(state, positions_only=True)
        pushes, wrench = split(state, x)
        free = self._free(state, pushes, c)
        tips = state.rows(self.grasp._tip_velocities(state.q, free))
        wanted = [c[..., g.rows] + y for g, y in zip(self.grasp.groups, tips, strict=True)]
        solved = Omega(state, compliance(state)).solve(wanted, wrench)
        return joined(state, answered(state, solved.multipliers, free), solved.acceleration)

    def _free(self, state: GraspState, pushes: Changes, c: Array) -> Changes:
        """What impulses do to the arms without contacts; their own loops get what is asked of them."""
        found = [np.empty(0)] * len(self.grasp.arms)
        for g in self.grasp.groups:
            q, x = state.stacked(state.q, g), state.stacked(pushes, g)
            if g.looped:
                asked = np.stack([c[..., self._loops[k]] for k in g.arms], axis=-2)
                moved = g.structure(q).solve(q, x, asked, 0.0)
            else:
                moved = g.robot.mass_matrix_solve(q, x)
            for m, k in enumerate(g.arms):
                found[k] = moved[..., m, :]
        return tuple(found)

    # ---- the way back

    def residual(self, q: Array, t: Any) -> Array:
        """By how much tips are off the object, and loops open, (..., nc)."""
        state = replace(self._state(q), positions_only=True)
        return self._gathered(state.rows(state.residual), self.robot.loop_residual(q) if self.robot.nc else None)

    def rate(self, q: Array, v: Array, t: Any) -> Array:
        """How fast that changes, (..., nc)."""
        own = self.robot.loop_rate(q, v) if self.robot.nc else None
        return self._gathered(self._state(q, v).velocity_residual, own)

    def listed(self, names: list[str]) -> str:
        """Contacts and loops in words."""
        kinds = {"contact": [x for x in names if x not in self.robot.loop_rows]}
        kinds["loop"] = [x for x in names if x in self.robot.loop_rows]
        return " and ".join(listed(kind, mine) for kind, mine in kinds.items() if mine)

    def _gathered(self, rows: list[Array], loops: Array | None) -> Array:
        found = np.zeros((*rows[0].shape[:-2], self.nc))
        for g, x in zip(self.grasp.groups, rows, strict=True):
            found[..., g.rows] = x
        if loops is not None:
            found[..., self._contacts :] = loops
        return found

    # ---- singular positions

    def jacobian(self, q: Array, t: Any) -> Array:
        """K: (..., nc, nv)."""
        state, grasp = self._state(q), self.grasp
        K = np.zeros((*state.shape, self.nc, self.robot.nv))
        for g, E in zip(grasp.groups, state.E, strict=True):
            J = np.swapaxes(E, -1, -2) @ jacobians(g, state.stacked(state.q, g))
            for m, k in enumerate(g.arms):
                K[..., g.rows[m], grasp.arms[k].v] = -J[..., m, :, :]
        if grasp.object is not None:
            K[..., : self._contacts, grasp.nv :] = self._of_object(state)
        if self.robot.nc:
            K[..., self._contacts :, :] = self.robot.loop_jacobian(q)
        return K

    def narrow(self, q: Array, t: Any) -> Array:
        """Each arm's columns are turned into as few as it has rows."""
        if self.robot.nc:
            return self.jacobian(q, t)
        state, grasp = self._state(q), self.grasp
        K = np.zeros((*state.shape, self.nc, self.nc + 6))
        for g, E in zip(grasp.groups, state.E, strict=True):
            J = np.swapaxes(E, -1, -2) @ jacobians(g, state.stacked(state.q, g))
            if J.shape[-1] > J.shape[-2]:
                J = np.swapaxes(np.linalg.qr(np.swapaxes(J, -1, -2), mode="r"), -1, -2)
            for m in range(len(g.arms)):
                rows = g.rows[m]
                K[..., rows[:, None], rows[None, : J.shape[-1]]] = -J[..., m, :, :]
        if grasp.object is not None:
            K[..., self.nc :] = self._of_object(state)
        return K

    def _of_object(self, state: GraspState) -> Array:
        """(..., rows, 6): how the object's velocity along its own axes meets the rows of contacts."""
        F = np.zeros((*state.shape, self._contacts, 6))
        for g, own in zip(self.grasp.groups, state.F, strict=True):
            F[..., g.rows, :] = own
        return np.concatenate([F[..., :3] @ state.R, F[..., 3:] @ state.R], axis=-1)

    def sigma(self, q: Array, t: Any) -> Array:
        """The singular values of K, (..., m)."""
        if self.nc < _MANY:
            return super().sigma(q, t)
        K = self.narrow(q, t)
        return np.sqrt(np.maximum(np.linalg.eigvalsh(K @ np.swapaxes(K, -1, -2))[..., ::-1], 0.0))

    def smallest(self, q: Array, t: Any) -> Array:
        """(n,): of the singular values of K that usually count, the smallest.

        With many rows, while all arms can move their tips well in all ways that contacts bind: the smallest one of the
        arms' own rows, below which that of all is not.
        """
        if self.nc >= _MANY and self.rank == self._contacts == self.nc:
            least, most = self._of_arms(q)
            if (least > _WELL * most).all():
                return least
        return super().smallest(q, t)

    def _of_arms(self, q: Array) -> tuple[Array, Array]:
        """The smallest and the largest singular value of the rows of any arm, (...)."""
        state = self._state(q)
        least, most = np.full(state.shape, np.inf), np.zeros(state.shape)
        for g, E in zip(self.grasp.groups, state.E, strict=True):
            J = np.swapaxes(E, -1, -2) @ jacobians(g, state.stacked(state.q, g))
            if J.shape[-1] < J.shape[-2]:
                return np.zeros(state.shape), np.ones(state.shape)
            values = np.linalg.eigvalsh(J @ np.swapaxes(J, -1, -2)) if J.shape[-2] else np.zeros((*J.shape[:-1], 0))
            least = np.minimum(least, values.min(axis=(-2, -1), initial=np.inf))
            most = np.maximum(most, values.max(axis=(-2, -1), initial=0.0))
        return np.sqrt(np.maximum(least, 0.0)), np.sqrt(most)


def _range(rows: slice) -> range:
    return range(rows.start, rows.stop)
