"""Mobility: the symmetric matrix Y with acceleration = Y force, of a free body or of a body of a mechanism."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar, overload

from ..graph import Scalar
from ..records import dataclass
from ..spatial import (
    About,
    ArticulatedInertia,
    Chain,
    Columns,
    Factor,
    Force,
    Forces,
    Freedoms,
    Identity,
    Inertia,
    Motion,
    Rotation,
    Subspace,
    Transform,
    leaves,
    rebuild,
)
from ..spatial.linear import ZERO3, Symmetric3, Vector3, dot, full, negative, scale, transpose, upper
from .factors.linear import Rows, inverse

__all__ = ["Mobility", "gram", "reduced"]

V = TypeVar("V", Motion, Force, Freedoms)
_SWAP = (3, 4, 5, 0, 1, 2)


def gram(vectors: Iterable[tuple[Scalar, ...]], weights: tuple[Scalar, ...]) -> ArticulatedInertia:
    """Return the sum of w x x^T over vectors x of six numbers, with weights w."""
    rows = list(zip(*vectors, strict=True)) or [()] * 6
    scaled = [tuple(x * w for x, w in zip(row, weights, strict=True)) for row in rows]
    return ArticulatedInertia.of_upper({(r, c): dot(scaled[r], rows[c]) for r in range(6) for c in range(r, 6)})


def reduced(A: Factor, b: Iterable[V]) -> list[V]:
    """Return the vectors z = L^-1 b for A = L d L^T, so that b^T A^-1 b is the sum of z z^T / d."""
    z: list[V] = []
    for row, x in zip(A.lower, b, strict=True):
        for factor, done in zip(row, z, strict=True):
            x = x - done * factor
        z.append(x)
    return z


@dataclass(frozen=True, slots=True)
class Mobility:
    """The matrix Y about a frame's origin, in its axes.

    A force (n, f) with swapped halves, (f, n), transforms as a motion does. So Y is stored as the inertia that relates
    such motions: Y goes from a parent to a child as an inertia goes from a child to its parent.
    """

    swapped: ArticulatedInertia

    @classmethod
    def zero(cls) -> Mobility:
        """Return the mobility of a body that cannot be moved."""
        return cls(ArticulatedInertia.zero())

    @classmethod
    def of(cls, inertia: Inertia) -> Mobility:
        """Invert the inertia of a free body: mass and rotational inertia about its mass centre, then shifted back."""
        m, h, c = 1.0 / inertia.m, inertia.h, scale(1.0 / inertia.m, inertia.h)
        hc, I = dot(h, c), full(inertia.I)
        about_centre = Factor.of(
            tuple(tuple(I[r][k] - (hc if r == k else 0.0) + h[r] * c[k] for k in range(3)) for r in range(3))
        )
        x, y, z = (about_centre.solve(tuple(1.0 if r == k else 0.0 for r in range(3))) for k in range(3))
        W = upper(((x[0], y[0], z[0]), (0.0, y[1], z[1]), (0.0, 0.0, z[2])))
        return cls(ArticulatedInertia((m, 0.0, 0.0, m, 0.0, m), (ZERO3, ZERO3, ZERO3), W).shifted(c))

    @classmethod
    def of_rows(cls, rows: Sequence[Sequence[Scalar]]) -> Mobility:
        """Build the matrix from six rows; only the half on and above the diagonal is read."""
        half = {(r, c): rows[min(x, y)][max(x, y)] for r, x in enumerate(_SWAP) for c, y in enumerate(_SWAP) if r <= c}
        return cls(ArticulatedInertia.of_upper(half))

    @classmethod
    def gram(cls, motions: Iterable[Motion], weights: tuple[Scalar, ...]) -> Mobility:
        """Return the sum of w m m^T over motions m, with weights w."""
        return cls(gram((m.linear + m.angular for m in motions), weights))

    def __add__(self, other: Mobility) -> Mobility:
        return Mobility(self.swapped + other.swapped)

    def __sub__(self, other: Mobility) -> Mobility:
        pairs = zip(leaves(self.swapped), leaves(other.swapped), strict=True)
        return Mobility(rebuild(self.swapped, iter([a - b for a, b in pairs])))

    @overload
    def __matmul__(self, f: Force) -> Motion: ...
    @overload
    def __matmul__(self, f: Forces) -> Columns: ...
    def __matmul__(self, f: Force | Forces) -> Motion | Columns:
        """Return the acceleration by a force, or by each of several."""
        if isinstance(f, Forces):
            return Columns(tuple(self @ one for one in f.columns))
        a = self.swapped @ Motion(f.linear, f.angular)
        return Motion(a.linear, a.angular)

    def rows(self) -> Rows:
        """Return the six rows, angular first."""
        A = self.swapped.rows()
        return tuple(tuple(A[r][c] for c in _SWAP) for r in _SWAP)

    def carried(self, X: Chain | Transform) -> Mobility:
        """Return X Y X^T, the matrix in the frame that X leads to."""
        Y = self.swapped
        for step in X.factors if isinstance(X, Chain) else (X,):
            Y = Y.shifted(negative(step.r)).turned_back(_reverse(step.rotation))
        return Mobility(Y)

    def through(self, S: Subspace, G: Forces, D: Factor) -> Mobility:
        """Return (1 - S G^T) Y (1 - G S^T) + S D^-1 S^T, for the body beyond a joint that gives way.

        For a joint of unit motions without armature, 1 - S G^T is exactly zero where it must be.
        """
        six = range(6)
        s = [[m.scalars[r] for m in S.columns] for r in six]
        g = [[f.scalars[r] for f in G.columns] for r in six]
        N = [[(1.0 if r == c else 0.0) - dot(s[r], g[c]) for c in six] for r in six]
        Y, Di = self.rows(), inverse(D)
        NY = [[dot(N[r], Y[c]) for c in six] for r in six]
        SDi = [[dot(s[r], row) for row in Di] for r in six]
        return Mobility.of_rows([[dot(NY[r], N[c]) + dot(SDi[r], s[c]) for c in six] for r in six])


@dataclass(frozen=True, slots=True)
class _Back(Rotation):
    """The inverse of a change of axes."""

    undone: Rotation

    def apply(self, x: Vector3) -> Vector3:
        return self.undone.back(x)

    def back(self, x: Vector3) -> Vector3:
        return self.undone.apply(x)

    def back_symmetric(self, A: Symmetric3) -> Symmetric3:
        rows = full(A)
        x, y, z = transpose((self.back(rows[0]), self.back(rows[1]), self.back(rows[2])))
        return upper((self.back(x), self.back(y), self.back(z)))


def _reverse(rotation: Rotation) -> Any:
    if isinstance(rotation, Identity):
        return rotation
    return About(rotation.axis, rotation.c, -rotation.s) if isinstance(rotation, About) else _Back(rotation)
