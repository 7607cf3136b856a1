"""Which shapes touch each other by the rules of a file, and with which friction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..model.contact_terms import ContactPair, ContactRules, Friction, friction_between
from ..model.parts import BASE, Shape

if TYPE_CHECKING:
    from ..model import Model

__all__ = ["FileRules"]


class FileRules:
    """The rules of a model's file: MuJoCo's, where it is an MJCF file.

    Shapes touch if the bits of one agree with those of the other, no <exclude> names their links, and no joint with
    fewer than six degrees of freedom connects their bodies. Bodies without mass and shapes, which stand between two
    joints, do not count. In MJCF, bodies on the world touch what is fixed to it. Shapes of a <pair> touch in any case.
    """

    def __init__(self, model: Model) -> None:
        rules = model.contact_rules or ContactRules()
        self._excluded = {frozenset(pair) for pair in rules.excluded}
        self._pairs = {frozenset([pair.first, pair.second]): pair for pair in rules.pairs}
        self._neighbours, self._on_world = rules.neighbours, model.contact_rules is not None
        has_shape = {shape.body for shape in model.shapes}
        self._parents: list[int | None] = []
        for c in model.joints:
            if c.type.nv == 6:
                self._parents.append(None)
                continue
            parent = c.parent
            while parent != BASE and not model.bodies[parent].mass and parent not in has_shape:
                parent = model.joints[parent].parent
            self._parents.append(parent)

    def pair(self, a: Shape, b: Shape) -> ContactPair | None:
        """Return the <pair> of two shapes."""
        return self._pairs.get(frozenset([(a.link, a.name), (b.link, b.name)])) if self._pairs else None

    def touch(self, a: Shape, b: Shape, *, asked: bool = False) -> bool:
        """Return whether two shapes of different bodies touch; if they are asked for, only bits keep them apart."""
        if self.pair(a, b) is not None:
            return True
        if not _bits(a, b):
            return False
        if asked:
            return True
        return frozenset([a.link, b.link]) not in self._excluded and not self._connected(a.body, b.body)

    def _connected(self, a: int, b: int) -> bool:
        """Return whether a joint connects two bodies, and keeps them from touching."""
        if self._neighbours or (BASE in (a, b) and self._on_world):
            return False
        return any(x != BASE and self._parents[x] == y for x, y in ((a, b), (b, a)))

    def friction(self, a: Shape, b: Shape) -> Friction:
        """Return the coefficients of the contact of two shapes."""
        return friction_between(a, b, self.pair(a, b))


def _bits(a: Shape, b: Shape) -> bool:
    """Return whether the category of one shape is among those that the other touches."""
    (mine, my_others), (its, its_others) = (
        (1, 1) if s.contact is None else (s.contact.category, s.contact.collides_with) for s in (a, b)
    )
    return bool(mine & its_others or its & my_others)
