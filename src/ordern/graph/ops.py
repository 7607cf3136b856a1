"""The table of operations: one row has all properties of an operation.

An operation is evaluated on any scalar, simplified while a graph is traced, lowered to machine code by an
`Emitter`, and differentiated. Adding one is adding one row to `OPS`.

Operands inside a simplification rule are graph nodes or plain floats; a rule returns a simpler expression, or None
if the operation must become a node. The rules keep constants as Python floats, so that arithmetic
between constants never reaches the graph at all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..records import dataclass
from . import elementary, scalars

__all__ = ["OPS", "Op", "Scalar"]

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
    commutative: bool = False
    ufunc: str = ""
    """The name of NumPy's function for it; empty if NumPy has no such function."""


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


def _atan2_partials(y: Scalar, x: Scalar) -> tuple[Scalar, ...]:
    r2 = x * x + y * y
    return x / r2, -(y / r2)


OPS: dict[str, Op] = {
    op.name: op
    for op in (
        Op(
            "add",
            2,
            evaluate=lambda a, b: a + b,
            simplify=_add,
            lower=lambda e, a, b: e.binary("fadd", a, b),
            partials=lambda a, b: (1.0, 1.0),
            counts_as="additions",
            commutative=True,
            ufunc="add",
        ),
        Op(
            "sub",
            2,
            evaluate=lambda a, b: a - b,
            simplify=_sub,
            lower=lambda e, a, b: e.binary("fsub", a, b),
            partials=lambda a, b: (1.0, -1.0),
            counts_as="additions",
            ufunc="subtract",
        ),
        Op(
            "mul",
            2,
            evaluate=lambda a, b: a * b,
            simplify=_mul,
            lower=lambda e, a, b: e.binary("fmul", a, b),
            partials=lambda a, b: (b, a),
            counts_as="multiplications",
            commutative=True,
            ufunc="multiply",
        ),
        Op(
            "div",
            2,
            evaluate=lambda a, b: a / b,
            simplify=_div,
            lower=lambda e, a, b: e.binary("fdiv", a, b),
            partials=lambda a, b: (1.0 / b, -(a / (b * b))),
            counts_as="divisions",
            ufunc="divide",
        ),
        Op(
            "neg",
            1,
            evaluate=lambda a: -a,
            simplify=_neg,
            lower=lambda e, a: e.negate(a),
            partials=lambda a: (-1.0,),
            counts_as="negations",
            ufunc="negative",
        ),
        Op(
            "sqrt",
            1,
            evaluate=scalars.sqrt,
            simplify=_never,
            lower=lambda e, a: e.intrinsic("sqrt", a),
            partials=lambda a: (0.5 / scalars.sqrt(a),),
            ufunc="sqrt",
        ),
        Op(
            "sin",
            1,
            evaluate=scalars.sin,
            simplify=_sin,
            lower=elementary.sin,
            partials=lambda a: (scalars.cos(a),),
            ufunc="sin",
        ),
        Op(
            "cos",
            1,
            evaluate=scalars.cos,
            simplify=_cos,
            lower=elementary.cos,
            partials=lambda a: (-scalars.sin(a),),
            ufunc="cos",
        ),
        Op(
            "atan2",
            2,
            evaluate=scalars.atan2,
            simplify=_never,
            lower=elementary.atan2,
            partials=_atan2_partials,
            ufunc="arctan2",
        ),
        Op(
            "where_less",
            4,
            evaluate=scalars.where_less,
            simplify=_where_less,
            lower=lambda e, a, b, x, y: e.select_less(a, b, x, y),
            partials=lambda a, b, x, y: (
                0.0,
                0.0,
                scalars.where_less(a, b, 1.0, 0.0),
                scalars.where_less(a, b, 0.0, 1.0),
            ),
        ),
    )
}
