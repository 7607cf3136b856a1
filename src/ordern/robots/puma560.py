"""The Unimation PUMA 560, in the two forms in which the literature uses it.

"puma560": P. Corke and B. Armstrong-Helouvry, "A search for consensus among model parameters reported for the PUMA 560
robot", Proc. IEEE Int. Conf. Robotics and Automation, San Diego, 1994, pp. 1608-1613, as in Corke's Robotics Toolbox:
standard Denavit-Hartenberg frames, limits of the joints, and motors. A motor of inertia Jm behind a gear G adds G^2 Jm
to the inertia of its joint (`armature`). The friction of the Toolbox's model is left out.

"puma560-akb": B. Armstrong, O. Khatib and J. Burdick, "The explicit dynamic model and inertial parameters of the
PUMA 560 arm", Proc. IEEE Int. Conf. Robotics and Automation, San Francisco, 1986, pp. 510-518: modified
Denavit-Hartenberg frames, whose origin is at the height of the shoulder, and the inertias of the drives at the joints.
At its zero the upper arm is stretched forward and the forearm is up. Iyy and Izz of link 3 are .0125 and .086 kg m^2;
some copies have .066 for the latter.

The two do not agree in everything: the forearm is 431.8 mm long in one and 433.1 in the other, and the mass centre of
link 4 is 19 mm beyond the centre of the wrist in one and 19 mm before it in the other. Each is as its source has it.

Of link 1 both sources know only the inertia about its axis, because only that matters while the base stands still; its
mass is given as 0, and its other inertias too, which no body can have. Do not use these models on a moving base. The
inertias of link 3, which were measured one by one, exceed the limit as well: .086 > .066 + .0125 kg m^2.
"""

from __future__ import annotations

import math

from ..io.dh import dh_builder
from ..model import ModelBuilder

__all__ = ["POSITIONS", "puma560", "puma560_akb"]

_COLUMNS = ("a", "alpha", "d", "mass", "com", "inertia", "armature")
_LINKS = ("shoulder_link", "upper_arm", "forearm", "wrist", "hand", "flange")
_JOINTS = ("waist", "shoulder", "elbow", "wrist_roll", "wrist_pitch", "flange_roll")
_LIMITS = ((-160, 160), (-45, 225), (-225, 45), (-110, 170), (-100, 100), (-266, 266))
# fmt: off
_STANDARD = (
    (0,      90, .672,   0,    (0, 0, 0),               (0, .35, 0),              62.6111**2 * 200e-6),
    (.4318,   0, 0,      17.4, (-.3638, .006, .2275),   (.13, .524, .539),        107.815**2 * 200e-6),
    (.0203, -90, .15005, 4.8,  (-.0203, -.0141, .07),   (.066, .086, .0125),      53.7063**2 * 200e-6),
    (0,      90, .4318,  .82,  (0, .019, 0),            (.0018, .0013, .0018),    76.0364**2 * 33e-6),
    (0,     -90, 0,      .34,  (0, 0, 0),               (.0003, .0004, .0003),    71.923**2 * 33e-6),
    (0,       0, 0,      .09,  (0, 0, .032),            (.00015, .00015, .00004), 76.686**2 * 33e-6),
)
_MODIFIED = (
    (0,        0, 0,      0,    (0, 0, 0),          (0, 0, .35),              1.14),
    (0,      -90, .2435,  17.4, (.068, .006, -.016), (.13, .524, .539),       4.71),
    (.4318,    0, -.0934, 4.8,  (0, -.07, .014),    (.066, .0125, .086),      .83),
    (-.0203,  90, .4331,  .82,  (0, 0, -.019),      (.0018, .0018, .0013),    .2),
    (0,      -90, 0,      .34,  (0, 0, 0),          (.0003, .0003, .0004),    .179),
    (0,       90, 0,      .09,  (0, 0, .032),       (.00015, .00015, .00004), .193),
)
# fmt: on

_HALF = math.pi / 2
POSITIONS = {
    "puma560": {
        "zero": (0.0,) * 6,
        "ready": (0.0, _HALF, -_HALF, 0.0, 0.0, 0.0),
        "stretch": (0.0, 0.0, -_HALF, 0.0, 0.0, 0.0),
        "nominal": (0.0, math.pi / 4, math.pi, 0.0, math.pi / 4, 0.0),
    },
    "puma560-akb": {
        "zero": (0.0,) * 6,
        "ready": (0.0, -_HALF, _HALF, 0.0, 0.0, 0.0),
        "stretch": (0.0, 0.0, _HALF, 0.0, 0.0, 0.0),
    },
}
"""The positions qz, qr, qs and qn of the Robotics Toolbox."""

_LINK_1 = "link 1 has no mass, and an inertia about its axis only: more is not known, and a fixed base needs no more"
_LINK_3 = "the inertias of link 3 are as measured; one of them is above the sum of the others, which no body can have"


def puma560() -> ModelBuilder:
    """Build the PUMA 560 of Corke and Armstrong-Helouvry: links "shoulder_link" to "flange", in the table's frames."""
    rows = [
        dict(zip(_COLUMNS, row, strict=True)) | {"name": link, "joint_name": joint, "lower": lower, "upper": upper}
        for row, link, joint, (lower, upper) in zip(_STANDARD, _LINKS, _JOINTS, _LIMITS, strict=True)
    ]
    return dh_builder(rows, convention="standard", degrees=True, name="puma560").note(_LINK_1).note(_LINK_3)


def puma560_akb() -> ModelBuilder:
    """Build the PUMA 560 of Armstrong, Khatib and Burdick: links "link1" to "link6", in the frames of the paper."""
    builder = dh_builder(_MODIFIED, columns=_COLUMNS, convention="modified", degrees=True, name="puma560-akb")
    return builder.note(_LINK_1).note(_LINK_3)
