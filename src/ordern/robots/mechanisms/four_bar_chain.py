"""A chain of N four-bar linkages, which passes through a position where it has N + 1 freedoms.

Problem A02 of the library of benchmark problems of IFToMM's committee for multibody dynamics (M. Gonzalez, D. Dopico,
U. Lugris and J. Cuadrado, "A benchmarking system for MBS simulation software", Multibody System Dynamics 16, 2006): N +
1 posts stand on the ground 1 m apart, and N beams join their upper ends. All 2 N + 1 bars are uniform, 1 m long, and
weigh 1 kg. They begin upright, and the end of the first post moves with 1 m/s along +x. Gravity is 9.81 m/s^2.

The mechanism has one freedom, but for the moments in which it lies flat: then each square may fold on its own.

At q = 0 all bars point along +x. The post before it carries each beam, whose end closes a loop on the next post.
"""

from __future__ import annotations

import math

from ...joints import Closure
from ...model import ModelBuilder
from ..generated import at_least_one
from .parts import linkage, sizes

__all__ = ["LENGTH", "MASS", "assembled_position", "four_bar_chain", "initial_velocity"]

LENGTH, MASS = 1.0, 1.0


def four_bar_chain(
    n: int, *, length: float = LENGTH, mass: float = MASS, closure: Closure | None = None
) -> ModelBuilder:
    """Build "post0" to "post<n>" on joints "foot0" ..., "beam1" to "beam<n>" on "hinge1" ..., and loops "pin1" ..."""
    at_least_one(n, "n")
    sizes("four-bar-chain", length=length, mass=mass)
    posts = [(f"post{k}", f"foot{k}", "ground", k * length, length) for k in range(n + 1)]
    beams = [(f"beam{k}", f"hinge{k}", f"post{k - 1}", length, length) for k in range(1, n + 1)]
    pins = [(f"pin{k}", f"post{k}", length, f"beam{k}", length) for k in range(1, n + 1)]
    return linkage(f"four-bar-chain-{n}", posts + beams, pins, density=mass / length, closure=closure)


def assembled_position(n: int, angle: float = math.pi / 2.0) -> tuple[float, ...]:
    """Return q = (foot0, hinge1, foot1, hinge2 ... foot<n>) for an angle of the posts; upright unless given."""
    return (*(x for _ in range(n) for x in (angle, -angle)), angle)


def initial_velocity(n: int, speed: float = 1.0, length: float = LENGTH) -> tuple[float, ...]:
    """Return v in the upright position, with the upper ends of the posts at this speed along +x."""
    return assembled_position(n, -speed / length)
