"""Code for machines that are not at hand: it is emitted, and calls nothing that only a C library would have."""

from __future__ import annotations

import importlib
import re

import llvmlite.binding as llvm
import pytest

import ordern as on
from ordern.compile import program
from ordern.compile.emit.target import Host
from ordern.compile.run import engine
from ordern.kernel import Kernel

MACHINES = {
    "linux-arm": Host("aarch64-unknown-linux-gnu", "generic", "", 128, True, ""),
    "macos-arm": Host("arm64-apple-darwin", "apple-m1", "", 128, True, ""),
    "windows-avx2": Host("x86_64-pc-windows-msvc-elf", "haswell", "", 256, True, ""),
    "windows-avx512": Host("x86_64-pc-windows-msvc-elf", "skylake-avx512", "", 512, True, ""),
    "linux-sse2": Host("x86_64-unknown-linux-gnu", "x86-64", "", 128, False, ""),
}
NAMES = "mem(?:cpy|set|move)|chkstk(?:_ms)?|fmaf?|sqrtf?|sinf?|cosf?|fabsf?"
LIBRARY = re.compile(rf"(?:\bbl?\s|\bcall\w*\s|\$|, )\s*_*({NAMES})\b")
"""A name where an instruction has an address: some of them are names of instructions as well."""


@pytest.fixture(params=MACHINES)
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Host:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    there = MACHINES[request.param]
    for module in ("emit.target", "run.engine"):
        monkeypatch.setattr(importlib.import_module(f"ordern.compile.{module}"), "host", lambda: there)
    return there


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    ("question", "way"),
    [("forward_dynamics", "unrolled"), ("forward_dynamics", "rolled"), ("mass_matrix", "unrolled")],
)
def test_code_calls_no_library(
    question: str, way: str, dtype: str, machine: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot = on.load("yamane-branched-30" if way == "rolled" or question == "mass_matrix" else "puma560")
    texts = []

    def keep(text: str, level: int = 1) -> bytes:
        texts.append(text)
        return b""

    monkeypatch.setattr(program, "compile_object", keep)
    code = program.compile_request(Kernel(robot, question, way=way).request, dtype)
    assert code.way == way
    [text] = texts
    module = llvm.parse_assembly(f'target triple = "{machine.triple}"\n{text}')
    module.verify()
    assert [f.name for f in module.functions if f.is_declaration and not f.name.startswith("llvm.")] == []
    assembly = engine._machine().emit_assembly(module)
    assert not LIBRARY.findall(assembly)
    assert question != "mass_matrix" or re.search(r"movnt|stnp", assembly)  # large results go past the caches
