from __future__ import annotations

import re

import pytest

from ordern.errors import ModelError
from ordern.io import xml
from ordern.io.xml import parse_xml

BOMB = """<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>
<r>&b;</r>"""
EXTERNAL = """<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>
<r>&x;</r>"""


def test_elements_carry_tag_attributes_children_text_and_line() -> None:
    root = parse_xml('<r a="1" b="x &lt; y">\n  one\n  <c/>two<d>\n<e/>\n</d></r>', "f.xml")
    assert (root.tag, root.attributes, root.line) == ("r", {"a": "1", "b": "x < y"}, 1)
    assert re.split(r"\s+", root.text) == ["one", "two"]
    assert [(e.tag, e.line, e.where) for e in root.children] == [("c", 3, "f.xml:3"), ("d", 3, "f.xml:3")]
    assert [e.line for e in root.children[1].children] == [4]
    assert repr(root) == "Element(<r>, f.xml:1)"


def test_cdata_is_text_and_comments_are_nothing() -> None:
    root = parse_xml("<r><!-- <a/> --><![CDATA[<b/>]]><?pi x?></r>", "f")
    assert (root.text, root.children) == ("<b/>", ())


def test_prefixes_of_names_are_kept_whether_declared_or_not() -> None:
    root = parse_xml('<r xmlns:x="http://x"><x:a x:b="1"/><y:c/></r>', "f")
    assert [e.tag for e in root.children] == ["x:a", "y:c"]
    assert root.children[0].attributes == {"x:b": "1"}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252", "iso-8859-15"])
def test_bytes_in_any_encoding(encoding: str) -> None:
    declared = encoding.removesuffix("-sig")
    data = f'<?xml version="1.0" encoding="{declared}"?>\n<r name="Bébé"/>'.encode(encoding)
    assert parse_xml(data, "f").attributes == {"name": "Bébé"}


def test_text_is_decoded_already_whatever_it_declares() -> None:
    assert parse_xml('<?xml version="1.0" encoding="latin-1"?><r a="é"/>', "f").attributes == {"a": "é"}


def test_only_finds_one_child_and_refuses_a_second() -> None:
    root = parse_xml("<r>\n<a/>\n<a/>\n<b/>\n</r>", "f")
    assert root.only("c", "it") is None
    found = root.only("b", "it")
    assert found is not None and found.line == 4
    with pytest.raises(ModelError, match=r"^f:3: it has a second <a> \(the first is in line 2\); expected one$"):
        root.only("a", "it")


@pytest.mark.parametrize(
    ("data", "where", "message"),
    [
        ("", "f:1", "no element found"),
        ("<r>\n<a>\n</b></r>", "f:3", "mismatched tag"),
        ("<r>\n<a>", "f:2", "no element found"),
        ("<r/>\n<s/>", "f:2", "junk after document element"),
        ('<r\na="1"\na="2"/>', "f:3", "duplicate attribute"),
        ("<r>\n<a b=1/></r>", "f:2", r"not well-formed \(invalid token\) \(column 6\)"),
        ("<r>\n&nothing;</r>", "f:2", "undefined entity"),
        ("no xml", "f:1", r"the XML is broken: .*\(column 1\)"),
        (b"\x00\x01\x02", "f:1", "the XML is broken"),
        (b"<r>\n\xff\xfe</r>", "f:2", "invalid token"),
        (
            b'<?xml version="1.0" encoding="nonsense"?><r/>',
            "f:1",
            "encoding .* cannot be read: unknown encoding",
        ),
        (b'<?xml version="1.0" encoding="shift_jis"?><r/>', "f:1", "encoding .* cannot be read: multi-byte"),
        (b'<?xml version="1.0" encoding="idna"?><r/>', "f:1", "encoding .* cannot be read"),
        (b'<?xml version="1.0" encoding="base64"?><r/>', "f:1", "encoding .* cannot be read"),
        ("<r>\ud800</r>", "f", "a character that is none"),
        (BOMB, "f:1", "<!DOCTYPE r ...> is not allowed; remove it"),
        (EXTERNAL, "f:1", "<!DOCTYPE r ...> is not allowed; remove it"),
        ('<!DOCTYPE robot SYSTEM "http://example.com/x.dtd"><r/>', "f:1", "is not allowed; remove it"),
        ("<a>\n" * 10_000, "f:1001", "nested more than 1000 deep"),
        (b"<r><!--" + b"x" * 9_000_000, "f:1", "a single tag or comment has more than 4,000,000 bytes"),
        (b"<r " + b'x="" ' * 2_000_000, "f:1", "a single tag or comment has more than 4,000,000 bytes"),
        (b" " * 50_000_001, "f", "has 50,000,001 bytes; at most 50,000,000 are read"),
    ],
    ids=lambda x: repr(x)[:24],
)
def test_what_is_not_a_document_is_an_error_with_its_line(data: bytes | str, where: str, message: str) -> None:
    with pytest.raises(ModelError, match=message) as e:
        parse_xml(data, "f")
    assert e.value.where == where


def test_the_deepest_nesting_is_read() -> None:
    assert parse_xml("<a>" * xml.MAX_DEPTH + "</a>" * xml.MAX_DEPTH, "f").tag == "a"


def test_a_tag_across_chunks_is_read() -> None:
    long = "x" * (xml.MAX_TAG_BYTES // 2)
    assert parse_xml(f'<r a="{long}"/>', "f").attributes["a"] == long


def test_too_many_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml, "MAX_PARTS", 10)
    assert len(parse_xml("<r>" + "<a b='1'/>" * 4 + "</r>", "f").children) == 4
    with pytest.raises(ModelError, match="more than 10 elements and attributes"):
        parse_xml("<r>" + "<a b='1'/>" * 5 + "</r>", "f")
