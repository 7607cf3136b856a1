"""Planar joints: moving and turning in a plane."""

from __future__ import annotations

from typing import ClassVar

from ..graph import Scalar, cos, sin
from ..records import dataclass
from ..spatial import About, Freedoms, Subspace, Transform, Units
from ..spatial.linear import Matrix3, Vector3, add, cross, scale, subtract
from .axis import AlongAxis, Axis
from .base import Joint
from .closure import Rows, aligned, angle_about_z
from .se3_series import screw, unscrew

__all__ = ["Planar"]


@dataclass(frozen=True)
class Planar(AlongAxis, Joint):
    """Any motion in the plane with this normal, which is given in the child's frame.

    q is (angle, x, y): the angle about the normal and the position of the child's origin in the joint's frame; v is
    (rate of the angle, velocity along x and y) in the child's own axes. With the normal along z, x and y are those of
    the frame; along x they are y and z; along y, z and x.
    """

    axis: Axis = (0.0, 0.0, 1.0)

    nq: ClassVar[int] = 3
    nv: ClassVar[int] = 3
    angles: ClassVar[tuple[int, ...]] = (0,)

    def transform(self, q: Freedoms) -> Transform:
        """Return a shift in the plane, then a turn about its normal."""
        return Transform(About(2, cos(q[0]), sin(q[0])), (q[1], q[2], 0.0))

    def subspace(self, q: Freedoms) -> Subspace:
        """Return the rotation about z and the translations along x and y."""
        return Units((2, 3, 4))

    def gyration(self, q: Freedoms, v: Freedoms, h: Freedoms) -> Freedoms:
        """Return the gyration: a momentum along the child's axes turns with them, and its lever arm grows."""
        return Freedoms((v[1] * h[2] - v[2] * h[1], 0.0 - v[0] * h[2], v[0] * h[1]))

    def integrate(self, q: Freedoms, v: Freedoms) -> Freedoms:
        """Move along the circle on which the velocity, in the moving axes, is constant."""
        w: Vector3 = (0.0, 0.0, v[0])
        u: Vector3 = (v[1], v[2], 0.0)
        a, b = screw(v[0] * v[0])
        wu = cross(w, u)
        step = add(u, add(scale(a, wu), scale(b, cross(w, wu))))
        x, y, _ = _turned(q[0]).back(step)
        return Freedoms((q[0] + v[0], q[1] + x, q[2] + y))

    def euler_step(self, q: Freedoms, v: Freedoms, a: Freedoms, h: Scalar) -> tuple[Freedoms, Freedoms]:
        """Step the linear velocity along the axes at the start, then express it along those at the end."""
        turning = v[0] + h * a[0]
        _, turned_x, turned_y = self.turning_rate(v)
        y: Vector3 = (v[1] + h * (a[1] + turned_x), v[2] + h * (a[2] + turned_y), 0.0)
        along_x, along_y, _ = _turned(q[0]).back(y)
        seen_x, seen_y, _ = _turned(h * turning).apply(y)
        moved = (q[0] + h * turning, q[1] + h * along_x, q[2] + h * along_y)
        return Freedoms(moved), Freedoms((turning, seen_x, seen_y))

    def turning_rate(self, v: Freedoms) -> Freedoms:
        """Return w x u for the linear velocity."""
        return Freedoms((0.0, 0.0 - v[0] * v[2], v[0] * v[1]))

    def difference(self, q0: Freedoms, q1: Freedoms) -> Freedoms:
        """Return the velocity, constant in the moving axes, of the circular motion, below one turn, from q0 to q1."""
        w: Vector3 = (0.0, 0.0, q1[0] - q0[0])
        step = _turned(q0[0]).apply((q1[1] - q0[1], q1[2] - q0[2], 0.0))
        k = unscrew(w[2] * w[2])
        ws = cross(w, step)
        u = add(subtract(step, scale(0.5, ws)), scale(k, cross(w, ws)))
        return Freedoms((w[2], u[0], u[1]))

    def rate(self, q: Freedoms, v: Freedoms) -> Freedoms:
        """Return the angle's rate, and the velocity in the joint's axes."""
        x, y, _ = _turned(q[0]).back((v[1], v[2], 0.0))
        return Freedoms((v[0], x, y))

    def project(self, q: Freedoms) -> Freedoms:
        """Return q: any three numbers are a position."""
        return q

    def closure(self, R: Matrix3, p: Vector3) -> Rows:
        """Return the residuals: the planes coincide."""
        return (*aligned(R), p[2])

    def locate(self, R: Matrix3, p: Vector3) -> Freedoms:
        """Return the angle, within half a turn of zero, and the position in the plane."""
        return Freedoms((angle_about_z(R), p[0], p[1]))


def _turned(angle: Scalar) -> About:
    return About(2, cos(angle), sin(angle))
