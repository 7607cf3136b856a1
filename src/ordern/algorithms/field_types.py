"""Types of fields that hold several values for each body: their number is fixed when an algorithm is traced."""

from __future__ import annotations

from typing import Generic, TypeVar

from ..model import Field, Tree
from ..records import dataclass
from ..spatial import Columns, FixedSize, Force, Forces, Freedoms, Motion

__all__ = ["Loads", "Motions", "Numbers", "cleared"]

T = TypeVar("T")


@dataclass(frozen=True)
class _Several(Generic[T]):
    """The type of a field of several values, by the value that is zero."""

    none: T

    def zero(self) -> T:
        """Return the value that is zero."""
        return self.none


def Loads(n: int) -> FixedSize[Forces]:
    """Return the type of a field of n forces."""
    return _Several(Forces((Force.zero(),) * n))


def Motions(n: int) -> FixedSize[Columns]:
    """Return the type of a field of n motions."""
    return _Several(Columns((Motion.zero(),) * n))


def Numbers(n: int) -> FixedSize[Freedoms]:
    """Return the type of a field of n numbers."""
    return _Several(Freedoms((0.0,) * n))


def cleared(tree: Tree, type: FixedSize[T]) -> Field[T]:
    """Return a field that is zero on all bodies."""
    found = tree.field(type)
    for i, _ in tree.outward():
        found[i] = type.zero()
    return found
