"""The elements and attributes that a reader of an XML format knows, and what it does about others."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from ..model import ModelBuilder
from .remarks import Remarks
from .spelling import refuse_misspelt_attributes, refuse_misspelt_child
from .xml import Element

__all__ = ["Grammar", "note_kinds", "note_unread"]

_LOOKS = ("visual", "collision", "material")
"""Elements whose contents do not affect the motion."""


class Grammar:
    """The children and attributes that are read, by element; and the elements that may be repeated."""

    def __init__(self, known: Mapping[str, tuple[str, str]], repeated: Iterable[str], root: str = "") -> None:
        self._names = {tag: tuple(children.split()) for tag, (children, _) in known.items()}
        self._children = {tag: frozenset(names) for tag, names in self._names.items()}
        self._attributes = {tag: dict.fromkeys(attributes.split()) for tag, (_, attributes) in known.items()}
        self._repeated, self._root = frozenset(repeated), root

    def _read(self, roots: Iterable[Element], skipped: Container[str] = ()) -> Iterator[Element]:
        """Yield the elements that are read, besides the skipped ones and what is in them, in no particular order."""
        stack = list(roots)
        while stack:
            element = stack.pop()
            yield element
            known = self._children.get(element.tag, ())
            stack += [child for child in element.children if child.tag in known and child.tag not in skipped]

    def refuse_misspelt(self, roots: Iterable[Element]) -> None:
        """Raise if a name that affects the motion looks misspelt: the robot would be another one without it."""
        for element in self._read(roots, _LOOKS):
            attributes = self._attributes.get(element.tag, {})
            if not element.attributes.keys() <= attributes.keys():
                refuse_misspelt_attributes(element, attributes)
            known = self._children.get(element.tag)
            unknown = [child for child in element.children if child.tag not in known] if known is not None else []
            present = {child.tag for child in element.children} if unknown else set()
            for child in unknown:
                refuse_misspelt_child(child, element, present, self._names[element.tag], self._repeated)

    def unread(self, roots: Iterable[Element], *, attributes: bool = False) -> dict[str, list[Element]]:
        """Return the elements that are not read (gazebo, plugin, sensor ...) by kind, in the order of the file.

        With `attributes`, the attributes that are not read are among them.
        """
        found: dict[str, list[Element]] = {}
        for element in self._read(roots):
            read = self._children.get(element.tag)
            for child in element.children:
                if read is not None and child.tag not in read:
                    inside = "" if element.tag == self._root else f" in <{element.tag}>"
                    found.setdefault(f"<{child.tag}>{inside}", []).append(child)
            known = self._attributes[element.tag] if attributes else element.attributes
            for name in () if element.attributes.keys() <= known.keys() else element.attributes:
                if name not in known and not name.startswith("xmlns"):
                    found.setdefault(f"{name} of <{element.tag}>", []).append(element)
        for elements in found.values():
            elements.sort(key=lambda element: element.line)
        return dict(sorted(found.items(), key=lambda item: item[1][0].line))

    def note_repeats(self, roots: Iterable[Element], remarks: Remarks) -> None:
        """Remark on elements that repeat an element beside them word for word."""
        for element in self._read(roots):
            first: dict[str, Element] = {}
            for child in element.children:
                one = first.setdefault(child.tag, child)
                known = child.tag in self._children.get(element.tag, ()) and child.tag not in self._repeated
                if known and one is not child and child.repeats(one):
                    name = element.attributes.get("name")
                    of = f"{element.tag} {name!r}" if name else f"<{element.tag}> in line {element.line}"
                    remarks.add("repeated, and read once", f"<{child.tag}> of {of}", child.where)


def note_unread(builder: ModelBuilder, unread: Mapping[str, list[Element]]) -> None:
    """Add one note about all elements that are not read."""
    if unread:
        counts = [f"{what} ({len(found)}, first in line {found[0].line})" for what, found in unread.items()]
        note_kinds(builder, counts, next(iter(unread.values()))[0].where, 20)


def note_kinds(builder: ModelBuilder, counts: Sequence[str], where: str, most: int) -> None:
    """Add one note about kinds of parts that are not read; it lists the first ones."""
    more = f", ... ({len(counts)} kinds in all)" if counts[most:] else ""
    builder.note(f"not read: {', '.join(counts[:most])}{more}", where)
