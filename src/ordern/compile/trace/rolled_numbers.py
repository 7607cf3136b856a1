"""Numbers that vary in rolled code: an input with whole columns of the rows, so that their addresses are affine."""

from __future__ import annotations

from collections.abc import Sequence

from ...graph import Node
from ...model import Frame, Model
from ...model.varied_rows import varied_rows
from .rolled_program import Memory, Place, Position

__all__ = ["VariedColumns"]


class VariedColumns:
    """The places of the numbers that vary: of each body the columns that vary somewhere, then gravity and frames."""

    def __init__(self, model: Model, memory: Memory) -> None:
        self._model, self._memory, self._rows = model, memory, varied_rows(model)
        self._width, self._after = len(self._rows.columns), len(model.bodies) * len(self._rows.columns)

    def of_kind(self, kind: int, who: str) -> dict[int, Place]:
        """Return the places of the entries of a row that vary in some body of a kind, for the body of a loop."""
        t = self._model.tables
        pattern = self._rows.pattern[: t.rows.size].reshape(t.rows.shape)
        varies = (pattern[t.kind == kind] >= 0).any(axis=0)
        terms = ((self._width, Position("body", who)),)
        return {c: Place(self._memory, k, terms) for k, c in enumerate(self._rows.columns) if varies[c]}

    @property
    def gravity(self) -> list[float | Place]:
        """The components of gravity that are fixed, and the places of the others."""
        own = enumerate(self._rows.gravity)
        return [Place(self._memory, self._after + k) if isinstance(x, Node) else float(x) for k, x in own]

    def frame(self, frame: Frame) -> Sequence[Place] | None:
        """Return the places of a frame's placement; None if it is fixed."""
        place = self._rows.frame(frame)
        start = self._after + 3 + 12 * (place or 0)
        return None if place is None else [Place(self._memory, start + k) for k in range(12)]
