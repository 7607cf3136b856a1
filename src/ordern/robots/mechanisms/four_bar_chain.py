"""A chain of N four-bar linkages, which passes through a position where it has N + 1 freedoms.

Problem A02 of the library of benchmark problems of IFToMM's committee for multibody dynamics (M. Gonzalez, D. Dopico,
U. Lugris and J. Cuadrado, "A benchmarking system for MBS simulation software", Multibody System Dynamics 16, 2006): N +
1 posts stand on the ground 1 m apart, and N beams join their upper ends. All 2 N + 1 bars are uniform, 1 m long, and
weigh 1 kg. They begin upright, and the end of the first post moves with 1 m/s along +x. Gravity is 9.81 m/s^2.

The mechanism has one freedom, but for the moments in which it lies flat: then each square may fold on its own.

At q = 0 all bars point along +x. Each beam hangs on the post before it, and its end closes a loop on the next post.
"""

from __future__ import annotations

import math

from ...joints import Closure
from ...model import ModelBuilder
from ..generated import at_least_one
from .parts import bar, flat, hinge, pin, sizes

__all__ = ["FAMILY_POSITIONS", "LENGTH", "MASS", "assembled_position", "four_bar_chain", "initial_velocity"]

LENGTH, MASS = 1.0, 1.0


def four_bar_chain(
    n: int, *, length: float = LENGTH, mass: float = MASS, closure: Closure | None = None
) -> ModelBuilder:
    """Bodies "post0" to "post<n>" on joints "foot0" ..., "beam1" to "beam<n>" on "hinge1" ...; loops "pin1" ..."""
    at_least_one(n, "n")
    sizes("four-bar-chain", length=length, mass=mass)
    end, link, builder = flat((length, 0.0)), bar(mass, length), ModelBuilder(f"four-bar-chain-{n}").body("ground")
    for k in range(n + 1):
        at = flat((k * length, 0.0))
        builder.body(f"post{k}", parent="ground", joint=hinge(), joint_name=f"foot{k}", at=at, **link)
    for k in range(1, n + 1):
        builder.body(f"beam{k}", parent=f"post{k - 1}", joint=hinge(), joint_name=f"hinge{k}", at=end, **link)
        builder.loop(f"pin{k}", closure or pin(), f"post{k}", f"beam{k}", at=end, child_at=end)
    return builder


def assembled_position(n: int, angle: float = math.pi / 2.0) -> tuple[float, ...]:
    """q = (foot0, hinge1, foot1, hinge2 ... foot<n>) for an angle of the posts; upright unless given."""
    return (*(x for _ in range(n) for x in (angle, -angle)), angle)


def initial_velocity(n: int, speed: float = 1.0, length: float = LENGTH) -> tuple[float, ...]:
    """v in the upright position, with the upper ends of the posts at this speed along +x."""
    return assembled_position(n, -speed / length)


FAMILY_POSITIONS = {"four-bar-chain-N": {"assembled": assembled_position}}
"""The named positions as functions of N, by name of the family."""
