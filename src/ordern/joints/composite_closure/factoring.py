"""Factors of displacements, one of each of several groups: the coordinates of joints in series.

If the parts fill a group, an element of it is a product of their elements in one way, or in two: the two postures of an
elbow, or of a wrist. Then the posture on the side of the neutral position is chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ...records import dataclass
from ...spatial import Pose
from ...spatial.linear import ZERO3, Vector3, cross, dot, matmul, matvec, transpose
from ..closure import Rows
from .displacements import SAME, Group, Run, generated, merged, product_rank
from .known_turns import known_turns
from .orbits import between, orbit, spare
from .products import Backwards, Factoring, PointOnOrbit, Product, Undetermined
from .turning import about, across, displacement, turn_to, unit, vector

__all__ = ["factoring"]


def factoring(groups: Sequence[Group], runs: Sequence[Run] = (), product: Product | None = None) -> Factoring:
    """Find formulas for the elements of groups in their product; raise if they are not unique, or no formula is known.

    `product` is the product of `runs`, if it is known already.
    """
    if sum(g.freedoms for g in groups) > product_rank(groups):
        raise Undetermined("some of its parts have a motion in common, which either part may do")
    if len(groups) == 1:
        return _Itself()
    if product is None:
        runs = merged(groups, len(groups) - 1)
        product = known_turns(tuple(r.group for r in runs))
    if product is not None and product.unknown:
        raise Undetermined(product.unknown)
    if product is not None:
        return _Split(product, tuple(factoring(groups[r.start : r.stop]) for r in runs))
    for some, turned in ((tuple(groups), False), (tuple(groups)[::-1], True)):
        found = _wrist(some) or _elbow(some)
        if found is not None:
            return Backwards(some, cast("Product", found)) if turned else found
    raise Undetermined("there is no formula for the coordinates of its parts")


@dataclass(frozen=True, eq=False)
class _Itself(Factoring):
    """The factoring for a single group."""

    def elements(self, X: Pose) -> tuple[Pose, ...]:
        """Return the displacement itself."""
        return (X,)


@dataclass(frozen=True, eq=False)
class _Split(Factoring):
    """A product of groups that are products themselves."""

    product: Product
    inner: tuple[Factoring, ...]

    def elements(self, X: Pose) -> tuple[Pose, ...]:
        """Return the factors of the factors."""
        outer = self.product.elements(X)
        return tuple(g for how, step in zip(self.inner, outer, strict=True) for g in how.elements(step))

    def reach_margin(self, X: Pose) -> Rows:
        """Return the margins of the product and of its factors."""
        inner = zip(self.inner, self.product.elements(X), strict=True)
        return (*self.product.reach_margin(X), *(x for how, step in inner for x in how.reach_margin(step)))


def _elbow(groups: Sequence[Group]) -> Factoring | None:
    if len(groups) != 3 or not groups[2].is_hinge:
        return None
    found = orbit(groups[:2], groups[2].point)
    return None if found is None else PointOnOrbit(tuple(groups), vector(groups[2].point), found)


@dataclass(frozen=True, eq=False)
class _Wrist(Factoring):
    """Turns about three axes through one point; consecutive axes have different directions."""

    axes: tuple[Vector3, Vector3, Vector3]
    centre: Vector3

    def elements(self, X: Pose) -> tuple[Pose, ...]:
        """Return the turns: the middle one takes the last axis to its angle with the first; the others follow.

        Where the first axis and the last are the same, the first angle is zero.
        """
        a, b, c = self.axes
        there = matvec(X.rotation, c)
        A, B = self._middle
        middle = about(b, *between(A, B, dot(a, there) - dot(a, b) * dot(b, c), B))
        first = about(a, *unit(*turn_to(a, matvec(middle, c), there)))
        last = matmul(transpose(matmul(first, middle)), X.rotation)
        return tuple(displacement(R, self.centre, ZERO3) for R in (first, middle, last))

    @property
    def _middle(self) -> tuple[float, float]:
        """Coefficients of cosine and sine of the middle angle, in the cosine between the first axis and the last."""
        a, b, c = self.axes
        return float(dot(across(b, a), across(b, c))), float(dot(a, cross(b, c)))

    def reach_margin(self, X: Pose) -> Rows:
        """Return the margin: axes that are not perpendicular do not reach all rotations."""
        a, b, c = self.axes
        if max(abs(dot(a, b)), abs(dot(b, c))) <= SAME:
            return ()
        return (spare(*self._middle, dot(a, matvec(X.rotation, c)) - dot(a, b) * dot(b, c)),)


def _wrist(groups: Sequence[Group]) -> Factoring | None:
    if len(groups) != 3 or not all(g.is_hinge for g in groups):
        return None
    g, h, k = groups
    if h.parallel_to(g) or h.parallel_to(k):
        return None
    return _Wrist((vector(g.axis), vector(h.axis), vector(k.axis)), vector(generated(groups).point))
