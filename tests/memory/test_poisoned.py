"""The tests of code that owns memory, run where freed memory is filled with a pattern and blocks are checked."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.memory.test_ownership import POISONED, ROOT

FILES = {
    "kernel": "arrays fast_path kinds_of_numbers last_threads lifetime plain_batches positions threads values varied",
    "memory": "ownership",
    "compile": "array_programs cache calls columns large_results",
    "simulate": "native",
}
PART = [f"tests/{folder}/test_{name}.py" for folder, names in FILES.items() for name in names.split()]
"""Arguments, results, tables, workspaces and machine code. Tracing and the text of GPU and C code own no memory."""


@pytest.mark.slow
@pytest.mark.parametrize("allocator", [POISONED, {"PYTHONMALLOC": "debug"}], ids=["poisoned", "debug"])
def test_a_good_part_of_the_tests_passes(allocator: dict[str, str]) -> None:
    command = [sys.executable, "-X", "faulthandler", "-m", "pytest", "-p", "no:xdist", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *PART], cwd=ROOT, env={**os.environ, **allocator}, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed and int(passed[1]) > 500, done.stdout[-300:]
