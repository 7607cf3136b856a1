"""Without memory for LLVM, compiling is an error of ours: LLVM itself would end the process."""

from __future__ import annotations

import subprocess
import sys

import pytest

import ordern as on
from ordern.compile.run import engine
from ordern.memory import free_memory

PROGRAM = """
import resource, sys
from pathlib import Path
from ordern.compile.run.engine import compile_object
from ordern.errors import CompileError
compile_object("define double @f(double %x) {\\n ret double %x\\n}")
lines = "\\n".join(f" %a{k + 1} = fadd double %a{k}, %x" for k in range(500))
body = f"(double %x) {{\\n %a0 = fmul double %x, %x\\n{lines}\\n ret double %a500\\n}}"
text = "\\n".join(f"define double @f{k}{body}" for k in range(100))
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + int(sys.argv[1]) * 10**6,) * 2)
try:
    print(len(compile_object(text)) > 0)
except CompileError as e:
    print("CompileError", e)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the limit of memory is of Linux")
@pytest.mark.parametrize(("megabytes", "said"), [(6, "CompileError"), (12, "CompileError"), (400, "True")])
def test_a_process_without_memory_is_not_ended(megabytes: int, said: str) -> None:
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(megabytes)]
    run = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith(said)


def test_what_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert free_memory() > 1e6
    monkeypatch.setattr(engine, "free_memory", lambda: 10e6)
    with pytest.raises(on.CompileError, match=r"compiling a function may take 64 MB, and 10 MB of memory are left"):
        engine.compile_object("")
