"""Free joints: a body that floats."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..arguments import Array
from ..graph import Scalar
from ..records import dataclass
from ..spatial import Freedoms, Subspace, Transform, Units
from ..spatial.linear import Matrix3, Vector3, add, cross, dot, matvec, scale, subtract, transpose
from . import quaternion
from .base import Joint
from .closure import Rows
from .se3_series import screw, unscrew
from .spherical import random_quaternions

__all__ = ["Free"]


@dataclass(frozen=True)
class Free(Joint):
    """Any motion.

    q is a unit quaternion (w, x, y, z), then the position of the child's origin in the joint's frame; v is the angular,
    then the linear velocity of the child, in its own axes.
    """

    nq: ClassVar[int] = 7
    nv: ClassVar[int] = 6

    def transform(self, q: Freedoms) -> Transform:
        """Return a shift to the position, then the rotation of the quaternion."""
        return Transform(quaternion.turn((q[0], q[1], q[2], q[3])), (q[4], q[5], q[6]))

    def subspace(self, q: Freedoms) -> Subspace:
        """Return all motions."""
        return Units((0, 1, 2, 3, 4, 5))

    def closure(self, R: Matrix3, p: Vector3) -> Rows:
        """Return no residuals: all poses are allowed."""
        return ()

    def locate(self, R: Matrix3, p: Vector3) -> Freedoms:
        """Return the quaternion of the rotation, and the position."""
        return Freedoms((*quaternion.of_matrix(R), *p))

    @property
    def spins(self) -> bool:
        """True: v begins with the angular velocity."""
        return True

    def gyration(self, q: Freedoms, v: Freedoms, h: Freedoms) -> Freedoms:
        """Return (w x n + u x f, w x f): a momentum (n, f) turns with the child's axes, and its lever arm grows."""
        w, u = (v[0], v[1], v[2]), (v[3], v[4], v[5])
        n, f = (h[0], h[1], h[2]), (h[3], h[4], h[5])
        return Freedoms((*add(cross(w, n), cross(u, f)), *cross(w, f)))

    def integrate(self, q: Freedoms, v: Freedoms) -> Freedoms:
        """Move along the screw motion whose velocity, in the moving axes, is constant."""
        p, x = (q[0], q[1], q[2], q[3]), (q[4], q[5], q[6])
        w, u = (v[0], v[1], v[2]), (v[3], v[4], v[5])
        a, b = screw(dot(w, w))
        wu = cross(w, u)
        step = add(u, add(scale(a, wu), scale(b, cross(w, wu))))
        turned = quaternion.normalised(quaternion.multiply(p, quaternion.exponential(w)))
        return Freedoms((*turned, *add(x, matvec(quaternion.matrix(p), step))))

    def euler_step(self, q: Freedoms, v: Freedoms, a: Freedoms, h: Scalar) -> tuple[Freedoms, Freedoms]:
        """Step the linear velocity along the axes at the start, then express it along those at the end."""
        p, x = (q[0], q[1], q[2], q[3]), (q[4], q[5], q[6])
        w, u = (v[0], v[1], v[2]), (v[3], v[4], v[5])
        turning = add(w, scale(h, (a[0], a[1], a[2])))
        turned = self.turning_rate(v)
        y = add(u, scale(h, (a[3] + turned[3], a[4] + turned[4], a[5] + turned[5])))
        step = quaternion.exponential(scale(h, turning))
        moved = add(x, scale(h, matvec(quaternion.matrix(p), y)))
        seen = matvec(transpose(quaternion.matrix(step)), y)
        after = quaternion.normalised(quaternion.multiply(p, step))
        return Freedoms((*after, *moved)), Freedoms((*turning, *seen))

    def turning_rate(self, v: Freedoms) -> Freedoms:
        """Return w x u for the linear velocity."""
        return Freedoms((0.0, 0.0, 0.0, *cross((v[0], v[1], v[2]), (v[3], v[4], v[5]))))

    def difference(self, q0: Freedoms, q1: Freedoms) -> Freedoms:
        """Return the constant velocity, in the moving axes, of the screw motion from q0 to q1."""
        p0, p1 = (q0[0], q0[1], q0[2], q0[3]), (q1[0], q1[1], q1[2], q1[3])
        w = quaternion.logarithm(quaternion.multiply(quaternion.inverse(p0), p1))
        apart: Vector3 = subtract((q1[4], q1[5], q1[6]), (q0[4], q0[5], q0[6]))
        step = matvec(transpose(quaternion.matrix(p0)), apart)
        k = unscrew(dot(w, w))
        ws = cross(w, step)
        u = add(subtract(step, scale(0.5, ws)), scale(k, cross(w, ws)))
        return Freedoms((*w, *u))

    def rate(self, q: Freedoms, v: Freedoms) -> Freedoms:
        """Return half the quaternion times the angular velocity, and the linear velocity in the joint's axes."""
        p = (q[0], q[1], q[2], q[3])
        moving = matvec(quaternion.matrix(p), (v[3], v[4], v[5]))
        return Freedoms((*quaternion.rate(p, (v[0], v[1], v[2])), *moving))

    def project(self, q: Freedoms) -> Freedoms:
        """Normalise the quaternion; any position is valid."""
        return Freedoms((*quaternion.normalised((q[0], q[1], q[2], q[3])), *q[4:]))

    def neutral(self) -> tuple[float, ...]:
        """Return the pose in which the child's frame meets the joint's."""
        return (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

    def random(self, rng: np.random.Generator, shape: tuple[int, ...], lower: Array, upper: Array) -> Array:
        """Return rotations spread evenly, and positions within the limits, or else within a cube of side 2."""
        position = super().random(rng, shape, lower, upper)[..., 4:]
        return np.concatenate([random_quaternions(rng, shape), position], axis=-1)
