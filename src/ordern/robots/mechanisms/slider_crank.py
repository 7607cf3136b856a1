"""The slider-crank: turning becomes sliding, as in every piston engine.

Our own numbers: a crank of 0.1 m, a rod of 0.3 m, a slider of 0.5 kg whose line may pass the crank's axis at a distance
(`offset`, along z). Crank and rod are uniform and weigh 1 kg for each metre.

The slider's coordinate is the place of its pin along x; at q = 0, crank and rod point along x. The rod hangs on the
crank, and its end closes the loop on the slider.
"""

from __future__ import annotations

import math

from ...errors import ModelError
from ...joints import Closure, Prismatic
from ...model import ModelBuilder
from .parts import bar, block, flat, hinge, pin, sizes

__all__ = ["CRANK", "DENSITY", "POSITIONS", "ROD", "SLIDER", "assembled_position", "slider_crank"]

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
    """Bodies "crank", "rod", "slider" on joints "drive", "big_end", "guide"; the loop "small_end"; one freedom."""
    sizes("slider-crank", crank=crank, rod=rod, slider=slider, density=density)
    side = 0.4 * crank
    return (
        ModelBuilder("slider-crank", actuated=["drive"])
        .body("ground")
        .body("crank", parent="ground", joint=hinge(), joint_name="drive", **bar(density * crank, crank))
        .body(
            "rod",
            parent="crank",
            joint=hinge(),
            joint_name="big_end",
            at=flat((crank, 0.0)),
            **bar(density * rod, rod),
        )
        .body(
            "slider",
            parent="ground",
            joint=Prismatic((1.0, 0.0, 0.0)),
            joint_name="guide",
            at=flat((0.0, offset)),
            **block(slider, 1.5 * side, side, side),
        )
        .loop("small_end", closure or pin(), "slider", "rod", child_at=flat((rod, 0.0)))
    )


def assembled_position(
    drive: float = math.pi / 3.0, *, crank: float = CRANK, rod: float = ROD, offset: float = 0.0
) -> tuple[float, float, float]:
    """q = (drive, big_end, guide) for an angle of the crank, with the slider on the side of +x."""
    x, z = crank * math.cos(drive), crank * math.sin(drive)
    if not abs(offset - z) <= rod:
        raise ModelError(
            f"slider-crank cannot be assembled there: the slider's line is {abs(offset - z):.6g} m from the crank's "
            f"end, and the rod has {rod:.6g} m"
        )
    across = offset - z
    along = math.sqrt((rod - across) * (rod + across))
    return (drive, math.atan2(across, along) - drive, x + along)


POSITIONS = {"slider-crank": {"assembled": assembled_position()}}
