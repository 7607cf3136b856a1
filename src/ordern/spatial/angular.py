"""Matrices that take the angular part of a motion to a force: rates of forces with velocities of bodies."""

from __future__ import annotations

from ..records import dataclass
from .linear import ZERO3, Matrix3, Vector3, add, cross, matvec, transpose
from .motion import Force, Motion

__all__ = ["AngularMatrix"]


@dataclass(frozen=True, slots=True)
class AngularMatrix:
    """The matrix [[A, 0], [u x, 0]]; those of bodies in one frame are added."""

    A: Matrix3
    u: Vector3

    @classmethod
    def zero(cls) -> AngularMatrix:
        """Return the matrix that is zero."""
        return cls((ZERO3, ZERO3, ZERO3), ZERO3)

    def __add__(self, other: AngularMatrix) -> AngularMatrix:
        a, b = self.A, other.A
        return AngularMatrix((add(a[0], b[0]), add(a[1], b[1]), add(a[2], b[2])), add(self.u, other.u))

    def __matmul__(self, w: Vector3) -> Force:
        """Return the product with a motion of this angular part."""
        return Force(matvec(self.A, w), cross(self.u, w))

    def back(self, t: Motion) -> Vector3:
        """Return the angular part of the product of the transpose with a motion; the linear part is zero."""
        return add(matvec(transpose(self.A), t.angular), cross(t.linear, self.u))
