"""Angular velocity, and the accelerations and forces that come from it alone.

With accelerations that are derivatives in an inertial frame (Jain's alpha, the "classical" acceleration), everything
that depends on velocity depends on angular velocities and on what the joint itself does: bodies' linear velocities are
never needed. Products of two components of one angular velocity are shared by all that use them.
"""

from __future__ import annotations

from dataclasses import dataclass

from .inertia import Inertia
from .linear import ZERO3, Vector3, add, cross, full, matvec, subtract
from .motion import Force, Motion

__all__ = ["Spin"]


@dataclass(frozen=True, slots=True)
class Spin:
    """The angular velocity w of a body, in its own axes."""

    w: Vector3

    @classmethod
    def zero(cls) -> Spin:
        """Rest."""
        return cls(ZERO3)

    def __add__(self, relative: Motion) -> Spin:
        """The angular velocity of a child that moves so relative to its parent."""
        return Spin(add(self.w, relative.angular))

    def centripetal(self, r: Vector3) -> Vector3:
        """The acceleration w x (w x r) of the point r."""
        x, y, z = self.w
        xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
        return (
            xy * r[1] + xz * r[2] - (yy + zz) * r[0],
            xy * r[0] + yz * r[2] - (xx + zz) * r[1],
            xz * r[0] + yz * r[1] - (xx + yy) * r[2],
        )

    def coriolis(self, relative: Motion) -> Motion:
        """The acceleration of this body that comes from its motion relative to the parent (Jain 14)."""
        wJ, uJ = relative.angular, relative.linear
        twice = add(cross(self.w, uJ), cross(self.w, uJ))
        return Motion(cross(self.w, wJ), subtract(twice, cross(wJ, uJ)))

    def gyroscopic(self, inertia: Inertia) -> Force:
        """The force (w x I w, w x (w x h)) that keeps a spinning body from accelerating (Jain 11)."""
        return Force(cross(self.w, matvec(full(inertia.I), self.w)), self.centripetal(inertia.h))
