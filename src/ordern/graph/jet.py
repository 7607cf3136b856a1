"""Jets: numbers that know their rate of change, exactly, by the partial derivatives in the table of operations."""

from __future__ import annotations

from . import scalars
from .ops import OPS, Scalar

__all__ = ["Jet"]


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
        for partial, x in zip(OPS[name].partials(*values), jets, strict=True):
            rate = rate + partial * x.rate
        return Jet(OPS[name].evaluate(*values), rate)

    def __add__(self, other: Scalar) -> Jet:
        return self.ordern_apply("add", self, other)

    def __radd__(self, other: Scalar) -> Jet:
        return self.ordern_apply("add", other, self)

    def __sub__(self, other: Scalar) -> Jet:
        return self.ordern_apply("sub", self, other)

    def __rsub__(self, other: Scalar) -> Jet:
        return self.ordern_apply("sub", other, self)

    def __mul__(self, other: Scalar) -> Jet:
        return self.ordern_apply("mul", self, other)

    def __rmul__(self, other: Scalar) -> Jet:
        return self.ordern_apply("mul", other, self)

    def __truediv__(self, other: Scalar) -> Jet:
        return self.ordern_apply("div", self, other)

    def __rtruediv__(self, other: Scalar) -> Jet:
        return self.ordern_apply("div", other, self)

    def __neg__(self) -> Jet:
        return self.ordern_apply("neg", self)
