"""Reading XML safely, into a tree of elements with line numbers.

Loading never executes, fetches or expands anything. Document types, and with them all entity declarations,
are refused; so are documents beyond the limits below. Whatever is wrong is a `ModelError` with file and line.

Differs: space before the XML declaration and NUL bytes after the document are accepted, as in other readers of robots;
files in the wild have them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NoReturn
from xml.parsers import expat

from ..errors import ModelError
from ..records import dataclass

__all__ = ["MAX_BYTES", "MAX_DEPTH", "MAX_PARTS", "MAX_TAG_BYTES", "Element", "parse_xml"]

MAX_BYTES = 20_000_000
"""The longest document: a hundred times the longest known robot."""
MAX_DEPTH = 1000
"""The deepest nesting of elements."""
MAX_PARTS = 200_000
"""Elements and attributes in all: 25 times those of the largest known robot, some 8,000 links."""
MAX_TAG_BYTES = 4_000_000
"""The longest single tag or comment: expat keeps these whole, and scans them anew with every chunk."""
_CHUNK = 1_000_000


@dataclass(slots=True, eq=False)  # not frozen: that would make reading a large document half as fast
class Element:
    """An element of a document; prefixes of names are kept as they are written."""

    tag: str
    attributes: Mapping[str, str]
    children: list[Element]
    text: str
    """The text directly inside, without that of children; surrounding space removed."""
    line: int
    source: str
    """The file, or `<string>`."""

    @property
    def where(self) -> str:
        """File and line, for messages."""
        return f"{self.source}:{self.line}"

    def error(self, message: str) -> ModelError:
        """Return an error with the file and line of this element."""
        return ModelError(message, self.where)

    def all(self, tag: str) -> Iterator[Element]:
        """Return the children with this tag."""
        return (child for child in self.children if child.tag == tag)

    def only(self, tag: str, what: str) -> Element | None:
        """Return the only child with this tag, or None; raise if there are several. `what` is the parent's name.

        A child that repeats the first word for word is allowed.
        """
        found: Element | None = None
        for child in self.children:
            if child.tag == tag:
                if found is not None:
                    if child.repeats(found):
                        continue
                    first = f"the first is in line {found.line}"
                    raise child.error(f"{what} has a second <{tag}> ({first}); expected one")
                found = child
        return found

    def repeats(self, other: Element) -> bool:
        """Return whether it equals another element: the same tag, attributes and text, without children."""
        same = self.tag == other.tag and self.attributes == other.attributes and self.text == other.text
        return same and not self.children and not other.children

    def __repr__(self) -> str:
        return f"Element(<{self.tag}>, {self.where})"


def parse_xml(data: bytes | str, source: str) -> Element:
    """Return the root element of a document. `source` is the name of the file, for messages."""
    if len(data) > MAX_BYTES:
        unit = "bytes" if isinstance(data, bytes) else "characters"
        raise ModelError(f"the document has {len(data):,} {unit}; at most {MAX_BYTES:,} are read", source)
    if isinstance(data, bytes):
        data, skipped = _trimmed(data)
        return _Parser(source, None, skipped).parse(data)
    try:
        return _Parser(source, "utf-8", 0).parse(data.encode())
    except UnicodeEncodeError as e:
        line = data.count("\n", 0, e.start) + 1
        raise ModelError(f"the text has the invalid character {data[e.start]!a}", f"{source}:{line}") from None


def _trimmed(data: bytes) -> tuple[bytes, int]:
    """Return a document without space before and NUL bytes after it, and the number of lines removed before it."""
    wide = b"\0" in data[:4] or data[:2] in (b"\xff\xfe", b"\xfe\xff")  # UTF-16, in which a zero is half a character
    if data.endswith(b"\0") and not wide:
        data = data.rstrip(b"\0 \t\r\n")
    bare = data.lstrip(b" \t\r\n")
    if not bare.startswith(b"<?xml"):
        return data, 0
    return bare, data.count(b"\n", 0, len(data) - len(bare))


class _Parser:
    """Runs expat, and keeps the open elements on a stack of its own, which deep nesting cannot exhaust."""

    def __init__(self, source: str, encoding: str | None, skipped: int) -> None:
        self.source = source
        self.skipped = skipped
        self.parts = 0
        self.stack = [Element("", {}, [], "", 0, source)]
        self.texts: list[list[str]] = [[]]
        """The texts in the open elements; joined at the end, since adding one by one takes quadratic time."""
        self.expat = p = expat.ParserCreate(encoding)
        p.buffer_text = True
        p.StartElementHandler = self.start
        p.EndElementHandler = self.end
        p.CharacterDataHandler = self.characters
        p.StartDoctypeDeclHandler = self.doctype

    def parse(self, data: bytes) -> Element:
        p, view = self.expat, memoryview(data)
        try:
            for at in range(0, len(view), _CHUNK):
                p.Parse(view[at : at + _CHUNK], False)
                if at + _CHUNK - p.CurrentByteIndex > MAX_TAG_BYTES:
                    self.refuse(f"a single tag or comment has more than {MAX_TAG_BYTES:,} bytes")
            p.Parse(b"", True)
        except expat.ExpatError as e:
            fault = f"{expat.ErrorString(e.code)} (column {e.offset + 1})"
            hint = _hint(e, data, p) or self.still_open(e.code)
            raise ModelError(f"the XML is broken: {fault}{hint}", f"{self.source}:{e.lineno + self.skipped}") from None
        except ModelError:
            raise
        except (LookupError, TypeError, ValueError, Warning) as e:  # of Python's codecs
            raise ModelError(f"the encoding that the document declares cannot be read: {e}", self.where) from None
        finally:  # the parser and its handlers refer to each other
            p.StartElementHandler = p.EndElementHandler = None
            p.CharacterDataHandler = p.StartDoctypeDeclHandler = None
        return self.stack[0].children[0]

    @property
    def line(self) -> int:
        return self.expat.CurrentLineNumber + self.skipped

    @property
    def where(self) -> str:
        return f"{self.source}:{self.line}"

    def still_open(self, code: int) -> str:
        """Return a hint about the element whose end is missing, if there is one."""
        element = self.stack[-1]
        if code not in (_TAG_MISMATCH, _NO_ELEMENTS) or not element.tag:
            return ""
        return f": expected </{element.tag:.80}>, the end of <{element.tag:.80}> in line {element.line}"

    def refuse(self, message: str) -> NoReturn:
        raise ModelError(message, self.where)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.parts += 1 + len(attributes)
        if self.parts > MAX_PARTS:
            self.refuse(f"the document has more than {MAX_PARTS:,} elements and attributes")
        if len(self.stack) > MAX_DEPTH:
            self.refuse(f"elements are nested more than {MAX_DEPTH} deep")
        element = Element(tag, attributes, [], "", self.line, self.source)
        self.stack[-1].children.append(element)
        self.stack.append(element)
        self.texts.append([])

    def end(self, tag: str) -> None:
        element = self.stack.pop()
        text = self.texts.pop()
        if text:
            element.text = "".join(text).strip()

    def characters(self, text: str) -> None:
        self.texts[-1].append(text)

    def doctype(self, name: str, system: str | None, public: str | None, subset: bool) -> None:
        self.refuse(f"the document type declaration <!DOCTYPE {name:.80} ...> is not allowed; remove it")


def _hint(error: expat.ExpatError, data: bytes, parser: expat.XMLParserType) -> str:
    """Return a hint about a byte that is not allowed, or about a fault that lenient parsers overlook."""
    if error.code != _INVALID_TOKEN:
        return ""
    at = parser.ErrorByteIndex
    byte = data[at : at + 1]
    if not byte or byte[0] in _PRINTABLE:
        return _lenient(data, at)
    if byte[0] < 0x80:
        return f": the byte 0x{byte.hex()} is not allowed in XML"
    return (
        f": the byte 0x{byte.hex()} is not in the document's encoding, which is UTF-8 unless it begins with "
        '<?xml version="1.0" encoding="..."?>'
    )


def _lenient(data: bytes, at: int) -> str:
    """Return a hint about a fault at this byte that tinyxml, the parser in MuJoCo and others, lets pass."""
    before = data[max(0, at - MAX_TAG_BYTES) : at]
    others = "XML does not allow this, though some parsers (tinyxml) do"
    if before.rfind(b"<!--") > before.rfind(b"-->") and before.endswith(b"--"):
        return f": there is a '--' inside of a comment. {others}; write a single '-'"
    if before[-1:] in (b'"', b"'") and (data[at : at + 1].isalpha() or data[at : at + 1] == b"_"):
        return f": two attributes have no space between them. {others}; put a space in between"
    if before.rstrip().endswith(b"=") and before.rfind(b"<") > before.rfind(b">"):
        return f': the value of an attribute has no quotes around it. {others}; write name="value"'
    if before.endswith(b"&"):
        return f": there is an '&' that begins no entity. {others}; write '&amp;'"
    return ""


_INVALID_TOKEN = expat.errors.codes[expat.errors.XML_ERROR_INVALID_TOKEN]
_TAG_MISMATCH = expat.errors.codes[expat.errors.XML_ERROR_TAG_MISMATCH]
_NO_ELEMENTS = expat.errors.codes[expat.errors.XML_ERROR_NO_ELEMENTS]
_PRINTABLE = frozenset(b"\t\r\n") | frozenset(range(0x20, 0x7F))
