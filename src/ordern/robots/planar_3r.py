"""The planar arm with three revolute joints of Saha (1999), section 6.1.

S. K. Saha, "Dynamics of serial multibody systems using the decoupled natural orthogonal complement matrices", ASME
Journal of Applied Mechanics 66 (1999) 986-996. The arm moves in the plane X-Y, and gravity is along -Y. The paper gives
no dimensions. Those here are of the three-link robot in ReDySim, the program of S. V. Shah, S. K. Saha and J. K. Dutt
(Dynamics of Tree-Type Robotic Systems, Springer, 2013), from the same group: lengths .3, .25, .22 m; masses .5, .4,
.3 kg; mass centres in the middle; Iyy = Izz = m L^2 / 12, and Ixx = m t^2 / 12 with t = 10 mm. Its table is "modified".
"""

from __future__ import annotations

from ..io.dh import DHRow, dh_builder
from ..model import ModelBuilder, Placement

__all__ = ["LENGTHS", "MASSES", "POSITIONS", "planar_3r"]

LENGTHS = (0.3, 0.25, 0.22)
MASSES = (0.5, 0.4, 0.3)
_THICKNESS = 0.01

POSITIONS = {"planar-3r": {"initial": (0.0, 0.0, 0.0)}}
"""The start of the free fall of section 6.1, stretched along X."""


def planar_3r() -> ModelBuilder:
    """Build the planar arm: bodies "link1" to "link3" with frames at their joints, and a frame "tool" at the tip."""
    rows = []
    for k, (l, m) in enumerate(zip(LENGTHS, MASSES, strict=True)):
        thick, long = m * _THICKNESS**2 / 12.0, m * l**2 / 12.0
        rows.append(DHRow(a=LENGTHS[k - 1] if k else 0.0, mass=m, com=(l / 2.0, 0.0, 0.0), inertia=(thick, long, long)))
    tip = Placement(position=(LENGTHS[-1], 0.0, 0.0))
    return dh_builder(rows, convention="modified", name="planar-3r", gravity=(0.0, -9.81, 0.0), tool=tip)
