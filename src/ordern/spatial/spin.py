"""Angular velocity, and the accelerations and forces that come from it alone.

With accelerations that are derivatives in an inertial frame (Jain's alpha, the "classical" acceleration), everything
that depends on velocity depends on angular velocities and on what the joint itself does: bodies' linear velocities are
never needed. Products of two components of one angular velocity are shared by all that use them.
"""

from __future__ import annotations

from ..errors import TraceError
from ..records import dataclass
from .inertia import Inertia
from .linear import ZERO3, Symmetric3, Vector3, add, cross, subtract
from .motion import Force, Motion

__all__ = ["Products", "Spin"]


@dataclass(frozen=True, slots=True)
class Products:
    """The products xx, xy, xz, yy, yz, zz of the components of an angular velocity, in which all here is linear."""

    values: Symmetric3

    def centripetal(self, r: Vector3) -> Vector3:
        """Return the acceleration w x (w x r) of the point r."""
        xx, xy, xz, yy, yz, zz = self.values
        return (
            xy * r[1] + xz * r[2] - (yy + zz) * r[0],
            xy * r[0] + yz * r[2] - (xx + zz) * r[1],
            xz * r[0] + yz * r[1] - (xx + yy) * r[2],
        )

    def gyroscopic(self, inertia: Inertia) -> Force:
        """Return the force (w x I w, w x (w x h)) that keeps a spinning body from accelerating (Jain 11)."""
        xx, xy, xz, yy, yz, zz = self.values
        Ixx, Ixy, Ixz, Iyy, Iyz, Izz = inertia.I
        moment = (
            (Izz - Iyy) * yz + Iyz * (yy - zz) + Ixz * xy - Ixy * xz,
            (Ixx - Izz) * xz + Ixz * (zz - xx) + Ixy * yz - Iyz * xy,
            (Iyy - Ixx) * xy + Ixy * (xx - yy) + Iyz * xz - Ixz * yz,
        )
        return Force(moment, self.centripetal(inertia.h))


@dataclass(frozen=True, slots=True)
class Spin:
    """The angular velocity w of a body, in its own axes."""

    w: Vector3

    @classmethod
    def zero(cls) -> Spin:
        """Return no angular velocity."""
        return cls(ZERO3)

    def __add__(self, relative: Motion) -> Spin:
        """Return the angular velocity of a child that moves so relative to its parent."""
        if type(relative) is not Motion:
            raise TraceError(f"Spin + {type(relative).__name__}: a body's spin changes by a relative Motion")
        return Spin(add(self.w, relative.angular))

    def centripetal(self, r: Vector3) -> Vector3:
        """Return the acceleration w x (w x r) of the point r."""
        return self.products.centripetal(r)

    @property
    def products(self) -> Products:
        """The products of two components."""
        x, y, z = self.w
        return Products((x * x, x * y, x * z, y * y, y * z, z * z))

    def coriolis(self, relative: Motion) -> Motion:
        """Return the acceleration of this body that comes from its motion relative to the parent (Jain 14)."""
        wJ, uJ = relative.angular, relative.linear
        twice = add(cross(self.w, uJ), cross(self.w, uJ))
        return Motion(cross(self.w, wJ), subtract(twice, cross(wJ, uJ)))

    def gyroscopic(self, inertia: Inertia) -> Force:
        """Return the force (w x I w, w x (w x h)) that keeps a spinning body from accelerating (Jain 11)."""
        return self.products.gyroscopic(inertia)
