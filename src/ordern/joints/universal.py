"""Universal joints: two rotations about axes that meet at a right angle (a cross, a Cardan joint)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar

import numpy as np

from ..arguments import Array
from ..errors import ModelError
from ..graph import atan2, cos, sin
from ..records import dataclass
from ..spatial import About, Chain, Columns, Freedoms, Motion, Subspace, Transform
from ..spatial.linear import Matrix3, Vector3
from .axis import Axis, unit_axis
from .base import Joint
from .closure import Rows
from .placement import Placement
from .revolute import Revolute

__all__ = ["Universal"]

_ZERO = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Universal(Joint):
    """Rotation about `axis`, fixed in the parent, then about `axis2`, fixed in the child; q are the two angles.

    Both axes are given in the child's frame at the neutral position, and are perpendicular. (Two rotations about axes
    that are not are a `Composite`.)
    """

    axis: Axis = (0.0, 0.0, 1.0)
    axis2: Axis = (1.0, 0.0, 0.0)

    nq: ClassVar[int] = 2
    nv: ClassVar[int] = 2
    angles: ClassVar[tuple[int, ...]] = (0, 1)

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis))
        object.__setattr__(self, "axis2", unit_axis(self.axis2))
        if abs(np.dot(self.axis, self.axis2)) > 1e-6:
            raise ModelError(
                f"the axes of a universal joint must be perpendicular, not {self.axis} and {self.axis2}; two rotations "
                "about other axes are a Composite of two Revolute joints"
            )

    def transform(self, q: Freedoms) -> Chain:
        """Return a turn about z, then about the new x."""
        first, second = About(2, cos(q[0]), sin(q[0])), About(0, cos(q[1]), sin(q[1]))
        return Chain((Transform(first, _ZERO), Transform(second, _ZERO)))

    def subspace(self, q: Freedoms) -> Subspace:
        """Return the parent's z as the child sees it, and the child's x."""
        return Columns((Motion((0.0, sin(q[1]), cos(q[1])), _ZERO), Motion((1.0, 0.0, 0.0), _ZERO)))

    def bias(self, q: Freedoms, v: Freedoms) -> Motion:
        """Return the bias: the parent's z turns in the child's axes."""
        vv = v[0] * v[1]
        return Motion((0.0, cos(q[1]) * vv, -(sin(q[1]) * vv)), _ZERO)

    def closure(self, R: Matrix3, p: Vector3) -> Rows:
        """Return the residuals: the origins meet, and the parent's z is perpendicular to the child's x."""
        return (*p, R[2][0])

    def locate(self, R: Matrix3, p: Vector3) -> Freedoms:
        """Return the two angles, within half a turn of zero."""
        return Freedoms((atan2(R[1][0], R[0][0]), atan2(R[2][1], R[2][2])))

    def serial_parts(self) -> tuple[tuple[Joint, Placement], ...]:
        """Return two hinges."""
        x, _, z = self.working_frame().T.tolist()
        return ((Revolute(tuple(z)), Placement()), (Revolute(tuple(x)), Placement()))

    def working_frame(self) -> Array:
        """Return the frame in which the axes are z and x."""
        z = np.array(self.axis)
        x = np.array(self.axis2) - np.dot(self.axis2, z) * z
        x /= np.linalg.norm(x)
        return np.column_stack([x, np.cross(z, x), z]) + 0.0

    @property
    def kind(self) -> Hashable:
        """All crosses have the same formulas."""
        return Universal
