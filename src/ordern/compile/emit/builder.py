"""Writes functions of LLVM IR as text: typed values with operators, and control flow that nests.

`Value` is a number or an address; `x + 1`, `p.load("i64", 2)` or `n > 0` emit one instruction each. Control flow is
written with `with`: `if_`, `if_else`, `counted`, `repeat` and `block`. LLVM does not optimise this text before it
selects instructions, so values that a loop carries along are phis (`carried`), not memory.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

__all__ = ["Builder", "Carried", "Number", "Value", "literal"]

_FLOATS = ("double", "float")


def literal(value: float, kind: str) -> str:
    """Return a floating-point number of type `kind` as IR text, exactly."""
    if kind == "float":
        try:
            value = struct.unpack("<f", struct.pack("<f", value))[0]
        except OverflowError:
            value = float("inf") if value > 0 else float("-inf")
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


class Value:
    """A value of a function: its name or constant, and its type. Operators take values and Python numbers."""

    __slots__ = ("builder", "name", "type")

    def __init__(self, builder: Builder, name: str, kind: str) -> None:
        self.builder, self.name, self.type = builder, name, kind

    def __str__(self) -> str:
        return self.name

    def __bool__(self) -> bool:
        raise TypeError(f"{self.name} is known only when the emitted code runs; use if_ or select")

    def _operation(self, name: str, other: Number, result: str | None = None) -> Value:
        text = f"{name} {self.type} {self.name}, {self.builder.operand(other, self.type)}"
        return Value(self.builder, self.builder.value(text), result or self.type)

    def _arithmetic(self, name: str, other: Number) -> Value:
        return self._operation("f" + name if self.type in _FLOATS else name, other)

    def _compared(self, test: str, other: Number) -> Value:
        if self.type in _FLOATS:
            return self._operation(f"fcmp o{test}", other, "i1")
        return self._operation(f"icmp {test if test in ('eq', 'ne') else 's' + test}", other, "i1")

    def __add__(self, other: Number) -> Value:
        return self._arithmetic("add", other)

    def __sub__(self, other: Number) -> Value:
        return self._arithmetic("sub", other)

    def __mul__(self, other: Number) -> Value:
        return self._arithmetic("mul", other)

    def __and__(self, other: Number) -> Value:
        return self._operation("and", other)

    def __or__(self, other: Number) -> Value:
        return self._operation("or", other)

    def __xor__(self, other: Number) -> Value:
        return self._operation("xor", other)

    def __invert__(self) -> Value:
        return self._operation("xor", self.builder.const("true" if self.type == "i1" else "-1", self.type))

    def __rshift__(self, other: Number) -> Value:
        return self._operation("lshr", other)

    def __lt__(self, other: Number) -> Value:
        return self._compared("lt", other)

    def __le__(self, other: Number) -> Value:
        return self._compared("le", other)

    def __gt__(self, other: Number) -> Value:
        return self._compared("gt", other)

    def __ge__(self, other: Number) -> Value:
        return self._compared("ge", other)

    def equals(self, other: Number) -> Value:
        """Compare for equality; `==` would not do for objects that may be keys of dictionaries."""
        return self._compared("eq", other)

    def differs(self, other: Number) -> Value:
        """Compare for inequality. NaN does not differ from anything."""
        return self._compared("ne", other)

    def below(self, other: Number) -> Value:
        """Compare as integers without sign."""
        return self._operation("icmp ult", other, "i1")

    def select(self, yes: Value, no: Number) -> Value:
        """Return one of two values by this test."""
        text = f"select i1 {self.name}, {yes.type} {yes.name}, {yes.type} {self.builder.operand(no, yes.type)}"
        return Value(self.builder, self.builder.value(text), yes.type)

    def to(self, instruction: str, kind: str) -> Value:
        """Convert by an instruction such as ptrtoint, trunc or zext."""
        return Value(self.builder, self.builder.value(f"{instruction} {self.type} {self.name} to {kind}"), kind)

    def at(self, index: Number, of: str = "i8") -> Value:
        """Return the address of an element of the array that begins at this address."""
        if isinstance(index, int) and not index:
            return self
        offset = f"{index.type} {index.name}" if isinstance(index, Value) else f"i64 {index}"
        return Value(
            self.builder, self.builder.value(f"getelementptr {of}, {self.type} {self.name}, {offset}"), self.type
        )

    def load(self, kind: str, index: Number = 0) -> Value:
        """Read an element of the array of `kind` that begins at this address."""
        return Value(self.builder, self.builder.value(f"load {kind}, {self.type} {self.at(index, kind).name}"), kind)

    def store(self, value: Value, index: Number = 0) -> None:
        """Write an element of the array of the value's type that begins at this address."""
        self.builder.line(f"store {value.type} {value.name}, {self.type} {self.at(index, value.type).name}")


Number = Value | int | float


class Carried:
    """A value that a loop carries along: set `next` before the loop is closed."""

    __slots__ = ("next", "start", "value")

    def __init__(self, value: Value, start: Number) -> None:
        self.value, self.start, self.next = value, start, value


class _Scope:
    """An open loop or block: its labels, where its phis go, and the edges that lead back to its head."""

    def __init__(self, before: str, head: str, after: str, hole: int) -> None:
        self.before, self.head, self.after, self.hole = before, head, after, hole
        self.carried: list[Carried] = []
        self.edges: list[tuple[str, list[Value]]] = []

    def phis(self, builder: Builder) -> str:
        """Return the text of the phis, one for each carried value."""
        lines = []
        for k, x in enumerate(self.carried):
            sources = [f"[ {builder.operand(x.start, x.value.type)}, %{self.before} ]"]
            sources += [f"[ {values[k].name}, %{block} ]" for block, values in self.edges]
            lines.append(f"  {x.value.name} = phi {x.value.type} {', '.join(sources)}")
        return "\n".join(lines)


def _type(argument: str) -> str:
    """Return the type of an argument such as "ptr addrspace(1) noalias %x", without its attributes."""
    kind, *rest = argument.split()
    return f"{kind} {rest[0]}" if rest[0].startswith("addrspace") else kind


class Builder:
    """Writes the body of one function, in order. `lines` is its text so far."""

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        """Begin a function with arguments such as "ptr %ws"."""
        self.lines: list[str] = []
        self.signature = ", ".join(arguments)
        self.arguments = [Value(self, x.split()[-1], _type(x)) for x in arguments]
        self.current = "entry"
        """The label of the block that is being written; empty after its last instruction."""
        self._entry: list[str] = []
        self._scopes: list[_Scope] = []
        self._values = self._labels = 0

    def text(self, name: str, result: str = "void", internal: bool = True) -> str:
        """Return the text of the function; one that does not return a value ends where the lines end."""
        if self.current and result == "void":
            self.ret()
        head = f"define {'internal ' if internal else ''}{result} {name}({self.signature}) #0 {{"
        return "\n".join([head, "entry:", *self._entry, *self.lines, "}"])

    # instructions --------------------------------------------------------------------------------------------------

    def value(self, text: str) -> str:
        """Emit a line that defines a new value; return its name."""
        self._values += 1
        name = f"%t{self._values}"
        self.lines.append(f"  {name} = {text}")
        return name

    def line(self, text: str) -> None:
        """Emit a line that defines nothing."""
        self.lines.append("  " + text)

    def typed(self, kind: str, text: str) -> Value:
        """Emit a line that defines a new value of a type."""
        return Value(self, self.value(text), kind)

    def const(self, x: float | str, kind: str = "i64") -> Value:
        """Return a constant, such as a number, "null" or the name of a global, as a value."""
        return Value(self, self.operand(x, kind) if isinstance(x, (int, float)) else x, kind)

    @property
    def null(self) -> Value:
        """The address of nothing."""
        return Value(self, "null", "ptr")

    def operand(self, x: Number, kind: str) -> str:
        """Return an operand of a type as text."""
        if isinstance(x, Value):
            return x.name
        return literal(x, kind) if kind in _FLOATS else str(x)

    def call(self, function: str | Value, *arguments: Value | int, result: str = "void") -> Value:
        """Call a function, or one at an address; Python's integers are passed as i64."""
        passed = ", ".join(f"{x.type} {x.name}" if isinstance(x, Value) else f"i64 {x}" for x in arguments)
        text = f"call {result} {function}({passed})"
        if result != "void":
            return self.typed(result, text)
        self.line(text)
        return Value(self, "", "void")

    def alloca(self, kind: str, align: int = 16) -> Value:
        """Return memory on the stack, reserved once for each call of the function."""
        self._values += 1
        self._entry.append(f"  %t{self._values} = alloca {kind}, align {align}")
        return Value(self, f"%t{self._values}", "ptr")

    @contextmanager
    def ahead(self) -> Iterator[None]:
        """Write to the beginning of the function: for what must be known before a loop."""
        self.lines, self._entry = self._entry, self.lines
        yield
        self.lines, self._entry = self._entry, self.lines

    # control flow --------------------------------------------------------------------------------------------------

    def ret(self, value: Value | None = None) -> None:
        """Return from the function."""
        self.line("ret void" if value is None else f"ret {value.type} {value.name}")
        self.current = ""

    @contextmanager
    def if_(self, test: Value) -> Iterator[None]:
        """Run what is inside if the test holds."""
        inside, after = self._new_labels(2)
        self._branch(test, inside, after)
        self._begin(inside)
        yield
        self._jump(after)
        self._begin(after)

    @contextmanager
    def if_else(self, test: Value) -> Iterator[tuple[AbstractContextManager[None], AbstractContextManager[None]]]:
        """Run one of two parts: `with b.if_else(test) as (yes, no):`, then `with yes:` and `with no:` inside."""
        inside, other, after = self._new_labels(3)
        self._branch(test, inside, other)
        yield self._part(inside, after), self._part(other, after)
        self._begin(after)

    @contextmanager
    def switch(self, value: Value, cases: Sequence[int]) -> Iterator[list[AbstractContextManager[None]]]:
        """Run one of several parts by an integer: `with part:` for each; the first is also for all other integers."""
        after, *labels = self._new_labels(1 + len(cases))
        others = " ".join(f"{value.type} {c}, label %{x}" for c, x in zip(cases[1:], labels[1:], strict=True))
        self.line(f"switch {value.type} {value.name}, label %{labels[0]} [ {others} ]")
        yield [self._part(label, after) for label in labels]
        self._begin(after)

    @contextmanager
    def repeat(self) -> Iterator[None]:
        """Run what is inside again and again, until it is left."""
        head, after = self._new_labels(2)
        before = self.current
        self._jump(head)
        self._begin(head)
        scope = _Scope(before, head, after, len(self.lines))
        self.lines.append("")
        self._scopes.append(scope)
        yield
        self.again()
        self._scopes.pop()
        self.lines[scope.hole] = scope.phis(self)
        self._begin(after)

    @contextmanager
    def block(self) -> Iterator[None]:
        """Run what is inside once; `leave` and `leave_unless` skip the rest of it."""
        [after] = self._new_labels(1)
        self._scopes.append(_Scope("", "", after, 0))
        yield
        self._scopes.pop()
        self._jump(after)
        self._begin(after)

    @contextmanager
    def counted(self, n: Number, first: Number = 0, step: int = 1) -> Iterator[Value]:
        """Run what is inside for first, first + step ... below n, and at least once."""
        with self.repeat():
            k = self.carried(first)
            yield k.value
            k.next = k.value + step
            test = k.next < n
            self._note_edge()
            self._branch(test, self._innermost.head, self._innermost.after)

    def carried(self, start: Number, kind: str = "i64") -> Carried:
        """Declare a value that the innermost loop carries from one turn to the next."""
        self._values += 1
        kind = start.type if isinstance(start, Value) else kind
        made = Carried(Value(self, f"%t{self._values}", kind), start)
        self._innermost.carried.append(made)
        return made

    def begin_block(self) -> None:
        """Begin a new basic block, which follows the one that is being written."""
        [label] = self._new_labels(1)
        self._jump(label)
        self._begin(label)

    def again(self) -> None:
        """Start the next turn of the innermost loop."""
        self._note_edge()
        self._jump(self._innermost.head)

    def leave(self) -> None:
        """Go behind the innermost loop or block."""
        self._jump(self._scopes[-1].after)

    def leave_unless(self, test: Value, outward: int = 0) -> None:
        """Go behind the innermost loop or block if a test fails, or behind one that is so many further outward."""
        [further] = self._new_labels(1)
        self._branch(test, further, self._scopes[-1 - outward].after)
        self._begin(further)

    @property
    def _innermost(self) -> _Scope:
        """The innermost loop; a block within it is not one."""
        return next(scope for scope in reversed(self._scopes) if scope.head)

    def _note_edge(self) -> None:
        if self.current:
            self._innermost.edges.append((self.current, [x.next for x in self._innermost.carried]))

    def _branch(self, test: Value, yes: str, no: str) -> None:
        self.line(f"br i1 {test.name}, label %{yes}, label %{no}")
        self.current = ""

    def _jump(self, to: str) -> None:
        if self.current:
            self.line(f"br label %{to}")
            self.current = ""

    @contextmanager
    def _part(self, label: str, after: str) -> Iterator[None]:
        self._begin(label)
        yield
        self._jump(after)

    def _begin(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.current = label

    def _new_labels(self, count: int) -> list[str]:
        self._labels += count
        return [f"block{self._labels - k}" for k in range(count)]
