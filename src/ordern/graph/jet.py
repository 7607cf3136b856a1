"""Jets: numbers that know their rate of change, exactly, by the partial derivatives in the table of operations."""

from __future__ import annotations

import math
from collections.abc import Callable

from . import scalars
from .ops import OPS, Scalar

__all__ = ["Jet"]


def _operators(name: str) -> tuple[Callable[[Jet, Scalar], Jet], Callable[[Jet, Scalar], Jet]]:
    """Return the methods of an operation, with the jet as the left and as the right operand."""
    return (
        lambda self, other: self.ordern_apply(name, self, other),
        lambda self, other: self.ordern_apply(name, other, self),
    )


class Jet:
    """A scalar and its rate of change. Arithmetic works with other jets and with constant numbers."""

    __slots__ = ("rate", "value")
    __array_ufunc__ = None

    def __init__(self, value: Scalar, rate: Scalar = 0.0) -> None:
        self.value, self.rate = value, rate

    def ordern_apply(self, name: str, *operands: Scalar) -> Jet:
        """Apply an operation of the table, by its value and its partial derivatives."""
        jets = [x if isinstance(x, Jet) else Jet(x) for x in operands]
        values = [x.value for x in jets]
        if name == "where_less":  # what is not chosen may be infinite
            a, b, x, y = jets
            return Jet(scalars.where_less(*values), scalars.where_less(a.value, b.value, x.rate, y.rate))
        rate: Scalar = 0.0
        try:
            for partial, x in zip(OPS[name].partials(*values), jets, strict=True):
                rate = rate + partial * x.rate
            return Jet(OPS[name].evaluate(*values), rate)
        except ZeroDivisionError:  # on the side of a branch that is not chosen, this does no harm
            return Jet(math.nan, math.nan)

    __add__, __radd__ = _operators("add")
    __sub__, __rsub__ = _operators("sub")
    __mul__, __rmul__ = _operators("mul")
    __truediv__, __rtruediv__ = _operators("div")

    def __neg__(self) -> Jet:
        return self.ordern_apply("neg", self)

    def __abs__(self) -> Jet:
        return self.ordern_apply("where_less", self, 0.0, -self, self)

    def __pow__(self, exponent: int) -> Scalar:
        power: Scalar = 1.0
        for _ in range(exponent):
            power = power * self
        return power
