"""Inertias: of a rigid body (10 numbers) and of an articulated one (21 numbers).

Symmetric parts are stored as halves. That is not only thrift: a 6x6 matrix that is not kept symmetric loses all
accuracy on long chains of joints with several freedoms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import TraceError
from ..graph import Scalar
from ..records import dataclass
from .linear import (
    ZERO3,
    Matrix3,
    Symmetric3,
    Vector3,
    add,
    cross,
    dot,
    full,
    matmul,
    matvec,
    outer_shift,
    scale,
    skew,
    subtract,
    transpose,
)
from .motion import Force, Motion

if TYPE_CHECKING:
    from .transform import Rotation

__all__ = ["ArticulatedInertia", "Inertia"]

_NONE: Symmetric3 = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def _sum(a: Symmetric3, b: Symmetric3) -> Symmetric3:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5])


def _same(a: object, b: object) -> None:
    if type(a) is not type(b):
        raise TraceError(f"{type(a).__name__} + {type(b).__name__}: only inertias of one kind can be added")


def _needs_motion(inertia: object, v: object) -> None:
    if type(v) is not Motion:
        raise TraceError(f"{type(inertia).__name__} @ {type(v).__name__}: an inertia acts on a Motion")


@dataclass(frozen=True, slots=True)
class Inertia:
    """A rigid body's inertia about a frame's origin: mass m, first moment h = m c, second moment I."""

    m: Scalar
    h: Vector3
    I: Symmetric3

    @classmethod
    def zero(cls) -> Inertia:
        """Return no inertia."""
        return cls(0.0, ZERO3, _NONE)

    def __add__(self, other: Inertia) -> Inertia:
        _same(self, other)
        return Inertia(self.m + other.m, add(self.h, other.h), _sum(self.I, other.I))

    def __sub__(self, other: Inertia) -> Inertia:
        _same(self, other)
        a, b = self.I, other.I
        rest = (a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3], a[4] - b[4], a[5] - b[5])
        return Inertia(self.m - other.m, subtract(self.h, other.h), rest)

    def __matmul__(self, v: Motion) -> Force:
        """Return the momentum of a velocity, or the force of an acceleration."""
        _needs_motion(self, v)
        return Force(
            add(matvec(full(self.I), v.angular), cross(self.h, v.linear)),
            subtract(scale(self.m, v.linear), cross(self.h, v.angular)),
        )

    def articulated(self) -> ArticulatedInertia:
        """Return the same as an articulated inertia."""
        m = self.m
        return ArticulatedInertia(self.I, skew(self.h), (m, 0.0, 0.0, m, 0.0, m))

    def turned_back(self, rotation: Rotation) -> Inertia:
        """Return the inertia in the axes before the rotation."""
        return Inertia(self.m, rotation.back(self.h), rotation.back_symmetric(self.I))

    def shifted(self, r: Vector3) -> Inertia:
        """Return the inertia about an origin from which the present one is at r."""
        mr = scale(self.m, r)
        half = (0.5 * mr[0], 0.5 * mr[1], 0.5 * mr[2])
        return Inertia(self.m, add(self.h, mr), _sum(self.I, outer_shift(r, add(self.h, half))))


@dataclass(frozen=True, slots=True)
class ArticulatedInertia:
    """The symmetric matrix [[I, H], [H^T, M]]: the inertia of a body that carries others."""

    I: Symmetric3
    H: Matrix3
    M: Symmetric3

    @classmethod
    def zero(cls) -> ArticulatedInertia:
        """Return no inertia."""
        return cls(_NONE, (ZERO3, ZERO3, ZERO3), _NONE)

    @classmethod
    def of_upper(cls, A: dict[tuple[int, int], Scalar]) -> ArticulatedInertia:
        """Build it from the entries (row, column) of the upper half of the 6x6 matrix."""
        half = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
        a, b, c, d, e, f = (A[k] for k in half)
        g, h, i, j, k, l = (A[r + 3, c + 3] for r, c in half)
        H0, H1, H2 = ((A[r, 3], A[r, 4], A[r, 5]) for r in range(3))
        return cls((a, b, c, d, e, f), (H0, H1, H2), (g, h, i, j, k, l))

    def rows(self) -> tuple[tuple[Scalar, ...], ...]:
        """Return the six rows of the matrix."""
        I, H, M = full(self.I), self.H, full(self.M)
        Ht = transpose(H)
        return (*(I[k] + H[k] for k in range(3)), *(Ht[k] + M[k] for k in range(3)))

    def __add__(self, other: ArticulatedInertia) -> ArticulatedInertia:
        _same(self, other)
        a, b = self.H, other.H
        return ArticulatedInertia(
            _sum(self.I, other.I),
            (add(a[0], b[0]), add(a[1], b[1]), add(a[2], b[2])),
            _sum(self.M, other.M),
        )

    def __matmul__(self, a: Motion) -> Force:
        """Return the force that this acceleration takes."""
        _needs_motion(self, a)
        w, v = a.angular, a.linear
        return Force(
            add(matvec(full(self.I), w), matvec(self.H, v)),
            add(matvec(transpose(self.H), w), matvec(full(self.M), v)),
        )

    def turned_back(self, rotation: Rotation) -> ArticulatedInertia:
        """Return the inertia in the axes before the rotation."""
        return ArticulatedInertia(
            rotation.back_symmetric(self.I), rotation.back_matrix(self.H), rotation.back_symmetric(self.M)
        )

    def shifted(self, r: Vector3) -> ArticulatedInertia:
        """Return the inertia about an origin from which the present one is at r.

        H' = H + r~ M and I' = I + r~ K^T + (r~ K^T)^T. K is half of H + H'; the halves are taken
        with r, which is mostly constant.
        """
        rx, (x, y, z) = skew(r), (0.5 * r[0], 0.5 * r[1], 0.5 * r[2])
        rM = matmul(rx, full(self.M))
        H = (add(self.H[0], rM[0]), add(self.H[1], rM[1]), add(self.H[2], rM[2]))
        K = (add(self.H[0], H[0]), add(self.H[1], H[1]), add(self.H[2], H[2]))
        I = self.I
        return ArticulatedInertia(
            (
                I[0] + dot(rx[0], K[0]),
                I[1] + (z * (K[0][0] - K[1][1]) + y * K[1][2] - x * K[0][2]),
                I[2] + (y * (K[2][2] - K[0][0]) + x * K[0][1] - z * K[2][1]),
                I[3] + dot(rx[1], K[1]),
                I[4] + (x * (K[1][1] - K[2][2]) + z * K[2][0] - y * K[1][0]),
                I[5] + dot(rx[2], K[2]),
            ),
            H,
            self.M,
        )
