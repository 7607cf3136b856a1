"""The builder of IR: every construct, compiled and called."""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ordern.compile.emit.builder import Builder, Value, literal
from ordern.compile.run.engine import Engine, compile_object

TYPES = {"i64": ctypes.c_int64, "double": ctypes.c_double, "ptr": ctypes.c_void_p}


def made(b: Builder, result: str = "i64") -> Callable[..., Any]:
    """Compile a function and return it, with what keeps its code alive."""
    text = b.text("@f", result, internal=False)
    engine = Engine(compile_object(text + "\nattributes #0 = { nounwind }"), ["f"])
    function = ctypes.CFUNCTYPE(TYPES[result], *(TYPES[x.type] for x in b.arguments))(engine.address("f"))
    return lambda *given: (function(*given), engine)[0]


def integers(*names: str) -> tuple[Builder, list[Value]]:
    b = Builder([f"i64 %{name}" for name in names])
    return b, b.arguments


def test_arithmetic_of_integers() -> None:
    b, [x, y] = integers("x", "y")
    b.ret(((x + 3) * y - 2 & ~y | 1) ^ (x >> 1))
    assert made(b)(9, 5) == ((9 + 3) * 5 - 2 & ~5 | 1) ^ (9 >> 1)


def test_arithmetic_of_floats() -> None:
    b = Builder(["double %x", "double %y"])
    x, y = b.arguments
    b.ret((x >= y).select((x + 0.1) * y - 2.0, 7.5))
    f = made(b, "double")
    assert f(3.0, 2.0) == (3.0 + 0.1) * 2.0 - 2.0
    assert f(1.0, 2.0) == f(float("nan"), 2.0) == 7.5


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        (lambda x, y: x < y, [1, 0, 0]),
        (lambda x, y: x <= y, [1, 1, 0]),
        (lambda x, y: x > y, [0, 0, 1]),
        (lambda x, y: x >= y, [0, 1, 1]),
        (lambda x, y: x.equals(y), [0, 1, 0]),
        (lambda x, y: x.differs(y), [1, 0, 1]),
        (lambda x, y: y.below(x), [1, 0, 1]),  # without sign, -2 is the largest
    ],
)
def test_comparisons(test: Callable[[Value, Value], Value], expected: list[int]) -> None:
    b, [x, y] = integers("x", "y")
    b.ret(test(x, y).to("zext", "i64"))
    f = made(b)
    assert [f(-2, 1), f(1, 1), f(3, 1)] == expected


def test_a_value_is_no_condition_of_python() -> None:
    _, [x] = integers("x")
    with pytest.raises(TypeError, match="known only when the emitted code runs"):
        bool(x > 0)


def test_counted_loops_nest_and_carry_values() -> None:
    b, [n] = integers("n")
    with b.counted(n) as i:
        total = b.carried(0)
        with b.counted(10, i, 3) as j:
            inner = b.carried(total.value)
            inner.next = inner.value + i * j
        total.next = inner.next
    b.ret(total.next)
    assert made(b)(5) == sum(i * j for i in range(5) for j in range(i, 10, 3))


def test_a_loop_is_left_and_begun_again() -> None:
    """The sum of the odd numbers before the first that is above a limit."""
    b, [limit] = integers("limit")
    with b.repeat():
        k, total = b.carried(0), b.carried(0)
        k.next = k.value + 1
        b.leave_unless(k.value <= limit)
        with b.if_((k.value & 1).equals(0)):
            b.again()
        total.next = total.value + k.value
    b.ret(total.value)
    f = made(b)
    assert [f(k) for k in (-1, 0, 1, 6, 7)] == [0, 0, 1, 9, 16]


def test_one_of_two_parts_runs() -> None:
    b, [x] = integers("x")
    place = b.alloca("i64")
    with b.if_else(x > 0) as (yes, no):
        with yes:
            place.store(x * 2)
        with no:
            with b.if_(x.equals(-5)):
                b.ret(b.const(99))
            place.store(b.const(-1))
    b.ret(place.load("i64"))
    f = made(b)
    assert [f(4), f(0), f(-5)] == [8, -1, 99]


def test_one_of_several_parts_runs() -> None:
    b, [x] = integers("x")
    place = b.alloca("i64")
    cases = [3, 7, 8]
    with b.switch(x, cases) as parts:
        for part, case in zip(parts, cases, strict=True):
            with part:
                place.store(b.const(10 * case))
    b.ret(place.load("i64"))
    f = made(b)
    assert [f(3), f(7), f(8), f(5)] == [30, 70, 80, 30]


def test_the_rest_of_a_block_is_skipped() -> None:
    b, [x] = integers("x")
    with b.block():
        b.leave_unless(x > 0)
        b.leave_unless(x < 10)
        b.ret(b.const(1))
    b.ret(b.const(0))
    f = made(b)
    assert [f(k) for k in (0, 1, 9, 10)] == [0, 1, 1, 0]


def test_what_is_written_ahead_is_known_in_a_loop() -> None:
    b, [n, x] = integers("n", "x")
    with b.counted(n) as k:
        with b.ahead():
            once = x * x
        total = b.carried(0)
        total.next = total.value + once * k
    b.ret(total.next)
    assert made(b)(4, 3) == 9 * 6


def test_memory_and_calls() -> None:
    b = Builder(["ptr %to", "ptr %function"])
    to, function = b.arguments
    to.store(b.call(function, to.at(8).load("i64"), 2, result="i64"))
    to.store(to.load("double", 2), 3)
    b.ret(b.const(0))
    callback = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(lambda x, y: 100 * x + y)
    words = np.array([0, 7, 0, 0], np.int64)
    words.view(np.float64)[2] = 0.1
    made(b)(words.ctypes.data, ctypes.cast(callback, ctypes.c_void_p))
    assert words[0] == 702
    assert words.view(np.float64)[3] == 0.1


@pytest.mark.parametrize("x", [0.1, -0.0, 1e300, float("inf"), 5e-324])
def test_literals_are_exact(x: float) -> None:
    assert np.array(int(literal(x, "double"), 16), np.uint64).view(np.float64) == x
    with np.errstate(over="ignore"):
        assert np.array(int(literal(x, "float"), 16), np.uint64).view(np.float64) == float(np.float32(x))
