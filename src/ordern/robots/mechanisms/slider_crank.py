"""The slider-crank: turning becomes sliding, as in every piston engine.

Our own numbers: a crank of 0.1 m, a rod of 0.3 m, a slider of 0.5 kg whose line may pass the crank's axis at a distance
(`offset`, along z). Crank and rod are uniform and weigh 1 kg for each metre.

The slider's coordinate is the place of its pin along x; at q = 0, crank and rod point along x. The rod hangs on the
crank, and its end closes the loop on the slider.
"""

from __future__ import annotations

import math

from ...joints import Closure, Prismatic
from ...model import ModelBuilder
from .parts import block, flat, leg, linkage, pin, sizes

__all__ = ["CRANK", "DENSITY", "ROD", "SLIDER", "assembled_position", "slider_crank"]

CRANK, ROD = 0.1, 0.3
SLIDER, DENSITY = 0.5, 1.0
"""The slider's mass; the mass of crank and rod for each metre."""


def slider_crank(
    *,
    crank: float = CRANK,
    rod: float = ROD,
    offset: float = 0.0,
    slider: float = SLIDER,
    density: float = DENSITY,
    closure: Closure | None = None,
) -> ModelBuilder:
    """Build "crank", "rod", "slider" on joints "drive", "big_end", "guide"; the loop "small_end": one freedom."""
    sizes("slider-crank", crank=crank, rod=rod, slider=slider, density=density)
    bars = (("crank", "drive", "ground", 0.0, crank), ("rod", "big_end", "crank", crank, rod))
    builder = linkage("slider-crank", bars, density=density, closure=closure, actuated=["drive"])
    piston = block(slider, (0.6 * crank, 0.4 * crank, 0.4 * crank))
    along_x = Prismatic((1.0, 0.0, 0.0))
    builder.body("slider", parent="ground", joint=along_x, joint_name="guide", at=flat((0.0, offset)), **piston)
    return builder.loop("small_end", closure or pin(), "slider", "rod", child_at=flat((rod, 0.0)))


def assembled_position(
    drive: float = math.pi / 3.0, *, crank: float = CRANK, rod: float = ROD, offset: float = 0.0
) -> tuple[float, float, float]:
    """Return q = (drive, big_end, guide) for an angle of the crank, with the slider on the side of +x."""
    x, z = crank * math.cos(drive), crank * math.sin(drive)
    along = leg("slider-crank", "the slider's line and the crank's end", rod, offset - z)
    return (drive, math.atan2(offset - z, along) - drive, x + along)
