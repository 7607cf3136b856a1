"""Prismatic joints: sliding along an axis."""

from __future__ import annotations

from typing import ClassVar

from ..records import dataclass
from ..spatial import Freedoms, Identity, Inertia, Subspace, Transform, Units
from ..spatial.linear import Matrix3, Vector3
from .axis import AlongAxis, Axis
from .base import Joint
from .closure import Rows, unturned

__all__ = ["Prismatic"]


@dataclass(frozen=True)
class Prismatic(AlongAxis, Joint):
    """Sliding along an axis, which is given in the child's frame. q is the distance, v its rate."""

    axis: Axis = (0.0, 0.0, 1.0)

    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1

    def transform(self, q: Freedoms) -> Transform:
        """Return a shift along z."""
        return Transform(Identity(), (0.0, 0.0, q[0]))

    def subspace(self, q: Freedoms) -> Subspace:
        """Return the translation along z."""
        return Units((5,))

    def closure(self, R: Matrix3, p: Vector3) -> Rows:
        """Return the rotation, and the distance of the child's origin from the axis."""
        return (*unturned(R), p[0], p[1])

    def locate(self, R: Matrix3, p: Vector3) -> Freedoms:
        """Return the distance along the axis."""
        return Freedoms((p[2],))

    def shiftable_inertia(self, inertia: Inertia) -> Inertia:
        """Return the rotational inertia, since both bodies turn together."""
        return Inertia(0.0, (0.0, 0.0, 0.0), inertia.I)
