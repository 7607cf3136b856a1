"""Elementary functions over any scalar: floats, arrays, longdouble, mpmath numbers, SymPy expressions, graph nodes.

A further class of scalars (an interval, a jet ...) takes part by having a method `ordern_apply(name, *operands)`,
as graph nodes do.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

__all__ = ["atan2", "cos", "root_above_zero", "sin", "sqrt", "where_less"]


def _apply(name: str, numpy_name: str, *operands: Any) -> Any:
    for x in operands:
        if hasattr(x, "ordern_apply"):
            return x.ordern_apply(name, *operands)
    if any(isinstance(x, np.ndarray) and x.dtype == object for x in operands):
        return np.frompyfunc(lambda *xs: _apply(name, numpy_name, *xs), len(operands), 1)(*operands)
    for x in operands:
        context = getattr(x, "context", None)  # an mpmath number knows its own functions
        if context is None and hasattr(x, "free_symbols"):  # an expression of SymPy
            context = import_module("sympy")
        if context is not None:
            return getattr(context, name)(*operands)
    answer = getattr(np, numpy_name)(*operands)
    return float(answer) if all(type(x) is float for x in operands) else answer


def sin(x: Any) -> Any:
    """Return the sine."""
    return _apply("sin", "sin", x)


def cos(x: Any) -> Any:
    """Return the cosine."""
    return _apply("cos", "cos", x)


def sqrt(x: Any) -> Any:
    """Return the square root."""
    return _apply("sqrt", "sqrt", x)


def root_above_zero(x: Any) -> Any:
    """Return the square root of a number above zero, and zero for all others, where its derivative is zero, too.

    The length of a vector has no derivative where it vanishes, and that of `sqrt` is infinite; but products of such a
    length with the vector, such as drag, do have one.
    """
    return where_less(0.0, x, sqrt(where_less(0.0, x, x, 1.0)), 0.0)


def atan2(y: Any, x: Any) -> Any:
    """Return the angle of the point (x, y)."""
    return _apply("atan2", "arctan2", y, x)


def where_less(a: Any, b: Any, x: Any, y: Any) -> Any:
    """Return x where a < b, else y: the only branch of a traced algorithm. Both sides are evaluated."""
    for s in (a, b, x, y):
        if hasattr(s, "ordern_apply"):
            return s.ordern_apply("where_less", a, b, x, y)
    test = a < b
    if hasattr(test, "free_symbols"):  # a condition of SymPy
        return import_module("sympy").Piecewise((x, test), (y, True))
    if isinstance(test, np.ndarray):
        return np.where(test.astype(bool), x, y)
    return x if test else y
