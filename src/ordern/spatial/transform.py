"""Transforms between frames, kept as their factors, and poses.

`X` takes motion vectors from a parent's frame to a child's: `X @ m`. Its transpose takes forces back, `X.T @ f`,
and inertias, `X.T @ I @ X`. A joint's transform is a constant placement followed by what the joint does; applying
the two one after the other needs fewer operations than applying their product, because each is mostly zeros
and ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, overload

from ..errors import TraceError
from ..graph import Scalar
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
)
from .motion import Force, Motion
from .spin import Spin
from .subspace import Forces

__all__ = ["AboutZ", "Chain", "Identity", "Pose", "Rotation", "Transform", "Turn"]

I = TypeVar("I", Inertia, ArticulatedInertia)


class Rotation(ABC):
    """A change of axes. `apply` takes coordinates from the old axes to the new, `back` the other way."""

    @abstractmethod
    def apply(self, x: Vector3) -> Vector3:
        """A vector's coordinates in the new axes."""

    @abstractmethod
    def back(self, x: Vector3) -> Vector3:
        """A vector's coordinates in the old axes."""

    @abstractmethod
    def back_symmetric(self, A: Symmetric3) -> Symmetric3:
        """A symmetric matrix's coordinates in the old axes."""

    def back_matrix(self, A: Matrix3) -> Matrix3:
        """A matrix's coordinates in the old axes."""
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
class AboutZ(Rotation):
    """New axes turned about z by an angle with this cosine and sine."""

    c: Scalar
    s: Scalar

    def apply(self, x: Vector3) -> Vector3:
        """Coordinates in the turned axes."""
        return (self.c * x[0] + self.s * x[1], self.c * x[1] - self.s * x[0], x[2])

    def back(self, x: Vector3) -> Vector3:
        """Coordinates in the axes before turning."""
        return (self.c * x[0] - self.s * x[1], self.s * x[0] + self.c * x[1], x[2])

    def back_symmetric(self, A: Symmetric3) -> Symmetric3:
        """Coordinates before turning; the trace of the upper block is kept, which saves products."""
        c, s = self.c, self.s
        xx, xy, xz, yy, yz, zz = A
        cc, cs, d = c * c, c * s, xx - yy
        u = cc * d - (cs + cs) * xy
        return (
            yy + u,
            cs * d + (cc + cc - 1.0) * xy,
            c * xz - s * yz,
            xx - u,
            s * xz + c * yz,
            zz,
        )


@dataclass(frozen=True, slots=True)
class Turn(Rotation):
    """Any change of axes, by the matrix E that takes old coordinates to new."""

    E: Matrix3

    def apply(self, x: Vector3) -> Vector3:
        """E x."""
        return matvec(self.E, x)

    def back(self, x: Vector3) -> Vector3:
        """E^T x."""
        return matvec(transpose(self.E), x)

    def back_symmetric(self, A: Symmetric3) -> Symmetric3:
        """E^T A E."""
        return product_symmetric(matmul(transpose(self.E), full(A)), self.E)


class _Coordinates(ABC):
    """What Transform and Chain have in common."""

    __slots__ = ()

    @abstractmethod
    def _motion(self, m: Motion) -> Motion: ...

    @abstractmethod
    def _spin(self, w: Spin) -> Spin: ...

    @abstractmethod
    def _force_back(self, f: Force) -> Force: ...

    @abstractmethod
    def _inertia_back(self, inertia: I) -> I: ...

    @abstractmethod
    def centripetal(self, w: Spin) -> Motion:
        """The acceleration, in the child's axes, of the child's origin when the parent turns at w."""

    @abstractmethod
    def child(self, parent: Pose) -> Pose:
        """The pose of the child's frame, given its parent's."""

    @abstractmethod
    def parent(self, child: Pose) -> Pose:
        """The pose of the parent's frame, given its child's."""

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
    """From frame A to frame B, whose origin is at r in A and whose axes are turned by `rotation`."""

    rotation: Rotation
    r: Vector3

    def _motion(self, m: Motion) -> Motion:
        w, v = m.angular, m.linear
        return Motion(self.rotation.apply(w), self.rotation.apply(add(v, cross(w, self.r))))

    def _spin(self, w: Spin) -> Spin:
        return Spin(self.rotation.apply(w.w))

    def centripetal(self, w: Spin) -> Motion:
        """The acceleration of B's origin when A turns at w."""
        return Motion(ZERO3, self.rotation.apply(w.centripetal(self.r)))

    def _force_back(self, f: Force) -> Force:
        n, p = self.rotation.back(f.angular), self.rotation.back(f.linear)
        return Force(add(n, cross(self.r, p)), p)

    def _inertia_back(self, inertia: I) -> I:
        return inertia.turned_back(self.rotation).shifted(self.r)

    def child(self, parent: Pose) -> Pose:
        """The pose of B, given that of A."""
        x, y, z = parent.rotation
        E = self.rotation
        return Pose((E.apply(x), E.apply(y), E.apply(z)), parent.point(self.r))

    def parent(self, child: Pose) -> Pose:
        """The pose of A, given that of B."""
        x, y, z = child.rotation
        E = self.rotation
        R = (E.back(x), E.back(y), E.back(z))
        return Pose(R, subtract(child.position, matvec(R, self.r)))


@dataclass(frozen=True, slots=True)
class Chain(_Coordinates):
    """Two transforms, one after the other: `first` from A to B, `then` from B to C."""

    first: Transform
    then: Transform

    def _motion(self, m: Motion) -> Motion:
        return self.then @ (self.first @ m)

    def _spin(self, w: Spin) -> Spin:
        return self.then @ (self.first @ w)

    def centripetal(self, w: Spin) -> Motion:
        """The acceleration of C's origin when A turns at w."""
        shifted = w.centripetal(self.first.r)
        turned = self.first.rotation.apply(shifted)
        there = add(turned, (self.first @ w).centripetal(self.then.r))
        return Motion(ZERO3, self.then.rotation.apply(there))

    def _force_back(self, f: Force) -> Force:
        return self.first.T @ (self.then.T @ f)

    def _inertia_back(self, inertia: I) -> I:
        return self.first._inertia_back(self.then._inertia_back(inertia))

    def child(self, parent: Pose) -> Pose:
        """The pose of C, given that of A."""
        return self.then.child(self.first.child(parent))

    def parent(self, child: Pose) -> Pose:
        """The pose of A, given that of C."""
        return self.first.parent(self.then.parent(child))


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
    """Where a frame is: the rotation takes its coordinates to the reference's, `position` is its origin."""

    rotation: Matrix3
    position: Vector3

    @classmethod
    def zero(cls) -> Pose:
        """The reference frame itself."""
        return cls(IDENTITY3, ZERO3)

    def point(self, x: Vector3) -> Vector3:
        """A point of this frame, in the reference frame."""
        return add(self.position, matvec(self.rotation, x))

    def __matmul__(self, m: Motion) -> Motion:
        """A motion of this frame, in the reference frame's axes and about its origin."""
        w, v = matvec(self.rotation, m.angular), matvec(self.rotation, m.linear)
        return Motion(w, add(v, cross(self.position, w)))
