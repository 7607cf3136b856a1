"""Fixed joints: no freedom. Models merge the bodies that they join, unless built with `merge=False`."""

from __future__ import annotations

from typing import ClassVar

from ..records import dataclass
from ..spatial import Freedoms, Identity, Inertia, Subspace, Transform, Units
from ..spatial.linear import Matrix3, Vector3
from .base import Joint
from .closure import Rows, unturned

__all__ = ["Fixed"]


@dataclass(frozen=True)
class Fixed(Joint):
    """A rigid connection."""

    nq: ClassVar[int] = 0
    nv: ClassVar[int] = 0

    def transform(self, q: Freedoms) -> Transform:
        """Return no motion."""
        return Transform(Identity(), (0.0, 0.0, 0.0))

    def shiftable_inertia(self, inertia: Inertia) -> Inertia:
        """Return all of it: both bodies move as one."""
        return inertia

    def subspace(self, q: Freedoms) -> Subspace:
        """Return no motion."""
        return Units(())

    def closure(self, R: Matrix3, p: Vector3) -> Rows:
        """Return the residuals: the frames coincide."""
        return (*unturned(R), *p)

    def locate(self, R: Matrix3, p: Vector3) -> Freedoms:
        """Return no coordinates."""
        return Freedoms(())
