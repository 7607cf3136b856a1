"""Writes the body of a C function, one statement per line: the same methods as the emitter of LLVM IR, in C."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from ...errors import CompileError
from ...graph import OPS, Node

__all__ = ["CWriter", "Expression", "literal"]

_ATOM, _PRODUCT, _SUM, _TEST = range(4)
"""How tightly an expression holds together: only an atom needs no parentheses inside of a product."""


def literal(value: float, element: str) -> str:
    """Return a number as a C constant of type `element`, exactly."""
    with np.errstate(over="ignore"):
        x = np.float32(value) if element == "float" else np.float64(value)
    if not np.isfinite(x):
        text = "NAN" if math.isnan(x) else "INFINITY"
    else:
        text = str(abs(x))
        text += "" if "." in text or "e" in text else ".0"
        text += "f" if element == "float" else ""
    return f"(-{text})" if x < 0.0 else text


class Expression:
    """An integer, a test or an address of C code.

    An integer is a text plus a constant `shift`, so that `2 * (i + 1) + 3` is written as `i * 2 + 5`. An address is the
    name of an array with an `index`.
    """

    __slots__ = ("index", "level", "shift", "term", "writer")

    def __init__(
        self, writer: CWriter, term: str, level: int = _ATOM, shift: int = 0, index: Expression | None = None
    ) -> None:
        self.writer, self.term, self.level, self.shift, self.index = writer, term, level, shift, index

    def __str__(self) -> str:
        return f"{self.term} {'-' if self.shift < 0 else '+'} {abs(self.shift)}" if self.shift else self.term

    def __bool__(self) -> bool:
        raise TypeError(f"{self} is known only when the emitted code runs; use select")

    def __add__(self, other: Any) -> Expression:
        if isinstance(other, int):
            return Expression(self.writer, self.term, self.level, self.shift + other)
        return Expression(self.writer, f"{self.term} + {other.term}", _SUM, self.shift + other.shift)

    def __sub__(self, other: int) -> Expression:
        return self + -other

    def __mul__(self, other: int) -> Expression:
        term = self.term if self.level == _ATOM else f"({self.term})"
        return Expression(self.writer, f"{term} * {other}", _PRODUCT, self.shift * other)

    def __ge__(self, other: Any) -> Expression:
        return Expression(self.writer, f"{self} >= {other}", _TEST)

    def equals(self, other: Any) -> Expression:
        """Compare for equality."""
        return Expression(self.writer, f"{self} == {other}", _TEST)

    def differs(self, other: Any) -> Expression:
        """Compare for inequality."""
        return Expression(self.writer, f"{self} != {other}", _TEST)

    def select(self, yes: Any, no: Any) -> Expression:
        """Return one of two integers by this test."""
        return self.writer.integer(f"{self} ? {yes} : {no}")

    def at(self, index: Expression, of: str = "") -> Expression:
        """Return the address of an element of the array."""
        return Expression(self.writer, self.term, index=index if self.index is None else self.index + index)

    def element(self, index: Any = 0) -> str:
        """Return an element of the array at this address, as text."""
        return f"{self.term}[{index if self.index is None else self.index + index}]"

    def load(self, kind: str, index: Any = 0) -> Expression:
        """Read an element of a table: an integer, or a number of type `kind`."""
        text = self.element(index)
        return Expression(self.writer, text) if kind == self.writer.element else self.writer.integer(text)


class _Carried:
    """An integer that a loop carries along: set `next` before the loop is closed."""

    def __init__(self, value: Expression) -> None:
        self.value = self.next = value


class CWriter:
    """Writes the lines of one function; see `compile.emit.backend.Backend` for its methods."""

    def __init__(self, element: str, integer: str = "int") -> None:
        """Begin a function on numbers of type `element`, with indices of type `integer`."""
        self.element = self.vector = element
        self.memo: dict[tuple[str, str], tuple[str, str]] = {}
        self._integer = integer
        self._lines: list[str] = []
        self._indent = 1
        self._values = 0
        self._loops: list[tuple[int, list[tuple[_Carried, Any]]]] = []

    def text(self) -> str:
        """Return the lines, without the declarations of values that no line uses."""
        kept: list[str] = []
        used: set[str] = set()
        for line in reversed(self._lines):
            declared = re.match(r" *const \w+ (\w+) = ", line)
            if declared is None or declared[1] in used:
                used.update(re.findall(r"[A-Za-z_]\w*", line))
                kept.append(line)
        return "\n".join(reversed(kept))

    def line(self, text: str) -> None:
        """Write a line."""
        self._lines.append("    " * self._indent + text)

    def _new(self, letter: str) -> str:
        self._values += 1
        return f"{letter}{self._values}"

    def value(self, text: str) -> str:
        """Declare a number; return its name."""
        name = self._new("x")
        self.line(f"const {self.element} {name} = {text};")
        return name

    def integer(self, text: str) -> Expression:
        """Declare an integer."""
        name = self._new("n")
        self.line(f"const {self._integer} {name} = {text};")
        return Expression(self, name)

    def const(self, x: int) -> Expression:
        """Return an integer constant."""
        return Expression(self, str(x))

    def constant(self, value: float) -> str:
        """Return a floating-point constant."""
        return literal(value, self.element)

    def lower(self, node: Node, operands: list[str]) -> str:
        """Write one operation of the graph."""
        template = OPS[node.op].c
        if not template:
            raise CompileError(
                f"the operation {node.op!r} has no C code: give its row of the table `OPS` the field `c`"
            )
        return self.value(template.format(*operands, f="f" if self.element == "float" else ""))

    def load(self, pointer: Expression, index: int = 0) -> str:
        """Read a number as it is now."""
        return self.value(pointer.element(index))

    def store(self, name: str, pointer: Expression, index: int = 0) -> None:
        """Write a number."""
        self.line(f"{pointer.element(index)} = {name};")

    def clear(self, base: Expression, start: int, size: int) -> None:
        """Write zeros to a part of an array."""
        with self.each(size) as k:
            self.store(self.constant(0.0), base.at(k + start))

    def copy(self, base: Expression, start: int, source: Expression, source_start: int, size: int) -> None:
        """Write a part of an array to another array."""
        with self.each(size) as k:
            self.store(self.load(source.at(k + source_start)), base.at(k + start))

    def splat(self, scalar: Any) -> str:
        """Return a number as text: there is one state."""
        return str(scalar)

    def one_if(self, test: Expression) -> str:
        """Return the number 1 if a test holds, and 0 if not."""
        return self.value(f"{test} ? {self.constant(1.0)} : {self.constant(0.0)}")

    @contextmanager
    def _braces(self, head: str, end: str = "}") -> Iterator[None]:
        self.line(head)
        self._indent += 1
        yield
        self._indent -= 1
        self.line(end)

    @contextmanager
    def each(self, n: Any, inward: bool = False) -> Iterator[Expression]:
        """Run what is inside for 0, 1 ... below n; inward the last number comes first."""
        k = self._new("i")
        last = n - 1
        steps = f"{k} = {last}; {k} >= 0; --{k}" if inward else f"{k} = 0; {k} < {n}; ++{k}"
        with self._braces(f"for ({self._integer} {steps}) {{"):
            yield Expression(self, k)

    @contextmanager
    def repeat(self) -> Iterator[None]:
        """Run what is inside again and again, until it is left."""
        hole = len(self._lines)
        with self._braces("for (;;) {"):
            self._loops.append((hole, []))
            yield
            _, carried = self._loops.pop()
            for x, _ in carried:
                self.line(f"{x.value} = {x.next};")
        for x, start in reversed(carried):  # declared ahead of the loop
            self._lines.insert(hole, "    " * self._indent + f"{self._integer} {x.value} = {start};")

    def carried(self, start: Any) -> _Carried:
        """Declare an integer that the innermost loop carries along."""
        made = _Carried(Expression(self, self._new("n")))
        self._loops[-1][1].append((made, start))
        return made

    def leave_unless(self, test: Expression) -> None:
        """Leave the innermost loop if a test fails."""
        self.line(f"if (!({test})) break;")

    @contextmanager
    def switch(self, value: Any, cases: Sequence[int]) -> Iterator[list[AbstractContextManager[None]]]:
        """Run one of several parts by an integer: `with part:` for each."""
        with self._braces(f"switch ({value}) {{"):
            yield [self._braces(f"case {case}: {{", "} break;") for case in cases]
