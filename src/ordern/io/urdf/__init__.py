"""URDF, the Unified Robot Description Format; see http://wiki.ros.org/urdf/XML and docs/formats/urdf.md.

`grammar` lists the elements that are read, `link` and `joint` read what they are named after, `transmission` the
motors, `closing` the joints that close loops, and `build` puts it all together.

Differs: an error in a part that describes the motion is refused, and so is a name that looks misspelt. Parts that
describe only looks, or have no meaning here, are left out, and a note of the model lists them. A revolute or prismatic
joint without a <limit>, or without lower and upper, is unlimited. (The specification demands a <limit>, and takes a
missing bound as zero; files in the wild mean neither.) If one bound is given, the other is zero, as specified. Limits
may be infinite. Some extensions of other programs are read: `spherical` joints, <frame>, <loop_joint>, a `world`
without a <link>, rotor inertias, and masses from a <density>.
"""

from .build import build_urdf, read_urdf
from .grammar import unread
from .joint import AXIAL_JOINTS, OTHER_JOINTS

__all__ = ["AXIAL_JOINTS", "OTHER_JOINTS", "build_urdf", "read_urdf", "unread"]
