"""A joint's motion subspace S: the motions that it allows, and the inertia that remains when it is eliminated.

`S @ x` is the motion of joint velocities x, `S.T @ f` the joint forces of a spatial force f. Most joints let unit
motions of the child's frame through: then S moves numbers about and multiplies nothing. Any other S is a
list of columns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import overload

from ..errors import TraceError
from ..graph import Scalar
from ..records import dataclass
from .inertia import ArticulatedInertia, Inertia
from .linear import dot
from .motion import Force, Motion

__all__ = ["Columns", "Factor", "Forces", "Freedoms", "Subspace", "Units", "eliminate", "plus_diagonal"]

Rows = tuple[tuple[Scalar, ...], ...]
"""A small matrix between freedoms, row by row."""


class Freedoms(tuple[Scalar, ...]):
    """Numbers, one for each coordinate of a joint: positions, velocities or forces."""

    __slots__ = ()

    def __new__(cls, numbers: Iterable[Scalar] = ()) -> Freedoms:
        """Build the tuple from any iterable."""
        return super().__new__(cls, numbers)

    def __add__(self, other: tuple[Scalar, ...]) -> Freedoms:
        return Freedoms(x + y for x, y in zip(self, other, strict=True))

    def __sub__(self, other: tuple[Scalar, ...]) -> Freedoms:
        return Freedoms(x - y for x, y in zip(self, other, strict=True))

    def __neg__(self) -> Freedoms:
        return Freedoms(-x for x in self)

    def __mul__(self, other: Scalar) -> Freedoms:
        """Multiply by a number, or number by number."""
        if isinstance(other, tuple):
            return Freedoms(x * y for x, y in zip(self, other, strict=True))
        return Freedoms(x * other for x in self)


@dataclass(frozen=True, slots=True)
class Forces:
    """One force for each freedom of a joint: the columns of a 6 x nv matrix such as U = I S."""

    columns: tuple[Force, ...]

    def __add__(self, other: Forces) -> Forces:
        return Forces(tuple(f + g for f, g in zip(self.columns, other.columns, strict=True)))

    def __matmul__(self, y: Freedoms) -> Force:
        """Return the sum of the columns, weighted."""
        return sum((column * weight for column, weight in zip(self.columns, y, strict=True)), Force.zero())

    @property
    def T(self) -> ForcesTransposed:
        """The transpose: power along a motion, one number for each freedom."""
        return ForcesTransposed(self)


@dataclass(frozen=True, slots=True)
class ForcesTransposed:
    """The transpose of `Forces`."""

    forces: Forces

    def __matmul__(self, a: Motion) -> Freedoms:
        return Freedoms(f.dot(a) for f in self.forces.columns)


class Subspace(ABC):
    """The motions that a joint lets through, in the child's frame."""

    __slots__ = ()

    @property
    @abstractmethod
    def columns(self) -> tuple[Motion, ...]:
        """One motion for each freedom."""

    @abstractmethod
    def __matmul__(self, x: Freedoms) -> Motion:
        """Return the motion of these joint velocities."""

    @abstractmethod
    def forces(self, f: Force) -> Freedoms:
        """Return the force on each freedom, S^T f, of a spatial force."""

    @property
    def T(self) -> SubspaceTransposed:
        """The transpose: takes spatial forces to joint forces."""
        return SubspaceTransposed(self)

    def under(self, inertia: Inertia | ArticulatedInertia) -> Forces:
        """Return I S: the force that a unit acceleration of each freedom takes."""
        return Forces(tuple(inertia @ column for column in self.columns))


@dataclass(frozen=True, slots=True)
class SubspaceTransposed:
    """The transpose of a motion subspace."""

    S: Subspace

    @overload
    def __matmul__(self, f: Force) -> Freedoms: ...
    @overload
    def __matmul__(self, f: Forces) -> Rows: ...
    def __matmul__(self, f: Force | Forces) -> Freedoms | Rows:
        """Return S^T f; for several forces, a matrix with a row for each force."""
        if isinstance(f, Forces):
            return tuple(self.S.forces(column) for column in f.columns)
        if type(f) is not Force:
            raise TraceError(f"S.T @ {type(f).__name__}: a subspace takes a Force to joint forces")
        return self.S.forces(f)


@dataclass(frozen=True, slots=True)
class Units(Subspace):
    """Unit motions: `axes` are indices into (wx, wy, wz, vx, vy, vz), in increasing order."""

    axes: tuple[int, ...]

    @property
    def columns(self) -> tuple[Motion, ...]:
        """The unit motions."""
        return tuple(Motion.of(tuple(1.0 if k == axis else 0.0 for k in range(6))) for axis in self.axes)

    def __matmul__(self, x: Freedoms) -> Motion:
        six: list[Scalar] = [0.0] * 6
        for axis, value in zip(self.axes, x, strict=True):
            six[axis] = value
        return Motion.of(tuple(six))

    def forces(self, f: Force) -> Freedoms:
        """Return the components of f along the axes."""
        six = f.scalars
        return Freedoms(six[axis] for axis in self.axes)


@dataclass(frozen=True, slots=True)
class Columns(Subspace):
    """Any motions."""

    motions: tuple[Motion, ...]

    @property
    def columns(self) -> tuple[Motion, ...]:
        """The motions."""
        return self.motions

    def __matmul__(self, x: Freedoms) -> Motion:
        return sum((column * value for column, value in zip(self.motions, x, strict=True)), Motion.zero())

    def forces(self, f: Force) -> Freedoms:
        """Return the power of f along each motion."""
        return Freedoms(f.dot(column) for column in self.motions)


@dataclass(frozen=True, slots=True)
class Factor:
    """A symmetric positive definite matrix as L diag(d) L^T: the strict lower rows of L, and 1/d."""

    lower: tuple[tuple[Scalar, ...], ...]
    inverse: tuple[Scalar, ...]

    @classmethod
    def of(cls, A: Sequence[Sequence[Scalar]], over: Callable[[int, Scalar], Scalar] = lambda i, d: 1.0 / d) -> Factor:
        """Factorise; only the lower half of A is read. `over` inverts the pivots."""
        L: list[tuple[Scalar, ...]] = []
        inverse: list[Scalar] = []
        for i in range(len(A)):
            row: list[Scalar] = []
            scaled: list[Scalar] = []
            for j in range(i):
                e = A[i][j] - dot(scaled, L[j]) if j else A[i][j]
                scaled.append(e)
                row.append(e * inverse[j])
            inverse.append(over(i, A[i][i] - dot(scaled, row) if i else A[i][i]))
            L.append(tuple(row))
        return cls(tuple(L), tuple(inverse))

    def solve(self, b: tuple[Scalar, ...]) -> Freedoms:
        """Return the solution y of A y = b."""
        n, y = len(b), list(b)
        for i in range(n):
            for j in range(i):
                y[i] = y[i] - self.lower[i][j] * y[j]
        y = [x * s for x, s in zip(y, self.inverse, strict=True)]
        for i in reversed(range(n)):
            for j in range(i + 1, n):
                y[i] = y[i] - self.lower[j][i] * y[j]
        return Freedoms(y)


def plus_diagonal(A: Rows, d: Freedoms) -> Rows:
    """Return A + diag(d)."""
    return tuple(tuple(x + d[r] if r == c else x for c, x in enumerate(row)) for r, row in enumerate(A))


def eliminate(IA: ArticulatedInertia, S: Subspace, armature: Freedoms) -> tuple[Forces, Factor, ArticulatedInertia]:
    """Let a joint give way: G = IA S D^-1, D = S^T IA S + armature (factorised), and Ia = IA - G S^T IA.

    For unit motions the rows of G along the joint are 1 - armature D^-1, and those of Ia are armature G^T; both are
    computed as such. Without armature they are exactly one and zero, not differences of large numbers.
    """
    U = S.under(IA)
    D = Factor.of(plus_diagonal(S.T @ U, armature))
    nv = len(armature)
    rows = IA.rows()
    along = {axis: k for k, axis in enumerate(S.axes)} if isinstance(S, Units) else {}
    u = tuple(tuple(f.scalars[r] for f in U.columns) for r in range(6))
    g: list[Freedoms] = []
    for r in range(6):
        if r in along:
            k = along[r]
            unit = Freedoms(1.0 if c == k else 0.0 for c in range(nv))
            g.append(unit - D.solve(unit) * armature[k])
        else:
            g.append(D.solve(u[r]))
    Ia: dict[tuple[int, int], Scalar] = {}
    for r in range(6):
        for c in range(r, 6):
            if r in along:
                Ia[r, c] = armature[along[r]] * g[c][along[r]]
            elif c in along:
                Ia[r, c] = armature[along[c]] * g[r][along[c]]
            else:
                Ia[r, c] = rows[r][c] - dot(u[r], g[c])
    G = Forces(tuple(Force.of(tuple(g[r][c] for r in range(6))) for c in range(nv)))
    return G, D, ArticulatedInertia.of_upper(Ia)
