"""A humanoid with eighteen motors, 1.3 m tall; the numbers are round ones of ours.

A trunk of 14 kg on a free joint, "base", two legs and two arms, "l" (left) and "r". A leg has six hinges: "l_hip_yaw"
about z, "l_hip_roll" about x, "l_hip_pitch", "l_knee" and "l_ankle_pitch" about y, and "l_ankle_roll" about x. An arm
has "l_shoulder_pitch" about y, "l_shoulder_roll" about x and "l_elbow" about y. The frames "l_sole_1" to "l_sole_4"
are the corners of a foot of 20 cm by 8 cm. The x axis points forward, z up. The ground is not part of the robot.
"""

from __future__ import annotations

import math
from typing import Any

from ..joints import Free, Revolute
from ..model import ModelBuilder
from .generated import rod

__all__ = ["POSITIONS", "SOLE", "humanoid"]

SIDES = {"l": 1.0, "r": -1.0}
LEG, ARM, BELOW, SOLE = 0.3, 0.25, 0.06, 0.06
"""Lengths of thigh and shin, and of both parts of an arm; from the trunk down to the hips, and from ankle to sole."""
_BEND = 0.35
_X, _Y, _Z = (Revolute(axis) for axis in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)))

POSITIONS = {
    "humanoid": {
        "stand": (
            *(1.0, 0.0, 0.0, 0.0, 0.0, 0.0, BELOW + SOLE + 2.0 * LEG * math.cos(_BEND)),
            *(0.0, 0.0, -_BEND, 2.0 * _BEND, -_BEND, 0.0, 0.0, 0.0, -_BEND) * len(SIDES),
        ),
    }
}
"""Standing with bent knees: the soles are level, below the hips, at height zero."""


def humanoid() -> ModelBuilder:
    """Build the humanoid: bodies "world", "trunk" and, for each side, nine of leg and arm, such as "l_thigh"."""
    builder = ModelBuilder("humanoid").body("world")
    builder.body(
        "trunk", parent="world", joint=Free(), joint_name="base", mass=14.0, com=(0.0, 0.0, 0.2),
        inertia=(0.45, 0.4, 0.15),
    )  # fmt: skip
    small: dict[str, Any] = {"mass": 0.6, "inertia": (0.001, 0.001, 0.001)}
    foot: dict[str, Any] = {"mass": 0.8, "com": (0.03, 0.0, -0.04), "inertia": (0.001, 0.003, 0.003)}
    for side, left in SIDES.items():
        leg = (
            ("hip_yaw_link", "hip_yaw", _Z, (0.0, left * 0.09, -BELOW), small, 80.0),
            ("hip_roll_link", "hip_roll", _X, (0.0, 0.0, 0.0), small, 80.0),
            ("thigh", "hip_pitch", _Y, (0.0, 0.0, 0.0), rod(3.0, LEG, 0.05), 100.0),
            ("shin", "knee", _Y, (0.0, 0.0, -LEG), rod(2.0, LEG, 0.04), 120.0),
            ("ankle_link", "ankle_pitch", _Y, (0.0, 0.0, -LEG), {**small, "mass": 0.2}, 50.0),
            ("foot", "ankle_roll", _X, (0.0, 0.0, 0.0), foot, 50.0),
        )
        arm = (
            ("shoulder_link", "shoulder_pitch", _Y, (0.0, left * 0.18, 0.38), small, 25.0),
            ("upper_arm", "shoulder_roll", _X, (0.0, 0.0, 0.0), rod(1.2, ARM, 0.03), 25.0),
            ("forearm", "elbow", _Y, (0.0, 0.0, -ARM), rod(0.8, ARM, 0.03), 25.0),
        )
        for chain in (leg, arm):
            parent = "trunk"
            for name, joint, axis, at, link, effort in chain:
                builder.body(
                    f"{side}_{name}", parent=parent, joint=axis, joint_name=f"{side}_{joint}", at=at,
                    effort_limit=effort, armature=0.01, **link,
                )  # fmt: skip
                parent = f"{side}_{name}"
        for k, (x, y) in enumerate(((0.13, 0.04), (0.13, -0.04), (-0.07, 0.04), (-0.07, -0.04)), 1):
            builder.frame(f"{side}_sole_{k}", f"{side}_foot", at=(x, y, -SOLE))
    return builder
