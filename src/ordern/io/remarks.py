"""Remarks of a reader: faults of a file that do not stop it."""

from __future__ import annotations

from ..model import ModelBuilder

__all__ = ["Remarks"]


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
            some = ", ".join(item for item, _ in items[:5]) + (f", ... ({len(items)} in all)" if items[5:] else "")
            builder.note(f"{kind}: {some}", items[0][1])
