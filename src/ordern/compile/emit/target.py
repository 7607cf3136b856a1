"""The target of compilation: element type, vector width, and the features of the processor."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from ...errors import ArgumentError, CompileError
from ...forking import COMPILING
from ...records import dataclass

__all__ = ["Host", "Target", "compiling_for", "host", "host_text", "narrow_target", "target"]


@dataclass(frozen=True, slots=True)
class Host:
    """This machine's processor, in the terms of LLVM."""

    triple: str
    cpu: str
    features: str
    vector_bits: int
    has_fma: bool
    llvm: str
    """Versions of LLVM and llvmlite."""


@dataclass(frozen=True, slots=True)
class Target:
    """One element type in vectors of some width, on a host."""

    dtype: str
    lanes: int
    host: Host

    @property
    def element(self) -> str:
        """Return LLVM's name of the element type."""
        return {"float64": "double", "float32": "float"}[self.dtype]

    @property
    def itemsize(self) -> int:
        """Return the bytes of an element."""
        return {"float64": 8, "float32": 4}[self.dtype]

    @property
    def vector(self) -> str:
        """Return LLVM's name of the vector type."""
        return f"<{self.lanes} x {self.element}>"

    @property
    def integers(self) -> str:
        """Return LLVM's name of the vector of integers of the same size."""
        return f"<{self.lanes} x i{8 * self.itemsize}>"


_VARIABLE = "ORDERN_TARGET"
_V2 = ("sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "cx16")
_V3 = (*_V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
_V4 = (*_V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
_LEVELS = {"x86-64": (), "x86-64-v2": _V2, "x86-64-v3": _V3, "x86-64-v4": _V4}
"""The levels of the x86-64 architecture, and the features that each has beyond the first."""


class _Chosen:
    """The level that code is compiled for, in the place of this very processor."""

    level = ""
    users = 0


@contextmanager
def compiling_for(level: str | None) -> Iterator[None]:
    """Compile for a level of the architecture, such as "x86-64-v3", so that machines of a cluster have the same code.

    None compiles for this very processor, or for the level in the environment variable ORDERN_TARGET.
    """
    if level is None:
        yield
        return
    _host_for(level)  # raises if this machine cannot run it
    with COMPILING:
        if _Chosen.users and _Chosen.level != level:
            raise CompileError(f"code is being compiled for {_Chosen.level} now, so not for {level}; wait for its end")
        _Chosen.level = level
        _Chosen.users += 1
    try:
        yield
    finally:
        with COMPILING:
            _Chosen.users -= 1
            if not _Chosen.users:
                _Chosen.level = ""


def host() -> Host:
    """Return the machine that this process runs on, or the level of its architecture that was asked for."""
    return _host_for(_Chosen.level or os.environ.get(_VARIABLE, ""))


def host_text() -> str:
    """Return the machine in one line; code for machines with the same text computes the same bits."""
    h = host()
    return f"{h.triple} {h.cpu} {h.features} LLVM {h.llvm}"


@cache
def _host_for(level: str) -> Host:
    import llvmlite
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    triple: str = llvm.get_process_triple()
    if sys.platform == "win32":
        triple += "-elf"  # LLVM's in-memory loader reads ELF on every platform, COFF only in part
    features: Any = llvm.get_host_cpu_features()
    x86, arm = triple.startswith(("x86_64", "i386", "i686")), triple.startswith(("aarch64", "arm64"))
    versions = f"{llvmlite.__version__}/{'.'.join(map(str, llvm.llvm_version_info))}"
    if level:
        return _host_of_level(level, triple, x86, features, versions)
    bits = 128
    if x86 and features.get("avx512f") and features.get("avx512dq"):
        bits = 512
    elif x86 and features.get("avx"):
        bits = 256
    return Host(triple, llvm.get_host_cpu_name(), features.flatten(), bits, arm or bool(features.get("fma")), versions)


def _host_of_level(level: str, triple: str, x86: bool, features: Any, versions: str) -> Host:
    if not x86 or level not in _LEVELS:
        known = f"one of {', '.join(_LEVELS)}" if x86 else "none: all machines of this architecture get the same code"
        raise ArgumentError(f"{level!r} is not a target for this machine ({platform.machine()}); give {known}")
    missing = [x for x in _LEVELS[level] if not features.get(x)]
    if missing:
        raise CompileError(f"this processor cannot run code for {level}: it has no {', '.join(missing)}")
    has = _LEVELS[level]
    bits = 512 if "avx512f" in has else 256 if "avx" in has else 128
    return Host(triple, level, "", bits, "fma" in has, versions)


def target(dtype: str, lanes: int | None = None) -> Target:
    """Return a target on this machine; unless `lanes` is given, a vector fills a register."""
    return Target(dtype, lanes or host().vector_bits // _BITS[dtype], host())


def narrow_target(dtype: str, bits: int) -> Target:
    """Return a target with vectors of at most `bits`: code that is bound by memory gains nothing from wider ones."""
    return target(dtype, min(bits, host().vector_bits) // _BITS[dtype])


_BITS = {"float64": 64, "float32": 32}
