"""The tables of the pages for users of other libraries: rows of code on both sides, and the kind of the answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"


@dataclass(frozen=True)
class Row:
    """Code of another library, ours, and the kind of the answer."""

    theirs: str
    ours: str
    answer: str

    def __str__(self) -> str:
        found = re.findall(r"\w+\.(\w+)\(", self.theirs)
        return f"{found[-1] if found else self.theirs}-{self.ours}"


def rows_of(page: str) -> list[Row]:
    """The rows of a page whose first two cells are code."""
    found = []
    for line in (DOCS / page).read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| `") and len(cells) == 3 and all(re.fullmatch("`[^`]+`", cell) for cell in cells[:2]):
            found.append(Row(cells[0].strip("`"), cells[1].strip("`"), cells[2].strip()))
    return found


def words_of(page: str) -> set[str]:
    """All words in the code of a page."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return {word for code in re.findall(r"`([^`\n]+)`", text) for word in re.findall(r"\w+", code)}


def value(code: str, names: dict[str, Any]) -> Any:
    """The value of the last expression of some code, after the statements before it."""
    *statements, last = code.split("; ")
    for statement in statements:
        exec(statement, names)
    return eval(last, names)


def code_of(page: str, shown_only: bool = False) -> str:
    """The Python code of a page that the tests of pages run, or that it only shows."""
    text = (DOCS / page).read_text(encoding="utf-8")
    opening = "```{code-block} python" if shown_only else "```python"
    return "\n".join(re.findall(rf"^{re.escape(opening)}\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
