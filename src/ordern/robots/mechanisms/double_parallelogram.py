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
from .parts import linkage, sizes

__all__ = ["CRANK", "DENSITY", "SPAN", "assembled_position", "double_parallelogram"]

CRANK, SPAN, DENSITY = 0.2, 0.3, 1.0
"""Length of the cranks, distance between their axes, mass for each metre."""


def double_parallelogram(
    *, crank: float = CRANK, span: float = SPAN, density: float = DENSITY, closure: Closure | None = None
) -> ModelBuilder:
    """Build joints "left", "beam_joint", "middle", "right"; loops "middle_pin", "right_pin"; one freedom."""
    sizes("double-parallelogram", crank=crank, span=span, density=density)
    bars = (
        ("left_crank", "left", "ground", 0.0, crank),
        ("middle_crank", "middle", "ground", span, crank),
        ("right_crank", "right", "ground", 2.0 * span, crank),
        ("beam", "beam_joint", "left_crank", crank, 2.0 * span),
    )
    pins = (
        ("middle_pin", "beam", span, "middle_crank", crank),
        ("right_pin", "beam", 2.0 * span, "right_crank", crank),
    )
    return linkage("double-parallelogram", bars, pins, density=density, closure=closure)


def assembled_position(drive: float = math.pi / 3.0) -> tuple[float, float, float, float]:
    """Return q = (left, beam_joint, middle, right) for an angle of the cranks."""
    return (drive, -drive, drive, drive)
