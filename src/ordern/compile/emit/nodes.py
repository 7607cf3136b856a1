"""Graphs as LLVM IR text: one value per line, a vector of states per value."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from ...graph import OPS, Node
from .target import Target

__all__ = ["Constants", "TextEmitter", "declarations", "literal"]

_FLAGS = "contract nsz arcp"
"""Fusing, sign of zero, reciprocals. NaN and infinity keep their meaning, and sums their order."""


def literal(value: float, target: Target) -> str:
    """A floating-point number as IR text, exactly."""
    if target.dtype == "float32":
        try:
            value = struct.unpack("<f", struct.pack("<f", value))[0]
        except OverflowError:
            value = float("inf") if value > 0 else float("-inf")
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


class Constants:
    """The constants of a kernel, in one table.

    Functions get the table's address as an argument. Loading from there costs an instruction nothing on machines that
    can broadcast a memory operand, while an address in the code would cost one of its own for each constant.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._places: dict[str, int] = {}

    def index(self, value: float) -> int:
        """Where a constant is in the table."""
        return self._places.setdefault(literal(value, self._target), len(self._places))

    def text(self) -> str:
        """IR text of the table."""
        element = self._target.element
        numbers = ", ".join(f"{element} {x}" for x in self._places) or f"{element} 0.0"
        return f"@constants = internal constant [{max(1, len(self._places))} x {element}] [{numbers}]"


class TextEmitter:
    """Lowers operations of the table into lines of IR."""

    def __init__(self, target: Target, constants: Constants | None = None) -> None:
        self.target = target
        self.constants = constants
        self.dtype = target.dtype
        self.has_fma = target.host.has_fma
        self.memo: dict[tuple[str, str], tuple[str, str]] = {}
        self.lines: list[str] = []
        self._count = 0
        self._element = target.element
        self._vector = target.vector
        self._integers = target.integers
        self._suffix = f"v{target.lanes}f{8 * target.itemsize}"

    def lower(self, node: Node, operands: list[str]) -> str:
        """Emit one operation; returns the name of its value."""
        return OPS[node.op].lower(self, *operands)

    def value(self, text: str) -> str:
        """A line that defines a new value; returns its name."""
        self._count += 1
        name = f"%t{self._count}"
        self.lines.append(f"  {name} = {text}")
        return name

    def line(self, text: str) -> None:
        """A line that defines nothing."""
        self.lines.append("  " + text)

    def load(self, pointer: str, index: int) -> str:
        """The vector at an index of an array of vectors."""
        at = self.value(f"getelementptr {self._vector}, ptr {pointer}, i64 {index}") if index else pointer
        return self.value(f"load {self._vector}, ptr {at}, align {self.align}")

    def store(self, name: str, pointer: str, index: int) -> None:
        """Store a vector at an index of an array of vectors."""
        at = self.value(f"getelementptr {self._vector}, ptr {pointer}, i64 {index}") if index else pointer
        self.line(f"store {self._vector} {name}, ptr {at}, align {self.align}")

    @property
    def align(self) -> int:
        """The alignment of a vector in the workspace."""
        return min(64, self.target.lanes * self.target.itemsize)

    def constant(self, value: float) -> str:
        """A floating-point constant in every lane: from the table if there is one."""
        if self.constants is not None and value != 0.0:
            at = f"getelementptr {self._element}, ptr %constants, i64 {self.constants.index(value)}"
            return self.splat(self.value(f"load {self._element}, ptr {self.value(at)}"))
        one = f"{self._element} {literal(value, self.target)}"
        return f"<{', '.join([one] * self.target.lanes)}>"

    def integer(self, value: int) -> str:
        """An integer constant in every lane."""
        return f"<{', '.join([f'i{8 * self.target.itemsize} {value}'] * self.target.lanes)}>"

    def binary(self, instruction: str, a: str, b: str) -> str:
        """A floating-point instruction."""
        return self.value(f"{instruction} {_FLAGS} {self._vector} {a}, {b}")

    def integer_binary(self, instruction: str, a: str, b: str) -> str:
        """An integer instruction."""
        return self.value(f"{instruction} {self._integers} {a}, {b}")

    def negate(self, a: str) -> str:
        """The negative."""
        return self.value(f"fneg {_FLAGS} {self._vector} {a}")

    def intrinsic(self, name: str, *operands: str) -> str:
        """One of LLVM's intrinsic functions that are instructions on this machine."""
        arguments = ", ".join(f"{self._vector} {x}" for x in operands)
        return self.value(f"call {self._vector} @llvm.{name}.{self._suffix}({arguments})")

    def select(self, test: str, x: str, y: str) -> str:
        """The value x where a test holds, else y."""
        lanes = self.target.lanes
        return self.value(f"select <{lanes} x i1> {test}, {self._vector} {x}, {self._vector} {y}")

    def shuffle(self, a: str, b: str, picks: Iterable[int]) -> str:
        """Numbers of two vectors, those of the second counted on."""
        indices = ", ".join(f"i32 {k}" for k in picks)
        return self.value(
            f"shufflevector {self._vector} {a}, {self._vector} {b}, <{self.target.lanes} x i32> <{indices}>"
        )

    def select_less(self, a: str, b: str, x: str, y: str) -> str:
        """The value x where a < b, else y."""
        test = self.value(f"fcmp olt {self._vector} {a}, {b}")
        return self.select(test, x, y)

    def select_odd(self, n: str, x: str, y: str) -> str:
        """The value x where the integer n is odd, else y."""
        bit = self.integer_binary("and", n, self.integer(1))
        test = self.value(f"icmp ne {self._integers} {bit}, zeroinitializer")
        return self.select(test, x, y)

    def bits(self, a: str) -> str:
        """A float's bits as an integer."""
        return self.value(f"bitcast {self._vector} {a} to {self._integers}")

    def float_of_bits(self, n: str) -> str:
        """An integer's bits as a float."""
        return self.value(f"bitcast {self._integers} {n} to {self._vector}")

    def splat(self, scalar: str) -> str:
        """A scalar in every lane."""
        lanes = self.target.lanes
        first = self.value(f"insertelement {self._vector} poison, {self._element} {scalar}, i32 0")
        return self.value(
            f"shufflevector {self._vector} {first}, {self._vector} poison, <{lanes} x i32> zeroinitializer"
        )


def declarations(target: Target) -> str:
    """The intrinsics that emitted code may call."""
    v, suffix = target.vector, f"v{target.lanes}f{8 * target.itemsize}"
    mask = f"<{target.lanes} x i1>"
    lines = [f"declare {v} @llvm.{name}.{suffix}({v})" for name in ("sqrt", "fabs")]
    lines.append("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
    lines.append(f"declare {v} @llvm.fma.{suffix}({v}, {v}, {v})")
    lines.append(f"declare {v} @llvm.masked.load.{suffix}.p0(ptr, i32, {mask}, {v})")
    lines.append(f"declare void @llvm.masked.store.{suffix}.p0({v}, ptr, i32, {mask})")
    return "\n".join(lines)
