"""Remarks of a reader: faults of a file that do not stop it."""

from __future__ import annotations

from collections.abc import Sequence

from ..model import ModelBuilder

__all__ = ["Remarks", "some"]


class Remarks:
    """Faults that were found while reading, collected into one note of each kind."""

    def __init__(self) -> None:
        self._found: dict[str, list[tuple[str, str]]] = {}

    def add(self, kind: str, item: str, where: str) -> None:
        """Add a fault; `kind` says what was done about it."""
        self._found.setdefault(kind, []).append((item, where))

    def note(self, builder: ModelBuilder) -> None:
        """Add all notes to the model."""
        for kind, items in self._found.items():
            builder.note(f"{kind}: {some([item for item, _ in items])}", items[0][1])


def some(items: Sequence[str], most: int = 5) -> str:
    """Return a list for a message: the first items, and how many there are if not all are shown."""
    return (", ".join(items[:most]) + (f", ... ({len(items)} in all)" if items[most:] else "")) or "none"
