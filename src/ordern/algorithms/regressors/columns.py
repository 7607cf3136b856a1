"""The columns of regressors: numbers for unit parameters of one body, and their places in a result.

A body has ten inertial parameters: m, the first moments h, and the second moments xx, yy, zz, xy, xz, yz about the
origin of its own frame, in its axes. The force that moves it is linear in them,

    f = (I alpha + w x I w + h x a,    m a + alpha x h + w x (w x h))

and so are its momentum and its energies. A regressor needs the power s . f along motions s of other bodies, seen from
this one; a row of ten numbers is the power for a unit of each parameter.

A result has a column for each number of theta: ten for each body, then armature, damping and Coulomb friction for each
freedom of each joint. This is the order of `Parameters.flatten("inertia", "armature", "damping", "joint_friction")`.
"""

from __future__ import annotations

from ...graph import Scalar
from ...model import Index, Output, Tree
from ...records import dataclass
from ...spatial import Motion, Pose, Transform, Turn
from ...spatial.linear import Matrix3, Vector3, add, cross, dot, matvec, transpose

__all__ = ["UNITS", "BodyMotion", "drive_columns", "in_body", "own_axes", "row_of_momentum", "to_body"]

Row = tuple[Scalar, ...]
UNITS = tuple(Motion.of(tuple(1.0 if k == axis else 0.0 for k in range(6))) for axis in range(6))
"""The motions along and about the axes of a frame, angular ones first."""


@dataclass(frozen=True, slots=True)
class BodyMotion:
    """The motion of a body in its own axes, as far as forces depend on it."""

    w: Vector3
    alpha: Vector3
    a: Vector3
    """The acceleration of the origin, less that of gravity."""
    turning: Matrix3
    """The matrix B of alpha x h + w x (w x h) = B h."""

    @classmethod
    def of(cls, w: Vector3, a: Motion) -> BodyMotion:
        """Make it from the angular velocity and the acceleration, both in the body's own axes."""
        (x, y, z), (p, q, r) = w, a.angular
        xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
        B = ((-(yy + zz), xy - r, xz + q), (xy + r, -(xx + zz), yz - p), (xz - q, yz + p, -(xx + yy)))
        return cls(w, a.angular, a.linear, B)

    def row(self, s: Motion) -> Row:
        """Return the power along s of the force that moves the body, for a unit of each of its ten parameters."""
        first = add(matvec(transpose(self.turning), s.linear), cross(self.a, s.angular))
        turned, direct = _moments(cross(s.angular, self.w), self.w), _moments(s.angular, self.alpha)
        return (dot(s.linear, self.a), *first, *(x + y for x, y in zip(direct, turned, strict=True)))


def row_of_momentum(s: Motion, v: Motion) -> Row:
    """Return the product of s and the momentum of a body that moves at v, for a unit of each of its ten parameters."""
    first = add(cross(s.linear, v.angular), cross(v.linear, s.angular))
    return (dot(s.linear, v.linear), *first, *_moments(s.angular, v.angular))


def _moments(x: Vector3, y: Vector3) -> Row:
    """Return x . I y for a unit of each of the six second moments."""
    mixed = (x[0] * y[1] + x[1] * y[0], x[0] * y[2] + x[2] * y[0], x[1] * y[2] + x[2] * y[1])
    return (x[0] * y[0], x[1] * y[1], x[2] * y[2], *mixed)


def own_axes(i: Index, m: Motion) -> Motion:
    """Return a motion in the body's own axes, in which its parameters are, from its working axes."""
    return Motion(i.turn.back(m.angular), i.turn.back(m.linear))


def in_body(i: Index, pose: Pose) -> Pose:
    """Return the pose of a body's own frame, given that of its working frame."""
    x, y, z = pose.rotation
    return Pose((i.turn.back(x), i.turn.back(y), i.turn.back(z)), pose.position)


def to_body(pose: Pose) -> Transform:
    """Return the transform from the reference frame to the frame with this pose."""
    return Transform(Turn(transpose(pose.rotation)), pose.position)


def drive_columns(tree: Tree, result: Output, kind: str) -> tuple[Output, Output, Output]:
    """Return the columns of armature, damping and friction of a result."""
    joints = tree.model.joints
    start, count = 10 * len(joints), sum(c.type.nv for c in joints)
    armature, damping, friction = (result.columns(start + k * count, kind) for k in range(3))
    return armature, damping, friction
