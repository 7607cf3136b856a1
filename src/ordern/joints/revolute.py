"""Revolute and continuous joints: rotation about an axis."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import ClassVar

from ..graph import atan2, cos, sin, where_less
from ..records import dataclass
from ..spatial import About, Freedoms, Inertia, Subspace, Transform, Units
from ..spatial.linear import Matrix3, Vector3
from .axis import AlongAxis, Axis
from .base import Joint
from .closure import Rows, aligned, angle_about_z

__all__ = ["Continuous", "Revolute"]


@dataclass(frozen=True)
class Revolute(AlongAxis, Joint):
    """Rotation about an axis, which is given in the child's frame. q is the angle, v its rate."""

    axis: Axis = (0.0, 0.0, 1.0)

    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1
    angles: ClassVar[tuple[int, ...]] = (0,)
    usual_range: ClassVar[float] = 2.0 * math.pi

    def transform(self, q: Freedoms) -> Transform:
        """Return a turn about z."""
        return Transform(About(2, cos(q[0]), sin(q[0])), (0.0, 0.0, 0.0))

    def subspace(self, q: Freedoms) -> Subspace:
        """Return the rotation about z."""
        return Units((2,))

    def closure(self, R: Matrix3, p: Vector3) -> Rows:
        """Return the residuals: the axes coincide, and the origins meet."""
        return (*aligned(R), *p)

    def locate(self, R: Matrix3, p: Vector3) -> Freedoms:
        """Return the angle, within half a turn of zero."""
        return Freedoms((angle_about_z(R),))

    def shiftable_inertia(self, inertia: Inertia) -> Inertia:
        """Return a mass on the axis, and inertia that is alike in all directions across it."""
        _, _, _, across, _, _ = inertia.I
        return Inertia(inertia.m, (0.0, 0.0, inertia.h[2]), (across, 0.0, 0.0, across, 0.0, 0.0))

    @property
    def kind(self) -> Hashable:
        """All rotations about an axis have the same formulas."""
        return Revolute


@dataclass(frozen=True)
class Continuous(Revolute):
    """A revolute joint without limits, such as a wheel: angles that differ by full turns are the same position.

    Its coordinate is still the angle, which may grow beyond a turn. `difference` goes the short way round; springs
    (`displacement`) count full turns. A joint that others follow counts them everywhere, see `counting_turns`.
    """

    def difference(self, q0: Freedoms, q1: Freedoms) -> Freedoms:
        """Return the angle from q0 to q1, the short way round: half a turn at most."""
        apart = q1[0] - q0[0]
        short = atan2(sin(apart), cos(apart))
        return Freedoms((where_less(math.pi * math.pi, apart * apart, short, apart),))

    def displacement(self, q0: Freedoms, q1: Freedoms) -> Freedoms:
        """Return the angle from q0 to q1, full turns included."""
        return q1 - q0

    def counting_turns(self) -> Joint:
        """Return a revolute joint about the same axis."""
        return Revolute(self.axis)

    @property
    def kind(self) -> Hashable:
        """Its `difference` is not that of other revolute joints."""
        return Continuous
