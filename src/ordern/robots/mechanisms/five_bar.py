"""The five-bar linkage: the smallest parallel robot. Two drives on the ground move a point in the plane.

Our own numbers, for a small pick-and-place arm: drives 0.1 m apart, upper arms of 0.2 m, forearms of 0.3 m,
uniform, 1 kg for each metre. At q = 0 all bars point along x. The left forearm ends in the frame "tool", where
the end of the right forearm closes the loop.
"""

from __future__ import annotations

import math

from ...joints import Closure
from ...model import ModelBuilder
from .parts import angle, flat, linkage, meeting, sizes

__all__ = ["DENSITY", "FOREARM", "SPAN", "UPPER", "assembled_position", "five_bar", "inverse_kinematics"]

SPAN, UPPER, FOREARM, DENSITY = 0.1, 0.2, 0.3, 1.0


def five_bar(
    *,
    span: float = SPAN,
    upper: float = UPPER,
    forearm: float = FOREARM,
    density: float = DENSITY,
    closure: Closure | None = None,
) -> ModelBuilder:
    """Build joints "left_drive", "left_elbow", "right_drive", "right_elbow"; the loop "tool_pin"; two freedoms."""
    sizes("five-bar", span=span, upper=upper, forearm=forearm, density=density)
    bars = (
        ("left_upper", "left_drive", "ground", -span / 2.0, upper),
        ("left_forearm", "left_elbow", "left_upper", upper, forearm),
        ("right_upper", "right_drive", "ground", span / 2.0, upper),
        ("right_forearm", "right_elbow", "right_upper", upper, forearm),
    )
    pin = ("tool_pin", "left_forearm", forearm, "right_forearm", forearm)
    drives = ["left_drive", "right_drive"]
    builder = linkage("five-bar", bars, [pin], density=density, closure=closure, actuated=drives)
    return builder.frame("tool", "left_forearm", at=flat((forearm, 0.0)))


def inverse_kinematics(
    tool: tuple[float, float], *, span: float = SPAN, upper: float = UPPER, forearm: float = FOREARM
) -> tuple[float, float, float, float]:
    """Return q with the tool at this point of the plane, and the elbows to the left and to the right."""
    found: list[float] = []
    for x, left in ((-span / 2.0, False), (span / 2.0, True)):
        foot = (x, 0.0)
        elbow = meeting("five-bar", tool, forearm, foot, upper, left=left)
        drive = angle(foot, elbow)
        found += [drive, math.remainder(angle(elbow, tool) - drive, 2.0 * math.pi)]
    return (found[0], found[1], found[2], found[3])


def assembled_position() -> tuple[float, float, float, float]:
    """Return q with the tool 0.35 m above the ground, and 0.05 m to the right."""
    return inverse_kinematics((0.05, 0.35))
