"""An ant: a ball with four legs and eight motors, in the manner of MuJoCo's; the numbers are round ones of ours.

A ball of 0.4 kg on a free joint, "base", and legs 1 to 4 at its corners. Each leg has two hinges: "hip_1" about z and
"ankle_1", which lifts the shin. Capsules are collision shapes of thighs and shins, and the ball is one; the frames
"foot_1" to "foot_4" are the ends of the shins. The ground is not part of the robot.
"""

from __future__ import annotations

import math
from typing import Any

from ..joints import Free, Placement, Revolute
from ..model import ModelBuilder
from ..rotations import about

__all__ = ["POSITIONS", "RADIUS", "ant"]

RADIUS = 0.08
"""Of legs and feet."""
_BALL, _THIGH, _SHIN, _LEGS = 0.25, 0.3, 0.5, 4
_DOWN = 1.0
_HEIGHT = _SHIN * math.sin(_DOWN) + RADIUS

POSITIONS = {"ant": {"stand": (1.0, *(0.0,) * 5, _HEIGHT, *(0.0, _DOWN) * _LEGS)}}
"""Standing with shins that point down and outward: the feet touch the ground at height zero."""


def _link(length: float, mass: float) -> dict[str, Any]:
    """Return mass, mass centre and inertia of a rod from the origin along x."""
    across = mass * (3.0 * RADIUS**2 + length**2) / 12.0
    inertia = (mass * RADIUS**2 / 2.0, across, across)
    return {"mass": mass, "com": (length / 2.0, 0.0, 0.0), "inertia": inertia}


def ant() -> ModelBuilder:
    """Build the ant: bodies "world", "ball" and, for each leg, "thigh_1" and "shin_1"."""
    builder = ModelBuilder("ant").body("world")
    builder.body("ball", parent="world", joint=Free(), joint_name="base", mass=0.4, inertia=(0.01, 0.01, 0.01))
    builder.shape("ball", "sphere", (_BALL,))
    builder.shape("ball", "sphere", (_BALL,), role="collision")
    motor: dict[str, Any] = {"armature": 0.02, "damping": 0.1, "effort_limit": 2.5}
    for k in range(1, _LEGS + 1):
        angle = math.pi / 4.0 + (k - 1) * math.pi / 2.0
        turn = about((0.0, 0.0, 1.0), angle)
        out = turn @ (0.2, 0.0, 0.0)
        builder.body(
            f"thigh_{k}", parent="ball", joint=Revolute((0.0, 0.0, 1.0)), joint_name=f"hip_{k}",
            at=Placement.of(turn, out), lower=-0.6, upper=0.6, **_link(_THIGH, 0.04), **motor,
        )  # fmt: skip
        builder.body(
            f"shin_{k}", parent=f"thigh_{k}", joint=Revolute((0.0, 1.0, 0.0)), joint_name=f"ankle_{k}",
            at=(_THIGH, 0.0, 0.0), lower=0.4, upper=1.6, **_link(_SHIN, 0.07), **motor,
        )  # fmt: skip
        for body, length in ((f"thigh_{k}", _THIGH), (f"shin_{k}", _SHIN)):
            along = Placement.of(about((0.0, 1.0, 0.0), math.pi / 2.0), (length / 2.0, 0.0, 0.0))
            for role in ("visual", "collision"):
                builder.shape(body, "capsule", (RADIUS, length), at=along, role=role)
        builder.frame(f"foot_{k}", f"shin_{k}", at=(_SHIN, 0.0, 0.0))
    return builder
