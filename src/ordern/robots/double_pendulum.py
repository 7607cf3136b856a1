"""Two equal rods that swing in the plane x-z: the smallest robot whose dynamics are not linear.

Our own numbers, in round figures: each rod is 1 m long, 20 mm thick, weighs 1 kg, is uniform, and turns about y at its
upper end. At q = 0 both hang down along -z.
"""

from __future__ import annotations

from ..joints import Revolute
from ..model import ModelBuilder
from .generated import rod

__all__ = ["LENGTH", "MASS", "RADIUS", "double_pendulum"]

LENGTH = 1.0
MASS = 1.0
RADIUS = 0.01


def double_pendulum() -> ModelBuilder:
    """Return the double pendulum: bodies "upper" and "lower", joints "shoulder" and "elbow", a frame "tip"."""
    link = rod(MASS, LENGTH, RADIUS)
    end, about_y = (0.0, 0.0, -LENGTH), Revolute((0.0, 1.0, 0.0))
    return (
        ModelBuilder("double-pendulum")
        .body("base")
        .body("upper", parent="base", joint=about_y, joint_name="shoulder", **link)
        .body("lower", parent="upper", joint=about_y, joint_name="elbow", at=end, **link)
        .frame("tip", "lower", at=end)
    )
