"""Remarks of a reader: faults of a file that do not stop it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..errors import ModelError
from ..model import ModelBuilder

__all__ = ["Remarks", "some"]


class Remarks:
    """Faults that were found while reading, collected into one note of each kind."""

    def __init__(self) -> None:
        self._found: dict[str, list[tuple[str, str]]] = {}

    def add(self, kind: str, item: str, where: str) -> None:
        """Add a fault; `kind` says what was done about it."""
        self._found.setdefault(kind, []).append((item, where))

    def left_out(self, kind: str, error: ModelError) -> None:
        """Add parts that are left out because of an error."""
        self.add(f"{kind} that are left out", str(error).removeprefix(f"{error.where}: "), error.where)

    def raise_to_zero(self, terms: dict[str, float], keys: Iterable[str], what: str, where: str) -> None:
        """Replace negative coefficients of a joint, which would drive it, by zero: they are likely to be mistakes."""
        for key in keys:
            if terms.get(key, 0.0) < 0.0:
                self.add("taken as zero, because it is below", f"{key} {terms[key]:g} of {what}", where)
                terms[key] = 0.0

    def note(self, builder: ModelBuilder, *, quiet: bool = False) -> None:
        """Add all notes to the model; `quiet` ones are about parts that do not change the motion."""
        for kind, items in self._found.items():
            silent = quiet or kind in _QUIET
            builder.note(f"{kind}: {some([item for item, _ in items])}", items[0][1], quiet=silent)


_QUIET = (
    *("shapes that are left out", "colors that are left out", "materials that are not defined"),
    *("named after its file, because its own name is empty: the robot", "repeated, and read once"),
)
"""Faults that do not change the motion."""


def some(items: Sequence[str], most: int = 5) -> str:
    """Return a list for a message: the first items, and how many there are if not all are shown."""
    return (", ".join(items[:most]) + (f", ... ({len(items)} in all)" if items[most:] else "")) or "none"
