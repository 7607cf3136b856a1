"""Large results go straight to memory.

An ordinary store to memory that is not at hand first fetches the line that it is about to overwrite, and what it writes
drives out what is at hand. For a result that is larger than the processor's caches both are in vain: lines that are
written as a whole, past the caches, take a third of the time. Such stores must be aligned, where rows begin at any
number: what is stored begins in one block of a row and ends in the next. It is put together in registers, not
in memory: stores are done in order, and what was just stored can be read as a whole only when all those before it, that
are on their way past the caches, have arrived.

What is left at both ends of a row is stored as usual.
"""

from __future__ import annotations

from .emit import TextEmitter
from .layout import Layout, Operand
from .target import Target
from .tiles import columns
from .transpose import transposed

__all__ = ["FROM_BYTES", "stream_functions", "streamable"]

FROM_BYTES = 8 << 20
"""Results of this size and more are streamed: beyond the caches of one core, where it pays even if the result is read
at once."""
_WORTH_IT = 1024
"""Bytes of a row from which on most of it is not at its ends."""


def streamable(operand: Operand, target: Target) -> bool:
    """Whether rows are long enough to consist of whole vectors for the most part."""
    return operand.size * target.itemsize >= _WORTH_IT


def stream_functions(layout: Layout, target: Target) -> str:
    """IR text of @stream_rows, which does as @store_rows does, and what it needs; rows are aligned to numbers.

    After it, and before anybody else may read, there must be a fence.
    """
    lanes, size = target.lanes, layout.output.size
    whole = size // lanes * lanes
    e = _Rows(layout, target)
    first = e.block("0")
    for j, x in enumerate(first):
        e.store_some(x, f"%row{j}", f"%skip{j}")
    begun = [e.turned(x, j) for j, x in enumerate(first)]
    e.line("br label %loop")
    e.lines.append("loop:")
    e.line(f"%k = phi i64 [ {lanes}, %entry ], [ %next, %loop ]")
    phis = len(e.lines)
    fresh = [e.turned(x, j) for j, x in enumerate(e.block("%k"))]
    for j, x in enumerate(fresh):
        e.lines.insert(phis, f"  %kept{j} = phi {target.vector} [ {begun[j]}, %entry ], [ {x}, %loop ]")
        e.stream(e.joined(f"%kept{j}", x, j), e.aligned("%k", j))
    e.line(f"%next = add i64 %k, {lanes}")
    e.line(f"%more = icmp ult i64 %next, {whole}")
    e.line("br i1 %more, label %loop, label %rest")
    e.lines.append("rest:")
    rest = [e.turned(x, j) for j, x in enumerate(e.block(str(whole)))] if whole < size else fresh
    for j, (before, after) in enumerate(zip(fresh, rest, strict=True)):
        left = e.value(f"sub i64 {size - whole + lanes}, %skip{j}")
        e.line(f"%full{j} = icmp uge i64 {left}, {lanes}")
        x, to = e.joined(before, after, j), e.aligned(str(whole), j)
        e.line(f"br i1 %full{j}, label %one{j}, label %less{j}")
        e.lines.append(f"one{j}:")
        e.stream(x, to)
        to_next = e.value(f"getelementptr {target.vector}, ptr {to}, i64 1")
        e.store_some(e.joined(after, after, j), to_next, e.value(f"sub i64 {left}, {lanes}"))
        e.line(f"br label %done{j}")
        e.lines.append(f"less{j}:")
        e.store_some(x, to, left)
        e.line(f"br label %done{j}")
        e.lines.append(f"done{j}:")
    signature = "define internal void @stream_rows(ptr %lanes, ptr %tile) #0 {"
    return "\n".join([_declaration(target), signature, "entry:", *e.lines, "  ret void", "}", "!64 = !{i32 1}"])


class _Rows(TextEmitter):
    """Blocks of a tile as vectors of rows; number %skip{j} of row j is the first that is aligned as a vector."""

    def __init__(self, layout: Layout, target: Target) -> None:
        super().__init__(target)
        self._placed = bool(layout.places)
        self._picks = _picks(target)
        self._shifts = [self._row(j) for j in range(target.lanes)]

    def _row(self, j: int) -> list[str]:
        """%row{j}, %skip{j}; returns what shifts vectors by so many numbers."""
        target = self.target
        bits, size = 8 * target.itemsize, target.itemsize
        slot = self.value(f"getelementptr ptr, ptr %lanes, i64 {j}")
        self.line(f"%row{j} = load ptr, ptr {slot}")
        to_next = self.value(f"sub i64 0, {self.value(f'ptrtoint ptr %row{j} to i64')}")
        skipped = self.value(f"and i64 {to_next}, {target.lanes * size - 1}")
        self.line(f"%skip{j} = lshr i64 {skipped}, {size.bit_length() - 1}")
        skip = f"%skip{j}" if bits == 64 else self.value(f"trunc i64 %skip{j} to i{bits}")
        skips = self._everywhere(skip, f"i{bits}")
        indices = self.integer_binary("add", self._counting(f"i{bits}"), skips)
        if self._picks:
            return [indices]
        beyond = self.value(f"icmp uge {target.integers} {indices}, {self.integer(target.lanes)}")
        powers = [self.integer(1 << power) for power in range(target.lanes.bit_length() - 1)]
        set_ = [self.integer_binary("and", skips, power) for power in powers]
        return [beyond, *(self.value(f"icmp ne {target.integers} {bit}, zeroinitializer") for bit in set_)]

    def block(self, k: str) -> list[str]:
        """The numbers from k on, of each row."""
        return transposed(self, columns(self, k, self.target.lanes, self._placed))

    def turned(self, x: str, j: int) -> str:
        """A block of row j as `joined` takes it: rotated, unless numbers can be picked from two vectors at once."""
        lanes, vector = self.target.lanes, self.target.vector
        for power, odd in enumerate(self._shifts[j][1:]):
            pick = ", ".join(f"i32 {(k + (1 << power)) % lanes}" for k in range(lanes))
            other = self.value(f"shufflevector {vector} {x}, {vector} poison, <{lanes} x i32> <{pick}>")
            x = self.select(odd, other, x)
        return x

    def joined(self, before: str, after: str, j: int) -> str:
        """The aligned vector of row j that begins in one block and ends in the next."""
        shift, vector = self._shifts[j][0], self.target.vector
        if not self._picks:
            return self.select(shift, after, before)
        arguments = f"{vector} {before}, {self.target.integers} {shift}, {vector} {after}"
        return self.value(f"call {vector} {self._picks}({arguments})")

    def aligned(self, k: str, j: int) -> str:
        """Where the vector goes that is completed by the block at k."""
        element = self.target.element
        at = self.value(f"getelementptr {element}, ptr %row{j}, i64 %skip{j}")
        after = self.value(f"getelementptr {element}, ptr {at}, i64 {k}")
        return self.value(f"getelementptr {self.target.vector}, ptr {after}, i64 -1")

    def stream(self, x: str, to: str) -> None:
        """Store an aligned vector past the caches."""
        wide = self.target.lanes * self.target.itemsize
        self.line(f"store {self.target.vector} {x}, ptr {to}, align {wide}, !nontemporal !64")

    def store_some(self, x: str, to: str, count: str) -> None:
        """Store the first numbers of a vector as usual."""
        lanes, size, vector = self.target.lanes, self.target.itemsize, self.target.vector
        counts = self._everywhere(count, "i64")
        mask = self.value(f"icmp ult <{lanes} x i64> {self._counting('i64')}, {counts}")
        name = f"@llvm.masked.store.v{lanes}f{8 * size}.p0"
        self.line(f"call void {name}({vector} {x}, ptr {to}, i32 {size}, <{lanes} x i1> {mask})")

    def _everywhere(self, number: str, kind: str) -> str:
        vector = f"<{self.target.lanes} x {kind}>"
        first = self.value(f"insertelement {vector} poison, {kind} {number}, i32 0")
        zeros = f"<{self.target.lanes} x i32> zeroinitializer"
        return self.value(f"shufflevector {vector} {first}, {vector} poison, {zeros}")

    def _counting(self, kind: str) -> str:
        return f"<{', '.join(f'{kind} {k}' for k in range(self.target.lanes))}>"


def _picks(target: Target) -> str:
    """The instruction that picks numbers from two vectors by their indices, if this machine has one."""
    bits = 8 * target.itemsize * target.lanes
    if target.host.vector_bits < 512 or not (
        bits == 512 or (bits in (128, 256) and "+avx512vl" in target.host.features)
    ):
        return ""
    return f"@llvm.x86.avx512.vpermi2var.p{'d' if target.itemsize == 8 else 's'}.{bits}"


def _declaration(target: Target) -> str:
    name, vector = _picks(target), target.vector
    return f"declare {vector} {name}({vector}, {target.integers}, {vector})" if name else ""
