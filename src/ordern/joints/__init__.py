"""Joint types, one class each. A new type is a new class; nothing else needs to know of it."""

from .base import Joint
from .composite import Composite
from .cylindrical import Cylindrical
from .fixed import Fixed
from .free import Free
from .helical import Helical
from .placement import Placement, joint_placement, placement
from .planar import Planar
from .prismatic import Prismatic
from .revolute import Continuous, Revolute
from .rolling import RollingDisc
from .spherical import Spherical
from .universal import Universal

__all__ = [
    "Composite",
    "Continuous",
    "Cylindrical",
    "Fixed",
    "Free",
    "Helical",
    "Joint",
    "Placement",
    "Planar",
    "Prismatic",
    "Revolute",
    "RollingDisc",
    "Spherical",
    "Universal",
    "joint_placement",
    "placement",
]
