"""A slider-crank in space: the crank turns in one plane, the slider slides across it.

It has the form of the spatial slider-crank in textbooks (E. J. Haug, Computer-Aided Kinematics and Dynamics of
Mechanical Systems, 1989): a revolute joint, a ball, a cross and a slider; dimensions and masses are ours. The crank
turns about an axis along x through (0, 0.1, 0.12); the slider slides along x itself. The rod of 0.3 m is carried by the
slider on a universal joint, which keeps it from spinning about itself; its other end is a ball in the crank's end,
which closes the loop. Crank and rod are uniform and weigh 1 kg for each metre.

At q = 0 the crank points along y, the rod along -x. The slider's coordinate is its place along x.
"""

from __future__ import annotations

import math

from ...joints import Closure, Prismatic, Revolute, Spherical, Universal
from ...model import ModelBuilder
from .parts import bar, block, leg, sizes

__all__ = ["AXIS", "CRANK", "DENSITY", "ROD", "SLIDER", "assembled_position", "spatial_slider_crank"]

CRANK, ROD = 0.08, 0.3
AXIS = (0.1, 0.12)
"""y and z of the crank's axis."""
SLIDER, DENSITY = 0.5, 1.0
"""The slider's mass; the mass of crank and rod for each metre."""
_X = (1.0, 0.0, 0.0)


def spatial_slider_crank(
    *,
    crank: float = CRANK,
    rod: float = ROD,
    axis: tuple[float, float] = AXIS,
    slider: float = SLIDER,
    density: float = DENSITY,
    closure: Closure | None = None,
) -> ModelBuilder:
    """Build bodies "crank", "slider", "rod" on joints "drive", "guide", "cross"; the loop "ball"; one freedom."""
    sizes("spatial-slider-crank", crank=crank, rod=rod, slider=slider, density=density)
    cube, cross = block(slider, (0.4 * crank,) * 3), Universal((0.0, 0.0, 1.0), (0.0, 1.0, 0.0))
    arm, back = bar(density * crank, crank, "y"), bar(density * rod, rod, "-x")
    return (
        ModelBuilder("spatial-slider-crank", actuated=["drive"])
        .body("ground")
        .body("crank", parent="ground", joint=Revolute(_X), joint_name="drive", at=(0.0, *axis), **arm)
        .body("slider", parent="ground", joint=Prismatic(_X), joint_name="guide", **cube)
        .body("rod", parent="slider", joint=cross, joint_name="cross", **back)
        .loop("ball", closure or Spherical(), "crank", "rod", at=(0.0, crank, 0.0), child_at=(-rod, 0.0, 0.0))
    )


def assembled_position(
    drive: float = math.pi / 3.0, *, crank: float = CRANK, rod: float = ROD, axis: tuple[float, float] = AXIS
) -> tuple[float, float, float, float]:
    """Return q = (drive, guide, cross about z, cross about y) for an angle of the crank; the slider is at x > 0."""
    y, z = axis[0] + crank * math.cos(drive), axis[1] + crank * math.sin(drive)
    x = leg("spatial-slider-crank", "the crank's end and the slider's line", rod, math.hypot(y, z))
    return (drive, x, math.atan2(-y, x), math.asin(z / rod))
