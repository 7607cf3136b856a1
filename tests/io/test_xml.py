from __future__ import annotations

import re

import pytest

from ordern.errors import ModelError
from ordern.io import attributes, xml
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
    assert (root.text, root.children) == ("<b/>", [])


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


@pytest.mark.parametrize("end", [b"", b"\n", b"\0", b"\r\n\0\0"])
@pytest.mark.parametrize("start", [b"", b"\n \t\r\n"])
def test_space_before_the_declaration_and_zeros_after_the_document_pass(start: bytes, end: bytes) -> None:
    root = parse_xml(start + b'<?xml version="1.0"?>\n<r><a/></r>' + end, "f")
    assert [e.tag for e in (root, *root.children)] == ["r", "a"]
    assert root.line == start.count(b"\n") + 2


def test_zeros_that_belong_to_the_encoding_are_kept() -> None:
    assert parse_xml("\ufeff<r/>".encode("utf-16-le"), "f").tag == "r"


@pytest.mark.parametrize("number", ["nan", "-inf", "1e400", "1" * 400, "0x10", "1_0", "\u0661", "1,5", "", " ", "${m}"])
def test_numbers_that_are_none(number: str) -> None:
    root = parse_xml(f'<r>\n<mass value="{number}"/></r>', "f")
    with pytest.raises(ModelError, match=r"^f:2: it: <mass> has .*value.*; expected ") as e:
        attributes.number(root.children[0], "value", "it")
    assert len(str(e.value)) < 200


def test_long_numbers_are_read_in_linear_time() -> None:
    root = parse_xml(f'<r><mass value="0.{"0" * 1_000_000}1"/></r>', "f")
    assert attributes.number(root.children[0], "value", "it") == 0.0


def test_text_between_many_elements_is_read_in_linear_time() -> None:
    root = parse_xml("<r>" + ("x" * 200 + "<a/>") * 50_000 + "</r>", "f")
    assert len(root.text) == 10_000_000
    assert len(root.children) == 50_000


def test_only_finds_one_child_and_refuses_a_second() -> None:
    root = parse_xml("<r>\n<a x='1'/>\n<a x='2'/>\n<b/>\n</r>", "f")
    assert root.only("c", "it") is None
    found = root.only("b", "it")
    assert found is not None and found.line == 4
    with pytest.raises(ModelError, match=r"^f:3: it has a second <a> \(the first is in line 2\); expected one$"):
        root.only("a", "it")


@pytest.mark.parametrize("a", ["<a/>", '<a x="1" y="2"/>', "<a>1 2 3</a>"])
def test_only_lets_pass_what_is_said_again(a: str) -> None:
    found = parse_xml(f"<r>\n{a}\n<b/>\n{a}</r>", "f").only("a", "it")
    assert found is not None and found.line == 2


@pytest.mark.parametrize(
    ("one", "other"), [("<a x='1'/>", "<a x='1' y='2'/>"), ("<a>1</a>", "<a>2</a>"), ("<a><b/></a>", "<a><b/></a>")]
)
def test_only_refuses_what_says_something_else_or_has_things_inside(one: str, other: str) -> None:
    with pytest.raises(ModelError, match="second <a>"):
        parse_xml(f"<r>{one}{other}</r>", "f").only("a", "it")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "where", "message"),
    [
        ("", "f:1", r"no element found \(column 1\)$"),
        ("<r>\n<a>\n</b></r>", "f:3", r"mismatched tag \(column 3\): expected </a>, the end of <a> in line 2$"),
        ("<r>\n<a>", "f:2", r"no element found \(column 4\): expected </a>, the end of <a> in line 2$"),
        ("<r>\n<a/>\n", "f:3", "no element found .*: expected </r>, the end of <r> in line 1$"),
        ("<r/>\n<s/>", "f:2", "junk after document element"),
        ('<r\na="1"\na="2"/>', "f:3", "duplicate attribute"),
        ("<r>\n<a b='1'c='2'/></r>", "f:2", r"\(column 9\): two attributes have no space between them. .*tinyxml"),
        ("<r>\n<a b=c></a></r>", "f:2", "value of an attribute has no quotes around it. .*tinyxml.*; write name="),
        ("<r>\na & b</r>", "f:2", "there is an '&' that begins no entity. .*tinyxml.*; write '&amp;'"),
        ("<r>\n<!-- a -- b --></r>", "f:2", "there is a '--' inside of a comment. .*tinyxml.*; write a single '-'"),
        ("<r>\n<!-- a ---></r>", "f:2", "there is a '--' inside of a comment"),
        ("<r>\n<!-- a --> <b & --></r>", "f:2", r"invalid token\) \(column 15\)$"),
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
        (b'<?xml version="1.0" encoding="unicode_escape"?><r/>', "f:1", "encoding .* cannot be read"),
        (b'<?xml version="1.0" encoding="utf-16"?><r/>', "f:1", "encoding specified in XML declaration is incorrect"),
        (b"\xff\xfe" + "<r>".encode("utf-16-le") + b"\x00\xd8", "f:1", "partial character"),
        (b"<r>\n\x00</r>", "f:2", "the byte 0x00 is not allowed in XML"),
        ("<r>\n\x01</r>", "f:2", "the byte 0x01 is not allowed in XML"),
        (
            b'<r>\n<a b="\xe9"/></r>',
            "f:2",
            r"column 7\): the byte 0xe9 is not in .* UTF-8 unless it begins with <\?xml",
        ),
        (b'\n\n<?xml version="1.0"?>\n<r>\n<a></r>', "f:5", "mismatched tag"),
        ("<r>\n\ud800</r>", "f:2", r"the invalid character '\\ud800'"),
        (BOMB, "f:1", "<!DOCTYPE r ...> is not allowed; remove it"),
        (EXTERNAL, "f:1", "<!DOCTYPE r ...> is not allowed; remove it"),
        ('<!DOCTYPE robot SYSTEM "http://example.com/x.dtd"><r/>', "f:1", "is not allowed; remove it"),
        ("<a>\n" * 10_000, "f:1001", "nested more than 1000 deep"),
        ('<!DOCTYPE r [<!ENTITY % x SYSTEM "http://127.0.0.1:1/x"> %x;]>\n<r/>', "f:1", "is not allowed; remove it"),
        (b"<r>" + b"<a/>" * 1_000_000, "f:1", "more than 200,000 elements and attributes"),
        (b"<r>" + b'<a b=""/>\n' * 1_000_000, "f:100000", "more than 200,000 elements and attributes"),
        (b"<r><!--" + b"x" * 9_000_000, "f:1", "a single tag or comment has more than 4,000,000 bytes"),
        (b"<r " + b'x="" ' * 2_000_000, "f:1", "a single tag or comment has more than 4,000,000 bytes"),
        (b" " * 20_000_001, "f", "has 20,000,001 bytes; at most 20,000,000 are read"),
        (" " * 100_000_000, "f", "has 100,000,000 characters; at most 20,000,000 are read"),
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
