"""The KUKA KR5 arc, a welding robot with six axes and 5 kg of payload.

The numbers are those of the KUKA KR5 in ReDySim, the program of S. V. Shah, S. K. Saha and J. K. Dutt (Dynamics of
Tree-Type Robotic Systems, Springer, 2013), in its own convention: modified Denavit-Hartenberg. The lengths are those
of the manufacturer's data sheet, as is the .115 m from the wrist to the flange. How masses, mass centres and inertias
were found is not said there; since the links together weigh 39.9 kg and the robot 127 kg, most drives and gears cannot
be in them. Products of inertia are zero there, as here. Nothing was estimated by us.

Limits are left out: the data sheet counts its angles from another zero and partly the other way round.
"""

from __future__ import annotations

from ..io.dh import dh_builder
from ..model import ModelBuilder, Placement

__all__ = ["POSITIONS", "kuka_kr5"]

_COLUMNS = ("alpha", "a", "b", "mass", "com", "inertia")
# fmt: off
_TABLE = (
    (0,    0,  .4, 16.038, (.104667, .005077, .059035),   (.176938765, .266532371, .262222375)),
    (90, .18,   0,  7.988, (.267012, 0, 0),               (.271640468, .276878849, .021894253)),
    (0,   .6,   0, 12.973, (.087677, -.034263, .007779),  (.388988085, .376583684, .104146290)),
    (90, .12, .62,  2.051, (-.000033, .007634, -.109372), (.004767354, .010122217, .012108860)),
    (-90,  0,   0,   .811, (0, .032618, -.009789),        (.000760688, .001783961, .001801078)),
    (90,   0,   0,   .008, (0, 0, .111885),               (3.113e-6, 1.512e-6, 1.652e-6)),
)
# fmt: on

POSITIONS = {"kuka-kr5": {"initial": (0.0,) * 6, "final": (1.0471975511965976,) * 6}}
"""The start and end of ReDySim's trajectory."""


def kuka_kr5() -> ModelBuilder:
    """Build the KUKA KR5 arc: bodies "link1" to "link6", and a frame "tool" at the flange, .115 m along its axis."""
    flange = Placement(position=(0.0, 0.0, 0.115))
    return dh_builder(_TABLE, columns=_COLUMNS, convention="modified", degrees=True, name="kuka-kr5", tool=flange)
