"""Changing single attributes of an XML document; all other characters stay as they are.

The places of tags come from expat, as offsets of bytes. The text is kept as Latin-1, in which each byte is one
character, so that offsets are indices and other characters come back as the bytes that they were.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field
from xml.parsers import expat

from ..errors import ModelError
from ..records import dataclass

__all__ = ["EditedXml", "Tag"]

_ATTRIBUTE = re.compile(r"""\s*([^\s=/>"']+)\s*=\s*("[^"]*"|'[^']*')""")


@dataclass(slots=True, eq=False)
class Tag:
    """A start tag of a document, and its place there."""

    name: str
    attributes: dict[str, str]
    line: int
    start: int
    children: list[Tag] = field(default_factory=list)

    def child(self, name: str) -> Tag | None:
        """Return the first child of this name, or None."""
        return next((x for x in self.children if x.name == name), None)

    def all(self) -> Iterator[Tag]:
        """Return this tag and all tags inside it."""
        yield self
        for child in self.children:
            yield from child.all()


class EditedXml:
    """A document whose attributes are changed; `data` is the result."""

    def __init__(self, data: bytes, source: str) -> None:
        """Find the tags of a document that has been read without errors before."""
        if b"\0" in data[:4] or data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise ModelError("the document is in UTF-16; save it in UTF-8 to change numbers in place", source)
        self.skipped = len(data) - len(data.lstrip(b" \t\r\n"))
        self.text = data.decode("latin-1")
        self.values: dict[int, tuple[Tag, dict[str, str | None]]] = {}
        self.inserted: dict[int, tuple[Tag, list[str]]] = {}
        self.root = self._parse(data[self.skipped :].rstrip(b"\0"))

    def _parse(self, data: bytes) -> Tag:
        p = expat.ParserCreate()
        top = Tag("", {}, 0, 0)
        stack = [top]
        lines = self.text.count("\n", 0, self.skipped)

        def start(name: str, attributes: dict[str, str]) -> None:
            tag = Tag(name, attributes, p.CurrentLineNumber + lines, p.CurrentByteIndex + self.skipped)
            stack[-1].children.append(tag)
            stack.append(tag)

        def end(name: str) -> None:
            stack.pop()

        p.StartElementHandler, p.EndElementHandler = start, end
        p.Parse(data, True)
        return top.children[0]

    def set(self, tag: Tag, **attributes: str | None) -> None:
        """Give a tag other values of attributes; None removes one."""
        self.values.setdefault(tag.start, (tag, {}))[1].update(attributes)

    def insert(self, tag: Tag, child: str) -> None:
        """Add a child, its text, as the first one of a tag."""
        self.inserted.setdefault(tag.start, (tag, []))[1].append(child)

    @property
    def data(self) -> bytes:
        """The changed document."""
        text = self.text
        for at in sorted({*self.values, *self.inserted}, reverse=True):
            end = self._end(at)
            head = text[at:end]
            for name, value in self.values.get(at, (None, {}))[1].items():
                head = _with(head, name, value)
            if at in self.inserted:
                tag, children = self.inserted[at]
                head = self._with_children(tag, head, children, end)
            text = text[:at] + head + text[end:]
        return text.encode("latin-1")

    def _end(self, at: int) -> int:
        """Return the place after a start tag: its `>` outside of quotation marks."""
        quote = ""
        for k in range(at, len(self.text)):
            c = self.text[k]
            if quote:
                quote = "" if c == quote else quote
            elif c in "\"'":
                quote = c
            elif c == ">":
                return k + 1
        raise ModelError("the document has a tag without an end")  # expat would have refused it

    def _with_children(self, tag: Tag, head: str, children: list[str], end: int) -> str:
        """Return a start tag with children after it, indented like those that are there."""
        line = self.text.rfind("\n", 0, tag.start) + 1
        own = self.text[line : tag.start]
        own = own if not own.strip() else ""
        inner = own + "  "
        if tag.children:
            gap = self.text[end : tag.children[0].start].rpartition("\n")[2]
            inner = gap if not gap.strip() and gap else inner
        lines = "".join(f"\n{inner}{child}" for child in children)
        if not head.endswith("/>"):
            return head + lines
        name = head[1:].split(maxsplit=1)[0].removesuffix("/>")
        return f"{head[:-2].rstrip()}>{lines}\n{own}</{name}>"


def _with(head: str, name: str, value: str | None) -> str:
    """Return a start tag with another value of one attribute."""
    at = re.match(r"<[^\s/>]+", head)
    assert at is not None
    place = at.end()
    while found := _ATTRIBUTE.match(head, place):
        if found[1] == name:
            if value is None:
                return head[:place] + head[found.end() :]
            return head[: found.start(2) + 1] + value + head[found.end(2) - 1 :]
        place = found.end()
    return head if value is None else f'{head[:place]} {name}="{value}"{head[place:]}'
