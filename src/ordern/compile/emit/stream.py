"""Streaming: large results go straight to memory.

An ordinary store to memory that is not in a cache first fetches the line that it is about to overwrite, and displaces
other lines from the caches. For a result that is larger than the caches both are in vain: whole lines that are written
past the caches take a third of the time (and parts of lines several times as long). Lines are aligned, but rows begin
at any number: a stored vector begins in one block of a row and ends in the next. It is put together in registers, not
in memory: stores are done in order, and a vector that was just stored in parts can be read as a whole only after all
earlier stores, which are on their way past the caches, have arrived.

The numbers at both ends of a row, which do not fill a line, are stored as usual.
"""

from __future__ import annotations

from ...records import dataclass
from ..trace.layout import Layout, Operand
from .builder import Number, Value
from .nodes import TextEmitter
from .target import Target
from .tiles import columns
from .transpose import transposed

__all__ = ["FROM_BYTES", "ends", "stream_functions", "streamable"]

FROM_BYTES = 8 << 20
"""Results of this size and more are streamed: beyond the caches of one core, where it pays even if the result is read
at once."""
_WORTH_IT = 1024
"""Rows of this many bytes and more consist mostly of whole lines."""
_LINE = 64


def streamable(operand: Operand, target: Target) -> bool:
    """Return True if rows are long enough to consist mostly of whole lines."""
    return operand.size * target.itemsize >= _WORTH_IT


def ends(operand: Operand, target: Target) -> list[tuple[int, int]]:
    """Return where @stream_rows stores as usual, if rows follow each other: pairs of a row and an offset in bytes."""
    last = operand.size * target.itemsize - 1
    if _per_line(target) == 1:
        return [(0, 0), (target.lanes - 1, last)]
    return [(j, at) for j in range(target.lanes) for at in (0, _LINE, last - _LINE, last)]


def _per_line(target: Target) -> int:
    """Return the number of vectors in a line."""
    return max(1, _LINE // (target.lanes * target.itemsize))


def stream_functions(layout: Layout, target: Target) -> str:
    """Return the IR text of @stream_rows, a @store_rows for rows that are aligned to numbers, with its declarations.

    A fence must follow before other threads may read the result.
    """
    name, vector = _picks(target), target.vector
    declared = f"declare {vector} {name}({vector}, {target.integers}, {vector})" if name else ""
    body = _Streaming(layout, target).text("@stream_rows")
    return "\n".join([declared, "declare i64 @llvm.usub.sat.i64(i64, i64)", body, "!64 = !{i32 1}"])


@dataclass(frozen=True, slots=True)
class _Row:
    """One row: a row is cut into blocks, from its beginning on, and into vectors, which are aligned."""

    start: Value
    skip: Value
    """The number, in block 0, with which the first vector begins; it ends in block 1."""
    place: Value
    """The place of the first vector in its line, in vectors."""
    first: Value
    """The address of the first vector."""
    shifts: list[str]
    """Move numbers from blocks to vectors: the indices to pick, or tests for a rotation by powers of two."""


class _Streaming(TextEmitter):
    """The body of @stream_rows."""

    def __init__(self, layout: Layout, target: Target) -> None:
        super().__init__(target, arguments=("ptr %lanes", "ptr %tile"))
        self._placed = bool(layout.places)
        self._picks = _picks(target)
        self._per_line = _per_line(target)
        lanes, size = target.lanes, layout.output.size
        self._rows = [self._row(j) for j in range(lanes)]
        self._size, self._whole = size, size // lanes * lanes
        step = lanes * self._per_line
        end = lanes + (self._whole - lanes) // step * step
        packed = self._packed()
        kept = self._loop(self._begun(packed), step, end)
        if self._per_line == 1:
            with self.if_(packed):
                self._finish_together([row[-1] for row in kept])
                self.ret()
        self._finish_apart(kept, end)

    def _row(self, j: int) -> _Row:
        target = self.target
        bits, size, wide = 8 * target.itemsize, target.itemsize, target.lanes * target.itemsize
        start = self.arguments[0].load("ptr", j)
        address = start.to("ptrtoint", "i64")
        skipped = (self.const(0) - address) & (wide - 1)
        skip = skipped >> (size.bit_length() - 1)
        place = ((address + skipped) >> (wide.bit_length() - 1)) & (self._per_line - 1)
        skips = self.everywhere(skip if bits == 64 else skip.to("trunc", f"i{bits}"), f"i{bits}")
        indices = self.integer_binary("add", self.counting(f"i{bits}"), skips)
        shifts = [indices]
        if not self._picks:
            powers = [self.integer(1 << power) for power in range(target.lanes.bit_length() - 1)]
            set_ = [self.integer_binary("and", skips, power) for power in powers]
            shifts = [self.value(f"icmp uge {target.integers} {indices}, {self.integer(target.lanes)}")]
            shifts += [self.value(f"icmp ne {target.integers} {bit}, zeroinitializer") for bit in set_]
        return _Row(start, skip, place, start.at(skip, target.element), shifts)

    def _packed(self) -> Value:
        """Test that rows follow each other, and vectors are lines: they may begin in one row and end in the next."""
        last = self.target.lanes - 1
        start, stop = (self._rows[j].start.to("ptrtoint", "i64") for j in (0, last))
        packed = (stop - start).equals(last * self._size * self.target.itemsize)
        return packed & self.const(str(self._per_line == 1).lower(), "i1")

    def _begun(self, packed: Value) -> list[list[str]]:
        """Store the numbers before the first vector, and the vectors of its line; return what `_vectors` does."""
        lanes = self.target.lanes
        first = self._block(0)
        self._store(first[0], self._rows[0].start, self._rows[0].skip)
        with self.if_(~packed):
            for x, row in zip(first[1:], self._rows[1:], strict=True):
                self._store(x, row.start, row.skip)
        found = self._vectors([self._turned(x, j) for j, x in enumerate(first)], self.const(lanes))
        for row, vectors in zip(self._rows, found, strict=True):
            for n, x in enumerate(vectors[:-1]):
                if self._per_line == 1:
                    self._stream(x, row.first)
                else:
                    mine = row.place.below(self._per_line - n)
                    self._store(x, self._at(row, lanes * n), mine.select(self.const(lanes), 0))
        return found

    def _loop(self, begun: list[list[str]], step: int, end: int) -> list[list[str]]:
        """Store whole lines, as far as there are enough blocks; return what `_vectors` does for the last of them."""
        vector = self.target.vector
        with self.counted(end, self.target.lanes + step, step) as k:
            kept = [[self.carried(self.const(x, vector)) for x in row] for row in begun]
            found = self._vectors([row[-1].value.name for row in kept], k)
            for row, old, new in zip(self._rows, kept, found, strict=True):
                # the vector begins in the block before, its line earlier yet
                at = self._at(row, k).at(~row.place, vector)
                for n, x in enumerate(self._line([*(x.value.name for x in old[1:-1]), *new[:-1]], row)):
                    self._stream(x, at.at(n, vector))
                for carried, y in zip(old, new, strict=True):
                    carried.next = self.const(y, vector)
        return found

    def _finish_together(self, last: list[str]) -> None:
        """Store lines of one vector, up to the one that ends in the next row."""
        lanes, rest = self.target.lanes, self._size - self._whole
        heads = self._block(0)
        tails = self._block(self._whole) if rest else heads
        self._store_rest(lanes - 1, last[-1], tails[-1])
        for j, row in enumerate(self._rows[:-1]):
            # the block that goes on in the next row, and the one after it
            both = self.shuffle(tails[j], heads[j + 1], [*range(rest), *range(lanes, 2 * lanes - rest)])
            next_ = self.shuffle(heads[j + 1], heads[j + 1], range(lanes - rest, 2 * lanes - rest))
            both, next_ = self._turned(both, j), self._turned(next_, j)
            self._stream(self._joined(last[j], both, j), self._at(row, self._whole - lanes))
            if rest:
                with self.if_(row.skip.below(rest)):
                    self._stream(self._joined(both, next_, j), self._at(row, self._whole))

    def _finish_apart(self, kept: list[list[str]], end: int) -> None:
        """Store vectors that waited for the rest of their line, further ones, and numbers after the last of them."""
        lanes = self.target.lanes
        for row, vectors in zip(self._rows, kept, strict=True):
            for n, x in enumerate(vectors[1:-1], 1):
                early = row.place.below(self._per_line - n)
                to = self._at(row, end - lanes * (self._per_line + 1 - n))
                self._store(x, to, early.select(self.const(0), lanes))
        last = [row[-1] for row in kept]
        for k in range(end, self._whole, lanes):
            fresh = [self._turned(x, j) for j, x in enumerate(self._block(k))]
            for j, (before, after) in enumerate(zip(last, fresh, strict=True)):
                self._store(self._joined(before, after, j), self._at(self._rows[j], k - lanes), self.const(lanes))
            last = fresh
        tails = self._block(self._whole) if self._whole < self._size else last
        for j, (before, tail) in enumerate(zip(last, tails, strict=True)):
            self._store_rest(j, before, tail)

    def _store_rest(self, j: int, last: str, tail: str) -> None:
        """Store what is left of row j in its last whole block, and in the tail after it, if there is one."""
        lanes, tail, row = self.target.lanes, self._turned(tail, j), self._rows[j]
        left = self.const(self._size - self._whole + lanes) - row.skip
        self._store(self._joined(last, tail, j), self._at(row, self._whole - lanes), left)
        left = self.call("@llvm.usub.sat.i64", left, lanes, result="i64")
        self._store(self._joined(tail, tail, j), self._at(row, self._whole), left)

    def _block(self, k: Number) -> list[str]:
        """Return the numbers from k on, of each row."""
        return transposed(self, columns(self, self.arguments[1], k, self.target.lanes, self._placed))

    def _vectors(self, last: list[str], k: Value) -> list[list[str]]:
        """Return, for each row, the vectors that the blocks from k on complete, a line of them, and the last block."""
        found: list[list[str]] = [[] for _ in last]
        for n in range(self._per_line):
            fresh = [self._turned(x, j) for j, x in enumerate(self._block(k + n * self.target.lanes))]
            for j, row in enumerate(found):
                row.append(self._joined(last[j], fresh[j], j))
            last = fresh
        return [[*row, x] for row, x in zip(found, last, strict=True)]

    def _turned(self, x: str, j: int) -> str:
        """Return a block of row j as `_joined` takes it: rotated, unless numbers can be picked from two vectors."""
        lanes = self.target.lanes
        for power, odd in enumerate(self._rows[j].shifts[1:]):
            other = self.shuffle(x, x, ((k + (1 << power)) % lanes for k in range(lanes)))
            x = self.select(odd, other, x)
        return x

    def _joined(self, before: str, after: str, j: int) -> str:
        """Return the vector of row j that begins in one block and ends in the next."""
        shift, vector = self._rows[j].shifts[0], self.target.vector
        if not self._picks:
            return self.select(shift, after, before)
        arguments = f"{vector} {before}, {self.target.integers} {shift}, {vector} {after}"
        return self.value(f"call {vector} {self._picks}({arguments})")

    def _line(self, vectors: list[str], row: _Row) -> list[str]:
        """Return the vectors of the complete line, out of the last vectors of a row."""
        power = self._per_line // 2
        while power:
            early = self.everywhere((row.place & power).differs(0), "i1")
            vectors = [self.select(early, a, b) for a, b in zip(vectors, vectors[power:], strict=False)]
            power //= 2
        return vectors

    def _at(self, row: _Row, k: Number) -> Value:
        """Return the address of the vector that begins in the block at k."""
        return row.first.at(k, self.target.element)

    def _stream(self, x: str, to: Value) -> None:
        """Store a vector past the caches."""
        wide = self.target.lanes * self.target.itemsize
        self.line(f"store {self.target.vector} {x}, ptr {to}, align {wide}, !nontemporal !64")

    def _store(self, x: str, to: Value, count: Value) -> None:
        """Store the first numbers of a vector as usual."""
        lanes, size, vector = self.target.lanes, self.target.itemsize, self.target.vector
        name = f"@llvm.masked.store.v{lanes}f{8 * size}.p0"
        self.line(f"call void {name}({vector} {x}, ptr {to}, i32 {size}, <{lanes} x i1> {self.first_lanes(count)})")


def _picks(target: Target) -> str:
    """Return the instruction that picks numbers from two vectors by their indices, if this machine has one."""
    bits = 8 * target.itemsize * target.lanes
    if target.host.vector_bits < 512 or not (
        bits == 512 or (bits in (128, 256) and "+avx512vl" in target.host.features)
    ):
        return ""
    return f"@llvm.x86.avx512.vpermi2var.p{'d' if target.itemsize == 8 else 's'}.{bits}"
