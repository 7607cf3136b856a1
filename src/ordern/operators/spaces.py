"""What stacked vectors are made of: motions of the bodies, forces on them, joint velocities, joint forces.

An operator takes vectors of one space to another, and its transpose takes the dual of the latter to the dual of the
former, as power demands. That a motion is not a force is checked when operators are multiplied or added.
"""

from __future__ import annotations

from functools import cached_property

from ..records import dataclass

__all__ = ["ANY", "Space", "fits"]


@dataclass(frozen=True)
class Space:
    """Stacked vectors: what they are, what their dual is, and how many numbers each of their blocks has."""

    name: str
    dual: str
    sizes: tuple[int, ...]

    @cached_property
    def T(self) -> Space:
        """The dual space: forces for motions, motions for forces."""
        other = Space(self.dual, self.name, self.sizes)
        other.__dict__["T"] = self
        return other

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """Where each block is."""
        found, start = [], 0
        for size in self.sizes:
            found.append(slice(start, start + size))
            start += size
        return tuple(found)

    @cached_property
    def size(self) -> int:
        """How many numbers there are in all."""
        return sum(self.sizes)

    def __str__(self) -> str:
        return self.name


ANY = Space("anything", "anything", ())
"""The space of an identity, or of nothing, before it has met another operator."""


def fits(one: Space, other: Space) -> bool:
    """Whether two spaces are the same, as far as is known."""
    return one is ANY or other is ANY or one == other
