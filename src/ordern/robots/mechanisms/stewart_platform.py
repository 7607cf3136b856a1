"""A Stewart platform (Gough's hexapod): six legs whose lengths place a platform in space.

Our own numbers, for a small motion simulator: anchors in pairs, on a circle of 0.5 m on the ground and of 0.3 m on
the platform; the platform is a disc of 10 kg; each leg has a cylinder of 2 kg on a cross and a rod of 1 kg, which the
drive moves, with a ball at its end (UPS).

The platform has a free joint, "pose", whose coordinates are its pose (w, x, y, z of a quaternion, then its position);
the legs stand on the ground, and their balls close six loops. The coordinate of a leg's drive is its length.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...errors import ModelError
from ...joints import Closure, Free, Prismatic, Spherical, Universal
from ...model import ModelBuilder
from ...rotations import matrix_from_quaternion
from .parts import bar, disc, sizes

__all__ = ["anchors", "assembled_position", "inverse_kinematics", "stewart_platform"]

Point = tuple[float, float, float]

BASE_RADIUS, PLATFORM_RADIUS, HEIGHT = 0.5, 0.3, 0.6
BASE_SPREAD, PLATFORM_SPREAD = math.radians(50.0), math.radians(10.0)
"""Half the angles between the two anchors of legs 1 and 2, seen from the middle; so for 3 and 4, 5 and 6."""
PLATFORM, CYLINDER, ROD = 10.0, 2.0, 1.0
"""Masses."""
_HALF, _THICK = 0.4, 0.02
"""The length of cylinders and rods; the thickness of the platform."""
_THIRD = 2.0 * math.pi / 3.0


def stewart_platform(
    *,
    base_radius: float = BASE_RADIUS,
    platform_radius: float = PLATFORM_RADIUS,
    platform: float = PLATFORM,
    cylinder: float = CYLINDER,
    rod: float = ROD,
    closure: Closure | None = None,
) -> ModelBuilder:
    """Build joints "pose", "leg1_cross", "leg1_drive" to "leg6_drive", loops "leg1_ball" to "leg6_ball"."""
    given = {"platform": platform, "cylinder": cylinder, "rod": rod}
    sizes("stewart-platform", base_radius=base_radius, platform_radius=platform_radius, **given)
    tube, piston = bar(cylinder, _HALF, "z", 0.05), bar(rod, _HALF, "-z", 0.03)
    plate, cross = disc(platform, platform_radius, _THICK), Universal((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    builder = ModelBuilder("stewart-platform", actuated=[f"leg{k}_drive" for k in range(1, 7)]).body("ground")
    builder.body("platform", parent="ground", joint=Free(), joint_name="pose", **plate)
    feet, hands = anchors(base_radius=base_radius, platform_radius=platform_radius)
    for k, (foot, hand) in enumerate(zip(feet, hands, strict=True), 1):
        lower, upper, drive = f"leg{k}_cylinder", f"leg{k}_rod", f"leg{k}_drive"
        builder.body(lower, parent="ground", joint=cross, joint_name=f"leg{k}_cross", at=foot, **tube)
        builder.body(upper, parent=lower, joint=Prismatic(), joint_name=drive, **piston)
        builder.loop(f"leg{k}_ball", closure or Spherical(), "platform", upper, at=hand)
    return builder


def anchors(
    *, base_radius: float = BASE_RADIUS, platform_radius: float = PLATFORM_RADIUS
) -> tuple[list[Point], list[Point]]:
    """Return the ends of the legs: on the ground, and on the platform in its own frame."""
    return _pairs(base_radius, BASE_SPREAD), _pairs(platform_radius, PLATFORM_SPREAD)


def _pairs(radius: float, spread: float) -> list[Point]:
    """Return three pairs of points on a circle, each point at the angle `spread` from the middle of its pair."""
    turns = [middle + side * spread for middle in (0.0, _THIRD, 2.0 * _THIRD) for side in (-1.0, 1.0)]
    return [(radius * math.cos(turn), radius * math.sin(turn), 0.0) for turn in turns]


def inverse_kinematics(
    position: Sequence[float],
    quaternion: Sequence[float] = (1.0, 0.0, 0.0, 0.0),
    *,
    base_radius: float = BASE_RADIUS,
    platform_radius: float = PLATFORM_RADIUS,
) -> tuple[float, ...]:
    """Return q for a pose of the platform above the ground: the pose, then two angles and the length of each leg."""
    h, p = np.array(quaternion, float) / np.linalg.norm(quaternion), np.array(position, float)
    R, q = matrix_from_quaternion(h), [*h.tolist(), *p.tolist()]
    feet, hands = anchors(base_radius=base_radius, platform_radius=platform_radius)
    for foot, hand in zip(feet, hands, strict=True):
        leg = R @ hand + p - foot
        length = float(np.linalg.norm(leg))
        if not leg[2] > 0.0:
            raise ModelError("stewart-platform cannot be assembled there: a leg would not point up")
        q += [math.atan2(-leg[1], leg[2]), math.asin(leg[0] / length), length]
    return tuple(q)


def assembled_position() -> tuple[float, ...]:
    """Return q with the platform level, 0.6 m above the ground."""
    return inverse_kinematics((0.0, 0.0, HEIGHT))
