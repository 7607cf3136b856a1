"""LLVM: compile text to an object, and load an object to get addresses of functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import CompileError
from ...forking import COMPILING
from ...memory import free_memory
from ..emit.target import host
from .keeper import keeper

__all__ = ["Engine", "compile_object"]


_COMPILING, _PER_CHARACTER = 64e6, 12.0
"""Bytes that LLVM takes: at most so many for one part of a program, whose size is bounded, and for each character."""
_LOADING, _PER_BYTE = 16e6, 4.0
"""The same for the loading of an object."""


def _require_room(size: float, what: str) -> None:
    """Raise unless so many bytes are left: LLVM ends the process when it gets no memory."""
    left = free_memory()
    if size > left:
        raise CompileError(
            f"{what} may take {size / 1e6:.0f} MB, and {left / 1e6:.0f} MB of memory are left for this process: free "
            'some, raise its limit (`ulimit -v`), or ask for a kernel with way="rolled" or way="interpreted"'
        )


def _machine(level: int = 1) -> Any:
    """Return a new target machine, with a level of optimisation: each engine owns one."""
    import llvmlite.binding as llvm

    h = host()
    return llvm.Target.from_triple(h.triple).create_target_machine(
        cpu=h.cpu, features=h.features, opt=level, codemodel="jitdefault", jit=True
    )


def compile_object(text: str, level: int = 1) -> bytes:
    """Compile IR text to an object file.

    Straight-line code is written as it runs: level 1 takes two thirds of the time of level 2, and the code is as fast.
    Code with loops over bodies is some percent faster with level 2.
    """
    import llvmlite.binding as llvm

    _require_room(_COMPILING + _PER_CHARACTER * len(text), "compiling a function")
    try:
        module = llvm.parse_assembly(f'target triple = "{host().triple}"\n{text}')
        module.verify()
    except RuntimeError as e:
        raise CompileError(f"LLVM does not accept the generated code; this is a bug in ordern: {e}") from e
    return bytes(_machine(level).emit_object(module))


class Engine:
    """A loaded object. Its code lives as long as `keeper`, which everything that can run the code must hold."""

    def __init__(self, code: bytes, functions: Sequence[str]) -> None:
        """Load an object that has these functions."""
        import llvmlite.binding as llvm

        _require_room(_LOADING + _PER_BYTE * len(code), "loading compiled code")
        with COMPILING:
            machine = _machine()
            empty = llvm.parse_assembly(f'target triple = "{host().triple}"')
            engine = llvm.create_mcjit_compiler(empty, machine)
            # LLVM's own engine frees the code when the collector finalises it: only the keeper may refer to it
            self.keeper = keeper("machine code", engine)
            engine.add_object_file(llvm.ObjectFileRef.from_data(code))
            engine.finalize_object()
            self._addresses = {name: int(engine.get_function_address(name)) for name in functions}

    def address(self, name: str) -> int:
        """Return the address of a function."""
        found = self._addresses[name]
        if not found:
            raise CompileError(f"compiled code has no function {name!r}")
        return found
