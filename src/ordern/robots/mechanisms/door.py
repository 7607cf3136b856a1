"""A door on two hinges: the redundant mechanism that everybody has at home.

Our own numbers: 0.8 m wide, 2 m high, 40 mm thick, 25 kg. The upper hinge is in the tree, and prevents all
motions that the lower one prevents: the five equations of the loop are redundant. Rigid bodies do not determine how the
hinges share the weight of the door; the result is the solution with the smallest multipliers.
"""

from __future__ import annotations

from ...joints import Closure, Revolute
from ...model import ModelBuilder
from .parts import block, sizes

__all__ = ["HEIGHT", "MASS", "THICKNESS", "WIDTH", "assembled_position", "door"]

WIDTH, HEIGHT, THICKNESS, MASS = 0.8, 2.0, 0.04, 25.0
_MARGIN = 0.2
"""The distance of the hinges from the edges of the door, as a share of half its height."""


def door(
    *,
    width: float = WIDTH,
    height: float = HEIGHT,
    thickness: float = THICKNESS,
    mass: float = MASS,
    closure: Closure | None = None,
) -> ModelBuilder:
    """Return the body "door" on the joint "upper_hinge", the loop "lower_hinge"; one freedom, at any angle."""
    sizes("door", width=width, height=height, thickness=thickness, mass=mass)
    up, down = height * (1.0 - _MARGIN / 2.0), height * _MARGIN / 2.0
    plate = block(mass, (width, thickness, height), com=(width / 2.0, 0.0, height / 2.0 - up))
    low, below = (0.0, 0.0, down), (0.0, 0.0, down - up)
    return (
        ModelBuilder("door")
        .body("frame")
        .body("door", parent="frame", joint=Revolute(), joint_name="upper_hinge", at=(0.0, 0.0, up), **plate)
        .loop("lower_hinge", closure or Revolute(), "frame", "door", at=low, child_at=below)
        .frame("handle", "door", at=(0.9 * width, 0.0, height / 2.0 - up))
        .frame("upper_corner", "door", at=(width, 0.0, height - up))
        .frame("lower_corner", "door", at=(width, 0.0, -up))
    )


def assembled_position(angle: float = 0.5) -> tuple[float]:
    """Return q at an angle of the door."""
    return (angle,)
