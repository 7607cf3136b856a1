"""Bricard's mechanism: six hinges in a ring in space, which should be rigid, and moves.

Problem A04 of IFToMM's library of benchmark problems (see `four_bar_chain`): five rods of 1 m and 1 kg with a square
section of 0.1 m, and the ground as the sixth; gravity along -y. It begins on six edges of a cube, each at right angles
to the next; the hinges there are at right angles to both of their rods. The numbering, and that the first rod points
along x, are ours.

Six bodies and six hinges leave 6 (6 - 1) - 5 * 6 = 0 freedoms by the usual count, but hinges in such positions leave
one. Cut at the sixth hinge, five equations act on five coordinates, and have the rank four.

At q = 0 it is on the cube, and assembled. The ring is symmetric: its hinges turn by q1 and q2 in turn, with

    sin q1 + sin q2 + sin q1 sin q2 = 0,

the threefold-symmetric Bricard linkage with twists of a right angle (Y. Chen, Z. You and T. Tarnai,
"Threefold-symmetric Bricard linkages for deployable structures", Int. J. Solids and Structures 42, 2005: cos a + cos b
+ cos a cos b = 0).
"""

from __future__ import annotations

import math

from ...errors import ModelError
from ...joints import Closure, Revolute
from ...model import ModelBuilder
from .parts import block, sizes

__all__ = ["LENGTH", "MASS", "SECTION", "assembled_position", "bricard"]

LENGTH, MASS, SECTION = 1.0, 1.0, 0.1
_X, _Y, _Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
_EDGES = (_X, (0.0, -1.0, 0.0), _Z, (-1.0, 0.0, 0.0), _Y)
"""The directions of the rods, in order."""
_AXES = (_Y, _Z, _X, _Y, _Z)
"""The axes of the hinges that carry them."""


def bricard(
    *, length: float = LENGTH, mass: float = MASS, section: float = SECTION, closure: Closure | None = None
) -> ModelBuilder:
    """Build bodies "rod1" to "rod5" on joints "hinge1" to "hinge5"; the loop "hinge6"; one freedom."""
    sizes("bricard", length=length, mass=mass, section=section)
    builder = ModelBuilder("bricard", gravity=(0.0, -9.81, 0.0)).body("ground")
    parent, at = "ground", (0.0, 0.0, 0.0)
    for k, (edge, axis) in enumerate(zip(_EDGES, _AXES, strict=True), 1):
        x, y, z = (length * e for e in edge)
        rod = block(mass, [length if e else section for e in edge], com=(x / 2.0, y / 2.0, z / 2.0))
        builder.body(f"rod{k}", parent=parent, joint=Revolute(axis), joint_name=f"hinge{k}", at=at, **rod)
        parent, at = f"rod{k}", (x, y, z)
    return builder.loop("hinge6", closure or Revolute(_X), "ground", "rod5", at=(0.0, 0.0, length), child_at=at)


def assembled_position(drive: float = 0.0) -> tuple[float, float, float, float, float]:
    """Return q for an angle of the first hinge, which is between -30 and 210 degrees."""
    s = math.sin(drive)
    if not s >= -0.5 - 1e-15:
        raise ModelError(
            f"bricard cannot be assembled with its first hinge at {drive:.6g} rad: -pi/6 to 7 pi/6 is its range"
        )
    other = math.asin(min(-s / (1.0 + s), 1.0))
    return (drive, other, drive, other, drive)
