"""A quadruped with twelve motors, of the size of a small dog; the numbers are round ones of ours.

A trunk of 10 kg on a free joint, "base", and four legs: "lf" (left, front), "rf", "lh" (left, hind) and "rh". Each leg
has three hinges: "lf_abduction" about the x axis of the trunk, "lf_hip" and "lf_knee" about y. Thigh and shin are
0.2 m long, and a frame such as "lf_foot" is at the end of the shin. The x axis points forward, z up. The ground is
not part of the robot.
"""

from __future__ import annotations

import math

from ..joints import Free, Revolute
from ..model import ModelBuilder
from .generated import rod

__all__ = ["LEGS", "LENGTH", "POSITIONS", "quadruped"]

LEGS = {"lf": (1.0, 1.0), "rf": (1.0, -1.0), "lh": (-1.0, 1.0), "rh": (-1.0, -1.0)}
"""The sides of each leg along x and y."""
LENGTH, ASIDE = 0.2, 0.08
"""The length of thigh and shin, and the distance of a leg from the axis of its abduction."""
_HALF_LENGTH, _HALF_WIDTH, _EFFORT = 0.2, 0.05, 35.0
_BEND = 0.7

POSITIONS = {
    "quadruped": {
        "stand": (1.0, *(0.0,) * 5, 2.0 * LENGTH * math.cos(_BEND), *(0.0, _BEND, -2.0 * _BEND) * len(LEGS)),
    }
}
"""Standing with bent knees: the feet are below the hips, at height zero."""


def quadruped() -> ModelBuilder:
    """Build the quadruped: bodies "world", "trunk" and, for each leg, "lf_hip_link", "lf_thigh" and "lf_shin"."""
    builder = ModelBuilder("quadruped").body("world")
    builder.body(
        "trunk", parent="world", joint=Free(), joint_name="base", mass=10.0, com=(0.0, 0.0, 0.02),
        inertia=(0.06, 0.2, 0.23),
    )  # fmt: skip
    about_x, about_y = Revolute((1.0, 0.0, 0.0)), Revolute((0.0, 1.0, 0.0))
    for leg, (ahead, left) in LEGS.items():
        hip, at = f"{leg}_hip_link", (ahead * _HALF_LENGTH, left * _HALF_WIDTH, 0.0)
        builder.body(
            hip, parent="trunk", joint=about_x, joint_name=f"{leg}_abduction", at=at, mass=0.6,
            com=(0.0, left * ASIDE / 2.0, 0.0), inertia=(0.0005, 0.0005, 0.0005), effort_limit=_EFFORT,
        )  # fmt: skip
        parent, at = hip, (0.0, left * ASIDE, 0.0)
        for name, joint, mass in ((f"{leg}_thigh", f"{leg}_hip", 0.8), (f"{leg}_shin", f"{leg}_knee", 0.2)):
            link = rod(mass, LENGTH, 0.02)
            builder.body(name, parent=parent, joint=about_y, joint_name=joint, at=at, effort_limit=_EFFORT, **link)
            parent, at = name, (0.0, 0.0, -LENGTH)
        builder.frame(f"{leg}_foot", parent, at=at)
    return builder
