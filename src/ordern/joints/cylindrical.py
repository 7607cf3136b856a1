"""Cylindrical joints: rotation about an axis and sliding along it, independently."""

from __future__ import annotations

from typing import ClassVar

from ..graph import cos, sin
from ..records import dataclass
from ..spatial import About, Freedoms, Subspace, Transform, Units
from ..spatial.linear import Matrix3, Vector3
from .axis import AlongAxis, Axis
from .base import Joint
from .closure import Rows, aligned, angle_about_z

__all__ = ["Cylindrical"]


@dataclass(frozen=True)
class Cylindrical(AlongAxis, Joint):
    """Rotation about an axis and sliding along it; the axis is given in the child's frame.

    q is (angle, distance), v their rates.
    """

    axis: Axis = (0.0, 0.0, 1.0)

    nq: ClassVar[int] = 2
    nv: ClassVar[int] = 2
    angles: ClassVar[tuple[int, ...]] = (0,)

    def transform(self, q: Freedoms) -> Transform:
        """Return a turn about z and a shift along it."""
        return Transform(About(2, cos(q[0]), sin(q[0])), (0.0, 0.0, q[1]))

    def subspace(self, q: Freedoms) -> Subspace:
        """Return the rotation about z and the translation along z."""
        return Units((2, 5))

    def closure(self, R: Matrix3, p: Vector3) -> Rows:
        """Return the residuals: the axes coincide."""
        return (*aligned(R), p[0], p[1])

    def locate(self, R: Matrix3, p: Vector3) -> Freedoms:
        """Return the angle, within half a turn of zero, and the distance."""
        return Freedoms((angle_about_z(R), p[2]))
