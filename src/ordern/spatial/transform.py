"""Transforms between frames, kept as their factors, and poses.

`X` takes motion vectors from a parent's frame to a child's: `X @ m`. Its transpose takes forces back, `X.T @ f`,
and inertias, `X.T @ I @ X`. A joint's transform is a constant placement followed by the motion of the joint; applying
the factors one after the other needs fewer operations than applying their product, because each is mostly zeros
and ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeGuard, TypeVar, overload

from ..errors import TraceError
from ..graph import Scalar
from ..records import dataclass
from .inertia import ArticulatedInertia, Inertia
from .linear import (
    IDENTITY3,
    ZERO3,
    Matrix3,
    Symmetric3,
    Vector3,
    add,
    cross,
    full,
    matmul,
    matvec,
    product_symmetric,
    subtract,
    transpose,
    upper,
)
from .motion import Force, Motion
from .spin import Spin
from .subspace import Forces

__all__ = ["About", "Chain", "Identity", "Pose", "Rotation", "Transform", "Turn", "factors"]

I = TypeVar("I", Inertia, ArticulatedInertia)


class Rotation(ABC):
    """A change of axes. `apply` takes coordinates from the old axes to the new, `back` the other way."""

    @abstractmethod
    def apply(self, x: Vector3) -> Vector3:
        """Return a vector's coordinates in the new axes."""

    @abstractmethod
    def back(self, x: Vector3) -> Vector3:
        """Return a vector's coordinates in the old axes."""

    @abstractmethod
    def back_symmetric(self, A: Symmetric3) -> Symmetric3:
        """Return a symmetric matrix's coordinates in the old axes."""

    def back_matrix(self, A: Matrix3) -> Matrix3:
        """Return a matrix's coordinates in the old axes."""
        rows = (self.back(A[0]), self.back(A[1]), self.back(A[2]))
        columns = transpose(rows)
        return transpose((self.back(columns[0]), self.back(columns[1]), self.back(columns[2])))


@dataclass(frozen=True, slots=True)
class Identity(Rotation):
    """No change of axes."""

    def apply(self, x: Vector3) -> Vector3:
        """Return x itself."""
        return x

    def back(self, x: Vector3) -> Vector3:
        """Return x itself."""
        return x

    def back_symmetric(self, A: Symmetric3) -> Symmetric3:
        """Return A itself."""
        return A


@dataclass(frozen=True, slots=True)
class About(Rotation):
    """New axes turned about one coordinate axis, by an angle with cosine c and sine s.

    In the plane of the other two axes, j and k, a matrix is a part that the turn leaves alone and a part that it turns
    by twice the angle; only the latter costs products.
    """

    axis: int
    c: Scalar
    s: Scalar

    @property
    def _plane(self) -> tuple[int, int, int]:
        return self.axis, (self.axis + 1) % 3, (self.axis + 2) % 3

    def apply(self, x: Vector3) -> Vector3:
        """Return the coordinates in the turned axes."""
        i, j, k = self._plane
        y = [x[i]] * 3
        y[j], y[k] = _turned(self.c, self.s, x[j], x[k])
        return (y[0], y[1], y[2])

    def back(self, x: Vector3) -> Vector3:
        """Return the coordinates in the axes before turning."""
        i, j, k = self._plane
        y = [x[i]] * 3
        y[k], y[j] = _turned(self.c, self.s, x[k], x[j])
        return (y[0], y[1], y[2])

    def _change(self, difference: Scalar, sum: Scalar) -> tuple[Scalar, Scalar]:
        """Return the amounts that the turn takes from the first diagonal entry, and adds to both others."""
        c, s = self.c, self.s
        if _generic(c, s):
            h = difference + (c / s) * sum
            return (s * s) * h, (c * s) * h - sum
        if isinstance(c, float) and c == 0.0:
            return s * s * difference, 0.0 - sum
        h = s * difference + c * sum
        return s * h, c * h - sum

    def back_symmetric(self, A: Symmetric3) -> Symmetric3:
        """Return the coordinates before turning."""
        return upper(self.back_matrix(full(A), symmetric=True))

    def back_matrix(self, A: Matrix3, symmetric: bool = False) -> Matrix3:
        """Return the coordinates before turning."""
        i, j, k = self._plane
        down, across = self._change(A[j][j] - A[k][k], A[j][k] + A[k][j])
        row = self.back(A[i])
        column = row if symmetric else self.back((A[0][i], A[1][i], A[2][i]))
        rows = [[row[c] if r == i else column[r] for c in range(3)] for r in range(3)]
        rows[j][j], rows[k][k] = A[j][j] - down, A[k][k] + down
        rows[j][k], rows[k][j] = A[j][k] + across, A[k][j] + across
        x, y, z = ((r[0], r[1], r[2]) for r in rows)
        return (x, y, z)


def _turned(c: Scalar, s: Scalar, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """Return (c x + s y, c y - s x). A constant turn is three shears, with three products instead of four."""
    if not _generic(c, s):
        return c * x + s * y, c * y - s * x
    if c < 0.0:
        c, s, x, y = -c, -s, 0.0 - x, 0.0 - y
    t = s / (1.0 + c)
    sheared = x + t * y
    y = y - s * sheared
    return sheared + t * y, y


def _generic(c: Scalar, s: Scalar) -> TypeGuard[float]:
    """Return True if cosine and sine are numbers, and both have a finite inverse."""
    return isinstance(c, float) and isinstance(s, float) and abs(c) > 1e-100 and abs(s) > 1e-100


@dataclass(frozen=True, slots=True)
class Turn(Rotation):
    """Any change of axes, by the matrix E that takes old coordinates to new."""

    E: Matrix3

    def apply(self, x: Vector3) -> Vector3:
        """Return E x."""
        return matvec(self.E, x)

    def back(self, x: Vector3) -> Vector3:
        """Return E^T x."""
        return matvec(transpose(self.E), x)

    def back_symmetric(self, A: Symmetric3) -> Symmetric3:
        """Return E^T A E."""
        return product_symmetric(matmul(transpose(self.E), full(A)), self.E)


class _Coordinates(ABC):
    """Transforms one after the other, from the parent to the child: the common part of Transform and Chain."""

    __slots__ = ()

    @property
    @abstractmethod
    def factors(self) -> tuple[Transform, ...]:
        """The transforms, from the parent to the child."""

    def _motion(self, m: Motion) -> Motion:
        for X in self.factors:
            m = X._motion(m)
        return m

    def _spin(self, w: Spin) -> Spin:
        for X in self.factors:
            w = Spin(X.rotation.apply(w.w))
        return w

    def _force_back(self, f: Force) -> Force:
        for X in reversed(self.factors):
            f = X._force_back(f)
        return f

    def _inertia_back(self, inertia: I) -> I:
        for X in reversed(self.factors):
            inertia = inertia.turned_back(X.rotation).shifted(X.r)
        return inertia

    @property
    def origin(self) -> Vector3:
        """The child's origin, in the parent's frame."""
        at = ZERO3
        for X in reversed(self.factors):
            at = add(X.r, X.rotation.back(at))
        return at

    def child(self, parent: Pose) -> Pose:
        """Return the pose of the child's frame, given its parent's."""
        for X in self.factors:
            parent = X.child(parent)
        return parent

    def parent(self, child: Pose) -> Pose:
        """Return the pose of the parent's frame, given its child's."""
        for X in reversed(self.factors):
            child = X.parent(child)
        return child

    def centripetal(self, w: Spin) -> Motion:
        """Return the acceleration of the child's origin, in the parent's axes, when the parent turns at w."""
        return Motion(ZERO3, w.centripetal(self.origin))

    @overload
    def __matmul__(self, other: Motion) -> Motion: ...
    @overload
    def __matmul__(self, other: Spin) -> Spin: ...
    def __matmul__(self, other: Any) -> Any:
        if type(other) is Motion:
            return self._motion(other)
        if type(other) is Spin:
            return self._spin(other)
        raise TraceError(f"a transform takes a Motion to the child, not a {type(other).__name__}")

    @property
    def T(self) -> Transposed:
        """The transpose: takes forces, and inertias as `X.T @ I @ X`, back to the parent."""
        return Transposed(self)


@dataclass(frozen=True, slots=True)
class Transform(_Coordinates):
    """The transform from frame A to frame B, whose origin is at r in A and whose axes are turned by `rotation`."""

    rotation: Rotation
    r: Vector3

    def _motion(self, m: Motion) -> Motion:
        w, v = m.angular, m.linear
        return Motion(self.rotation.apply(w), self.rotation.apply(add(v, cross(w, self.r))))

    @property
    def factors(self) -> tuple[Transform, ...]:
        """The transform itself."""
        return (self,)

    @property
    def origin(self) -> Vector3:
        """B's origin, in A."""
        return self.r

    def _force_back(self, f: Force) -> Force:
        n, p = self.rotation.back(f.angular), self.rotation.back(f.linear)
        return Force(add(n, cross(self.r, p)), p)

    def child(self, parent: Pose) -> Pose:
        """Return the pose of B, given the pose of A."""
        x, y, z = parent.rotation
        E = self.rotation
        return Pose((E.apply(x), E.apply(y), E.apply(z)), parent.point(self.r))

    def parent(self, child: Pose) -> Pose:
        """Return the pose of A, given the pose of B."""
        x, y, z = child.rotation
        E = self.rotation
        R = (E.back(x), E.back(y), E.back(z))
        return Pose(R, subtract(child.position, matvec(R, self.r)))


@dataclass(frozen=True, slots=True)
class Chain(_Coordinates):
    """Transforms one after the other, from the parent to the child."""

    factors: tuple[Transform, ...]


def factors(E: Matrix3, r: Vector3) -> tuple[Transform, ...]:
    """Return the transform of a change of axes E about the point r, as the factors that cost least.

    Entries that are Python floats are known now: a turn about a coordinate axis is recognised by them, and a shift is
    taken in the axes, old or new, in which it has more zeros.
    """
    rotation: Rotation = Turn(E)
    along = None
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        off = (E[i][j], E[i][k], E[j][i], E[k][i])
        if _is(E[i][i], 1.0) and all(_is(x, 0.0) for x in off):
            rotation, along = About(i, E[j][j], E[j][k]), i
            if _is(E[j][j], 1.0) and _is(E[j][k], 0.0):
                return (Transform(Identity(), r),)
    if all(isinstance(x, float) for row in (*E, r) for x in row):
        size = max(abs(x) for x in r)
        turned = [0.0 if abs(x) < 1e-15 * size else x for x in matvec(E, r)]
        if sum(x != 0.0 for x in turned) < sum(x != 0.0 for x in r):
            before = [r[i] if i == along else 0.0 for i in range(3)]
            after = [0.0 if i == along else turned[i] for i in range(3)]
            first = Transform(rotation, (before[0], before[1], before[2]))
            return (first, Transform(Identity(), (after[0], after[1], after[2])))
    return (Transform(rotation, r),)


def _is(x: Scalar, value: float) -> bool:
    return isinstance(x, float) and x == value


@dataclass(frozen=True, slots=True)
class Transposed:
    """The transpose of a transform X."""

    X: _Coordinates

    @overload
    def __matmul__(self, other: Force) -> Force: ...
    @overload
    def __matmul__(self, other: Forces) -> Forces: ...
    @overload
    def __matmul__(self, other: I) -> _Congruence[I]: ...
    def __matmul__(self, other: Any) -> Any:
        if type(other) is Force:
            return self.X._force_back(other)
        if isinstance(other, Forces):
            return Forces(tuple(self.X._force_back(f) for f in other.columns))
        if isinstance(other, (Inertia, ArticulatedInertia)):
            return _Congruence(self.X, other)
        raise TraceError(f"X.T takes a Force or an inertia to the parent, not a {type(other).__name__}")


@dataclass(frozen=True, slots=True)
class _Congruence(Generic[I]):
    """X.T @ I, waiting for its X."""

    X: _Coordinates
    inertia: I

    def __matmul__(self, X: _Coordinates) -> I:
        if X is not self.X:
            raise TraceError("X.T @ I @ Y: an inertia is transformed by one X on both sides")
        return self.X._inertia_back(self.inertia)


@dataclass(frozen=True, slots=True)
class Pose:
    """The pose of a frame: the rotation takes its coordinates to the reference's, `position` is its origin."""

    rotation: Matrix3
    position: Vector3

    @classmethod
    def zero(cls) -> Pose:
        """Return the reference frame itself."""
        return cls(IDENTITY3, ZERO3)

    @property
    def scalars(self) -> tuple[Scalar, ...]:
        """The entries of the homogeneous matrix, row by row."""
        (x, y, z), p = self.rotation, self.position
        return (*x, p[0], *y, p[1], *z, p[2], 0.0, 0.0, 0.0, 1.0)

    def point(self, x: Vector3) -> Vector3:
        """Return a point of this frame, in the reference frame."""
        return add(self.position, matvec(self.rotation, x))

    def __matmul__(self, m: Motion) -> Motion:
        """Return a motion of this frame, in the reference frame's axes and about its origin."""
        if type(m) is not Motion:
            raise TraceError(f"a pose takes a Motion to the reference frame, not a {type(m).__name__}")
        w, v = matvec(self.rotation, m.angular), matvec(self.rotation, m.linear)
        return Motion(w, add(v, cross(self.position, w)))
