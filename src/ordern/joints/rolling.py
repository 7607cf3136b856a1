"""A disc that rolls on a plane: a nonholonomic joint, with five positions and three velocities.

Its velocities are quasi-coordinates (Jain 1991, sec. 2): the components of the angular velocity in the disc's own axes,
which are no position's rates. Where the disc touches the plane, it does not slip; so the velocity of its centre
is w x r, with r from the point of contact to the centre.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from ..arguments import Array
from ..errors import ModelError
from ..graph import Scalar, atan2, cos, sin, sqrt
from ..records import dataclass
from ..spatial import About, Chain, Columns, Freedoms, Identity, Motion, Subspace, Transform
from ..spatial.linear import Matrix3, Vector3, cross, dot, scale, subtract
from .base import Joint
from .closure import Rows

__all__ = ["RollingDisc"]

_ZERO = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class RollingDisc(Joint):
    """A disc of this radius on the plane that lies one radius below the joint's frame, with normal z.

    q is (heading, lean, roll, x, y): turns about z, then x, then y, which is the disc's axle, and how far the point of
    contact has moved. v is the angular velocity of the disc, in its own axes. A disc that lies flat has no heading:
    lean must stay within a quarter turn.
    """

    radius: float = 1.0

    nq: ClassVar[int] = 5
    nv: ClassVar[int] = 3
    angles: ClassVar[tuple[int, ...]] = (0, 1, 2)

    def __post_init__(self) -> None:
        if isinstance(self.radius, (int, float)):  # it may be a traced scalar
            object.__setattr__(self, "radius", float(self.radius))
            if not math.isfinite(self.radius) or self.radius <= 0.0:
                raise ModelError(f"a rolling disc's radius must be a positive number, not {self.radius}")

    def transform(self, q: Freedoms) -> Chain:
        """Return the shift to the point of contact, the shift up to the centre, and the three turns."""
        heading, lean, roll, x, y = q
        return Chain(
            (
                Transform(About(2, cos(heading), sin(heading)), (x, y, 0.0 - self.radius)),
                Transform(About(0, cos(lean), sin(lean)), _ZERO),
                Transform(Identity(), (0.0, 0.0, self.radius)),
                Transform(About(1, cos(roll), sin(roll)), _ZERO),
            )
        )

    def _up(self, roll: Scalar) -> Vector3:
        """Return the vector from the point of contact to the centre, in the disc's axes."""
        return (0.0 - self.radius * sin(roll), 0.0, self.radius * cos(roll))

    def subspace(self, q: Freedoms) -> Subspace:
        """Return the rotations about the point of contact."""
        r = self._up(q[2])
        units: tuple[Vector3, ...] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
        return Columns(tuple(Motion(e, cross(e, r)) for e in units))

    def bias(self, q: Freedoms, v: Freedoms) -> Motion:
        """Return the bias: the point of contact moves around the disc."""
        _, _, rolling, _, _ = self.rate(q, v)
        x, _, z = self._up(q[2])
        return Motion(_ZERO, cross((v[0], v[1], v[2]), (0.0 - z * rolling, 0.0, x * rolling)))

    def closure(self, R: Matrix3, p: Vector3) -> Rows:
        """Return one residual: the height of the centre less its height at this lean, where the disc touches."""
        upright = sqrt(R[2][0] * R[2][0] + R[2][2] * R[2][2])
        return (p[2] + self.radius - self.radius * upright,)

    def slip(self, R: Matrix3, p: Vector3, V: Motion) -> Rows:
        """Return the velocity of the point of contact, along the plane: the way the disc heads, and across."""
        normal = R[2]
        k = 1.0 / sqrt(normal[0] * normal[0] + normal[2] * normal[2])
        up: Vector3 = (k * normal[0], 0.0, k * normal[2])
        ahead: Vector3 = (up[2], 0.0, 0.0 - up[0])
        there = subtract(V.linear, scale(self.radius, cross(V.angular, up)))
        return (dot(ahead, there), dot(cross(normal, ahead), there))

    def locate(self, R: Matrix3, p: Vector3) -> Freedoms:
        """Return heading, lean and roll, and the point where the disc touches the plane."""
        heading = atan2(0.0 - R[0][1], R[1][1])
        lean = atan2(R[2][1], sqrt(R[0][1] * R[0][1] + R[1][1] * R[1][1]))
        aside = self.radius * R[2][1]
        x, y = p[0] - aside * sin(heading), p[1] + aside * cos(heading)
        return Freedoms((heading, lean, atan2(0.0 - R[2][0], R[2][2]), x, y))

    def gyration(self, q: Freedoms, v: Freedoms, h: Freedoms) -> Freedoms:
        """Return w x h: an angular momentum along the disc's axes turns with them."""
        return Freedoms(cross((v[0], v[1], v[2]), (h[0], h[1], h[2])))

    def rate(self, q: Freedoms, v: Freedoms) -> Freedoms:
        """Return the rate of the positions."""
        heading, lean, roll, _, _ = q
        c, s = cos(roll), sin(roll)
        leaning, across, along = c * v[0] + s * v[2], v[1], c * v[2] - s * v[0]
        turning = along / cos(lean)
        rolling = across - turning * sin(lean)
        distance = self.radius * rolling
        return Freedoms((turning, leaning, rolling, distance * cos(heading), distance * sin(heading)))

    def integrate(self, q: Freedoms, v: Freedoms) -> Freedoms:
        """Step by the classical Runge-Kutta method: rolling at a constant angular velocity has no closed form."""
        k1 = self.rate(q, v)
        k2 = self.rate(q + k1 * 0.5, v)
        k3 = self.rate(q + k2 * 0.5, v)
        k4 = self.rate(q + k3, v)
        return q + (k1 + k2 * 2.0 + k3 * 2.0 + k4) * (1.0 / 6.0)

    def project(self, q: Freedoms) -> Freedoms:
        """Return q: any five numbers are a position."""
        return q

    def difference(self, q0: Freedoms, q1: Freedoms) -> Freedoms:
        """Return the angular velocity that changes the three angles so, to first order.

        Where the disc stands is left out: three velocities cannot lead from anywhere to anywhere.
        """
        turning, leaning, rolling, _, _ = q1 - q0
        lean, roll = 0.5 * (q0[1] + q1[1]), 0.5 * (q0[2] + q1[2])
        c, s = cos(roll), sin(roll)
        across, along = rolling + turning * sin(lean), turning * cos(lean)
        return Freedoms((c * leaning - s * along, across, s * leaning + c * along))

    def random(self, rng: np.random.Generator, shape: tuple[int, ...], lower: Array, upper: Array) -> Array:
        """Return positions with a lean below one radian, unless the limits forbid that."""
        upright = np.maximum(lower, [-np.inf, -1.0, -np.inf, -np.inf, -np.inf])
        return super().random(rng, shape, np.where(upright <= upper, upright, lower), upper)

    @property
    def parameters(self) -> tuple[float, ...]:
        """The radius."""
        return (self.radius,)

    def with_parameters(self, parameters: tuple[Scalar, ...]) -> RollingDisc:
        """Return a disc of another radius."""
        return RollingDisc(*parameters)
