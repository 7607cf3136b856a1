"""Joint types, one class each. A new type is a new class; nothing else needs to know of it."""

from .base import Joint
from .fixed import Fixed
from .free import Free
from .prismatic import Prismatic
from .revolute import Continuous, Revolute
from .spherical import Spherical

__all__ = ["Continuous", "Fixed", "Free", "Joint", "Prismatic", "Revolute", "Spherical"]
