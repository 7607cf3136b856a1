"""How another library writes the numbers of one joint.

Its velocities are v' = B(q) v with an orthogonal matrix B: turned axes, another order. So accelerations are
a' = B a + dB/dt v, and joint forces, with the same power tau . v, are tau' = B tau.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model import Placement
from ..records import dataclass
from ..rotations import (
    matrix_from_quaternion,
    quaternion_from_matrix,
    quaternion_from_rpy,
    quaternion_product,
    rpy_from_matrix,
)

__all__ = ["CosSin", "Floating", "Map", "PlanarBody", "PlanarWorld", "Quaternion", "Rpy", "Wlast"]

Array = NDArray[Any]
_HERE = Placement()


@dataclass(frozen=True)
class Map:
    """The same numbers in both libraries, but for the positions: theirs is zero where ours is -`offset`."""

    nv: int = 1
    offset: float = 0.0

    @property
    def nq(self) -> int:
        """How many positions the other library has."""
        return self.nv

    def to_peer(self, q: Array) -> Array:
        """Their positions."""
        return q + self.offset

    def from_peer(self, q: Array) -> Array:
        """Our positions."""
        return q - self.offset

    def matrix(self, q: Array) -> Array:
        """B, of shape (..., nv, nv), at our positions."""
        return np.broadcast_to(np.eye(self.nv, dtype=q.dtype), (*q.shape[:-1], self.nv, self.nv))

    def drift(self, q: Array, v: Array) -> Array:
        """dB/dt v, of shape (..., nv), at our positions and velocities."""
        return np.zeros((*v.shape[:-1], self.nv), v.dtype)


@dataclass(frozen=True)
class CosSin(Map):
    """An angle as its cosine and sine. Turns are not counted: back come angles within half a turn."""

    @property
    def nq(self) -> int:
        """Two numbers."""
        return 2

    def to_peer(self, q: Array) -> Array:
        """Cosine and sine."""
        return np.concatenate([np.cos(q), np.sin(q)], axis=-1)

    def from_peer(self, q: Array) -> Array:
        """The angle."""
        return np.arctan2(q[..., 1:], q[..., :1])


@dataclass(frozen=True)
class Quaternion(Map):
    """A rotation whose quaternion has the same order as ours, and the angular velocity in the child's axes."""

    nv: int = 3

    @property
    def nq(self) -> int:
        """Four numbers."""
        return 4


@dataclass(frozen=True)
class Wlast(Quaternion):
    """A quaternion in the order x, y, z, w."""

    def to_peer(self, q: Array) -> Array:
        """To x, y, z, w."""
        return q[..., [1, 2, 3, 0]]

    def from_peer(self, q: Array) -> Array:
        """From x, y, z, w."""
        return q[..., [3, 0, 1, 2]]


@dataclass(frozen=True)
class Rpy(Map):
    """A rotation as roll, pitch and yaw; the angular velocity is in the parent's axes."""

    nv: int = 3

    def to_peer(self, q: Array) -> Array:
        """To roll, pitch and yaw."""
        return rpy_from_matrix(matrix_from_quaternion(q))

    def from_peer(self, q: Array) -> Array:
        """From roll, pitch and yaw."""
        return quaternion_from_rpy(q)

    def matrix(self, q: Array) -> Array:
        """From the child's axes to the parent's."""
        return matrix_from_quaternion(q)


@dataclass(frozen=True)
class Floating(Map):
    """A free joint: rotation and position in some order, velocities in the axes of the body or of the world."""

    nv: int = 6
    rotation: Map = Quaternion()
    """How the rotation is written."""
    angular_first: bool = True
    """Whether rotations come before translations."""
    world_angular: bool = False
    """Whether the angular velocity is in the axes of the world, or else of the body."""
    world_linear: bool = False
    """The same of the linear velocity."""
    ground: Placement = _HERE
    """Where their positions are measured from, if not from the joint's frame: that frame in theirs."""

    @property
    def nq(self) -> int:
        """As many as the rotation has, and three."""
        return self.rotation.nq + 3

    def to_peer(self, q: Array) -> Array:
        """Rotation and position, in their order."""
        turn, at = q[..., :4], q[..., 4:]
        if self.ground != _HERE:
            turn = quaternion_product(quaternion_from_matrix(self.ground.R), turn)
            at = at @ self.ground.R.T + self.ground.p
        parts = [self.rotation.to_peer(turn), at]
        return np.concatenate(parts if self.angular_first else parts[::-1], axis=-1)

    def from_peer(self, q: Array) -> Array:
        """Quaternion and position."""
        n = self.rotation.nq
        turn, at = (q[..., :n], q[..., n:]) if self.angular_first else (q[..., 3:], q[..., :3])
        turn = self.rotation.from_peer(turn)
        if self.ground != _HERE:
            turn = quaternion_product(quaternion_from_matrix(self.ground.R.T), turn)
            at = (at - self.ground.p) @ self.ground.R
        return np.concatenate([turn, at], axis=-1)

    def matrix(self, q: Array) -> Array:
        """Blocks that turn to the world's axes, or do not."""
        B = np.zeros((*q.shape[:-1], 6, 6), q.dtype)
        angular, linear = (slice(0, 3), slice(3, 6)) if self.angular_first else (slice(3, 6), slice(0, 3))
        R = self._world(q)
        B[..., angular, 0:3] = R if self.world_angular else np.eye(3)
        B[..., linear, 3:6] = R if self.world_linear else np.eye(3)
        return B

    def drift(self, q: Array, v: Array) -> Array:
        """The derivative of a velocity in the world's axes has the term w x v."""
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

    nv: int = 3

    @property
    def nq(self) -> int:
        """Four numbers."""
        return 4

    def to_peer(self, q: Array) -> Array:
        """To x, y, cos, sin."""
        return np.concatenate([q[..., 1:], np.cos(q[..., :1]), np.sin(q[..., :1])], axis=-1)

    def from_peer(self, q: Array) -> Array:
        """From x, y, cos, sin."""
        return np.concatenate([np.arctan2(q[..., 3:], q[..., 2:3]), q[..., :2]], axis=-1)

    def matrix(self, q: Array) -> Array:
        """The rate goes last."""
        B = np.eye(3, dtype=q.dtype)[[1, 2, 0]]
        return np.broadcast_to(B, (*q.shape[:-1], 3, 3))


@dataclass(frozen=True)
class PlanarWorld(Map):
    """A planar joint as x, y, angle, and their rates: the velocity is in the parent's axes."""

    nv: int = 3

    def to_peer(self, q: Array) -> Array:
        """To x, y, angle."""
        return q[..., [1, 2, 0]]

    def from_peer(self, q: Array) -> Array:
        """From x, y, angle."""
        return q[..., [2, 0, 1]]

    def matrix(self, q: Array) -> Array:
        """A turn by the angle; the rate goes last."""
        B = np.zeros((*q.shape[:-1], 3, 3), q.dtype)
        c, s = np.cos(q[..., 0]), np.sin(q[..., 0])
        B[..., 0, 1], B[..., 0, 2], B[..., 1, 1], B[..., 1, 2], B[..., 2, 0] = c, -s, s, c, 1.0
        return B

    def drift(self, q: Array, v: Array) -> Array:
        """The rate times the velocity, a quarter turn ahead."""
        rate, x, y = np.moveaxis(v, -1, 0)
        ahead = np.stack([np.zeros_like(rate), -rate * y, rate * x], axis=-1)
        return np.asarray(np.einsum("...ij,...j->...i", self.matrix(q), ahead))
