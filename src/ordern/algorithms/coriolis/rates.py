"""Rates of a joint's motion subspace, column by column.

A joint's `bias` is the rate of change of its subspace times the velocity; a matrix needs that of each column. It is
found by computing with jets, numbers with their rates of change: `integrate` moves the position along the velocity,
and `subspace` there has the rates. Nothing is approximated, and any joint can do it.
"""

from __future__ import annotations

from ...graph import Jet
from ...joints import Joint
from ...joints.jets import rate_of
from ...model import Index
from ...spatial import Columns, Freedoms, Motion

__all__ = ["subspace_rates"]


def subspace_rates(i: Index, q: Freedoms, qd: Freedoms) -> Columns:
    """Return the rate of change of each column of a joint's subspace, as its body sees it."""
    fixed = i.kind.joint
    if type(fixed).bias is Joint.bias:
        return Columns((Motion.zero(),) * fixed.nv)
    joint = fixed.with_parameters(tuple(Jet(x) for x in i.row(i.kind.parameters)))
    moving = joint.integrate(Freedoms(map(Jet, q)), Freedoms(Jet(0.0, x) for x in qd))
    return Columns(tuple(Motion.of(tuple(map(rate_of, m.scalars))) for m in joint.subspace(moving).columns))
