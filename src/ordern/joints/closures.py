"""Closures that are not joints: distances, points on lines and planes, drives, rolling."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from ..arguments import Array
from ..errors import ModelError
from ..graph import Scalar, atan2, cos, sin
from ..records import dataclass
from ..spatial import Motion
from ..spatial.linear import Matrix3, Vector3, cross, dot, scale, subtract
from .axis import AlongAxis, Axis
from .base import Joint
from .closure import Closure, Rows

__all__ = ["Distance", "Driven", "KnifeEdge", "PointOnLine", "PointOnPlane", "RollingBall"]


@dataclass(frozen=True)
class Distance(Closure):
    """A rod of this length, without mass, between the origins of both frames, with a ball joint at each end."""

    length: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", _positive(self.length, "the length of a Distance", "use Spherical()"))

    def closure(self, R: Matrix3, p: Vector3) -> Rows:
        """Return (|p|^2 - length^2) / (2 length): in metres near the length, and smooth where |p| is not."""
        return ((dot(p, p) - self.length * self.length) * (0.5 / self.length),)


@dataclass(frozen=True)
class PointOnLine(AlongAxis):
    """The child's origin is on the line along `axis` through the parent's origin; the child may turn freely."""

    axis: Axis = (0.0, 0.0, 1.0)

    def closure(self, R: Matrix3, p: Vector3) -> Rows:
        """Return the distance of the point from the line, along two directions."""
        return (p[0], p[1])


@dataclass(frozen=True)
class PointOnPlane(AlongAxis):
    """The child's origin is in the plane with normal `axis` through the parent's origin; the child may turn freely."""

    axis: Axis = (0.0, 0.0, 1.0)

    def closure(self, R: Matrix3, p: Vector3) -> Rows:
        """Return the distance of the point from the plane."""
        return (p[2],)


@dataclass(frozen=True)
class Driven(Closure):
    """A joint with one freedom whose coordinate is a given function of time.

    It is c0 + c1 t + c2 t^2 + ... (`coefficients`) plus amplitude sin(frequency t + phase), the frequency in radians
    per second. An angle counts without its full turns.
    """

    joint: Joint
    coefficients: tuple[float, ...] = (0.0,)
    amplitude: float = 0.0
    frequency: float = 0.0
    phase: float = 0.0

    timed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        given: Any = self.joint
        if not isinstance(given, Joint) or (given.nq, given.nv) != (1, 1):
            raise ModelError(f"what is driven must be a joint with one freedom, such as Revolute(), not {self.joint!r}")
        try:
            object.__setattr__(self, "coefficients", tuple(float(c) for c in self.coefficients))
            for name in ("amplitude", "frequency", "phase"):
                object.__setattr__(self, name, float(getattr(self, name)))
        except (TypeError, ValueError, OverflowError):
            raise ModelError(f"the numbers of a Driven joint must be numbers, not {self!r}") from None
        if not all(map(math.isfinite, (*self.coefficients, self.amplitude, self.frequency, self.phase))):
            raise ModelError(f"the numbers of a Driven joint must be finite, not {self!r}")

    def position(self, t: Scalar) -> Scalar:
        """Return the position of the joint at a time."""
        total: Scalar = 0.0
        for c in reversed(self.coefficients):
            total = total * t + c
        return total + self.amplitude * sin(self.frequency * t + self.phase) if self.amplitude else total

    def closure(self, R: Matrix3, p: Vector3, t: Scalar = 0.0) -> Rows:
        """Return the joint's own residuals, and the difference between its coordinate and the given one."""
        (there,) = self.joint.locate(R, p)
        apart = there - self.position(t)
        if self.joint.angles:
            apart = atan2(sin(apart), cos(apart))
        return (*self.joint.closure(R, p), apart)

    def slip(self, R: Matrix3, p: Vector3, V: Motion) -> Rows:
        """Return the joint's own conditions on velocities."""
        return self.joint.slip(R, p, V)

    def working_frame(self) -> Array:
        """Return the joint's working frame."""
        return self.joint.working_frame()


@dataclass(frozen=True)
class KnifeEdge(AlongAxis):
    """The child's origin does not move along `axis`, which turns with the child: a skate, a wheel's side, a sail.

    It is a condition on velocities alone: any position can be reached.
    """

    axis: Axis = (0.0, 1.0, 0.0)

    def closure(self, R: Matrix3, p: Vector3) -> Rows:
        """Return no residuals: any position is allowed."""
        return ()

    def slip(self, R: Matrix3, p: Vector3, V: Motion) -> Rows:
        """Return the velocity of the child's origin along its axis."""
        return (V.linear[2],)


@dataclass(frozen=True)
class RollingBall(AlongAxis):
    """A ball, with its centre at the child's origin, that rolls without slipping on a plane of the parent.

    The plane has the normal `axis` and passes through the parent's origin; the ball is on the side of the normal. One
    row is a residual (the height of the centre), two are conditions on velocities. (A disc is a `RollingDisc`.)
    """

    radius: float
    axis: Axis = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", _positive(self.radius, "the radius of a RollingBall", "use PointOnPlane()"))
        super().__post_init__()

    def closure(self, R: Matrix3, p: Vector3) -> Rows:
        """Return the height of the centre less the radius."""
        return (p[2] - self.radius,)

    def slip(self, R: Matrix3, p: Vector3, V: Motion) -> Rows:
        """Return the velocity of the point of contact, along the plane."""
        there = subtract(V.linear, scale(self.radius, cross(V.angular, R[2])))
        return (dot(R[0], there), dot(R[1], there))


def _positive(x: Any, what: str, zero: str) -> float:
    try:
        number = float(x)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{what} must be a number, not {x!r}") from None
    if not math.isfinite(number) or number <= 0.0:
        raise ModelError(f"{what} must be positive and finite, not {number:g}; for zero, {zero}")
    return number
