"""Helical joints: a screw."""

from __future__ import annotations

import math
from typing import ClassVar

from ..errors import ModelError
from ..graph import Scalar, atan2, cos, sin
from ..records import dataclass
from ..spatial import About, Columns, Freedoms, Motion, Subspace, Transform
from ..spatial.linear import Matrix3, Vector3
from .axis import AlongAxis, Axis
from .base import Joint
from .closure import Rows, aligned, angle_about_z

__all__ = ["Helical"]


@dataclass(frozen=True)
class Helical(AlongAxis, Joint):
    """Rotation about an axis that shifts along it, by `pitch` metres with each full turn.

    The axis is given in the child's frame. q is the angle, v its rate, the joint force a moment about the axis.
    """

    axis: Axis = (0.0, 0.0, 1.0)
    pitch: float = 0.01

    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.pitch, (int, float)):  # it may be a traced scalar
            object.__setattr__(self, "pitch", float(self.pitch))
            if not math.isfinite(self.pitch):
                raise ModelError(f"a screw's pitch must be a finite number, not {self.pitch}")

    @property
    def _rise(self) -> Scalar:
        """Metres per radian."""
        return self.pitch * (0.5 / math.pi)

    @property
    def _flat(self) -> bool:
        """True if the pitch is a number and zero: then the joint is a hinge."""
        pitch: Scalar = self.pitch
        return isinstance(pitch, float) and pitch == 0.0

    def transform(self, q: Freedoms) -> Transform:
        """Return a turn about z, and the shift that goes with it."""
        return Transform(About(2, cos(q[0]), sin(q[0])), (0.0, 0.0, self._rise * q[0]))

    def subspace(self, q: Freedoms) -> Subspace:
        """Return the rotation about z with a translation along it, in a constant ratio."""
        return Columns((Motion((0.0, 0.0, 1.0), (0.0, 0.0, self._rise)),))

    def closure(self, R: Matrix3, p: Vector3) -> Rows:
        """Return the residuals: the axes coincide, and the child has advanced as its angle requires.

        The angle is that of the turn which the distance is nearest to: the thread has a closed pose in every turn, and
        half-way between two of them this residual jumps from one to the other.
        """
        c, s = R[0][0] + R[1][1], R[1][0] - R[0][1]
        if self._flat:
            return (*aligned(R), *p)
        there = p[2] * (1.0 / self._rise)
        y, x = sin(there) * c - cos(there) * s, cos(there) * c + sin(there) * s
        return (*aligned(R), p[0], p[1], self._rise * atan2(y, x))

    def locate(self, R: Matrix3, p: Vector3) -> Freedoms:
        """Return the angle, full turns included, from the advance along the axis."""
        if self._flat:
            return Freedoms((angle_about_z(R),))
        return Freedoms((p[2] * (1.0 / self._rise),))

    @property
    def parameters(self) -> tuple[float, ...]:
        """The pitch."""
        return (self.pitch,)

    def with_parameters(self, parameters: tuple[Scalar, ...]) -> Helical:
        """Return a screw of another pitch."""
        return Helical(self.axis, *parameters)
