"""The Stanford arm of Saha (1999), Table 3 and section 6.2.

S. K. Saha, "Dynamics of serial multibody systems using the decoupled natural orthogonal complement matrices", ASME
Journal of Applied Mechanics 66 (1999) 986-996; the trajectory of its equation (39) is from X. Cyril's thesis (McGill,
1988). All numbers are those of Table 3, in its own convention: standard Denavit-Hartenberg, frame i+1 on link i.

Readings, where the table leaves a choice:

* (r_x, r_y, r_z) is the vector from the mass centre C_i to O_{i+1}, in frame i+1 (item 4 of section 5.1), so the mass
  centre is at -r. Link 1, whose mass centre is then in the middle of b_1 = .2 m, confirms it; the centre of link 4 lies
  .1 m beyond O_5. With the other sign, tau_2 at the start of the trajectory is 11.38 N m instead of 13.34.
* theta_2(90) and b_3(0) are initial values, not offsets: q = (0, pi/2, 0, 0, 0, 0) is where motions begin.
* The inertias are about the mass centres. Those of links 1 and 6 are at the limit of what a body can have.
* Gravity, of which nothing is said, is 9.81 m/s^2 along -Z_1.
"""

from __future__ import annotations

import math

from ..io.dh import dh_builder, initial_position
from ..model import ModelBuilder

__all__ = ["POSITIONS", "TABLE", "stanford_arm"]

_COLUMNS = ("type", "a", "b", "alpha", "theta", "initial", "mass", "r", "inertia")
# fmt: off
TABLE = tuple(dict(zip(_COLUMNS, row, strict=True)) for row in (
    ("R", 0, .2, -90, 0,  0,  9, (0, -.1, 0), (.01,   .02,   .01)),
    ("R", 0, .1, -90, 0, 90,  6, (0,   0, 0), (.05,   .06,   .01)),
    ("P", 0,  0,   0, 0,  0,  4, (0,   0, 0), (.4,    .4,    .01)),
    ("R", 0, .6,  90, 0,  0,  1, (0, -.1, 0), (.001,  .001,  .0005)),
    ("R", 0,  0, -90, 0,  0, .6, (0,   0, 0), (.0005, .0005, .0002)),
    ("R", 0,  0,   0, 0,  0, .5, (0,   0, 0), (.003,  .001,  .002)),
))
# fmt: on
"""Table 3: metres, degrees, kilograms."""

POSITIONS = {
    "stanford-arm": {
        "initial": tuple(initial_position(TABLE, degrees=True).tolist()),
        "final": (math.pi / 3, math.pi / 3, 0.1, math.pi / 3, math.pi / 3, math.pi / 3),
    }
}
"""The start and end of the trajectory (39)."""


def stanford_arm() -> ModelBuilder:
    """Build the Stanford arm: bodies "link1" to "link6" with frames O_2 to O_7, and joints "joint1" to "joint6"."""
    return dh_builder(TABLE, convention="standard", degrees=True, name="stanford-arm")
