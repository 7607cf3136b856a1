"""Parameters as tables, for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arguments import Array
from ..screen.html import folded, table, titled
from .names import FREEDOM_FIELDS

if TYPE_CHECKING:
    from .record import Parameters

__all__ = ["parameters_html"]

_MOST = 500
"""Most rows of a table."""


def parameters_html(given: Parameters) -> str:
    """Return tables of the masses of bodies and of the terms of joints; of sets, the range of each number."""
    names = given.names
    com, moments = given.com, given.central_inertia
    columns = [given.mass, *_last(com), *_last(moments[..., :3])]
    bodies = [(name, *(_shown(x[..., k]) for x in columns)) for k, name in enumerate(names.bodies[:_MOST])]
    head = ("body", "mass, kg", *(f"com {x}, m" for x in "xyz"), *(f"I {x}{x}, kg m²" for x in "xyz"))
    joints = []
    for name, part in list(names.places("armature"))[:_MOST]:
        for k in range(part.start, part.stop):
            label = name if part.stop - part.start == 1 else f"{name}[{k - part.start}]"
            joints.append((label, *(_shown(getattr(given, x)[..., k]) for x in FREEDOM_FIELDS)))
    shown = ("joint", *(x.replace("_", " ") for x in FREEDOM_FIELDS))
    return titled(
        repr(given)[1:-1],
        folded(f"{len(names.bodies)} bodies", table(head, bodies), len(bodies)),
        folded(f"{len(names.joints)} joints", table(shown, joints), len(joints)),
        f"gravity {', '.join(_shown(x) for x in _last(given.gravity))} m/s²",
    )


def _last(a: Array) -> list[Array]:
    return list(np.moveaxis(a, -1, 0))


def _shown(x: Array) -> str:
    """Return a number, or the range of several."""
    low, high = (float(x.min()), float(x.max())) if x.size else (np.nan, np.nan)
    return f"{low:.4g}" if low == high or not x.size else f"{low:.4g} … {high:.4g}"
