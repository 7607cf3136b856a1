"""Helical joints: a screw."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ..errors import ModelError
from ..graph import Scalar, cos, sin
from ..spatial import About, Columns, Freedoms, Motion, Subspace, Transform
from .axis import turned_frame, unit_axis
from .base import Array, Joint

__all__ = ["Helical"]


@dataclass(frozen=True)
class Helical(Joint):
    """Rotation about an axis that shifts along it, by `pitch` metres with each full turn.

    The axis is given in the child's frame. q is the angle, v its rate, the joint force a moment about the axis.
    """

    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    pitch: float = 0.01

    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis))
        if isinstance(self.pitch, (int, float)):  # it may be a traced scalar
            object.__setattr__(self, "pitch", float(self.pitch))
            if not math.isfinite(self.pitch):
                raise ModelError(f"a screw's pitch must be a finite number, not {self.pitch}")

    @property
    def _rise(self) -> Scalar:
        """Metres per radian."""
        return self.pitch * (0.5 / math.pi)

    def transform(self, q: Freedoms) -> Transform:
        """A turn about z, and the shift that goes with it."""
        return Transform(About(2, cos(q[0]), sin(q[0])), (0.0, 0.0, self._rise * q[0]))

    def subspace(self, q: Freedoms) -> Subspace:
        """Rotation about z and translation along it, in a constant ratio."""
        return Columns((Motion((0.0, 0.0, 1.0), (0.0, 0.0, self._rise)),))

    def turn(self) -> Array:
        """The frame in which the axis is z."""
        return turned_frame(self.axis)

    @property
    def parameters(self) -> tuple[float, ...]:
        """The pitch."""
        return (self.pitch,)

    def with_parameters(self, parameters: tuple[Scalar, ...]) -> Helical:
        """A screw of another pitch."""
        return Helical(self.axis, *parameters)
