"""Products of groups of displacements, X = g1 g2 ..., with helpers that several forms of products share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from ...arguments import Array
from ...graph import Scalar
from ...records import dataclass
from ...spatial import Pose
from ...spatial.linear import Matrix3, Vector3, dot, matvec
from ..closure import Rows
from .displacements import SAME, Group
from .orbits import Orbit
from .turning import about, after, inverse, turn_to, unit, vector

__all__ = [
    "Backwards",
    "Factoring",
    "PointOnOrbit",
    "Product",
    "Space",
    "Undetermined",
    "common_frame",
    "cone",
    "first_turn",
    "independent",
    "spaces",
]


class Undetermined(Exception):
    """Factors of a displacement that are not unique, or that no formula is known for."""


class Factoring(ABC):
    """A way to write displacements as products of elements, one of each of several groups."""

    @abstractmethod
    def elements(self, X: Pose) -> tuple[Pose, ...]:
        """Return the factors of X, one of each group."""

    def reach_margin(self, X: Pose) -> Rows:
        """Return numbers that are below zero where X has no factors; then `elements` returns a neighbour's."""
        return ()


class Product(Factoring):
    """The set of all products of elements of some groups, with residuals in closed form."""

    groups: tuple[Group, ...]

    @property
    def unknown(self) -> str:
        """The reason why factors cannot be found; empty if they can."""
        return ""

    @abstractmethod
    def rows(self, X: Pose) -> tuple[Rows, Rows]:
        """Return residuals that vanish on the products: angles, and lengths."""


@dataclass(frozen=True, eq=False)
class Backwards(Product):
    """The inverses of a product, X^-1 = ... g2^-1 g1^-1, or of a factoring, which has no residuals."""

    groups: tuple[Group, ...]
    forwards: Product

    @property
    def unknown(self) -> str:
        """The reason why factors cannot be found."""
        return self.forwards.unknown

    def rows(self, X: Pose) -> tuple[Rows, Rows]:
        """Return the residuals of the inverse."""
        return self.forwards.rows(inverse(X))

    def elements(self, X: Pose) -> tuple[Pose, ...]:
        """Return the inverses of the factors of the inverse."""
        return tuple(inverse(g) for g in reversed(self.forwards.elements(inverse(X))))

    def reach_margin(self, X: Pose) -> Rows:
        """Return the margin of the inverse."""
        return self.forwards.reach_margin(inverse(X))


@dataclass(frozen=True, eq=False)
class PointOnOrbit(Product):
    """Groups of which the last one leaves a point at rest: the others take this point to its place on their orbit."""

    groups: tuple[Group, ...]
    point: Vector3
    orbit: Orbit

    def rows(self, X: Pose) -> tuple[Rows, Rows]:
        """Return the residuals of the point; they are complete if the last group has all turns about it."""
        return (), self.orbit.rows(X.point(self.point))

    def elements(self, X: Pose) -> tuple[Pose, ...]:
        """Return the elements that take the point to its place, and the remaining turn."""
        found = self.orbit.elements(X.point(self.point))
        for g in found:
            X = after(inverse(g), X)
        return (*found, X)

    def reach_margin(self, X: Pose) -> Rows:
        """Return the margin of the orbit, which may be only part of a plane or a sphere."""
        return self.orbit.reach_margin(X.point(self.point))


@dataclass(frozen=True, eq=False)
class Space:
    """Directions in which a group shifts: in the axes after so many turns."""

    owner: int
    frame: int
    directions: Array


def spaces(groups: Sequence[Group]) -> list[Space]:
    """Return the directions in which all groups shift, or their threads advance."""
    found, frame = [], 0
    for k, g in enumerate(groups):
        shifts = np.column_stack([g.shifts, g.axis]) if g.rise else g.shifts
        if shifts.shape[1]:
            found.append(Space(k, frame, shifts))
        frame += g.turns > 0
    return found


def common_frame(given: Sequence[Space], turning: Sequence[Group], frames: Sequence[int]) -> int | None:
    """Return the axes in which all directions stay what they are, if there are such."""

    def stays(space: Space, frame: int) -> bool:
        low, high = sorted((space.frame, frame))
        return all(g.keeps(space.directions) for g in turning[low:high])

    return next((f for f in frames if all(stays(x, f) for x in given)), None)


def independent(A: Array) -> Array:
    """Return columns of A that span what all of them do."""
    kept = np.zeros((3, 0))
    for column in A.T:
        more = np.column_stack([kept, column])
        if np.linalg.svd(more, compute_uv=False)[-1] > SAME and more.shape[1] <= 3:
            kept = more
    return kept


def cone(g: Group, h: Group, R: Matrix3) -> Scalar:
    """Return the error of the angle between two axes, in radians near zero."""
    a, b = vector(g.axis), vector(h.axis)
    sine = float(np.linalg.norm(np.cross(g.axis, h.axis)))
    return (dot(a, matvec(R, b)) - float(g.axis @ h.axis)) * (1.0 / sine)


def first_turn(g: Group, h: Group, R: Matrix3, exact: bool) -> Matrix3:
    """Return the first of two turns that make up R: it takes the second axis to where R takes it.

    Cosine and sine are linear in R. They are exact where R is such a product; elsewhere, if they are to be, they are
    made so.
    """
    a, b = vector(g.axis), vector(h.axis)
    c, s = turn_to(a, b, matvec(R, b))
    if exact:
        return about(a, *unit(c, s))
    k = 1.0 / float(np.linalg.norm(np.cross(g.axis, h.axis)) ** 2)
    return about(a, k * c, k * s)
