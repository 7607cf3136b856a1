"""Kinematics of a grasp: tips, contacts and object, in the world's axes.

    V(0) = A V(C),    alpha(0) = A alpha(C) + a(C),    A_i = [[1, 0], [-r_i~, 1]],    a_i = (0; w x (w x r_i))

with r_i from the object's origin C to the contact O_i. Forces on the object add up to A^T f.

Reference: Rodriguez and Kreutz 1988, Part II, eqs. (2.5)-(2.9), (a.6), (a.8).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..arguments import Array
from ..declared import explained_methods
from ..records import dataclass
from ..rotations import skew
from . import carried_object
from .arguments import spread
from .arms import Group
from .products import times, transposed

if TYPE_CHECKING:
    from .mechanism import Grasp

__all__ = ["GraspState"]

_KEPT = ("levers", "axes", "A", "E", "F", "tip_poses", "tip_velocities", "attitudes", "inertia", "residual")
"""Properties that do not depend on the object's velocity."""


@explained_methods
@dataclass(frozen=True, eq=False)
class GraspState:
    """One state of a grasp, or a batch of them."""

    grasp: Grasp
    q: tuple[Array, ...]
    """Positions of each arm, (..., nq)."""
    v: tuple[Array, ...]
    """Velocities of each arm, (..., nv)."""
    pose: Array
    """Pose of the object in the world, (..., 4, 4)."""
    velocity: Array
    """Velocity of the object's origin (angular, linear), in the world's axes, (..., 6)."""
    positions_only: bool = False
    """True to set rows that constrain only velocities to zero."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the batch."""
        return self.pose.shape[:-2]

    def spread(self, shape: tuple[int, ...]) -> GraspState:
        """Return the state broadcast to a batch."""
        q, v = (tuple(spread(x, shape) for x in xs) for xs in (self.q, self.v))
        return GraspState(self.grasp, q, v, spread(self.pose, shape, 2), spread(self.velocity, shape))

    def moving_at(self, velocity: Array) -> GraspState:
        """Return the state with another velocity of the object; cached properties that do not depend on it are kept."""
        other = replace(self, velocity=velocity)
        other.__dict__.update({name: x for name, x in self.__dict__.items() if name in _KEPT})
        return other

    @cached_property
    def positions(self) -> list[tuple[Group, Array]]:
        """Each group, with the positions of its arms, (..., m, nq)."""
        return [(g, self.stacked(self.q, g)) for g in self.grasp.groups]

    def stacked(self, xs: tuple[Array, ...], group: Group) -> Array:
        """Stack the arrays of a group's arms to (..., m, n)."""
        return np.stack([xs[k] for k in group.arms], axis=-2)

    def gathered(self, parts: list[Array]) -> Array:
        """Merge arrays of groups, (..., m, k, 6) each, to one by contacts, (..., l, 6)."""
        whole = np.empty((*self.shape, len(self.grasp.contacts), *parts[0].shape[len(self.shape) + 2 :]))
        for group, part in zip(self.grasp.groups, parts, strict=True):
            whole[..., group.contacts, :] = part
        return whole

    @property
    def R(self) -> Array:
        """The object's rotation, (..., 3, 3)."""
        return self.pose[..., :3, :3]

    @cached_property
    def levers(self) -> Array:
        """r: (..., l, 3), from the object's origin to the contacts."""
        return np.asarray(self.grasp.places @ transposed(self.R))

    @cached_property
    def axes(self) -> Array:
        """(..., l, 3, 3): the contacts' axes, which are fixed to the object."""
        return np.asarray(self.R[..., None, :, :] @ self.grasp.turns)

    @cached_property
    def A(self) -> Array:
        """(..., l, 6, 6)."""
        A = np.zeros((*self.levers.shape[:-1], 6, 6))
        A[..., range(6), range(6)] = 1.0
        A[..., 3:, :3] = -skew(self.levers)
        return A

    @cached_property
    def E(self) -> list[Array]:
        """For each group (..., m, 6 k, c): forces of the contacts by rows, in the world's axes."""
        found = []
        for g in self.grasp.groups:
            R = self.axes[..., g.contacts, :, :]
            bound = g.bound * g.holonomic if self.positions_only else g.bound
            E = np.concatenate([R @ bound[..., :3, :], R @ bound[..., 3:, :]], axis=-2)
            found.append(E.reshape(*E.shape[:-3], 6 * len(g.tips), E.shape[-1]))
        return found

    @cached_property
    def F(self) -> list[Array]:
        """For each group (..., m, c, 6): E^T A, from the object's velocity to constraint rows."""
        both = zip(self.grasp.groups, self.E, strict=True)
        return [transposed(E) @ self.A[..., g.contacts, :, :].reshape(*E.shape[:-1], 6) for g, E in both]

    @cached_property
    def all_F(self) -> Array:
        """F of all contacts: (..., rows, 6)."""
        whole = np.zeros((*self.shape, self.grasp.nc, 6))
        for g, own in zip(self.grasp.groups, self.F, strict=True):
            whole[..., g.rows, :] = own
        return whole

    @cached_property
    def tip_poses(self) -> Array:
        """(..., l, 4, 4): the contacts' frames on the tips."""
        return self.grasp._tip_poses(self.q)

    @cached_property
    def tip_velocities(self) -> Array:
        """V+: (..., l, 6)."""
        return self.grasp._tip_velocities(self.q, self.v)

    @cached_property
    def contact_velocities(self) -> Array:
        """The rotation of the object relative to the tips, h W in the world's axes, (..., l, 3)."""
        return self.velocity[..., None, :3] - self.tip_velocities[..., :3]

    @cached_property
    def rates(self) -> tuple[Array, ...]:
        """W of each contact, (..., freedoms), in the contact's axes on the object."""
        local = times(transposed(self.axes), self.contact_velocities)
        return tuple(local[..., i, :] @ c.free for i, c in enumerate(self.grasp.contacts))

    @cached_property
    def attitudes(self) -> Array:
        """(..., l, 3, 3): from the contact's axes on the object to those on the tip, its configuration."""
        return transposed(self.tip_poses[..., :3, :3]) @ self.axes

    @cached_property
    def bias(self) -> Array:
        """a(C) - (dH/dt)^T W: (..., l, 6), the velocity-dependent part of alpha- = A alpha(C) + a(C)."""
        w = self.velocity[..., None, :3]
        turning = np.cross(w, self.contact_velocities)
        return np.concatenate([-turning, np.cross(w, np.cross(w, self.levers))], axis=-1)

    @cached_property
    def convective(self) -> Array:
        """Jdot th: (..., l, 6), the accelerations of the tips at constant joint velocities."""
        return self.grasp._tip_accelerations(self.q, self.v, tuple(np.zeros_like(v) for v in self.v))

    @cached_property
    def inertia(self) -> Array | None:
        """M(C): (..., 6, 6), or None if the object does not move."""
        body = self.grasp.object
        return None if body is None else carried_object.spatial_inertia(body, self.R)

    @cached_property
    def mobility(self) -> Array:
        """M(C)^-1: (..., 6, 6), zero if the object does not move."""
        return np.zeros((*self.shape, 6, 6)) if self.inertia is None else np.asarray(np.linalg.inv(self.inertia))

    def object_bias(self, wrench: Array | None) -> Array:
        """Return b(C) minus gravity and other wrenches on the object: (..., 6)."""
        body = self.grasp.object
        if body is None or self.inertia is None:
            return np.zeros((*self.shape, 6))
        b = carried_object.bias_force(body, self.R, self.velocity[..., :3], self.inertia, self.grasp.gravity)
        return b if wrench is None else b - wrench

    def rows(self, x: Array) -> list[Array]:
        """Return E^T x for each group, (..., m, c), of vectors (..., l, 6)."""
        found = []
        for g, E in zip(self.grasp.groups, self.E, strict=True):
            own = x[..., g.contacts, :]
            found.append(times(transposed(E), own.reshape(*own.shape[:-2], -1)))
        return found

    def forces(self, multipliers: list[Array]) -> Array:
        """Return the contact forces f = E lambda, (..., l, 6), of the tips on the object, from lambda of each group."""
        flat = [times(E, y) for E, y in zip(self.E, multipliers, strict=True)]
        return self.gathered([f.reshape(*f.shape[:-1], -1, 6) for f in flat])

    @cached_property
    def velocity_residual(self) -> list[Array]:
        """E^T (V- - V+) for each group: zero when tips and object move together."""
        return self.rows(times(self.A, self.velocity[..., None, :]) - self.tip_velocities)

    @property
    def forbidden_velocities(self) -> Array:
        """(..., l, 6): the part of V- - V+ that the contacts forbid, in the world's axes."""
        return self.forces(self.velocity_residual)  # the columns of E are orthonormal

    @cached_property
    def residual(self) -> Array:
        """The misfit of object and tips, (..., l, 6) in (rad, m), in the world's axes."""
        tips = self.tip_poses
        angular = np.stack([c.turned(self.attitudes[..., i, :, :]) for i, c in enumerate(self.grasp.contacts)], axis=-2)
        angular = times(tips[..., :3, :3], angular)
        apart = self.pose[..., None, :3, 3] + self.levers - tips[..., :3, 3]
        parted = np.array([not c.bound.shape[1] for c in self.grasp.contacts])
        return np.concatenate([angular, np.where(parted[:, None], 0.0, apart)], axis=-1)
