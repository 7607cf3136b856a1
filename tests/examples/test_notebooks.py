"""The notebooks of the documentation run, and show what a reader expects."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
PAGES = runpy.run_path(str(DOCS / "notebook_pages.py"))
WIDTH = 88


def test_both_notebooks_are_there() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["arm_control", "first_steps"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_stored_without_outputs(path: Path) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None
            assert max(len(line) for line in "".join(cell["source"]).splitlines()) <= WIDTH


@pytest.mark.slow
@pytest.mark.needs("matplotlib", "viser")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path: Path) -> None:
    done = PAGES["run"](path.read_text(encoding="utf-8"), path.name)
    outputs: list[tuple[str, Any]] = [x for _, _, found in done for x in found]
    assert all(found or not source for kind, source, found in done if kind == "code")  # each cell shows something
    kinds = [kind for kind, _ in outputs]
    assert kinds.count("image/png") >= 2
    assert sum("<iframe srcdoc=" in data for kind, data in outputs if kind == "text/html") == 2
    assert any("<table" in data for kind, data in outputs if kind == "text/html")
    page = PAGES["markdown"](done)
    assert page.startswith("# ") and page.count("```{code-block} python") == sum(kind == "code" for kind, _, _ in done)


def test_an_error_names_the_cell() -> None:
    cells = [{"cell_type": "code", "source": ["x = 1"]}, {"cell_type": "code", "source": ["x = 2\n", "x / 0"]}]
    with pytest.raises(ZeroDivisionError) as raised:
        PAGES["run"](json.dumps({"cells": cells}), "a.ipynb")
    last = raised.traceback[-1]
    assert str(last.path) == "a.ipynb, cell 2" and last.lineno == 1  # counted from zero
