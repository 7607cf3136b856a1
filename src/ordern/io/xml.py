"""Reading XML safely: a tree of elements with line numbers, and nothing that a file could do besides.

Loading never executes, fetches or expands anything. Document types, and with them all entity declarations,
are refused; so are documents beyond the limits below. Whatever is wrong is a `ModelError` with file and line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NoReturn
from xml.parsers import expat

from ..errors import ModelError

__all__ = ["MAX_BYTES", "MAX_DEPTH", "MAX_PARTS", "MAX_TAG_BYTES", "Element", "parse_xml"]

MAX_BYTES = 50_000_000
"""The longest document."""
MAX_DEPTH = 1000
"""The deepest nesting of elements."""
MAX_PARTS = 1_000_000
"""Elements and attributes in all: some 30,000 links. The worst document takes 3 s and 250 MB."""
MAX_TAG_BYTES = 4_000_000
"""The longest single tag or comment: expat keeps these whole, and scans them anew with every chunk."""
_CHUNK = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Element:
    """An element of a document; prefixes of names are kept as they are written."""

    tag: str
    attributes: Mapping[str, str]
    children: tuple[Element, ...]
    text: str
    """The text directly inside, without that of children; surrounding space removed."""
    line: int
    source: str
    """The file, or `<string>`."""

    @property
    def where(self) -> str:
        """File and line, for messages."""
        return f"{self.source}:{self.line}"

    def all(self, tag: str) -> Iterator[Element]:
        """The children with this tag."""
        return (child for child in self.children if child.tag == tag)

    def only(self, tag: str, what: str) -> Element | None:
        """The one child with this tag, if there is any. `what` has it, for the message if there are more."""
        found: Element | None = None
        for child in self.children:
            if child.tag == tag:
                if found is not None:
                    raise ModelError(
                        f"{what} has a second <{tag}> (the first is in line {found.line}); expected one",
                        child.where,
                    )
                found = child
        return found

    def __repr__(self) -> str:
        return f"Element(<{self.tag}>, {self.where})"


def parse_xml(data: bytes | str, source: str) -> Element:
    """The root element of a document. `source` is the name of the file, for messages."""
    if isinstance(data, str):
        try:
            data, encoding = data.encode(), "utf-8"
        except UnicodeEncodeError as e:
            raise ModelError(f"the text has a character that is none: {e}", source) from None
    else:
        encoding = None
    if len(data) > MAX_BYTES:
        raise ModelError(f"the document has {len(data):,} bytes; at most {MAX_BYTES:,} are read", source)
    return _Parser(source, encoding).parse(memoryview(data))


class _Open:
    """An element whose end has not been seen."""

    __slots__ = ("attributes", "children", "line", "tag", "text")

    def __init__(self, tag: str, attributes: dict[str, str], line: int) -> None:
        self.tag = tag
        self.attributes = attributes
        self.line = line
        self.children: list[Element] = []
        self.text: list[str] = []


class _Parser:
    """Drives expat and keeps the open elements on a stack, so that no nesting exhausts Python's own."""

    def __init__(self, source: str, encoding: str | None) -> None:
        self.source = source
        self.parts = 0
        self.stack = [_Open("", {}, 0)]
        self.expat = p = expat.ParserCreate(encoding)
        p.buffer_text = True
        p.StartElementHandler = self.start
        p.EndElementHandler = self.end
        p.CharacterDataHandler = self.characters
        p.StartDoctypeDeclHandler = self.doctype

    def parse(self, data: memoryview) -> Element:
        p = self.expat
        try:
            for at in range(0, len(data), _CHUNK):
                p.Parse(data[at : at + _CHUNK], False)
                if at + _CHUNK - p.CurrentByteIndex > MAX_TAG_BYTES:
                    self.refuse(f"a single tag or comment has more than {MAX_TAG_BYTES:,} bytes")
            p.Parse(b"", True)
        except expat.ExpatError as e:
            raise ModelError(
                f"the XML is broken: {expat.ErrorString(e.code)} (column {e.offset + 1})",
                f"{self.source}:{e.lineno}",
            ) from None
        except ModelError:
            raise
        except (LookupError, ValueError) as e:
            raise ModelError(f"the encoding that the document declares cannot be read: {e}", self.where) from None
        finally:  # the parser and its handlers refer to each other
            p.StartElementHandler = p.EndElementHandler = None
            p.CharacterDataHandler = p.StartDoctypeDeclHandler = None
        return self.stack[0].children[0]

    @property
    def where(self) -> str:
        return f"{self.source}:{self.expat.CurrentLineNumber}"

    def refuse(self, message: str) -> NoReturn:
        raise ModelError(message, self.where)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.parts += 1 + len(attributes)
        if self.parts > MAX_PARTS:
            self.refuse(f"the document has more than {MAX_PARTS:,} elements and attributes")
        if len(self.stack) > MAX_DEPTH:
            self.refuse(f"elements are nested more than {MAX_DEPTH} deep")
        self.stack.append(_Open(tag, attributes, self.expat.CurrentLineNumber))

    def end(self, tag: str) -> None:
        done = self.stack.pop()
        text = "".join(done.text).strip()
        self.stack[-1].children.append(
            Element(tag, done.attributes, tuple(done.children), text, done.line, self.source)
        )

    def characters(self, text: str) -> None:
        self.stack[-1].text.append(text)

    def doctype(self, name: str, system: str | None, public: str | None, subset: bool) -> None:
        self.refuse(f"the document type declaration <!DOCTYPE {name} ...> is not allowed; remove it")
