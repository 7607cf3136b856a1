"""Spherical joints: any rotation, as a unit quaternion."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..arguments import Array
from ..records import dataclass
from ..spatial import Freedoms, Inertia, Subspace, Transform, Units
from ..spatial.linear import Matrix3, Vector3, cross
from . import quaternion
from .base import Joint
from .closure import Rows

__all__ = ["Spherical", "random_quaternions"]


@dataclass(frozen=True)
class Spherical(Joint):
    """Any rotation. q is a unit quaternion (w, x, y, z), v the angular velocity in the child's own axes."""

    nq: ClassVar[int] = 4
    nv: ClassVar[int] = 3

    def transform(self, q: Freedoms) -> Transform:
        """Return the rotation of the quaternion."""
        return Transform(quaternion.turn((q[0], q[1], q[2], q[3])), (0.0, 0.0, 0.0))

    def shiftable_inertia(self, inertia: Inertia) -> Inertia:
        """Return a mass in the middle."""
        none = (0.0, 0.0, 0.0)
        return Inertia(inertia.m, none, (*none, *none))

    def subspace(self, q: Freedoms) -> Subspace:
        """Return all rotations."""
        return Units((0, 1, 2))

    def closure(self, R: Matrix3, p: Vector3) -> Rows:
        """Return the residuals: the origins meet."""
        return p

    def locate(self, R: Matrix3, p: Vector3) -> Freedoms:
        """Return the quaternion of the rotation."""
        return Freedoms(quaternion.of_matrix(R))

    @property
    def spins(self) -> bool:
        """True: v begins with the angular velocity."""
        return True

    def gyration(self, q: Freedoms, v: Freedoms, h: Freedoms) -> Freedoms:
        """Return w x h: an angular momentum along the child's axes turns with them."""
        return Freedoms(cross((v[0], v[1], v[2]), (h[0], h[1], h[2])))

    def integrate(self, q: Freedoms, v: Freedoms) -> Freedoms:
        """Return the quaternion turned by v, and made a unit again."""
        turned = quaternion.multiply((q[0], q[1], q[2], q[3]), quaternion.exponential((v[0], v[1], v[2])))
        return Freedoms(quaternion.normalised(turned))

    def difference(self, q0: Freedoms, q1: Freedoms) -> Freedoms:
        """Return the rotation vector from q0 to q1, the short way round."""
        relative = quaternion.multiply(quaternion.inverse((q0[0], q0[1], q0[2], q0[3])), (q1[0], q1[1], q1[2], q1[3]))
        return Freedoms(quaternion.logarithm(relative))

    def rate(self, q: Freedoms, v: Freedoms) -> Freedoms:
        """Return half the quaternion times the angular velocity."""
        return Freedoms(quaternion.rate((q[0], q[1], q[2], q[3]), (v[0], v[1], v[2])))

    def project(self, q: Freedoms) -> Freedoms:
        """Return the quaternion made a unit."""
        return Freedoms(quaternion.normalised((q[0], q[1], q[2], q[3])))

    def neutral(self) -> tuple[float, ...]:
        """Return the quaternion without rotation."""
        return (1.0, 0.0, 0.0, 0.0)

    def random(self, rng: np.random.Generator, shape: tuple[int, ...], lower: Array, upper: Array) -> Array:
        """Return rotations spread evenly."""
        return random_quaternions(rng, shape)


def random_quaternions(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return unit quaternions of rotations that are spread evenly."""
    x = rng.normal(size=(*shape, 4))
    return np.asarray(x / np.linalg.norm(x, axis=-1, keepdims=True))
