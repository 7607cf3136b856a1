"""Spatial vectors: a Motion is a velocity or acceleration, a Force a force and moment or a momentum.

Both are (angular, linear) in one body's axes about its origin. They are different kinds of things: a sum of
the two is an error, the product of a force and a motion is a scalar (power).
"""

from __future__ import annotations

from typing import ClassVar, TypeVar

from ..errors import TraceError
from ..graph import Scalar
from ..records import dataclass
from .linear import ZERO3, Vector3, add, cross, dot, negative, scale, subtract

__all__ = ["Force", "Motion"]

V = TypeVar("V", bound="_Spatial")


@dataclass(frozen=True, slots=True)
class _Spatial:
    angular: Vector3
    linear: Vector3

    size: ClassVar[int] = 6

    @classmethod
    def zero(cls: type[V]) -> V:
        """Return the zero vector."""
        return cls(ZERO3, ZERO3)

    @classmethod
    def of(cls: type[V], six: tuple[Scalar, ...]) -> V:
        """Build it from six scalars, angular part first."""
        a, b, c, d, e, f = six
        return cls((a, b, c), (d, e, f))

    @property
    def scalars(self) -> tuple[Scalar, ...]:
        """The six scalars, angular part first."""
        return (*self.angular, *self.linear)

    def __add__(self: V, other: V) -> V:
        self._same(other, "+")
        return type(self)(add(self.angular, other.angular), add(self.linear, other.linear))

    def __sub__(self: V, other: V) -> V:
        self._same(other, "-")
        return type(self)(subtract(self.angular, other.angular), subtract(self.linear, other.linear))

    def __neg__(self: V) -> V:
        return type(self)(negative(self.angular), negative(self.linear))

    def __mul__(self: V, s: Scalar) -> V:
        if isinstance(s, _Spatial):
            raise TraceError(f"{type(self).__name__} * {type(s).__name__}: vectors are multiplied by `dot` or `cross`")
        return type(self)(scale(s, self.angular), scale(s, self.linear))

    def _same(self, other: object, sign: str) -> None:
        if type(other) is not type(self):
            raise TraceError(
                f"{type(self).__name__} {sign} {type(other).__name__}: only vectors of one kind can be combined"
            )


@dataclass(frozen=True, slots=True)
class Force(_Spatial):
    """A spatial force (moment, force), or a momentum (angular, linear)."""

    def dot(self, motion: Motion) -> Scalar:
        """Return the power of this force along a motion."""
        if type(motion) is not Motion:
            raise TraceError(f"Force . {type(motion).__name__}: a force has power along a Motion only")
        return dot(self.angular, motion.angular) + dot(self.linear, motion.linear)


@dataclass(frozen=True, slots=True)
class Motion(_Spatial):
    """A spatial velocity or acceleration (angular, linear)."""

    def dot(self, force: Force) -> Scalar:
        """Return the power of a force along this motion."""
        if type(force) is not Force:
            raise TraceError(f"Motion . {type(force).__name__}: a motion has power under a Force only")
        return force.dot(self)

    def cross(self, other: V) -> V:
        """Return the rate of change of a motion or force that moves with this velocity (v x m, v x* f)."""
        w, v = self.angular, self.linear
        if not isinstance(other, _Spatial):
            raise TraceError(f"Motion x {type(other).__name__}: only a Motion or a Force moves with a velocity")
        if isinstance(other, Motion):
            return type(other)(cross(w, other.angular), add(cross(w, other.linear), cross(v, other.angular)))
        return type(other)(add(cross(w, other.angular), cross(v, other.linear)), cross(w, other.linear))
