"""Graphs as LLVM IR text: one value per line, a vector of states per value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from ...graph import OPS, Node
from .builder import Builder, Number, Value, literal
from .target import Target

__all__ = ["FLAGS", "Constants", "TextEmitter", "declarations"]

FLAGS = "contract nsz arcp"
"""Allow fused products, either sign of zero, and reciprocals; keep NaN, infinity and the order of sums."""


class Constants:
    """The constants of a kernel, in one table.

    Functions get the table's address as an argument. Loading from there costs an instruction nothing on machines that
    can broadcast a memory operand, while an address in the code would cost one of its own for each constant.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._places: dict[str, int] = {}
        self._tables: dict[str, str] = {}

    def index(self, value: float) -> int:
        """Return the place of a constant in the table."""
        return self._places.setdefault(literal(value, self._target.element), len(self._places))

    def table(self, name: str, values: Sequence[float]) -> str:
        """Return the global name of a table of numbers whose entries are read at places that are computed."""
        if name not in self._tables:
            element = self._target.element
            numbers = ", ".join(f"{element} {literal(x, element)}" for x in values)
            self._tables[name] = f"@{name} = internal constant [{len(values)} x {element}] [{numbers}]"
        return f"@{name}"

    def text(self) -> str:
        """Return the IR text of the table of constants, and of other tables."""
        return "\n".join([self._own_text(), *self._tables.values()])

    def _own_text(self) -> str:
        element = self._target.element
        numbers = ", ".join(f"{element} {x}" for x in self._places) or f"{element} 0.0"
        return f"@constants = internal constant [{max(1, len(self._places))} x {element}] [{numbers}]"


class TextEmitter(Builder):
    """Lowers operations of the table into lines of IR, on vectors of states."""

    def __init__(self, target: Target, constants: Constants | None = None, arguments: Sequence[str] = ()) -> None:
        super().__init__(arguments)
        self.target = target
        self.constants = constants
        self.dtype = target.dtype
        self.has_fma = target.host.has_fma
        self.memo: dict[tuple[str, str], tuple[str, str]] = {}
        self.element = target.element
        self.vector = target.vector
        self._integers = target.integers
        self._suffix = f"v{target.lanes}f{8 * target.itemsize}"

    def lower(self, node: Node, operands: list[str]) -> str:
        """Emit one operation; return the name of its value."""
        return OPS[node.op].lower(self, *operands)

    def load(self, pointer: str | Value, index: int = 0) -> str:
        """Load the vector at an index of an array of vectors."""
        at = self.value(f"getelementptr {self.vector}, ptr {pointer}, i64 {index}") if index else pointer
        return self.value(f"load {self.vector}, ptr {at}, align {self.align}")

    def store(self, name: str, pointer: str | Value, index: int = 0) -> None:
        """Store a vector at an index of an array of vectors."""
        at = self.value(f"getelementptr {self.vector}, ptr {pointer}, i64 {index}") if index else pointer
        self.line(f"store {self.vector} {name}, ptr {at}, align {self.align}")

    @property
    def align(self) -> int:
        """The alignment of a vector in the workspace."""
        return min(64, self.target.lanes * self.target.itemsize)

    def constant(self, value: float) -> str:
        """Return a floating-point constant in every lane: from the table if there is one."""
        if self.constants is not None and value != 0.0:
            at = f"getelementptr {self.element}, ptr %constants, i64 {self.constants.index(value)}"
            return self.splat(self.value(f"load {self.element}, ptr {self.value(at)}"))
        one = f"{self.element} {literal(value, self.element)}"
        return f"<{', '.join([one] * self.target.lanes)}>"

    def integer(self, value: int) -> str:
        """Return an integer constant in every lane."""
        return f"<{', '.join([f'i{8 * self.target.itemsize} {value}'] * self.target.lanes)}>"

    def binary(self, instruction: str, a: str, b: str) -> str:
        """Emit a floating-point instruction."""
        return self.value(f"{instruction} {FLAGS} {self.vector} {a}, {b}")

    def integer_binary(self, instruction: str, a: str, b: str) -> str:
        """Emit an integer instruction."""
        return self.value(f"{instruction} {self._integers} {a}, {b}")

    def negate(self, a: str) -> str:
        """Return the negative of a value."""
        return self.value(f"fneg {FLAGS} {self.vector} {a}")

    def intrinsic(self, name: str, *operands: str) -> str:
        """Call an intrinsic function of LLVM that is one instruction on this machine."""
        arguments = ", ".join(f"{self.vector} {x}" for x in operands)
        return self.value(f"call {self.vector} @llvm.{name}.{self._suffix}({arguments})")

    def select(self, test: str, x: str, y: str) -> str:
        """Return x in the lanes where a test holds, y in the others."""
        lanes = self.target.lanes
        return self.value(f"select <{lanes} x i1> {test}, {self.vector} {x}, {self.vector} {y}")

    def one_if(self, test: Value) -> str:
        """Return 1 in every lane if a test holds, and 0 if not."""
        return self.splat(test.to("uitofp", self.element))

    @contextmanager
    def each(self, n: Number, inward: bool = False) -> Iterator[Value]:
        """Run what is inside for 0, 1 ... below n, at least once; inward the last number comes first."""
        with self.counted(n) as k:
            yield (n if isinstance(n, Value) else self.const(n)) - 1 - k if inward else k

    def clear(self, base: Value, start: int, size: int) -> None:
        """Write zeros to vectors of an array."""
        with self.counted(size) as k:
            self.store(self.constant(0.0), base.at(k + start, self.vector))

    def copy(self, base: Value, start: int, source: Value, source_start: int, size: int) -> None:
        """Write vectors of an array to another array."""
        with self.counted(size) as k:
            self.store(self.load(source.at(k + source_start, self.vector)), base.at(k + start, self.vector))

    def shuffle(self, a: str, b: str, picks: Iterable[int]) -> str:
        """Pick numbers from two vectors; the indices of the second follow those of the first."""
        indices = ", ".join(f"i32 {k}" for k in picks)
        return self.value(
            f"shufflevector {self.vector} {a}, {self.vector} {b}, <{self.target.lanes} x i32> <{indices}>"
        )

    def select_less(self, a: str, b: str, x: str, y: str) -> str:
        """Return x in the lanes where a < b, y in the others."""
        test = self.value(f"fcmp olt {self.vector} {a}, {b}")
        return self.select(test, x, y)

    def select_odd(self, n: str, x: str, y: str) -> str:
        """Return x in the lanes where the integer n is odd, y in the others."""
        bit = self.integer_binary("and", n, self.integer(1))
        test = self.value(f"icmp ne {self._integers} {bit}, zeroinitializer")
        return self.select(test, x, y)

    def entry(self, table: str, size: int, place: str) -> str:
        """Return the entries of a table at places, rounded down and clamped; each lane reads its own."""
        zero, last, lanes = self.constant(0.0), self.constant(size - 1.0), self.target.lanes
        place = self.select_less(zero, place, place, zero)  # not a number is zero
        place = self.select_less(place, last, place, last)
        whole, found = self.value(f"fptosi {self.vector} {place} to <{lanes} x i64>"), "poison"
        for k in range(lanes):
            at = self.value(f"extractelement <{lanes} x i64> {whole}, i32 {k}")
            address = self.value(f"getelementptr {self.element}, ptr {table}, i64 {at}")
            one = self.value(f"load {self.element}, ptr {address}")
            found = self.value(f"insertelement {self.vector} {found}, {self.element} {one}, i32 {k}")
        return found

    def bits(self, a: str) -> str:
        """Return the bits of a float as an integer."""
        return self.value(f"bitcast {self.vector} {a} to {self._integers}")

    def float_of_bits(self, n: str) -> str:
        """Return the float that has the bits of an integer."""
        return self.value(f"bitcast {self._integers} {n} to {self.vector}")

    def splat(self, scalar: str | Value) -> str:
        """Return a vector with a number in every lane."""
        return self.everywhere(scalar, self.element)

    def everywhere(self, scalar: str | Value, kind: str) -> str:
        """Return a vector of `kind` with a scalar in every lane."""
        vector = f"<{self.target.lanes} x {kind}>"
        first = self.value(f"insertelement {vector} poison, {kind} {scalar}, i32 0")
        return self.value(
            f"shufflevector {vector} {first}, {vector} poison, <{self.target.lanes} x i32> zeroinitializer"
        )

    def counting(self, kind: str) -> str:
        """Return the constant vector 0, 1, 2 ..."""
        return f"<{', '.join(f'{kind} {k}' for k in range(self.target.lanes))}>"

    def first_lanes(self, count: str | Value) -> str:
        """Return a mask of the first `count` lanes."""
        return self.value(
            f"icmp ult <{self.target.lanes} x i64> {self.counting('i64')}, {self.everywhere(count, 'i64')}"
        )


def declarations(target: Target) -> str:
    """Return the declarations of the intrinsics that emitted code may call."""
    v, suffix = target.vector, f"v{target.lanes}f{8 * target.itemsize}"
    mask = f"<{target.lanes} x i1>"
    lines = [f"declare {v} @llvm.{name}.{suffix}({v})" for name in ("sqrt", "fabs")]
    lines.append("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
    lines.append(f"declare {v} @llvm.fma.{suffix}({v}, {v}, {v})")
    lines.append(f"declare {v} @llvm.masked.load.{suffix}.p0(ptr, i32, {mask}, {v})")
    lines.append(f"declare void @llvm.masked.store.{suffix}.p0({v}, ptr, i32, {mask})")
    return "\n".join(lines)
