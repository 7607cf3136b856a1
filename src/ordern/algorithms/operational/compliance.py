"""How a body gives way to forces on it: a symmetric matrix Y with acceleration = Y force."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...graph import Scalar
from ...records import dataclass
from ...spatial import About, ArticulatedInertia, Chain, Factor, Forces, Identity, Rotation, Subspace, Transform
from ...spatial.linear import Symmetric3, Vector3, dot, full, negative, transpose, upper
from ..factors.linear import Rows, inverse

__all__ = ["Compliance"]


@dataclass(frozen=True, slots=True)
class Compliance:
    """The matrix Y about a frame's origin, in its axes.

    With its angular and linear halves swapped, Y goes from a parent to a child just as an inertia goes from a child to
    its parent; so it is kept as one.
    """

    swapped: ArticulatedInertia

    @classmethod
    def zero(cls) -> Compliance:
        """What does not give way."""
        return cls(ArticulatedInertia.zero())

    @classmethod
    def of(cls, rows: Sequence[Sequence[Scalar]]) -> Compliance:
        """From six rows; only the half on and above the diagonal is read."""
        half = {(r, c): rows[min(x, y)][max(x, y)] for r, x in enumerate(_SWAP) for c, y in enumerate(_SWAP) if r <= c}
        return cls(ArticulatedInertia.of_upper(half))

    def rows(self) -> Rows:
        """The six rows, angular first."""
        A = self.swapped.rows()
        return tuple(tuple(A[r][c] for c in _SWAP) for r in _SWAP)

    def carried(self, X: Chain | Transform) -> Compliance:
        """X Y X^T: the same as another frame sees it."""
        Y = self.swapped
        for step in X.factors if isinstance(X, Chain) else (X,):
            Y = Y.shifted(negative(step.r)).turned_back(_reverse(step.rotation))
        return Compliance(Y)

    def through(self, S: Subspace, G: Forces, D: Factor) -> Compliance:
        """(1 - S G^T) Y (1 - G S^T) + S D^-1 S^T: of the body beyond a joint that gives way.

        For a joint of unit motions without armature, 1 - S G^T is exactly zero where it must be.
        """
        six = range(6)
        s = [[m.scalars[r] for m in S.columns] for r in six]
        g = [[f.scalars[r] for f in G.columns] for r in six]
        N = [[(1.0 if r == c else 0.0) - dot(s[r], g[c]) for c in six] for r in six]
        Y, Di = self.rows(), inverse(D)
        NY = [[dot(N[r], Y[c]) for c in six] for r in six]
        SDi = [[dot(s[r], row) for row in Di] for r in six]
        out = [[dot(NY[r], N[c]) + dot(SDi[r], s[c]) for c in six] for r in six]
        return Compliance.of(out)


_SWAP = (3, 4, 5, 0, 1, 2)


@dataclass(frozen=True, slots=True)
class _Back(Rotation):
    """A change of axes, undone."""

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
