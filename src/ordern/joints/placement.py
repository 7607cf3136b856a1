"""Placements: where a frame is in another, in numbers that do not change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Array
from ..errors import ModelError
from ..records import dataclass
from ..spatial import Freedoms, Pose

if TYPE_CHECKING:
    from .base import Joint

__all__ = ["Placement", "joint_placement", "placement", "snapped"]

_FLOATS = frozenset({float})


@dataclass(frozen=True, slots=True)
class Placement:
    """The place of a frame in another: a rotation matrix, row by row, and the position of its origin."""

    rotation: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    position: tuple[float, ...] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        for key, n in (("rotation", 9), ("position", 3)):
            given = getattr(self, key)
            if type(given) is tuple and len(given) == n and _FLOATS.issuperset(map(type, given)):
                continue  # as all that is made here
            try:
                numbers = tuple(float(x) for x in given)
            except (TypeError, ValueError, OverflowError):
                numbers = ()
            if len(numbers) != n:
                raise ModelError(f"the {key} of a placement must be {n} numbers in a row, not {given!r}")
            object.__setattr__(self, key, numbers)

    @classmethod
    def of(cls, rotation: ArrayLike, position: ArrayLike) -> Placement:
        """Build a placement from a 3x3 rotation matrix and a position."""
        R, p = np.asarray(rotation, float), np.asarray(position, float)
        if R.shape != (3, 3) or p.shape != (3,):
            raise ModelError(
                f"a placement is a 3x3 rotation and 3 numbers, not arrays of shape {R.shape} and {p.shape}"
            )
        if not (np.isfinite(R).all() and np.isfinite(p).all()):
            raise ModelError("a placement must be finite")
        return _rigid(cls(tuple(R.ravel().tolist()), tuple(p.tolist())), "placement")

    @classmethod
    def xyz_rpy(cls, xyz: Sequence[float], rpy: Sequence[float] = (0.0, 0.0, 0.0)) -> Placement:
        """Build a placement from a position and roll, pitch, yaw: rotations about the fixed axes x, then y, then z."""
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

    @property
    def inverse(self) -> Placement:
        """The placement of the other frame in this one."""
        R = self.R.T
        return Placement(tuple(R.ravel().tolist()), tuple((0.0 - R @ self.p).tolist()))

    def __matmul__(self, inner: Placement) -> Placement:
        """Return the placement of a frame that is placed at `inner` in this one."""
        R = self.R
        with np.errstate(all="ignore"):
            both = Placement(tuple((R @ inner.R).ravel().tolist()), tuple((self.p + R @ inner.p).tolist()))
        return _finite(both, "a frame fixed to another")


def placement(at: Placement | Sequence[float] | ArrayLike, what: str = "placement") -> Placement:
    """Return a Placement from what people write: one, a position, a (position, rpy) pair, or a 4x4 matrix."""
    if isinstance(at, Placement):
        return _rigid(_finite(at, what), what)
    try:
        if isinstance(at, (tuple, list)) and len(at) == 2 and np.ndim(at[0]) == 1:
            return _finite(Placement.xyz_rpy(*at), what)
        a = np.asarray(at, float)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{what}: cannot read {at!r} as a placement") from None
    if a.shape == (3,):
        return _finite(Placement(position=tuple(a.tolist())), what)
    if a.shape == (4, 4):
        if not np.array_equal(a[3], (0.0, 0.0, 0.0, 1.0)):
            raise ModelError(f"{what}: the last row of a 4x4 matrix must be 0 0 0 1, not {a[3].tolist()}")
        return Placement.of(a[:3, :3], a[:3, 3])
    raise ModelError(f"{what}: give a position of 3 numbers, a pair (xyz, rpy) or a 4x4 matrix, not shape {a.shape}")


def joint_placement(joint: Joint, q: Sequence[float]) -> Placement:
    """Return the placement of a joint's child at a position: its frame in the joint's, both in their own axes."""
    P, Q = joint.transform(Freedoms(q)).child(Pose.zero()), joint.working_frame()
    return Placement.of(Q @ np.array(P.rotation, float) @ Q.T, Q @ np.array(P.position, float))


def snapped(E: Array, within: float) -> Array:
    """Round entries that differ from 0, 1 or -1 only by rounding; there are no negative zeros."""
    near = np.round(E)
    return np.where(np.abs(E - near) < within, near, E) + 0.0


def _finite(p: Placement, what: str) -> Placement:
    if not all(map(math.isfinite, (*p.rotation, *p.position))):
        raise ModelError(f"{what}: a placement must be finite")
    return p


def _rigid(p: Placement, what: str) -> Placement:
    """Return a placement; raise unless its rotation has orthonormal rows, in right-handed order."""
    a, b, c, d, e, f, g, h, i = p.rotation
    rows = (a * a + b * b + c * c - 1.0, d * d + e * e + f * f - 1.0, g * g + h * h + i * i - 1.0)
    angles = (a * d + b * e + c * f, a * g + b * h + c * i, d * g + e * h + f * i)
    volume = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    if max(map(abs, (*rows, *angles))) > 1e-6 or volume < 0.0:
        raise ModelError(f"{what}: not a rotation matrix: {[[a, b, c], [d, e, f], [g, h, i]]}")
    return p
