"""LLVM: from text to an object, from an object to addresses of functions."""

from __future__ import annotations

from typing import Any

from ..errors import CompileError
from .target import host

__all__ = ["Engine", "compile_object"]


def _machine() -> Any:
    """A new target machine: an engine takes its own."""
    import llvmlite.binding as llvm

    h = host()
    return llvm.Target.from_triple(h.triple).create_target_machine(
        cpu=h.cpu, features=h.features, opt=2, codemodel="jitdefault", jit=True
    )


def compile_object(text: str) -> bytes:
    """An object file from IR text."""
    import llvmlite.binding as llvm

    try:
        module = llvm.parse_assembly(f'target triple = "{host().triple}"\n{text}')
        module.verify()
    except RuntimeError as e:
        raise CompileError(f"LLVM does not accept the generated code; this is a bug in ordern: {e}") from e
    return bytes(_machine().emit_object(module))


class Engine:
    """A loaded object: owns its code, which lives as long as the engine."""

    def __init__(self, code: bytes) -> None:
        import llvmlite.binding as llvm

        machine = _machine()
        empty = llvm.parse_assembly(f'target triple = "{host().triple}"')
        self._engine = llvm.create_mcjit_compiler(empty, machine)
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        """The address of a function."""
        found = int(self._engine.get_function_address(name))
        if not found:
            raise CompileError(f"compiled code has no function {name!r}")
        return found
