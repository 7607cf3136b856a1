"""The table of operations: one row has all properties of an operation.

An operation is evaluated on any scalar, simplified while a graph is traced, lowered to machine code by a
`TextEmitter` (`compile/emit/nodes.py`), written as C, and differentiated. Adding one is adding one row to `OPS`.

Operands inside a simplification rule are graph nodes or plain floats; a rule returns a simpler expression, or None
if the operation must become a node. The rules keep constants as Python floats, so that arithmetic
between constants never reaches the graph at all.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ..records import dataclass
from . import elementary, scalars

__all__ = ["OPS", "OUR_OPS", "TABLES", "Op", "Scalar", "apply"]

Scalar = Any
"""A float, a NumPy array, a longdouble, an mpmath number or a graph node."""


@dataclass(frozen=True, slots=True)
class Op:
    """One operation, with all its properties."""

    name: str
    arity: int
    evaluate: Callable[..., Scalar]
    """On concrete scalars of any kind."""
    simplify: Callable[..., Scalar | None]
    """Return a simpler expression for these operands, or None."""
    lower: Callable[..., str]
    """`lower(emitter, *operands)` emits it and returns the name of the result."""
    partials: Callable[..., tuple[Scalar, ...]]
    """The partial derivative by each operand, as expressions of the operands."""
    counts_as: str = "other"
    """The column of an operation count in which it appears."""
    ufunc: str = ""
    """The name of NumPy's function for it; empty if NumPy has no such function."""
    commutative: bool = False
    c: str = ""
    """Its C expression: `{0}`, `{1}` ... are the operands, `{f}` ends names of functions: "f" in single precision."""


def _is(x: Scalar, name: str) -> bool:
    return getattr(x, "op", None) == name


def _is_constant(x: Scalar) -> bool:
    return isinstance(x, float)


def _add(a: Scalar, b: Scalar) -> Scalar | None:
    if _is_constant(a) and a == 0.0:
        return b
    if _is_constant(b) and b == 0.0:
        return a
    if _is(b, "neg"):
        return a - b.args[0]
    if _is(a, "neg"):
        return b - a.args[0]
    return None


def _sub(a: Scalar, b: Scalar) -> Scalar | None:
    if _is_constant(b) and b == 0.0:
        return a
    if _is_constant(a) and a == 0.0:
        return -b
    if a is b:
        return 0.0
    if _is(b, "neg"):
        return a + b.args[0]
    if _is(a, "neg"):
        return -(a.args[0] + b)
    return None


def _mul(a: Scalar, b: Scalar) -> Scalar | None:
    if _is_constant(a):
        a, b = b, a
    if _is_constant(b):
        if b == 0.0:
            return 0.0
        if b == 1.0:
            return a
        if b == -1.0:
            return -a
    if _is(a, "neg"):
        return a.args[0] * -b if _is_constant(b) else -(a.args[0] * b)
    if _is(b, "neg"):
        return -(a * b.args[0])
    return None


def _div(a: Scalar, b: Scalar) -> Scalar | None:
    if _is_constant(b) and b != 0.0:
        return a * (1.0 / b)
    if _is_constant(a) and a == 0.0:
        return 0.0
    if _is(a, "neg"):
        return -(a.args[0] / b)
    if _is(b, "neg"):
        return -(a / b.args[0])
    return None


def _neg(a: Scalar) -> Scalar | None:
    if _is(a, "neg"):
        return a.args[0]
    if _is(a, "sub"):
        return a.args[1] - a.args[0]
    return None


def _sin(a: Scalar) -> Scalar | None:
    return -scalars.sin(a.args[0]) if _is(a, "neg") else None


def _cos(a: Scalar) -> Scalar | None:
    return scalars.cos(a.args[0]) if _is(a, "neg") else None


def _where_less(a: Scalar, b: Scalar, x: Scalar, y: Scalar) -> Scalar | None:
    if x is y or (_is_constant(x) and _is_constant(y) and x == y):
        return x
    if _is_constant(a) and _is_constant(b):
        return x if a < b else y
    return None


def _never(*_: Scalar) -> None:
    return None


def _mul_partials(a: Scalar, b: Scalar) -> tuple[Scalar, ...]:
    return b, a


def _div_partials(a: Scalar, b: Scalar) -> tuple[Scalar, ...]:
    return 1.0 / b, -(a / (b * b))


def _sqrt_partials(a: Scalar) -> tuple[Scalar, ...]:
    return (0.5 / scalars.sqrt(a),)


def _atan2_partials(y: Scalar, x: Scalar) -> tuple[Scalar, ...]:
    r2 = x * x + y * y
    return x / r2, -(y / r2)


def _where_less_partials(a: Scalar, b: Scalar, x: Scalar, y: Scalar) -> tuple[Scalar, ...]:
    return 0.0, 0.0, scalars.where_less(a, b, 1.0, 0.0), scalars.where_less(a, b, 0.0, 1.0)


def _binary(instruction: str) -> Callable[..., str]:
    return lambda emitter, a, b: emitter.binary(instruction, a, b)


def _negate(emitter: Any, a: str) -> str:
    return str(emitter.negate(a))


def _square_root(emitter: Any, a: str) -> str:
    return str(emitter.intrinsic("sqrt", a))


def _select(emitter: Any, *operands: str) -> str:
    return str(emitter.select_less(*operands))


_ROWS = (
    Op("add", 2, operator.add, _add, _binary("fadd"), lambda a, b: (1.0, 1.0), "additions", "add", True, "{0} + {1}"),
    Op("sub", 2, operator.sub, _sub, _binary("fsub"), lambda a, b: (1.0, -1.0), "additions", "subtract", c="{0} - {1}"),
    Op("mul", 2, operator.mul, _mul, _binary("fmul"), _mul_partials, "multiplications", "multiply", True, "{0} * {1}"),
    Op("div", 2, operator.truediv, _div, _binary("fdiv"), _div_partials, "divisions", "divide", c="{0} / {1}"),
    Op("neg", 1, operator.neg, _neg, _negate, lambda a: (-1.0,), "negations", "negative", c="-{0}"),
    Op("sqrt", 1, scalars.sqrt, _never, _square_root, _sqrt_partials, ufunc="sqrt", c="sqrt{f}({0})"),
    Op("sin", 1, scalars.sin, _sin, elementary.sin, lambda a: (scalars.cos(a),), ufunc="sin", c="sin{f}({0})"),
    Op("cos", 1, scalars.cos, _cos, elementary.cos, lambda a: (-scalars.sin(a),), ufunc="cos", c="cos{f}({0})"),
    Op("atan2", 2, scalars.atan2, _never, elementary.atan2, _atan2_partials, ufunc="arctan2", c="atan2{f}({0}, {1})"),
    Op("where_less", 4, scalars.where_less, _where_less, _select, _where_less_partials, c="{0} < {1} ? {2} : {3}"),
)
TABLES: dict[str, Op] = {}
"""The operations that read entries of tables of constants, by name: see `lookup`."""


class _Rows(dict[str, Op]):
    """The operations by name; those of tables are found, too, but are not among the rows."""

    def __missing__(self, name: str) -> Op:
        return TABLES[name]


OPS = _Rows((op.name, op) for op in _ROWS)
"""All operations by name. The columns are the fields of `Op`."""
OUR_OPS = dict(OPS)
"""The rows of the library, as they are declared here: others enter the keys of the cache."""


def apply(name: str, *operands: Scalar) -> Scalar:
    """Apply an operation of the table to scalars of any kind: it is recorded for graph nodes, else evaluated."""
    for x in operands:
        if hasattr(x, "ordern_apply"):
            return x.ordern_apply(name, *operands)
    return OPS[name].evaluate(*operands)
