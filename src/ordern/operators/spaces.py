"""Spaces of stacked vectors: motions of the bodies, forces on them, joint velocities, joint forces.

An operator takes vectors of one space to another, and its transpose takes the dual of the latter to the dual of the
former, as power demands. That a motion is not a force is checked when operators are multiplied or added.
"""

from __future__ import annotations

from functools import cached_property

from ..records import dataclass

__all__ = ["ANY", "Space", "fits"]


@dataclass(frozen=True)
class Space:
    """A space of stacked vectors: its name, the name of its dual, and the sizes of its blocks."""

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
        """The slice of each block."""
        found, start = [], 0
        for size in self.sizes:
            found.append(slice(start, start + size))
            start += size
        return tuple(found)

    @cached_property
    def size(self) -> int:
        """The number of entries."""
        return sum(self.sizes)

    def __str__(self) -> str:
        return self.name


ANY = Space("anything", "anything", ())
"""The space of an identity, or of zero, before it is combined with another operator."""


def fits(one: Space, other: Space) -> bool:
    """Return whether two spaces are the same, as far as is known."""
    return one is ANY or other is ANY or one == other
