"""What readers notice and go on from."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from ..model import ModelBuilder
from .xml import Element

__all__ = ["Remarks", "note_repeats"]


class Remarks:
    """What is noticed on the way, gathered into one note of each kind."""

    def __init__(self) -> None:
        self._found: dict[str, list[tuple[str, str]]] = {}

    def add(self, kind: str, item: str, where: str) -> None:
        """Remember something; `kind` says what was done about it."""
        self._found.setdefault(kind, []).append((item, where))

    def note(self, builder: ModelBuilder) -> None:
        """Hand all to the model."""
        for kind, items in self._found.items():
            some = ", ".join(item for item, _ in items[:5]) + (f", ... ({len(items)} in all)" if items[5:] else "")
            builder.note(f"{kind}: {some}", items[0][1])


def note_repeats(
    roots: Iterable[Element], known: Mapping[str, Container[str]], many: Container[str], remarks: Remarks
) -> None:
    """Remark on elements that say what another beside them has said, of those that are `known` inside of others.

    Of those that there may be `many` of, each is one more.
    """
    stack = list(roots)
    while stack:
        element = stack.pop()
        inside = known.get(element.tag, ())
        first: dict[str, Element] = {}
        for child in element.children:
            if child.tag not in inside:
                continue
            stack.append(child)
            one = first.setdefault(child.tag, child)
            if one is not child and child.tag not in many and child.repeats(one):
                name = element.attributes.get("name")
                of = f"{element.tag} {name!r}" if name else f"<{element.tag}> in line {element.line}"
                remarks.add("said twice, and read once", f"<{child.tag}> of {of}", child.where)
