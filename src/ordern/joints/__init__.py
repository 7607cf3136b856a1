"""Joint types, one class each. A new type is a new class; no other file changes."""

from .base import Joint, JointType
from .closure import Closure, aligned, row_count, unturned
from .closures import Distance, Driven, KnifeEdge, PointOnLine, PointOnPlane, RollingBall
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
    "Closure",
    "Composite",
    "Continuous",
    "Cylindrical",
    "Distance",
    "Driven",
    "Fixed",
    "Free",
    "Helical",
    "Joint",
    "JointType",
    "KnifeEdge",
    "Placement",
    "Planar",
    "PointOnLine",
    "PointOnPlane",
    "Prismatic",
    "Revolute",
    "RollingBall",
    "RollingDisc",
    "Spherical",
    "Universal",
    "aligned",
    "joint_placement",
    "placement",
    "row_count",
    "unturned",
]
