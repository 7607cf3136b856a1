"""GPU generations, and LLVM's translation of IR text to PTX."""

from __future__ import annotations

import re
from typing import Any

from ...errors import ArgumentError, CompileError
from ..emit.target import Host, Target, host

__all__ = ["ASYNCHRONOUS", "DATA_LAYOUT", "assembly", "generation", "shared_bytes", "thread_target"]

_VERSIONS = {70: 60, 75: 63, 80: 70, 86: 71, 89: 78, 90: 78, 100: 86, 120: 87}
"""The generations that code is written for, and the oldest version of PTX that each has.

A driver reads the versions that were known when it was made, and all before, so the oldest version is the safest. PTX
for a generation runs on all later ones, which are therefore no rows of this table.
"""
_SHARED = {70: 96, 75: 64, 80: 163, 86: 99, 89: 99, 90: 227, 100: 227, 120: 99}
"""The kilobytes of shared memory that a block can have."""
ASYNCHRONOUS = 80
"""The first generation that copies from global to shared memory without registers."""
_TRIPLE = "nvptx64-nvidia-cuda"
DATA_LAYOUT = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"


def generation(arch: str) -> int:
    """Return the newest generation of the table that a device such as "sm_90" can run code for."""
    found = re.fullmatch(r"sm_(\d+)[af]?", arch)
    able = [x for x in _VERSIONS if found and x <= int(found[1])]
    if not able:
        raise ArgumentError(f"{arch!r} is not a device that ordern has code for: give 'sm_70' (Volta) or a later one")
    return max(able)


def shared_bytes(arch: str) -> int:
    """Return the most bytes of shared memory that a block of a device can have."""
    return _SHARED[generation(arch)] * 1024


def thread_target(dtype: str) -> Target:
    """Return the target of code for one state in a thread of a GPU, which has fused multiply-add."""
    return Target(dtype, 1, Host(_TRIPLE, "", "", 32, True, host().llvm))


def assembly(text: str, arch: str) -> str:
    """Translate IR text to PTX for a device."""
    import llvmlite.binding as llvm

    known = generation(arch)
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        module: Any = llvm.parse_assembly(f'target datalayout = "{DATA_LAYOUT}"\ntarget triple = "{_TRIPLE}"\n{text}')
        module.verify()
        target = llvm.Target.from_triple(_TRIPLE)
    except RuntimeError as e:
        raise CompileError(f"LLVM does not accept the generated code; this is a bug in ordern: {e}") from e
    features = f"+ptx{_VERSIONS[known]}"
    machine = target.create_target_machine(cpu=f"sm_{known}", features=features, opt=2)
    return str(machine.emit_assembly(module))
