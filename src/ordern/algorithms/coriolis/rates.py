"""How a joint's motion subspace changes, column by column.

A joint's `bias` is the rate of change of its subspace times the velocity; a matrix needs that of each column. It is
found by computing with jets, numbers that know their rate of change: `integrate` moves the position along the velocity,
and `subspace` there has the rates. Nothing is approximated, and any joint can do it.
"""

from __future__ import annotations

from typing import Any

from ...graph import Scalar
from ...graph.ops import OPS
from ...graph.scalars import where_less
from ...joints import Joint
from ...model import Index
from ...spatial import Columns, Freedoms, Motion

__all__ = ["Jet", "subspace_rates"]


class Jet:
    """A scalar and its rate of change; it meets numbers that do not change, and other jets."""

    __slots__ = ("rate", "value")
    __array_ufunc__ = None

    def __init__(self, value: Scalar, rate: Scalar = 0.0) -> None:
        self.value, self.rate = value, rate

    def ordern_apply(self, name: str, *operands: Scalar) -> Jet:
        """An operation of the graph's table, by its value and its partial derivatives."""
        jets = [x if isinstance(x, Jet) else Jet(x) for x in operands]
        values = [x.value for x in jets]
        if name == "where_less":  # what is not chosen may be infinite
            a, b, x, y = jets
            return Jet(where_less(*values), where_less(a.value, b.value, x.rate, y.rate))
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


def subspace_rates(i: Index, q: Freedoms, qd: Freedoms) -> Columns:
    """The rate of change of each column of a joint's subspace, as its body sees it."""
    fixed = i.kind.joint
    if type(fixed).bias is Joint.bias:
        return Columns((Motion.zero(),) * fixed.nv)
    joint = fixed.with_parameters(tuple(Jet(x) for x in i.row(i.kind.parameters)))
    moving = joint.integrate(Freedoms(map(Jet, q)), Freedoms(Jet(0.0, x) for x in qd))
    return Columns(tuple(Motion.of(tuple(map(_rate, m.scalars))) for m in joint.subspace(moving).columns))


def _rate(x: Any) -> Scalar:
    return x.rate if isinstance(x, Jet) else 0.0
