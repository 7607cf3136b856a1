"""Revolute and continuous joints: rotation about an axis."""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar

import numpy as np

from ..graph import atan2, cos, sin
from ..records import dataclass
from ..spatial import About, Freedoms, Inertia, Subspace, Transform, Units
from ..spatial.linear import Matrix3, Vector3
from .axis import turned_frame, unit_axis
from .base import Array, Joint, uniform
from .closure import Rows, aligned

__all__ = ["Continuous", "Revolute"]


@dataclass(frozen=True)
class Revolute(Joint):
    """Rotation about an axis, which is given in the child's frame. q is the angle, v its rate."""

    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)

    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1
    angles: ClassVar[tuple[int, ...]] = (0,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis))

    def transform(self, q: Freedoms) -> Transform:
        """Return a turn about z."""
        return Transform(About(2, cos(q[0]), sin(q[0])), (0.0, 0.0, 0.0))

    def subspace(self, q: Freedoms) -> Subspace:
        """Rotation about z."""
        return Units((2,))

    def closure(self, R: Matrix3, p: Vector3) -> Rows:
        """Return the residuals: the axes coincide, and the origins meet."""
        return (*aligned(R), *p)

    def locate(self, R: Matrix3, p: Vector3) -> Freedoms:
        """Return the angle, within half a turn of zero."""
        return Freedoms((atan2(R[1][0] - R[0][1], R[0][0] + R[1][1]),))

    def shiftable_inertia(self, inertia: Inertia) -> Inertia:
        """Return a mass on the axis, and inertia that is alike in all directions across it."""
        _, _, _, across, _, _ = inertia.I
        return Inertia(inertia.m, (0.0, 0.0, inertia.h[2]), (across, 0.0, 0.0, across, 0.0, 0.0))

    def working_frame(self) -> Array:
        """Return the frame in which the axis is z."""
        return turned_frame(self.axis)

    def random(self, rng: np.random.Generator, shape: tuple[int, ...], lower: Array, upper: Array) -> Array:
        """Angles within the limits; unlimited ones within a turn."""
        lo = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper - 2.0 * np.pi, -np.pi))
        hi = np.where(np.isfinite(upper), upper, lo + 2.0 * np.pi)
        return uniform(rng, lo, hi, (*shape, 1))

    @property
    def kind(self) -> Hashable:
        """All rotations about an axis have the same formulas."""
        return Revolute


@dataclass(frozen=True)
class Continuous(Revolute):
    """A revolute joint without limits. Its coordinate is still the angle, which may grow beyond a turn."""
