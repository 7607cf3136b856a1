"""The coordinates of one joint in another library.

Its velocities are v' = B(q) v with an orthogonal matrix B, since axes are rotated and reordered. So accelerations are
a' = B a + dB/dt v, and joint forces, with the same power tau . v, are tau' = B tau.
"""

from __future__ import annotations

import numpy as np

from ..arguments import Array
from ..model import Placement
from ..records import dataclass
from ..rotations import (
    matrix_from_quaternion,
    quaternion_from_matrix,
    quaternion_from_rpy,
    quaternion_product,
    rpy_from_matrix,
)

__all__ = ["CosSin", "Floating", "Map", "PlanarBody", "PlanarWorld", "Rpy"]

_HERE = Placement()


@dataclass(frozen=True)
class Map:
    """Equal numbers in both libraries, except that their positions may be in another order, or ours plus `offset`."""

    nq: int = 1
    """The number of positions in the other library."""
    nv: int = 1
    order: tuple[int, ...] = ()
    """The indices of their positions in ours; empty if the order is the same."""
    offset: float = 0.0

    def to_peer(self, q: Array) -> Array:
        """Return their positions."""
        return (q[..., self.order] if self.order else q) + self.offset

    def from_peer(self, q: Array) -> Array:
        """Return our positions."""
        return (q[..., np.argsort(self.order)] if self.order else q) - self.offset

    def matrix(self, q: Array) -> Array:
        """Return B, (..., nv, nv), at our positions."""
        return np.broadcast_to(np.eye(self.nv, dtype=q.dtype), (*q.shape[:-1], self.nv, self.nv))

    def drift(self, q: Array, v: Array) -> Array:
        """Return dB/dt v, (..., nv), at our positions and velocities."""
        return np.zeros((*v.shape[:-1], self.nv), v.dtype)


@dataclass(frozen=True)
class CosSin(Map):
    """An angle as its cosine and sine. Full turns are lost: angles come back within half a turn."""

    nq: int = 2

    def to_peer(self, q: Array) -> Array:
        """Return cosine and sine."""
        return np.concatenate([np.cos(q), np.sin(q)], axis=-1)

    def from_peer(self, q: Array) -> Array:
        """Return the angle."""
        return np.arctan2(q[..., 1:], q[..., :1])


_QUATERNION = Map(4, 3)
"""A rotation as a quaternion in our order, with the angular velocity in the child's axes."""


@dataclass(frozen=True)
class Rpy(Map):
    """A rotation as roll, pitch and yaw, from a frame on the parent to one on the child; velocities in the former."""

    nq: int = 3
    nv: int = 3
    ground: Placement = _HERE
    """The joint's frame, in which our rotation is measured, in their frame on the parent."""
    tip: Placement = _HERE
    """Their frame on the child in our child's frame."""

    def to_peer(self, q: Array) -> Array:
        """Convert to roll, pitch and yaw."""
        return rpy_from_matrix(self.ground.R @ matrix_from_quaternion(q) @ self.tip.R)

    def from_peer(self, q: Array) -> Array:
        """Convert from roll, pitch and yaw."""
        turn = quaternion_from_rpy(q)
        if self.ground == self.tip == _HERE:
            return turn
        before, after = (quaternion_from_matrix(R.T) for R in (self.ground.R, self.tip.R))
        return quaternion_product(quaternion_product(before, turn), after)

    def matrix(self, q: Array) -> Array:
        """Return the rotation from the child's axes to those of their frame on the parent."""
        return np.asarray(self.ground.R @ matrix_from_quaternion(q))


@dataclass(frozen=True)
class Floating(Map):
    """A free joint: rotation and position in some order, velocities in the axes of the body or of the world."""

    nq: int = 7
    nv: int = 6
    rotation: Map = _QUATERNION
    """The map of the rotation."""
    angular_first: bool = True
    """True if rotations come before translations."""
    world_angular: bool = False
    """True if the angular velocity is in the axes of the world, False if in those of the body."""
    world_linear: bool = False
    """The same for the linear velocity."""
    ground: Placement = _HERE
    """The joint's frame in the frame from which their positions are measured."""

    def to_peer(self, q: Array) -> Array:
        """Return rotation and position, in their order."""
        turn, at = q[..., :4], q[..., 4:]
        if self.ground != _HERE:
            turn = quaternion_product(quaternion_from_matrix(self.ground.R), turn)
            at = at @ self.ground.R.T + self.ground.p
        parts = [self.rotation.to_peer(turn), at]
        return np.concatenate(parts if self.angular_first else parts[::-1], axis=-1)

    def from_peer(self, q: Array) -> Array:
        """Return quaternion and position."""
        n = self.rotation.nq
        turn, at = (q[..., :n], q[..., n:]) if self.angular_first else (q[..., 3:], q[..., :3])
        turn = self.rotation.from_peer(turn)
        if self.ground != _HERE:
            turn = quaternion_product(quaternion_from_matrix(self.ground.R.T), turn)
            at = (at - self.ground.p) @ self.ground.R
        return np.concatenate([turn, at], axis=-1)

    def matrix(self, q: Array) -> Array:
        """Return rotations to the world's axes, or identities, as blocks."""
        B = np.zeros((*q.shape[:-1], 6, 6), q.dtype)
        angular, linear = (slice(0, 3), slice(3, 6)) if self.angular_first else (slice(3, 6), slice(0, 3))
        R = self._world(q)
        B[..., angular, 0:3] = R if self.world_angular else np.eye(3)
        B[..., linear, 3:6] = R if self.world_linear else np.eye(3)
        return B

    def drift(self, q: Array, v: Array) -> Array:
        """Return the term w x v of accelerations in the world's axes."""
        c = super().drift(q, v)
        if self.world_linear:
            linear = slice(3, 6) if self.angular_first else slice(0, 3)
            c[..., linear] = np.einsum("...ij,...j->...i", self._world(q), np.cross(v[..., :3], v[..., 3:]))
        return c

    def _world(self, q: Array) -> Array:
        return np.asarray(self.ground.R @ matrix_from_quaternion(q[..., :4]))


@dataclass(frozen=True)
class PlanarBody(Map):
    """A planar joint as x, y, cosine, sine; velocities along x and y in the child's axes, then the rate."""

    nq: int = 4
    nv: int = 3

    def to_peer(self, q: Array) -> Array:
        """Convert to x, y, cos, sin."""
        return np.concatenate([q[..., 1:], np.cos(q[..., :1]), np.sin(q[..., :1])], axis=-1)

    def from_peer(self, q: Array) -> Array:
        """Convert from x, y, cos, sin."""
        return np.concatenate([np.arctan2(q[..., 3:], q[..., 2:3]), q[..., :2]], axis=-1)

    def matrix(self, q: Array) -> Array:
        """Return the permutation that puts the rate last."""
        B = np.eye(3, dtype=q.dtype)[[1, 2, 0]]
        return np.broadcast_to(B, (*q.shape[:-1], 3, 3))


@dataclass(frozen=True)
class PlanarWorld(Map):
    """A planar joint as x, y, angle, and their rates: the velocity is in the parent's axes."""

    nq: int = 3
    nv: int = 3
    order: tuple[int, ...] = (1, 2, 0)

    def matrix(self, q: Array) -> Array:
        """Return the rotation by the angle, with the rate last."""
        B = np.zeros((*q.shape[:-1], 3, 3), q.dtype)
        c, s = np.cos(q[..., 0]), np.sin(q[..., 0])
        B[..., 0, 1], B[..., 0, 2], B[..., 1, 1], B[..., 1, 2], B[..., 2, 0] = c, -s, s, c, 1.0
        return B

    def drift(self, q: Array, v: Array) -> Array:
        """Return the rate times the velocity, rotated by a quarter turn."""
        rate, x, y = np.moveaxis(v, -1, 0)
        ahead = np.stack([np.zeros_like(rate), -rate * y, rate * x], axis=-1)
        return np.asarray(np.einsum("...ij,...j->...i", self.matrix(q), ahead))
