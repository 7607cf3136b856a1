"""A model as a table, for notebooks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..screen.html import folded, table, titled

if TYPE_CHECKING:
    from .model import Model
    from .parts import ModelJoint

__all__ = ["model_html"]

_MOST = 500
"""Most bodies in the table."""


def model_html(model: Model) -> str:
    """Return the bodies with their joints, limits and masses, then loops and couplings, as HTML."""
    names = [model.base, *(b.name for b in model.bodies)]
    rows = [
        (k, b.name, names[c.parent + 1], c.name, _kind(c), _place(model, c), _limits(c), f"{b.mass:.4g}")
        for k, (b, c) in enumerate(zip(model.bodies[:_MOST], model.joints[:_MOST], strict=True))
    ]
    head = ("", "body", "on", "joint", "type", "in q", "limits", "mass, kg")
    parts: list[object] = [folded(f"{len(model.bodies)} bodies", table(head, rows, left=6), len(rows))]
    if len(model.bodies) > _MOST:
        parts.append(f"... and {len(model.bodies) - _MOST} more bodies")
    loops = [
        (x.name, type(x.type).__name__.lower(), names[x.parent + 1], names[x.child + 1], "" if x.active else "open")
        for x in model.loops
    ]
    if loops:
        ends = ("loop", "type", "between", "and", "")
        parts.append(folded(f"{len(loops)} loops", table(ends, loops, left=5), len(loops)))
    if model.couplings:
        couplings = [(x.name, "" if x.active else "open") for x in model.couplings]
        parts.append(folded(f"{len(couplings)} couplings", table(("coupling", ""), couplings, left=2), len(couplings)))
    return titled(repr(model)[1:-1], *parts)


def _kind(c: ModelJoint) -> str:
    return type(c.type).__name__.lower()


def _place(model: Model, c: ModelJoint) -> str:
    """Return where the coordinates of a joint are in q."""
    if c.mimic is not None:
        return f"follows {model.joints[c.mimic.joint].name}"
    if not c.nq:
        return ""
    return f"q[{c.q_start}]" if c.nq == 1 else f"q[{c.q_start}:{c.q_start + c.nq}]"


def _limits(c: ModelJoint) -> str:
    """Return the limits of a joint with one coordinate; of others, how many of them are limited."""
    known = [(a, b) for a, b in zip(c.lower, c.upper, strict=True) if math.isfinite(a) or math.isfinite(b)]
    if not known or c.mimic is not None:
        return ""
    if c.nq > 1:
        return f"{len(known)} of {c.nq}"
    a, b = (f"{x:.4g}" if math.isfinite(x) else "" for x in known[0])
    return f"{a} … {b}"
