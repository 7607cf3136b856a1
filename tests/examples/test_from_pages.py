"""The pages for users of other libraries name what exists here, and deny nothing that does."""

from __future__ import annotations

import inspect
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import ordern as on
from ordern.algorithms import registry

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(DOCS.glob("from_*.md"))
OWNERS: dict[str, Any] = {"robot": on.Robot, "walker": on.Robot, "held": on.Robot, "Builder": on.Builder}
"""Names on the pages that stand for objects of ours, and their classes."""


def text_of(page: Path) -> str:
    """Return the text of a page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


def ours(page: Path) -> set[str]:
    """Return the dotted names of ours in the code of a page: `on.rotations.exp`, `robot.pose`, `Builder.loop`."""
    code = " ".join(re.findall(r"`([^`\n]+)`", text_of(page)))
    return set(re.findall(rf"(?<![\w.])(?:on|{'|'.join(OWNERS)})(?:\.[A-Za-z_]\w*)+", code))


def has(owner: Any, name: str) -> bool:
    fields = {x for base in getattr(owner, "__mro__", ()) for x in inspect.get_annotations(base)}
    return hasattr(owner, name) or name in fields


def exists(name: str) -> bool:
    """Return whether a dotted name exists; of the value of an attribute of a robot, only questions can be looked up."""
    first, *rest = name.split(".")
    if first in OWNERS:
        if rest[0] == "derivatives" and len(rest) > 1:
            return rest[1] in {question.name for question in registry.questions()}
        return has(OWNERS[first], rest[0])
    value: Any = on
    for part in rest:
        if not has(value, part):
            return False
        value = getattr(value, part, None)
    return True


@cache
def public() -> frozenset[str]:
    names = {*on.__all__, *(x for x in dir(on.Robot) if not x.startswith("_"))}
    return frozenset(name.lower() for name in names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_name_of_ours_exists(page: Path) -> None:
    found = ours(page)
    assert len(found) > 30
    assert {name for name in found if not exists(name)} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_page_names_contacts(page: Path) -> None:
    assert {"robot.with_contacts", "robot.impact"} <= ours(page)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_page_denies_what_exists(page: Path) -> None:
    """What is listed as missing, and has a word of a public name, says how far that goes: it names one of them."""
    text = text_of(page)
    missing = text.partition("## Without a counterpart")[2]
    items = re.findall(r"^\* \*\*(.+?):?\*\*:?(.*?)(?=^\* \*\*|\Z)", missing, re.M | re.S)
    rows = re.findall(r"^\| ([^|]+) \| (none\b[^|]*) \|", text, re.M)
    assert len(items) >= 4
    for title, rest in [*items, *rows]:
        code = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`\n]+)`", rest)).lower()))
        words = {word.removesuffix("s") for word in re.findall(r"[a-z]{6,}", title.lower())}
        names = {name for name in public() if words & {*name.split("_"), name, name.removesuffix("s")}}
        assert not names or names & code, f"{page.name} denies {title!r}, but there is {sorted(names)}"
