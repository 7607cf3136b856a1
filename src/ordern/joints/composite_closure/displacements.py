"""Groups of displacements: the motions of a joint, or of several, as subgroups of the rigid motions.

This is Herve's view of mechanisms. A joint whose motion subspace is the same in all positions and closed under brackets
moves its child by a subgroup of SE(3): rotations about a line, translations in a plane ... All connected subgroups have
one form. They rotate about no axis, one axis or all; they translate along a space that these rotations keep; and one
axis may have a thread. Joints in series move the child by products of elements, one of each group. If such a product
has as many freedoms as the smallest group that contains all factors, it is that group.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import combinations

import numpy as np

from ...arguments import Array
from ...records import dataclass
from ...rotations import skew
from ...spatial import Freedoms, Pose
from ..free import Free
from .turning import after

__all__ = ["SAME", "Group", "Run", "aligned", "complement", "generated", "merged", "product_rank"]


SAME = 1e-7
"""Directions, and distances in units of the whole, that differ by less are the same."""
_PARALLEL = 1e-5
"""Axes at a smaller angle, in radians, are meant to be parallel: files have them with five digits or more. Residuals of
two axes that are nearly parallel, taken as they are, are useless in practice: they grow as one over the angle."""
_ROUNDING = 1e-13
"""The rounding of products of numbers up to a hundred."""
_RANK = 1e-6
"""Singular values below this are zero, at positions that are drawn at random."""


@dataclass(frozen=True, eq=False)
class Group:
    """A connected subgroup of the rigid displacements, by a basis of its twists (angular, linear): 6 x its freedoms."""

    twists: Array

    @property
    def freedoms(self) -> int:
        """The dimension of the group."""
        return int(self.twists.shape[1])

    @cached_property
    def turns(self) -> int:
        """The number of independent axes of its rotations: 0, 1 or 3."""
        return int(_basis(self.twists[:3]).shape[1])

    @cached_property
    def shifts(self) -> Array:
        """Orthonormal directions (3, k) of its pure translations."""
        quiet = self.twists @ _null(self.twists[:3])  # independent, since twists are
        return _clean(np.linalg.qr(quiet[3:])[0])

    @cached_property
    def axis(self) -> Array:
        """The axis of one that turns about one; zero for others."""
        if self.turns != 1:
            return np.zeros(3)
        a = _basis(self.twists[:3])[:, 0]
        return _clean(a * np.sign(a[np.abs(a).argmax()]))

    @cached_property
    def _moment(self) -> Array:
        """The linear part of the twist that turns about the axis at unit speed, less pure translations."""
        m = self.twists[3:] @ np.linalg.lstsq(self.twists[:3], self.axis, rcond=None)[0]
        return np.asarray(m - self.shifts @ (self.shifts.T @ m))

    @cached_property
    def point(self) -> Array:
        """A point of its axis, or the centre of its rotations; zero for other groups."""
        if self.turns == 1:
            return _clean(np.cross(self.axis, self._moment))
        if self.turns == 0 or self.shifts.shape[1]:
            return np.zeros(3)
        # of the twist that turns about e at the point c, the linear part is c x e
        m = self.twists[3:] @ np.linalg.inv(self.twists[:3])
        return _clean(0.5 * np.array([m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]]))

    @cached_property
    def rise(self) -> float:
        """Metres that its axis advances with each radian: of a thread."""
        h = float(self.axis @ self._moment)
        return h if abs(h) > max(SAME * np.abs(self.twists[3:]).max(initial=0.0), _ROUNDING) else 0.0

    @property
    def is_hinge(self) -> bool:
        """True if the group has the rotations about one axis, and nothing else."""
        return self.freedoms == 1 and self.turns == 1 and not self.rise

    def parallel_to(self, other: Group) -> bool:
        """Return True if the axes of two groups are parallel."""
        return bool(np.linalg.norm(np.cross(self.axis, other.axis)) <= SAME)

    def keeps(self, space: Array) -> bool:
        """Return True if the rotations of the group keep a space of directions (3, k)."""
        if self.turns == 0 or space.shape[1] in (0, 3):
            return True
        if self.turns == 3:
            return False
        along = np.abs(self.axis @ space).max()  # along the axis, or across it
        return bool(along > 1.0 - SAME and space.shape[1] == 1) or bool(along < SAME and space.shape[1] == 2)

    @property
    def direction(self) -> Array | None:
        """The one direction of its axis, or else of its shifts; None unless there is exactly one."""
        if self.turns == 1:
            return self.axis
        return self.shifts[:, 0] if self.turns == 0 and self.shifts.shape[1] == 1 else None

    def turned(self, R: Array) -> Group:
        """Return the group, turned about its own point."""
        w, c = self.twists[:3], self.point[:, None]
        v, w = R @ (self.twists[3:] + np.cross(w, c, axis=0)), R @ w
        return Group(np.concatenate([w, v + np.cross(c, w, axis=0)]))

    def element(self, rng: np.random.Generator) -> Pose:
        """Return a displacement of the group."""
        return _exponential(self.twists @ rng.uniform(-1.2, 1.2, self.freedoms))


@dataclass(frozen=True, eq=False)
class Run:
    """Factors of a product, one after the other, that make one group."""

    start: int
    stop: int
    group: Group


def aligned(groups: Sequence[Group]) -> list[Group]:
    """Return the groups, with directions that are nearly equal to earlier ones made equal to them."""
    found: list[Group] = []
    known: list[Array] = []
    for g in groups:
        d = g.direction
        if d is not None:
            near = next((x for x in known if np.linalg.norm(np.cross(d, x)) <= _PARALLEL), None)
            if near is None:
                known.append(d)
            elif np.linalg.norm(np.cross(d, near)) > _ROUNDING:
                g = g.turned(_between(d, near * np.sign(d @ near)))
        found.append(g)
    return found


def generated(groups: Sequence[Group]) -> Group:
    """Return the smallest group that has all these in it: their twists, and brackets of these."""
    B = _basis(np.concatenate([np.zeros((6, 0)), *(g.twists for g in groups)], axis=1))
    while 1 < B.shape[1] < 6:
        brackets = [_bracket(x, y) for x, y in combinations(B.T, 2)]
        more = _basis(np.column_stack([B, *brackets]))
        if more.shape[1] == B.shape[1]:
            break
        B = more
    return Group(B)


def product_rank(groups: Sequence[Group]) -> int:
    """Return the dimension of the set of products of elements, one of each group, outside of singular positions."""
    rng = np.random.default_rng(7)
    found = 0
    for _ in range(3):
        at, columns = Pose.zero(), [np.zeros((6, 0))]
        for g in groups:
            columns.append(_adjoint(at) @ g.twists)
            at = after(at, g.element(rng))
        sizes = np.linalg.svd(np.concatenate(columns, axis=1), compute_uv=False)
        found = max(found, int((sizes > _RANK).sum()))
    return found


def merged(groups: Sequence[Group], longest: int = 0) -> tuple[Run, ...]:
    """Return the product with as few factors as possible: runs of factors that fill a group are that group.

    `longest` is how many factors at most a run may have; without it, any number.
    """
    runs = [Run(k, k + 1, g) for k, g in enumerate(groups)]
    n = longest or len(runs)
    while n > 1:
        for start in range(len(runs) - n + 1):
            some = runs[start : start + n]
            if longest and some[-1].stop - some[0].start > longest:
                continue
            whole = generated([r.group for r in some])
            if whole.freedoms == product_rank([r.group for r in some]):
                runs[start : start + n] = [Run(some[0].start, some[-1].stop, whole)]
                n = len(runs) + 1
                break
        n = min(n - 1, len(runs))
    return tuple(runs)


def complement(space: Array) -> Array:
    """Return orthonormal directions (3, 3 - k) across a space (3, k); coordinate axes where they are."""
    free: Array = np.eye(3) - space @ np.linalg.pinv(space) if space.shape[1] else np.eye(3)
    found: list[Array] = []
    for _ in range(3 - space.shape[1]):
        left = free - sum((np.outer(x, x) for x in found), np.zeros((3, 3)))
        k = int(np.round(np.diag(left), 9).argmax())
        found.append(_clean(left[:, k] / np.linalg.norm(left[:, k])))
    return np.asarray(np.array(found).reshape(-1, 3).T)


def _basis(A: Array) -> Array:
    """Return an orthonormal basis of the span of columns."""
    U, s, _ = np.linalg.svd(A, full_matrices=False)
    return np.asarray(U[:, s > SAME])


def _null(A: Array) -> Array:
    """Return an orthonormal basis of the null space of A."""
    _, s, Vt = np.linalg.svd(A, full_matrices=True)
    return np.asarray(Vt[int((s > SAME).sum()) :].T)


def _clean(x: Array) -> Array:
    """Return numbers, with rounding errors of whole numbers removed."""
    near = np.round(x)
    size = max(1.0, float(np.abs(x).max(initial=0.0)))
    return np.where(np.abs(x - near) < 1e-15 * size, near, x) + 0.0


def _between(a: Array, b: Array) -> Array:
    """Return the least turn that takes one direction to another, which is not opposite."""
    N = skew(np.cross(a, b))
    return np.asarray(np.eye(3) + N + N @ N / (1.0 + a @ b))


def _bracket(x: Array, y: Array) -> Array:
    w, u = np.cross(x[:3], y[:3]), np.cross(x[:3], y[3:]) + np.cross(x[3:], y[:3])
    return np.concatenate([w, u])


def _adjoint(at: Pose) -> Array:
    """Return the matrix that takes twists of a frame to the reference frame."""
    R: Array = np.array(at.rotation, float)
    return np.block([[R, np.zeros((3, 3))], [skew(at.position) @ R, R]])


def _exponential(twist: Array) -> Pose:
    free = Free()
    q = free.integrate(Freedoms(free.neutral()), Freedoms(twist.tolist()))
    return free.transform(q).child(Pose.zero())
