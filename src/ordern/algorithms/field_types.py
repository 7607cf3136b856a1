"""Types of fields that hold several values for each body: their number is fixed when an algorithm is traced."""

from __future__ import annotations

from ..records import dataclass
from ..spatial import Columns, Force, Forces, Freedoms, Motion

__all__ = ["Loads", "Motions", "Numbers"]


@dataclass(frozen=True)
class Loads:
    """The type of a field of n forces."""

    n: int

    def zero(self) -> Forces:
        """Return n forces that are zero."""
        return Forces((Force.zero(),) * self.n)


@dataclass(frozen=True)
class Motions:
    """The type of a field of n motions."""

    n: int

    def zero(self) -> Columns:
        """Return n motions that are zero."""
        return Columns((Motion.zero(),) * self.n)


@dataclass(frozen=True)
class Numbers:
    """The type of a field of n numbers."""

    n: int

    def zero(self) -> Freedoms:
        """Return n zeros."""
        return Freedoms((0.0,) * self.n)
