"""The parts of a model: bodies, joints, frames, shapes, loops. All are immutable."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ModelError
from ..joints import Joint

__all__ = [
    "BASE",
    "SHAPES",
    "Body",
    "Connection",
    "Coupling",
    "Frame",
    "Loop",
    "Mimic",
    "Note",
    "Placement",
    "Shape",
    "placement",
]

Array = NDArray[np.float64]
BASE = -1
"""The index of the base: what does not move, and has no entry in `Model.bodies`."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a frame is in another: a rotation matrix, row by row, and the position of its origin."""

    rotation: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    position: tuple[float, ...] = (0.0, 0.0, 0.0)

    @classmethod
    def of(cls, rotation: ArrayLike, position: ArrayLike) -> Placement:
        """From a 3x3 rotation matrix and a position."""
        R, p = np.asarray(rotation, float), np.asarray(position, float)
        if R.shape != (3, 3) or p.shape != (3,):
            raise ModelError(
                f"a placement is a 3x3 rotation and 3 numbers, not arrays of shape {R.shape} and {p.shape}"
            )
        if not (np.isfinite(R).all() and np.isfinite(p).all()):
            raise ModelError("a placement must be finite")
        if not np.allclose(R @ R.T, np.eye(3), atol=1e-6) or np.linalg.det(R) < 0:
            raise ModelError(f"not a rotation matrix: {R.tolist()}")
        return cls(tuple(R.ravel().tolist()), tuple(p.tolist()))

    @classmethod
    def xyz_rpy(cls, xyz: Sequence[float], rpy: Sequence[float] = (0.0, 0.0, 0.0)) -> Placement:
        """From a position and roll, pitch and yaw: turns about the fixed axes x, then y, then z."""
        (r, p, y), (px, py, pz) = rpy, xyz
        if r == 0.0 and p == 0.0 and y == 0.0:
            return cls(position=(float(px), float(py), float(pz)))
        cr, sr, cp, sp, cy, sy = (f(a) for a in (r, p, y) for f in (math.cos, math.sin))
        rotation = (
            *(cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
            *(sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
            *(-sp, cp * sr, cp * cr),
        )
        return cls(rotation, (float(px), float(py), float(pz)))

    @property
    def R(self) -> Array:
        """The rotation matrix."""
        return np.array(self.rotation).reshape(3, 3)

    @property
    def p(self) -> Array:
        """The position."""
        return np.array(self.position)

    @property
    def matrix(self) -> Array:
        """The 4x4 homogeneous matrix."""
        M = np.eye(4)
        M[:3, :3], M[:3, 3] = self.R, self.p
        return M

    def __matmul__(self, inner: Placement) -> Placement:
        """The placement of a frame that is placed at `inner` in this one."""
        R = self.R
        with np.errstate(all="ignore"):
            both = Placement(tuple((R @ inner.R).ravel().tolist()), tuple((self.p + R @ inner.p).tolist()))
        return _finite(both, "a frame fixed to another")


def placement(at: Placement | Sequence[float] | ArrayLike, what: str = "placement") -> Placement:
    """A Placement from what people write: one, a position, a (position, rpy) pair, or a 4x4 matrix."""
    if isinstance(at, Placement):
        return at
    try:
        if isinstance(at, (tuple, list)) and len(at) == 2 and np.ndim(at[0]) == 1:
            return _finite(Placement.xyz_rpy(*at), what)
        a = np.asarray(at, float)
    except (TypeError, ValueError):
        raise ModelError(f"{what}: cannot read {at!r} as a placement") from None
    if a.shape == (3,):
        return _finite(Placement(position=tuple(a.tolist())), what)
    if a.shape == (4, 4):
        if not np.array_equal(a[3], (0.0, 0.0, 0.0, 1.0)):
            raise ModelError(f"{what}: the last row of a 4x4 matrix must be 0 0 0 1, not {a[3].tolist()}")
        return Placement.of(a[:3, :3], a[:3, 3])
    raise ModelError(f"{what}: give a position of 3 numbers, a pair (xyz, rpy) or a 4x4 matrix, not shape {a.shape}")


def _finite(p: Placement, what: str) -> Placement:
    if not all(map(math.isfinite, (*p.rotation, *p.position))):
        raise ModelError(f"{what}: a placement must be finite")
    return p


@dataclass(frozen=True, slots=True)
class Body:
    """A rigid body: mass, centre of mass, and inertia about it, in the axes of the body's own frame."""

    name: str
    mass: float
    com: tuple[float, float, float]
    inertia: tuple[float, ...]
    """(xx, yy, zz, xy, xz, yz) about the centre of mass."""
    where: str = field(default="", compare=False)
    """File and line that it came from."""

    @property
    def inertia_matrix(self) -> Array:
        """The 3x3 inertia about the centre of mass."""
        xx, yy, zz, xy, xz, yz = self.inertia
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

    def __repr__(self) -> str:
        return f"Body({self.name!r}, mass={self.mass:.6g})"


@dataclass(frozen=True, slots=True)
class Mimic:
    """A joint that follows another: its position is ratio * q + offset, with q of the joint that it follows."""

    joint: int
    """The index of the joint that is followed; that one follows no other."""
    ratio: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class Connection:
    """A joint of a model: what it connects, where, with which limits. Its formulas are in `type`."""

    name: str
    type: Joint
    parent: int
    """The index of the parent body; -1 is the base."""
    placement: Placement
    """Of the joint's frame in the parent's. At the neutral position the child's frame is there."""
    q_start: int
    v_start: int
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    velocity_limit: tuple[float, ...]
    effort_limit: tuple[float, ...]
    damping: tuple[float, ...]
    friction: tuple[float, ...]
    armature: tuple[float, ...]
    stiffness: tuple[float, ...]
    rest: tuple[float, ...]
    """The position in which its spring is at rest."""
    mimic: Mimic | None = None
    """If it follows another joint: then it has no coordinates of its own, and `q` and `v` are that joint's."""
    where: str = field(default="", compare=False)
    """File and line that it came from."""

    @property
    def nq(self) -> int:
        """Number of positions of its own."""
        return 0 if self.mimic else self.type.nq

    @property
    def nv(self) -> int:
        """Number of velocities of its own."""
        return 0 if self.mimic else self.type.nv

    @property
    def q(self) -> slice:
        """Where this joint's positions are in q."""
        return slice(self.q_start, self.q_start + self.type.nq)

    @property
    def v(self) -> slice:
        """Where this joint's velocities are in v, a and tau."""
        return slice(self.v_start, self.v_start + self.type.nv)

    def __repr__(self) -> str:
        return f"Connection({self.name!r}, {type(self.type).__name__})"


@dataclass(frozen=True, slots=True)
class Frame:
    """A named frame fixed to a body (or, with body -1, to the base)."""

    name: str
    body: int
    placement: Placement = Placement()

    def __repr__(self) -> str:
        return f"Frame({self.name!r}, body={self.body})"


SHAPES = {"box": 3, "sphere": 1, "cylinder": 2, "capsule": 2, "ellipsoid": 3, "plane": 0, "mesh": 3}
"""Kinds of shapes, and how many numbers `Shape.size` has for them."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a body looks like, or collides with: kept for viewers and checks, no part of the dynamics.

    `size` of a box are its three sides, of a sphere its radius, of a cylinder or capsule radius and length along z
    (without the caps), of an ellipsoid its half axes, of a mesh the scale along x, y and z.
    """

    body: int
    """The index of the body; -1 is the base."""
    kind: str
    """One of SHAPES."""
    size: tuple[float, ...]
    placement: Placement = Placement()
    file: str = ""
    """Of a mesh, as the description has it: a relative path, or package://..."""
    role: str = "visual"
    """"visual" or "collision"."""
    color: tuple[float, float, float, float] | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class Loop:
    """A joint that closes a loop, between a frame on one body and a frame on another.

    The tree does not have it; what it forbids is a constraint on the tree's motion.
    """

    name: str
    type: Joint
    """The motion of the child's frame relative to the parent's that is left free."""
    parent: int
    parent_placement: Placement
    child: int
    child_placement: Placement
    where: str = field(default="", compare=False)

    def __repr__(self) -> str:
        return f"Loop({self.name!r}, {type(self.type).__name__})"


@dataclass(frozen=True, slots=True)
class Coupling:
    """A constraint between coordinates: that of `joint` is a polynomial of that of `other`.

    q_joint = c0 + c1 q_other + c2 q_other^2 + ...; without another joint (index -1), q_joint = c0.
    """

    name: str
    joint: int
    other: int
    coefficients: tuple[float, ...]
    where: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Note:
    """Something that a loader noticed and went on from."""

    message: str
    where: str = ""
    suggestion: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message
