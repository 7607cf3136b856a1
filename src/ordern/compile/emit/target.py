"""The target of compilation: element type, vector width, and the features of the processor."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from ...records import dataclass

__all__ = ["Host", "Target", "host", "narrow_target", "target"]


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


@cache
def host() -> Host:
    """Return the machine that this process runs on."""
    import llvmlite
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    triple: str = llvm.get_process_triple()
    if sys.platform == "win32":
        triple += "-elf"  # LLVM's in-memory loader reads ELF on every platform, COFF only in part
    features: Any = llvm.get_host_cpu_features()
    x86, arm = triple.startswith(("x86_64", "i386", "i686")), triple.startswith(("aarch64", "arm64"))
    bits = 128
    if x86 and features.get("avx512f") and features.get("avx512dq"):
        bits = 512
    elif x86 and features.get("avx"):
        bits = 256
    versions = f"{llvmlite.__version__}/{'.'.join(map(str, llvm.llvm_version_info))}"
    return Host(triple, llvm.get_host_cpu_name(), features.flatten(), bits, arm or bool(features.get("fma")), versions)


def target(dtype: str, lanes: int | None = None) -> Target:
    """Return a target on this machine; unless `lanes` is given, a vector fills a register."""
    return Target(dtype, lanes or host().vector_bits // _BITS[dtype], host())


def narrow_target(dtype: str, bits: int) -> Target:
    """Return a target with vectors of at most `bits`: code that is bound by memory gains nothing from wider ones."""
    return target(dtype, min(bits, host().vector_bits) // _BITS[dtype])


_BITS = {"float64": 64, "float32": 32}
