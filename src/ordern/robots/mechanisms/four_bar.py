"""The four-bar linkage: a crank that turns round and round drives a rocker to and fro.

Our own numbers. The crank is the shortest bar, and together with the longest it is shorter than the two others
(Grashof's condition): so it can make full turns, and the rocker cannot. Bars are uniform and weigh 1 kg for each metre.

The ground's joints are at the origin and at (ground, 0) in the plane x-z. At q = 0 all bars point along x. The coupler
is carried by the crank, and its end closes the loop at the rocker's end.
"""

from __future__ import annotations

import math

from ...joints import Closure
from ...model import ModelBuilder
from .parts import angle, linkage, meeting, sizes

__all__ = ["COUPLER", "CRANK", "DENSITY", "GROUND", "ROCKER", "assembled_position", "four_bar"]

GROUND, CRANK, COUPLER, ROCKER = 0.4, 0.1, 0.35, 0.3
DENSITY = 1.0
"""Mass of the bars for each metre."""


def four_bar(
    *,
    ground: float = GROUND,
    crank: float = CRANK,
    coupler: float = COUPLER,
    rocker: float = ROCKER,
    density: float = DENSITY,
    closure: Closure | None = None,
) -> ModelBuilder:
    """Build bodies "crank", "coupler", "rocker" on joints "drive", "elbow", "pivot"; the loop "pin"; one freedom."""
    sizes("four-bar", ground=ground, crank=crank, coupler=coupler, rocker=rocker, density=density)
    bars = (
        ("crank", "drive", "ground", 0.0, crank),
        ("coupler", "elbow", "crank", crank, coupler),
        ("rocker", "pivot", "ground", ground, rocker),
    )
    pin = ("pin", "rocker", rocker, "coupler", coupler)
    return linkage("four-bar", bars, [pin], density=density, closure=closure, actuated=["drive"])


def assembled_position(
    drive: float = math.pi / 3.0,
    *,
    ground: float = GROUND,
    crank: float = CRANK,
    coupler: float = COUPLER,
    rocker: float = ROCKER,
    crossed: bool = False,
) -> tuple[float, float, float]:
    """Return q = (drive, elbow, pivot) for an angle of the crank; `crossed` is the other way to assemble the bars."""
    a = (crank * math.cos(drive), crank * math.sin(drive))
    b = meeting("four-bar", a, coupler, (ground, 0.0), rocker, left=not crossed)
    return (drive, angle(a, b) - drive, angle((ground, 0.0), b))
