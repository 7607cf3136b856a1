"""A Delta robot: three arms with parallelograms for forearms, whose platform moves in space and never turns.

The design is R. Clavel's ("Delta, a fast robot with parallel geometry", Proc. 18th Int. Symp. on Industrial Robots,
1988); the numbers are ours: drives on a circle of 0.2 m, upper arms of 0.25 m, forearms of 0.5 m made of two thin rods
0.1 m apart, a platform of 0.06 m and 0.5 kg that hangs below.

Each rod is carried by its upper arm on a cross, and ends in a ball on the platform, which closes a loop: six loops. The
platform has a free joint, "pose". The drives' coordinates are the arms' angles below the horizontal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...errors import ModelError
from ...joints import Closure, Free, Revolute, Spherical, Universal
from ...model import ModelBuilder
from .parts import bar, disc, sizes

__all__ = ["assembled_position", "delta_robot", "inverse_kinematics"]

BASE_RADIUS, PLATFORM_RADIUS, UPPER, FOREARM, WIDTH = 0.2, 0.06, 0.25, 0.5, 0.1
PLATFORM, ARM, ROD = 0.5, 0.4, 0.05
"""Masses."""
_DOWN, _ASIDE = (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
_TURNS = (0.0, 2.0 * math.pi / 3.0, 4.0 * math.pi / 3.0)
_SIDES = (("left", 0.5), ("right", -0.5))


def delta_robot(
    *,
    base_radius: float = BASE_RADIUS,
    platform_radius: float = PLATFORM_RADIUS,
    upper: float = UPPER,
    forearm: float = FOREARM,
    width: float = WIDTH,
    platform: float = PLATFORM,
    arm: float = ARM,
    rod: float = ROD,
    closure: Closure | None = None,
) -> ModelBuilder:
    """Build joints "pose", "drive1", "left_elbow1", "right_elbow1", "drive2" ..., and loops "left_ball1" ..."""
    lengths = {"base_radius": base_radius, "platform_radius": platform_radius, "upper": upper, "forearm": forearm}
    sizes("delta-robot", **lengths, width=width, platform=platform, arm=arm, rod=rod)
    plate, cross = disc(platform, platform_radius), Universal(_DOWN, _ASIDE)
    link, thin = bar(arm, upper, thickness=0.03), bar(rod, forearm, thickness=0.01)
    builder = ModelBuilder("delta-robot", actuated=[f"drive{k}" for k in (1, 2, 3)]).body("ground")
    builder.body("platform", parent="ground", joint=Free(), joint_name="pose", **plate)
    for k, turn in enumerate(_TURNS, 1):
        c, s = math.cos(turn), math.sin(turn)
        shoulder = ((base_radius * c, base_radius * s, 0.0), (0.0, 0.0, turn))
        builder.body(f"arm{k}", parent="ground", joint=Revolute(_DOWN), joint_name=f"drive{k}", at=shoulder, **link)
        for side, share in _SIDES:
            name, elbow, ball, y = f"{side}_rod{k}", f"{side}_elbow{k}", f"{side}_ball{k}", share * width
            hand, end = (platform_radius * c - y * s, platform_radius * s + y * c, 0.0), (forearm, 0.0, 0.0)
            builder.body(name, parent=f"arm{k}", joint=cross, joint_name=elbow, at=(upper, y, 0.0), **thin)
            builder.loop(ball, closure or Spherical(), "platform", name, at=hand, child_at=end)
    return builder


def inverse_kinematics(
    position: Sequence[float],
    *,
    base_radius: float = BASE_RADIUS,
    platform_radius: float = PLATFORM_RADIUS,
    upper: float = UPPER,
    forearm: float = FOREARM,
) -> tuple[float, ...]:
    """Return q with the platform at this position and the elbows outward: the pose, and five angles of each arm."""
    x, y, z = (float(p) for p in position)
    q = [1.0, 0.0, 0.0, 0.0, x, y, z]
    for turn in _TURNS:
        c, s = math.cos(turn), math.sin(turn)
        t = np.array([c * x + s * y + platform_radius - base_radius, c * y - s * x, z])
        reach, wanted = math.hypot(t[0], t[2]), (float(t @ t) + upper**2 - forearm**2) / (2.0 * upper)
        if not abs(wanted) <= reach:
            raise ModelError(f"delta-robot cannot reach ({x:.6g}, {y:.6g}, {z:.6g})")
        drive = math.atan2(-t[2], t[0]) - math.acos(wanted / reach)
        cd, sd = math.cos(drive), math.sin(drive)
        along = (t - upper * np.array([cd, 0.0, -sd])) / forearm
        ax, ay, az = cd * along[0] - sd * along[2], along[1], sd * along[0] + cd * along[2]
        angles = (math.atan2(-az, ax), math.asin(ay))
        q += [drive, *angles, *angles]
    return tuple(q)


def assembled_position() -> tuple[float, ...]:
    """Return q with the platform 0.5 m below the drives, in the middle."""
    return inverse_kinematics((0.0, 0.0, -0.5))
