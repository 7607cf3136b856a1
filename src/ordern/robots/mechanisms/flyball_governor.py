"""Watt's flyball governor, which is stiff: the rods that lift its slider are springs, and hard ones.

Problem A05 of IFToMM's library of benchmark problems (see `four_bar_chain`). An upright shaft of 1 m turns freely, and
begins with 2 pi rad/s. Two arms of 1 m hang on hinges at its top, 30 degrees below the horizontal, each with a ball of
5 kg, a point mass, at its end. Couplers, which are springs of 8e5 N/m with dampers of 4e4 N s/m, 0.5 m long at rest,
lead from the middle of each arm to a slider on the shaft, a cube of 0.1 m, at half its height. Shaft and arms are bars
of 10 mm by 10 mm; the density is 3000 kg/m^3.

Differs: in the benchmark couplers have no mass. Ours telescope, and both halves have the mass of a bar of that section,
0.075 kg, since what moves in a tree must have some: so it is a mechanism with two loops, and still a stiff one. With
`rigid=True`, couplers are bars of fixed length.

The arms' coordinates are their angles below the horizontal, the slider's is its height, the pistons' the couplers'
lengths. Springs and dampers belong to the joints; `robot.passive_force` returns their forces.
"""

from __future__ import annotations

import math
from typing import Any

from ...joints import Closure, Prismatic, Revolute
from ...model import ModelBuilder
from .parts import block, leg, pin, sizes

__all__ = ["assembled_position", "flyball_governor", "initial_velocity"]

HEIGHT, ARM, COUPLER, SECTION, SLIDER = 1.0, 1.0, 0.5, 0.01, 0.1
DENSITY, BALL = 3000.0, 5.0
STIFFNESS, DAMPING = 8e5, 4e4
SPIN = 2.0 * math.pi
_DOWN = (0.0, 1.0, 0.0)
"""Turning about it leads from x, outward, to -z."""
_SIDES = (("right", 0.0), ("left", math.pi))


def flyball_governor(
    *,
    height: float = HEIGHT,
    arm: float = ARM,
    coupler: float = COUPLER,
    section: float = SECTION,
    slider: float = SLIDER,
    density: float = DENSITY,
    ball: float = BALL,
    stiffness: float = STIFFNESS,
    damping: float = DAMPING,
    rigid: bool = False,
    closure: Closure | None = None,
) -> ModelBuilder:
    """Build joints "spin", "lift"; "right_arm_joint", "right_coupler_joint", "right_piston_joint", and so on the left.

    The loops are "right_pin" and "left_pin". There are four freedoms: spin, lift, and the couplers' lengths; two if
    these are rigid.
    """
    lengths = {"height": height, "arm": arm, "coupler": coupler, "section": section, "slider": slider}
    sizes("flyball-governor", **lengths, density=density, ball=ball, stiffness=stiffness, damping=damping)
    area = density * section**2
    builder = ModelBuilder("flyball-governor").body("ground")
    shaft = block(area * height, (section, section, height), com=(0.0, 0.0, height / 2.0))
    builder.body("shaft", parent="ground", joint=Revolute(), joint_name="spin", **shaft)
    cube = block(density * slider**3, (slider,) * 3)
    builder.body("slider", parent="shaft", joint=Prismatic(), joint_name="lift", **cube)
    spring: dict[str, Any] = {"stiffness": stiffness, "damping": damping, "rest": coupler}
    for side, turn in _SIDES:
        top = ((0.0, 0.0, height), (0.0, 0.0, turn))
        loaded = _with_ball(area * arm, arm, section, ball)
        builder.body(f"{side}_arm", parent="shaft", joint=Revolute(_DOWN), at=top, **loaded)
        half: dict[str, Any] = {"parent": f"{side}_arm", "joint": Revolute(_DOWN), "at": (arm / 2.0, 0.0, 0.0)}
        last, end = f"{side}_coupler", (coupler, 0.0, 0.0)
        if rigid:
            builder.body(last, **half, **_bar(area * coupler, coupler, section, coupler / 2.0))
        else:
            tube, piston = (_bar(area * coupler / 2.0, coupler / 2.0, section, x * coupler / 4.0) for x in (1.0, -1.0))
            builder.body(last, **half, **tube)
            last, end = f"{side}_piston", (0.0, 0.0, 0.0)
            builder.body(last, parent=f"{side}_coupler", joint=Prismatic((1.0, 0.0, 0.0)), **spring, **piston)
        here = ((0.0, 0.0, 0.0), (0.0, 0.0, turn))
        builder.loop(f"{side}_pin", closure or pin(), "slider", last, at=here, child_at=end)
        builder.frame(f"{side}_ball", f"{side}_arm", at=(arm, 0.0, 0.0))
    return builder


def assembled_position(
    angle: float = math.pi / 6.0,
    *,
    height: float = HEIGHT,
    arm: float = ARM,
    coupler: float = COUPLER,
    rigid: bool = False,
) -> tuple[float, ...]:
    """Return q with both arms at an angle below the horizontal, and the couplers at their rest lengths."""
    x, z = arm / 2.0 * math.cos(angle), height - arm / 2.0 * math.sin(angle)
    down = leg("flyball-governor", "the middle of its arms and the shaft", coupler, x)
    side = (angle, math.atan2(down, -x) - angle) + (() if rigid else (coupler,))
    return (0.0, z - down, *side, *side)


def initial_velocity(spin: float = SPIN, *, rigid: bool = False) -> tuple[float, ...]:
    """Return v with the shaft turning, and all else at rest."""
    return (spin, *(0.0,) * (5 if rigid else 7))


def _bar(mass: float, length: float, section: float, middle: float) -> dict[str, Any]:
    """Return a square bar along x, with its mass centre at `middle`."""
    return block(mass, (length, section, section), com=(middle, 0.0, 0.0))


def _with_ball(mass: float, length: float, section: float, ball: float) -> dict[str, Any]:
    """Return a bar along x from the origin, with a point mass at its end."""
    com = (mass * length / 2.0 + ball * length) / (mass + ball)
    more = mass * (com - length / 2.0) ** 2 + ball * (length - com) ** 2
    along, across, _ = _bar(mass, length, section, com)["inertia"]
    return {"mass": mass + ball, "com": (com, 0.0, 0.0), "inertia": (along, across + more, across + more)}
