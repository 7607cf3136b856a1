"""The examples run, quickly, and say what they should."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ordern as on

EXAMPLES = Path(__file__).parents[2] / "examples"
NUMBER = r"\d\.?\d*e[-+]\d+"

SAYS = {
    "01_quickstart.py": [r"31\.6399 +6\.0351", r"rank of its Jacobian +6", r"\(1000, 6\)"],
    "02_builder.py": [r"└─ lower", rf"largest difference .*: {NUMBER} rad/s²", r"-1\.7\]"],
    "03_batches.py": [r"\(50, 20, 6\)", r"the same bits: True", r"float32: float32", r"views .*: True"],
    "04_own_joint.py": [
        r"\(helical, v\[1\]\)",
        r"-65\.400000000000 rad/s², by hand -65\.400000000000",
        r"rolled .*e-1\d",
    ],
    "05_own_algorithm.py": [r"carried-weight +interpreted", r"carried-weight +rolled", r"10,000 links, rolled"],
    "06_debugging.py": [r"body 5, Revolute", r"in all 3\.971178 J; compiled 3\.971178 J", r"mpmath +\d"],
}
"""Patterns that the output of each example has, in this order."""


def run(example: str, *arguments: str, folder: Path) -> str:
    # the output has letters beyond ASCII, which must not depend on where the tests run
    package = str(Path(on.__file__).parents[1])
    env = {**os.environ, "PYTHONPATH": package, "PYTHONUTF8": "1", "PYTHONWARNINGS": "error"}
    command = [sys.executable, str(EXAMPLES / example), *arguments]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, encoding="utf-8", timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def expect(output: str, patterns: list[str]) -> None:
    at = 0
    for pattern in patterns:
        found = re.compile(pattern).search(output, at)
        assert found, f"{pattern!r} is not where it should be in:\n{output}"
        at = found.end()


def test_every_example_is_listed() -> None:
    assert {p.name for p in EXAMPLES.glob("[0-9]*.py")} == set(SAYS)


@pytest.mark.parametrize("example", SAYS)
def test_example(example: str, tmp_path: Path) -> None:
    expect(run(example, folder=tmp_path), SAYS[example])
    assert len((EXAMPLES / example).read_text(encoding="utf-8").splitlines()) < 60


def test_demo(tmp_path: Path) -> None:
    output = run("demo.py", "demo.png", folder=tmp_path)
    expect(output, [r"└─ flange", rf"forward of inverse dynamics.* {NUMBER}", r"ns per state", r"demo\.png"])
    (drift,) = re.findall(rf"largest drift .* ({NUMBER}) of it", output)
    assert float(drift) < 1e-7
    assert [p.name for p in tmp_path.iterdir()] == ["demo.png"]
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "demo.png").stat().st_size > 50_000
