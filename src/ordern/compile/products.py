"""Products of many square matrices with one, where the places of zeros in the many are known.

    sums      C_b = D_b + A_b B            A_b[i, l] is read where `places[i, l]` is True
    mirrored  C_b = D_b + X_b + X_b^T

Libraries of linear algebra multiply the zeros, too, and need a pass of its own for each sum. A row of the result stays
in registers while the numbers of a row of A_b are multiplied with rows of B.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import AnyArray
from ..forking import COMPILING
from ..records import dataclass
from .emit.builder import Value
from .emit.entry_points import attributes
from .emit.nodes import TextEmitter, declarations
from .emit.target import Target, target
from .run.engine import Engine, compile_object

__all__ = ["Products"]

_TOGETHER = 2
"""Matrices whose rows are computed together, so that a row of B is read once for them."""
_MOST_SUMS = {128: 10, 256: 12, 512: 24}
"""Vectors of results that are in registers at a time, by the bits of a vector."""
_ALIGNED = 64
"""The alignment of vectors, in bytes."""


class Products:
    """Products of matrices of one size, as machine code. Arrays may have any distance from matrix to matrix."""

    def __init__(self, places: NDArray[np.bool_], dtype: Any) -> None:
        """Compile, unless it is done; each row has at least one place of a number that may not be zero."""
        self._n, self._dtype = len(places), np.dtype(dtype)
        self._columns = np.nonzero(places)[1].astype(np.int64)
        self._starts = np.concatenate([[0], np.cumsum(places.sum(axis=1))]).astype(np.int64)
        self._zeros = np.zeros((1, self._n, self._n), self._dtype)
        self._target = target(self._dtype.name)
        self._code = _compiled(self._n, self._target)

    def set_sums(self, C: AnyArray, A: AnyArray, B: AnyArray, D: AnyArray | None = None) -> None:
        """Set all C_b to D_b + A_b B, or to A_b B."""
        rows = self._aligned(B)
        words = self._words(C, A, self._zeros if D is None else D)
        self._run(self._code.sums, [*words, *(x.ctypes.data for x in (rows, self._starts, self._columns))])

    def set_mirrored(self, C: AnyArray, X: AnyArray, D: AnyArray) -> None:
        """Set all C_b to D_b + X_b + X_b^T."""
        self._run(self._code.mirrored, self._words(C, X, D))

    def _aligned(self, B: AnyArray) -> AnyArray:
        """Return a matrix whose rows are whole vectors."""
        lanes, size = self._target.lanes, self._dtype.itemsize
        width = -(-self._n // lanes) * lanes
        memory = np.zeros(self._n * width + _ALIGNED // size, self._dtype)
        start = -memory.ctypes.data % _ALIGNED // size
        found = memory[start : start + self._n * width].reshape(self._n, width)
        found[:, : self._n] = B
        return found

    def _words(self, *arrays: AnyArray) -> list[int]:
        """Return the number of matrices, and for each array its address and the bytes from matrix to matrix."""
        n, size, count = self._n, self._dtype.itemsize, len(arrays[0])
        words = [count]
        for x in arrays:
            fits = x.dtype == self._dtype and x.shape in ((count, n, n), (1, n, n))
            if not fits or (n > 1 and x.strides[1:] != (n * size, size)):  # the code would read other memory
                raise ValueError(f"matrices of {self._dtype} with {n} rows without gaps are needed, not {x.shape}")
            words += [x.ctypes.data, x.strides[0] if len(x) == count else 0]
        return words

    def _run(self, function: Any, words: list[int]) -> None:
        if words[0] and self._n:
            ordered = np.array(words, np.int64)  # alive until the code has run
            function(ordered.ctypes.data)


@dataclass(frozen=True, slots=True)
class _Code:
    """Both functions, and the code that they are part of."""

    sums: Any
    mirrored: Any
    engine: Engine


@lru_cache(maxsize=64)
def _compiled(n: int, target: Target) -> _Code:
    """Return the functions for matrices with n rows; compiling takes some hundredths of a second."""
    with COMPILING:
        engine = Engine(compile_object(_text(n, target)), ["sums", "mirrored"])
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    return _Code(call(engine.address("sums")), call(engine.address("mirrored")), engine)


def _text(n: int, target: Target) -> str:
    """Return the code of both functions for matrices with n rows."""
    return "\n".join([declarations(target), _sums(n, target), _mirrored(n, target), attributes(target)])


class _Rows(TextEmitter):
    """A function that sets rows of matrices, vector by vector; the last vector of a row may be a part of one."""

    def __init__(self, n: int, target: Target) -> None:
        super().__init__(target, arguments=("ptr %words",))
        self.n, self.starts = n, range(0, n, target.lanes)

    def word(self, k: int, kind: str = "i64") -> Value:
        return self.arguments[0].load(kind, k)

    def part(self, row: Value, start: int) -> Value:
        """Read a vector of a row."""
        at, rest, size = row.at(start, self.element), self._rest(start), self.target.itemsize
        if not rest:
            return self.typed(self.vector, f"load {self.vector}, ptr {at}, align {size}")
        return self.typed(
            self.vector, f"call {self.vector} @llvm.masked.load.{self._suffix}.p0(ptr {at}, i32 {size}, {rest}, "
            f"{self.vector} zeroinitializer)",
        )  # fmt: skip

    def set_part(self, x: str, row: Value, start: int) -> None:
        """Write a vector of a row."""
        at, rest, size = row.at(start, self.element), self._rest(start), self.target.itemsize
        if not rest:
            self.line(f"store {self.vector} {x}, ptr {at}, align {size}")
        else:
            name = f"@llvm.masked.store.{self._suffix}.p0"
            self.line(f"call void {name}({self.vector} {x}, ptr {at}, i32 {size}, {rest})")

    def _rest(self, start: int) -> str:
        """Return a mask of the numbers of a vector that are in the row; nothing if all are."""
        lanes = self.target.lanes
        if start + lanes <= self.n:
            return ""
        return f"<{lanes} x i1> <{', '.join(f'i1 {int(start + k < self.n)}' for k in range(lanes))}>"


def _sums(n: int, target: Target) -> str:
    e = _Rows(n, target)
    count, arrays = e.word(0), [(e.word(k, "ptr"), e.word(k + 1)) for k in (1, 3, 5)]
    B, firsts, columns = (e.word(k, "ptr") for k in (7, 8, 9))
    width = max(1, _MOST_SUMS[target.host.vector_bits] // _TOGETHER)
    with e.counted(count, step=_TOGETHER) as b:
        every = [b] + [(b + k < count).select(b + k, count - 1) for k in range(1, _TOGETHER)]
        matrices = [[x.at(k * step) for x, step in arrays] for k in every]
        with e.counted(n) as i:
            rows = [[x.at(i * n, e.element) for x in some] for some in matrices]
            first, last = firsts.load("i64", i), firsts.load("i64", i + 1)
            for k in range(0, len(e.starts), width):
                some = e.starts[k : k + width]
                begun = [e.part(D, s) for _, _, D in rows for s in some]
                with e.counted(last, first) as place:
                    sums = [e.carried(x) for x in begun]
                    column = columns.load("i64", place)
                    line = B.at(column * len(e.starts), e.vector)
                    factors = [e.splat(A.load(e.element, column).name) for _, A, _ in rows]
                    others = [e.load(line, s // target.lanes) for s in some]
                    for total, (x, y) in zip(sums, product(factors, others), strict=True):
                        total.next = Value(e, e.binary("fadd", total.value.name, e.binary("fmul", x, y)), e.vector)
                for total, ((C, _, _), s) in zip(sums, product(rows, some), strict=True):
                    e.set_part(total.next.name, C, s)
    return e.text("@sums", internal=False)


def _mirrored(n: int, target: Target) -> str:
    e = _Rows(n, target)
    arrays = [(e.word(k, "ptr"), e.word(k + 1)) for k in (1, 3, 5)]
    with e.counted(e.word(0)) as b:
        C, X, D = (x.at(b * step) for x, step in arrays)
        with e.counted(n) as i:
            rows, column = [x.at(i * n, e.element) for x in (C, X, D)], X.at(i, e.element)
            for s in e.starts:
                mirror = "zeroinitializer"
                for lane in range(min(target.lanes, n - s)):
                    x = column.load(e.element, (s + lane) * n)
                    mirror = e.value(f"insertelement {e.vector} {mirror}, {e.element} {x}, i32 {lane}")
                own = e.binary("fadd", e.part(rows[2], s).name, e.part(rows[1], s).name)
                e.set_part(e.binary("fadd", own, mirror), rows[0], s)
    return e.text("@mirrored", internal=False)
