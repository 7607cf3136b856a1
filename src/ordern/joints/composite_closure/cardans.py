"""Products of two universal joints with parallel middle axes: a drive shaft, which may slide.

The first axis a and the last axis Rc are both perpendicular to the axes in the middle; so is the line w between the
centres of both crosses. Three vectors are perpendicular to one direction if they lie in a plane: a . (Rc x w) = 0. If
the shaft does not slide, its length is constant too.
"""

from __future__ import annotations

import numpy as np

from ...arguments import Array
from ...records import dataclass
from ...spatial import Pose
from ...spatial.linear import ZERO3, Vector3, cross, dot, matvec, scale, subtract
from ..closure import Rows
from .displacements import SAME, Group
from .known_turns import known_turns
from .parallel_axes import parallel_axes
from .products import Product
from .turning import about, after, displacement, inverse, turn_to, unit, vector

__all__ = ["Cardans", "cardans"]


@dataclass(frozen=True, eq=False)
class Cardans(Product):
    """A turn, then motions in a plane that its axis is in, all or about two axes, then a turn about another such."""

    groups: tuple[Group, ...]
    start: Vector3
    """The centre of the first cross."""
    end: Vector3
    """The centre of the second cross."""
    middle: Vector3
    """The direction of the axes in the middle."""
    slides: bool

    def _sides(self, X: Pose) -> tuple[Vector3, Vector3, Vector3]:
        """Return the first axis, the last one, and the line between both centres."""
        a, c = vector(self.groups[0].axis), vector(self.groups[-1].axis)
        return a, matvec(X.rotation, c), subtract(X.point(self.end), self.start)

    def rows(self, X: Pose) -> tuple[Rows, Rows]:
        """Return the residuals: all three vectors lie in one plane, and the shaft has its length."""
        a, c, w = self._sides(X)
        d = subtract(self.end, self.start)
        square = dot(d, d)
        flat = dot(a, cross(c, w))
        if self.slides:
            return (), (flat,)
        size = float(np.sqrt(square))
        return (flat * (1.0 / size),), ((dot(w, w) - square) * (0.5 / size),)

    @property
    def _side(self) -> float:
        """The side of the plane of shaft and first axis on which the middle axis is, by its sign."""
        a = vector(self.groups[0].axis)
        return float(dot(cross(subtract(self.end, self.start), a), self.middle))

    @property
    def unknown(self) -> str:
        """A shaft along an axis of its cross has no side."""
        return "at the neutral position a shaft is along an axis of its cross" if abs(self._side) <= SAME else ""

    def elements(self, X: Pose) -> tuple[Pose, ...]:
        """Return the elements: the first turn makes the middle axis perpendicular to the shaft."""
        a, _, w = self._sides(X)
        there = scale(1.0 if self._side > 0.0 else -1.0, cross(w, a))
        first = displacement(about(a, *unit(*turn_to(a, self.middle, there))), self.start, ZERO3)
        rest = known_turns(self.groups[1:]) or parallel_axes(self.groups[1:])
        assert rest is not None
        return (first, *rest.elements(after(inverse(first), X)))


def cardans(groups: tuple[Group, ...]) -> Product | None:
    """Return the product, if it is one of two crosses."""
    first, *middle, last = groups
    if len(middle) not in (1, 2) or not (first.is_hinge and last.is_hinge):
        return None
    slides = len(middle) == 1
    if slides and not _planar(middle[0]):
        return None
    if not slides and not (all(g.is_hinge for g in middle) and middle[0].parallel_to(middle[1])):
        return None
    b = middle[0].axis
    start = first.point if slides else _meeting(first, middle[0])
    end = last.point if slides else _meeting(last, middle[-1])
    if start is None or end is None:
        return None
    if max(abs(float(b @ x)) for x in (first.axis, last.axis, end - start)) > SAME:
        return None
    if not slides and np.linalg.norm(end - start) <= SAME:
        return None
    return Cardans(groups, vector(start), vector(end), vector(b), slides)


def _planar(g: Group) -> bool:
    return g.freedoms == 3 and g.turns == 1 and g.shifts.shape[1] == 2 and not g.rise


def _meeting(g: Group, h: Group) -> Array | None:
    """Return the point where two axes meet, if they do."""
    s, t = np.linalg.lstsq(np.column_stack([g.axis, -h.axis]), h.point - g.point, rcond=None)[0]
    one, other = g.point + s * g.axis, h.point + t * h.axis
    return 0.5 * (one + other) if np.linalg.norm(one - other) <= SAME else None
