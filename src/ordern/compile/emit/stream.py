"""Large results go straight to memory.

An ordinary store to memory that is not at hand first fetches the line that it is about to overwrite, and what it writes
drives out what is at hand. For a result that is larger than the processor's caches both are in vain: lines that are
written as a whole, past the caches, take a third of the time (and parts of lines several times as long). Lines are
aligned, where rows begin at any number: what is stored begins in one block of a row and ends in the next. It is put
together in registers, not in memory: stores are done in order, and what was just stored in parts can be read as a whole
only when all those before it, which are on their way past the caches, have arrived.

What is left at both ends of a row is stored as usual.
"""

from __future__ import annotations

from ..trace.layout import Layout, Operand
from .nodes import TextEmitter
from .target import Target
from .tiles import columns
from .transpose import transposed

__all__ = ["FROM_BYTES", "ends", "stream_functions", "streamable"]

FROM_BYTES = 8 << 20
"""Results of this size and more are streamed: beyond the caches of one core, where it pays even if the result is read
at once."""
_WORTH_IT = 1024
"""Bytes of a row from which on most of it is not at its ends."""
_LINE = 64


def streamable(operand: Operand, target: Target) -> bool:
    """Whether rows are long enough to consist of whole lines for the most part."""
    return operand.size * target.itemsize >= _WORTH_IT


def ends(operand: Operand, target: Target) -> list[tuple[int, int]]:
    """Where @stream_rows stores as usual, if rows follow each other: which rows, and bytes from their beginnings."""
    last = operand.size * target.itemsize - 1
    if _per_line(target) == 1:
        return [(0, 0), (target.lanes - 1, last)]
    return [(j, at) for j in range(target.lanes) for at in (0, _LINE, last - _LINE, last)]


def _per_line(target: Target) -> int:
    """Vectors of a line."""
    return max(1, _LINE // (target.lanes * target.itemsize))


def stream_functions(layout: Layout, target: Target) -> str:
    """IR text of @stream_rows, which does as @store_rows does, and what it needs; rows are aligned to numbers.

    After it, and before anybody else may read, there must be a fence.
    """
    name, vector = _picks(target), target.vector
    declared = f"declare {vector} {name}({vector}, {target.integers}, {vector})" if name else ""
    return "\n".join(
        [
            declared,
            "declare i64 @llvm.usub.sat.i64(i64, i64)",
            "define internal void @stream_rows(ptr %lanes, ptr %tile) #0 {",
            "entry:",
            *_Streaming(layout, target).lines,
            "  ret void",
            "}",
            "!64 = !{i32 1}",
        ]
    )


class _Streaming(TextEmitter):
    """The body of @stream_rows.

    A row is cut into blocks, from its beginning on, and into vectors, which are aligned: the first begins with number
    %skip{j} of row j, in block 0, and ends in block 1. It is vector %place{j} of its line.
    """

    def __init__(self, layout: Layout, target: Target) -> None:
        super().__init__(target)
        self._placed = bool(layout.places)
        self._picks = _picks(target)
        self._per_line = _per_line(target)
        self._shifts = [self._row(j) for j in range(target.lanes)]
        lanes, size = target.lanes, layout.output.size
        self._size, self._whole = size, size // lanes * lanes
        step = lanes * self._per_line
        end = lanes + (self._whole - lanes) // step * step
        self._packed()
        kept = self._loop(self._begin(), step, end)
        if self._per_line == 1:
            self.line("br i1 %packed, label %together, label %apart")
            self.lines.append("together:")
            self._finish_together([row[-1] for row in kept])
            self.line("ret void")
            self.lines.append("apart:")
        self._finish_apart(kept, end)

    def _packed(self) -> None:
        """%packed: whether rows follow each other, and vectors are lines: they may begin in one and end in the next."""
        last = self.target.lanes - 1
        start, stop = (self.value(f"ptrtoint ptr %row{j} to i64") for j in (0, last))
        length = self.value(f"sub i64 {stop}, {start}")
        packed = self.value(f"icmp eq i64 {length}, {last * self._size * self.target.itemsize}")
        self.line(f"%packed = and i1 {packed}, {str(self._per_line == 1).lower()}")

    def _begin(self) -> list[list[str]]:
        """The numbers before the first vector, and the vectors of the line that it is in; see `_vectors`."""
        lanes = self.target.lanes
        first = self._block("0")
        self._store(first[0], "%row0", "%skip0")
        self.line("br i1 %packed, label %begun, label %heads")
        self.lines.append("heads:")
        for j in range(1, lanes):
            self._store(first[j], f"%row{j}", f"%skip{j}")
        self.line("br label %begun")
        self.lines.append("begun:")
        found = self._vectors([self._turned(x, j) for j, x in enumerate(first)], str(lanes))
        for j, row in enumerate(found):
            for n, x in enumerate(row[:-1]):
                if self._per_line == 1:
                    self._stream(x, self._at("0", j))
                else:
                    mine = self.value(f"icmp ult i64 %place{j}, {self._per_line - n}")
                    self._store(x, self._at(str(lanes * n), j), self.value(f"select i1 {mine}, i64 {lanes}, i64 0"))
        return found

    def _loop(self, begun: list[list[str]], step: int, end: int) -> list[list[str]]:
        """Whole lines, as far as there are enough blocks; returns what `_vectors` does for the last of them."""
        lanes, vector = self.target.lanes, self.target.vector
        self.line("br label %loop")
        self.lines.append("loop:")
        self.line(f"%k = phi i64 [ {lanes + step}, %begun ], [ %next, %loop ]")
        phis = len(self.lines)
        kept = [[f"%kept{j}_{n}" for n in range(len(row))] for j, row in enumerate(begun)]
        found = self._vectors([row[-1] for row in kept], "%k")
        for j, (old, new) in enumerate(zip(kept, found, strict=True)):
            back = self.value(f"xor i64 %place{j}, -1")  # the vector begins in the block before, its line earlier yet
            at = self.value(f"getelementptr {vector}, ptr {self._at('%k', j)}, i64 {back}")
            for n, x in enumerate(self._line([*old[1:-1], *new[:-1]], j)):
                self._stream(x, self.value(f"getelementptr {vector}, ptr {at}, i64 {n}"))
        for names, old, new in zip(kept, begun, found, strict=True):
            for name, x, y in zip(names, old, new, strict=True):
                self.lines.insert(phis, f"  {name} = phi {vector} [ {x}, %begun ], [ {y}, %loop ]")
        self.line(f"%next = add i64 %k, {step}")
        self.line(f"%more = icmp ult i64 %next, {end}")
        self.line("br i1 %more, label %loop, label %rest")
        self.lines.append("rest:")
        return found

    def _finish_together(self, last: list[str]) -> None:
        """Lines of one vector, up to the one that ends in the next row."""
        lanes, rest = self.target.lanes, self._size - self._whole
        heads = self._block("0")
        tails = self._block(str(self._whole)) if rest else heads
        self._store_rest(lanes - 1, last[-1], tails[-1])
        for j in range(lanes - 1):
            # the block that goes on in the next row, and the one after it
            both = self.shuffle(tails[j], heads[j + 1], [*range(rest), *range(lanes, 2 * lanes - rest)])
            next_ = self.shuffle(heads[j + 1], heads[j + 1], range(lanes - rest, 2 * lanes - rest))
            both, next_ = self._turned(both, j), self._turned(next_, j)
            self._stream(self._joined(last[j], both, j), self._at(str(self._whole - lanes), j))
            if rest:
                self.line(f"%more{j} = icmp ult i64 %skip{j}, {rest}")
                self.line(f"br i1 %more{j}, label %further{j}, label %ended{j}")
                self.lines.append(f"further{j}:")
                self._stream(self._joined(both, next_, j), self._at(str(self._whole), j))
                self.line(f"br label %ended{j}")
                self.lines.append(f"ended{j}:")

    def _finish_apart(self, kept: list[list[str]], end: int) -> None:
        """Vectors that waited for the rest of their line, further ones, and numbers after the last of them."""
        lanes = self.target.lanes
        for j, row in enumerate(kept):
            for n, x in enumerate(row[1:-1], 1):
                waits = self.value(f"icmp uge i64 %place{j}, {self._per_line - n}")
                to = self._at(str(end - lanes * (self._per_line + 1 - n)), j)
                self._store(x, to, self.value(f"select i1 {waits}, i64 {lanes}, i64 0"))
        last = [row[-1] for row in kept]
        for k in range(end, self._whole, lanes):
            fresh = [self._turned(x, j) for j, x in enumerate(self._block(str(k)))]
            for j, (before, after) in enumerate(zip(last, fresh, strict=True)):
                self._store(self._joined(before, after, j), self._at(str(k - lanes), j), str(lanes))
            last = fresh
        tails = self._block(str(self._whole)) if self._whole < self._size else last
        for j, (before, tail) in enumerate(zip(last, tails, strict=True)):
            self._store_rest(j, before, tail)

    def _store_rest(self, j: int, last: str, tail: str) -> None:
        """What is left of row j in its last whole block, and in the tail after it, if there is one."""
        lanes, tail = self.target.lanes, self._turned(tail, j)
        left = self.value(f"sub i64 {self._size - self._whole + lanes}, %skip{j}")
        self._store(self._joined(last, tail, j), self._at(str(self._whole - lanes), j), left)
        left = self.value(f"call i64 @llvm.usub.sat.i64(i64 {left}, i64 {lanes})")
        self._store(self._joined(tail, tail, j), self._at(str(self._whole), j), left)

    def _row(self, j: int) -> list[str]:
        """%row{j}, %skip{j}, %place{j}; returns what shifts numbers from blocks to vectors."""
        target = self.target
        bits, size, wide = 8 * target.itemsize, target.itemsize, target.lanes * target.itemsize
        slot = self.value(f"getelementptr ptr, ptr %lanes, i64 {j}")
        self.line(f"%row{j} = load ptr, ptr {slot}")
        address = self.value(f"ptrtoint ptr %row{j} to i64")
        skipped = self.value(f"and i64 {self.value(f'sub i64 0, {address}')}, {wide - 1}")
        self.line(f"%skip{j} = lshr i64 {skipped}, {size.bit_length() - 1}")
        first = self.value(f"lshr i64 {self.value(f'add i64 {address}, {skipped}')}, {wide.bit_length() - 1}")
        self.line(f"%place{j} = and i64 {first}, {self._per_line - 1}")
        skip = f"%skip{j}" if bits == 64 else self.value(f"trunc i64 %skip{j} to i{bits}")
        skips = self._everywhere(skip, f"i{bits}")
        indices = self.integer_binary("add", self._counting(f"i{bits}"), skips)
        if self._picks:
            return [indices]
        beyond = self.value(f"icmp uge {target.integers} {indices}, {self.integer(target.lanes)}")
        powers = [self.integer(1 << power) for power in range(target.lanes.bit_length() - 1)]
        set_ = [self.integer_binary("and", skips, power) for power in powers]
        return [beyond, *(self.value(f"icmp ne {target.integers} {bit}, zeroinitializer") for bit in set_)]

    def _block(self, k: str) -> list[str]:
        """The numbers from k on, of each row."""
        return transposed(self, columns(self, k, self.target.lanes, self._placed))

    def _vectors(self, last: list[str], k: str) -> list[list[str]]:
        """Of each row, the vectors that the blocks from k on complete, as many as a line has, and the last block."""
        found: list[list[str]] = [[] for _ in last]
        for n in range(self._per_line):
            at = self.value(f"add i64 {k}, {n * self.target.lanes}")
            fresh = [self._turned(x, j) for j, x in enumerate(self._block(at))]
            for j, row in enumerate(found):
                row.append(self._joined(last[j], fresh[j], j))
            last = fresh
        return [[*row, x] for row, x in zip(found, last, strict=True)]

    def _turned(self, x: str, j: int) -> str:
        """A block of row j as `_joined` takes it: rotated, unless numbers can be picked from two vectors at once."""
        lanes = self.target.lanes
        for power, odd in enumerate(self._shifts[j][1:]):
            other = self.shuffle(x, x, ((k + (1 << power)) % lanes for k in range(lanes)))
            x = self.select(odd, other, x)
        return x

    def _joined(self, before: str, after: str, j: int) -> str:
        """The vector of row j that begins in one block and ends in the next."""
        shift, vector = self._shifts[j][0], self.target.vector
        if not self._picks:
            return self.select(shift, after, before)
        arguments = f"{vector} {before}, {self.target.integers} {shift}, {vector} {after}"
        return self.value(f"call {vector} {self._picks}({arguments})")

    def _line(self, vectors: list[str], j: int) -> list[str]:
        """Of the last vectors of row j those of the line that is complete."""
        power = self._per_line // 2
        while power:
            bit = self.value(f"and i64 %place{j}, {power}")
            early = self._everywhere(self.value(f"icmp ne i64 {bit}, 0"), "i1")
            vectors = [self.select(early, a, b) for a, b in zip(vectors, vectors[power:], strict=False)]
            power //= 2
        return vectors

    def _at(self, k: str, j: int) -> str:
        """Where the vector goes that begins in the block at k."""
        element = self.target.element
        first = self.value(f"getelementptr {element}, ptr %row{j}, i64 %skip{j}")
        return self.value(f"getelementptr {element}, ptr {first}, i64 {k}")

    def _stream(self, x: str, to: str) -> None:
        """Store a vector past the caches."""
        wide = self.target.lanes * self.target.itemsize
        self.line(f"store {self.target.vector} {x}, ptr {to}, align {wide}, !nontemporal !64")

    def _store(self, x: str, to: str, count: str) -> None:
        """Store the first numbers of a vector as usual."""
        lanes, size, vector = self.target.lanes, self.target.itemsize, self.target.vector
        mask = self.value(f"icmp ult <{lanes} x i64> {self._counting('i64')}, {self._everywhere(count, 'i64')}")
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
