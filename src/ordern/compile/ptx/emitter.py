"""Writes code for one thread: a value is one number of one state, and addresses know how far apart numbers are."""

from __future__ import annotations

from ..emit.builder import Builder, Number, Value, literal
from ..emit.nodes import FLAGS, TextEmitter
from ..emit.target import Target

__all__ = ["GLOBAL", "SHARED", "Row", "ThreadEmitter"]

GLOBAL = "ptr addrspace(1)"
"""The type of an address in the memory of the device."""
SHARED = "ptr addrspace(3)"
"""The type of an address in the memory that the threads of a block share."""


class Row(Value):
    """The address of one state's numbers, `apart` numbers from each other.

    In arrays they are next to each other. In a workspace, the same number of all states of a block is, so that the
    threads of a warp read one line of memory.
    """

    __slots__ = ("apart", "constant")

    def __init__(self, builder: Builder, name: str, kind: str, apart: int = 1, constant: bool = False) -> None:
        super().__init__(builder, name, kind)
        self.apart, self.constant = apart, constant
        """`constant` is True if the kernel does not write there."""

    def at(self, index: Number, of: str = "i8") -> Row:
        """Return the address of a number, as a row that begins there."""
        if self.apart != 1:
            index = index * self.apart
        return Row(self.builder, super().at(index, of).name, self.type, self.apart, self.constant)


class ThreadEmitter(TextEmitter):
    """Lowers operations into lines of IR, on single numbers."""

    def __init__(self, target: Target, arguments: tuple[str, ...] = ()) -> None:
        super().__init__(target, arguments=arguments)
        bits = 8 * target.itemsize
        self.vector, self._integers, self._suffix = target.element, f"i{bits}", f"f{bits}"

    def load(self, pointer: str | Value, index: int = 0) -> str:
        """Load a number of a row."""
        assert isinstance(pointer, Row)
        mark = ", !invariant.load !0" if pointer.constant else ""
        return self.value(f"load {self.element}, {pointer.type} {pointer.at(index, self.element)}{mark}")

    def store(self, name: str, pointer: str | Value, index: int = 0) -> None:
        """Store a number of a row."""
        assert isinstance(pointer, Row)
        self.line(f"store {self.element} {name}, {pointer.type} {pointer.at(index, self.element)}")

    def constant(self, value: float) -> str:
        """Return a floating-point constant."""
        return literal(value, self.element)

    def integer(self, value: int) -> str:
        """Return an integer constant."""
        return str(value)

    def binary(self, instruction: str, a: str, b: str) -> str:
        """Emit a floating-point instruction; quotients in single precision are exact to two units of the last place."""
        fast = " afn" if instruction == "fdiv" and self.dtype == "float32" else ""
        return self.value(f"{instruction} {FLAGS}{fast} {self.element} {a}, {b}")

    def select(self, test: str, x: str, y: str) -> str:
        """Return x if a test holds, else y."""
        return self.value(f"select i1 {test}, {self.element} {x}, {self.element} {y}")

    def splat(self, scalar: str | Value) -> str:
        """Return the number itself: every state has its own thread."""
        return str(scalar)
