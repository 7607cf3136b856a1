"""The five-bar linkage: the smallest parallel robot. Two drives on the ground move a point in the plane.

Our own numbers, those of a small pick-and-place arm: drives 0.1 m apart, upper arms of 0.2 m, forearms of 0.3 m,
uniform, 1 kg for each metre. At q = 0 all bars point along x. The left forearm ends in the frame "tool", the right
one's end closes the loop there.
"""

from __future__ import annotations

import math

from ...joints import Closure
from ...model import ModelBuilder
from .parts import Point, angle, bar, flat, hinge, meeting, pin, sizes

__all__ = ["DENSITY", "FOREARM", "POSITIONS", "SPAN", "UPPER", "assembled_position", "five_bar", "inverse_kinematics"]

SPAN, UPPER, FOREARM, DENSITY = 0.1, 0.2, 0.3, 1.0


def five_bar(
    *,
    span: float = SPAN,
    upper: float = UPPER,
    forearm: float = FOREARM,
    density: float = DENSITY,
    closure: Closure | None = None,
) -> ModelBuilder:
    """Joints "left_drive", "left_elbow", "right_drive", "right_elbow"; the loop "tool_pin"; two freedoms."""
    sizes("five-bar", span=span, upper=upper, forearm=forearm, density=density)
    builder = ModelBuilder("five-bar", actuated=["left_drive", "right_drive"]).body("ground")
    for side, x in (("left", -span / 2.0), ("right", span / 2.0)):
        one, other = f"{side}_upper", f"{side}_forearm"
        builder.body(
            one,
            parent="ground",
            joint=hinge(),
            joint_name=f"{side}_drive",
            at=flat((x, 0.0)),
            **bar(density * upper, upper),
        )
        builder.body(
            other,
            parent=one,
            joint=hinge(),
            joint_name=f"{side}_elbow",
            at=flat((upper, 0.0)),
            **bar(density * forearm, forearm),
        )
    end = flat((forearm, 0.0))
    builder.loop("tool_pin", closure or pin(), "left_forearm", "right_forearm", at=end, child_at=end)
    return builder.frame("tool", "left_forearm", at=end)


def inverse_kinematics(
    tool: Point, *, span: float = SPAN, upper: float = UPPER, forearm: float = FOREARM
) -> tuple[float, float, float, float]:
    """q with the tool at this point of the plane, and the elbows to the left and to the right."""
    found: list[float] = []
    for x, left in ((-span / 2.0, False), (span / 2.0, True)):
        foot = (x, 0.0)
        elbow = meeting("five-bar", tool, forearm, foot, upper, left=left)
        drive = angle(foot, elbow)
        found += [drive, _turned(angle(elbow, tool) - drive)]
    return (found[0], found[1], found[2], found[3])


def assembled_position() -> tuple[float, float, float, float]:
    """q with the tool 0.35 m above the ground, and 0.05 m to the right."""
    return inverse_kinematics((0.05, 0.35))


def _turned(x: float) -> float:
    """Return the same angle within half a turn."""
    return math.remainder(x, 2.0 * math.pi)


POSITIONS = {"five-bar": {"assembled": assembled_position()}}
