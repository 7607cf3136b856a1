"""The code in the README and in the documentation runs as it stands, and links between pages lead somewhere."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ordern.algorithms import registry
from ordern.model.ports import PORT_KINDS

ROOT = Path(__file__).parents[2]
FOLDERS = (".", "api", "architecture", "formats", "loops")
WIDTH = 88
"""Characters of code that a page shows without scrolling."""
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(page for folder in FOLDERS for page in sorted((ROOT / "docs" / folder).glob("*.md"))),
]


def blocks(page: Path) -> list[tuple[int, str]]:
    """The Python code of a page: each block with the number of its first line."""
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [(text.count("\n", 0, m.start(1)) + 1, m.group(1)) for m in found]


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Questions, methods and kinds of arguments that a page declares are gone after it."""
    registry.import_all()
    for name in ("_ALGORITHMS", "_QUESTIONS"):
        monkeypatch.setattr(registry, name, dict(getattr(registry, name)))
    kinds = dict(PORT_KINDS)
    yield
    PORT_KINDS.clear()
    PORT_KINDS.update(kinds)


@pytest.mark.slow
@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)], ids=lambda p: p.name)
def test_code_runs(page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for line, code in blocks(page):
        # as many empty lines before it as the page has, so that an error points to the right one
        exec(compile("\n" * (line - 1) + code, str(page), "exec"), names)


@pytest.mark.slow
def test_depths_on_the_page_are_those_of_its_code() -> None:
    """The code of the page prints depths of shorter chains; its table begins with eight links."""
    page = ROOT / "docs" / "kalman_scan.md"
    rows = re.findall(
        r"^\| (articulated-body|kalman-scan|divide-and-conquer) \| (\d+) \|", page.read_text("utf-8"), re.M
    )
    names: dict[str, Any] = {}
    for _, code in blocks(page):
        exec(code.replace("for n in (2, 4):", "for n in ():"), names)
    arm = names["chain"](8, seed=1).build()
    assert len(rows) == 3
    assert {name: int(depth) for name, depth in rows} == {name: names["depth_of"](arm, name) for name, _ in rows}


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)], ids=lambda p: p.name)
def test_code_fits_the_page(page: Path) -> None:
    wide = [
        (line + k, text) for line, code in blocks(page) for k, text in enumerate(code.splitlines()) if len(text) > WIDTH
    ]
    assert wide == []


def test_pages_with_code() -> None:
    assert {"README.md", "quickstart.md"} <= {p.name for p in PAGES if blocks(p)}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_between_pages(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
        assert (page.parent / target).exists(), f"{page.name} points to {target}, which does not exist"


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_every_folder_of_the_source_is_explained(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    parts = [p for p in (ROOT / "src" / "ordern").iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()]
    names = {f"{p.name}/" if p.is_dir() else p.name for p in parts} - {"__init__.py", "__main__.py"}
    assert {name for name in names if not re.search(rf"(?<![\w/]){re.escape(name)}", text)} == set()
