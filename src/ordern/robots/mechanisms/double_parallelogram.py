"""A double parallelogram: three equal cranks carry one beam, as on a steam locomotive's wheels.

Our own numbers. Two cranks would do: the third moves along only since all are equal and parallel. Gruebler's count of
freedoms, three for each body in the plane less two for each joint, is zero, and yet it moves: one of the four equations
of its two loops follows from the others, unless it lies flat, where two do. The beam is uniform, as the cranks are, 1
kg for each metre.

At q = 0 all bars point along x. The beam hangs on the left crank; the others' ends close loops on it.
"""

from __future__ import annotations

import math

from ...joints import Closure
from ...model import ModelBuilder
from .parts import bar, flat, hinge, pin, sizes

__all__ = ["CRANK", "DENSITY", "POSITIONS", "SPAN", "assembled_position", "double_parallelogram"]

CRANK, SPAN, DENSITY = 0.2, 0.3, 1.0
"""Length of the cranks, distance between their axes, mass for each metre."""


def double_parallelogram(
    *, crank: float = CRANK, span: float = SPAN, density: float = DENSITY, closure: Closure | None = None
) -> ModelBuilder:
    """Joints "left", "beam_joint", "middle", "right"; loops "middle_pin", "right_pin"; one freedom."""
    sizes("double-parallelogram", crank=crank, span=span, density=density)
    end, link = flat((crank, 0.0)), bar(density * crank, crank)
    beam = bar(2.0 * density * span, 2.0 * span)
    builder = ModelBuilder("double-parallelogram").body("ground")
    for k, side in enumerate(("left", "middle", "right")):
        at = flat((k * span, 0.0))
        builder.body(f"{side}_crank", parent="ground", joint=hinge(), joint_name=side, at=at, **link)
    builder.body("beam", parent="left_crank", joint=hinge(), at=end, **beam)
    for k, side in enumerate(("middle", "right")):
        on_beam = flat(((k + 1) * span, 0.0))
        builder.loop(f"{side}_pin", closure or pin(), "beam", f"{side}_crank", at=on_beam, child_at=end)
    return builder


def assembled_position(drive: float = math.pi / 3.0) -> tuple[float, float, float, float]:
    """q = (left, beam_joint, middle, right) for an angle of the cranks."""
    return (drive, -drive, drive, drive)


POSITIONS = {"double-parallelogram": {"assembled": assembled_position()}}
