"""The extras of `./dev` commands name every package that these commands import."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.conftest import OPTIONAL

ROOT = Path(__file__).parents[2]


@cache
def extras() -> dict[str, list[str]]:
    """Return the extras of pyproject.toml; Python 3.10 has no parser of TOML."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    section = text.partition("[project.optional-dependencies]\n")[2].partition("\n[")[0]
    rows = re.findall(r"^([\w-]+) = (\[.*\])$", section, re.M)
    return {name: ast.literal_eval(packages) for name, packages in rows}


def packages(extra: str) -> set[str]:
    """Return the names of the packages of an extra, and of the extras of ours that it includes."""
    found = set()
    for text in extras()[extra]:
        wanted = Requirement(text)
        found |= set().union(*map(packages, wanted.extras)) if wanted.name == "ordern" else {wanted.name}
    return found


def with_dependencies(names: set[str]) -> set[str]:
    """Return the packages and everything that pip installs with them."""
    found: set[str] = set()
    left = list(names)
    while left:
        name = re.sub(r"[-_.]+", "-", left.pop()).lower()
        try:
            required = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue  # the tests do without it
        if name not in found:
            found.add(name)
            wanted = map(Requirement, required)
            left += [r.name for r in wanted if not r.marker or any(map(r.marker.evaluate, ({}, {"extra": ""})))]
    return found


@pytest.mark.slow
@pytest.mark.needs("gymnasium", "matplotlib", "viser")
def test_the_reference_needs_nothing_but_the_extra_docs() -> None:
    """`./dev docs` imports every object of the reference; other installed packages must not hide a missing one."""
    kept = with_dependencies(packages("docs") | {"numpy", "llvmlite"})
    modules = metadata.packages_distributions().items()
    blocked = [m for m, owners in modules if not {re.sub(r"[-_.]+", "-", x).lower() for x in owners} & kept]
    hidden = sorted(set(blocked) - {"ordern", "_pytest", "pytest"})
    pages = sorted((ROOT / "docs" / "api").glob("*.md"))
    names = {name for p in pages for name in re.findall(r"^\.\. currentmodule:: (\S+)$", p.read_text("utf-8"), re.M)}
    assert {"gymnasium", "matplotlib"}.isdisjoint(hidden) and "scipy" in hidden and "ordern.gym" in names
    code = f"import sys; sys.modules.update(dict.fromkeys({hidden})); import {', '.join(sorted(names))}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr


def test_the_extra_bench_has_what_the_benchmarks_import() -> None:
    """A benchmark may look whether an optional package is there; what it imports without looking is in the extra."""
    folder = ROOT / "benchmarks"
    themes = re.findall(r"^ {4}(\w+),$", (folder / "__main__.py").read_text(encoding="utf-8"), re.M)
    has = packages("bench")
    missing = set()
    for path in (folder / f"{theme}.py" for theme in themes):
        text = path.read_text(encoding="utf-8")
        for name in re.findall(r"^ +(?:import|from) (\w+)", text, re.M):
            looks = f'find_spec("{name}")' in text or re.search(rf"^try:\n +(?:import|from) {name}\b", text, re.M)
            if name in OPTIONAL.keys() | {"mpmath"} and OPTIONAL.get(name, name) not in has and not looks:
                missing.add((path.name, name))
    assert len(themes) > 20 and missing == set()
