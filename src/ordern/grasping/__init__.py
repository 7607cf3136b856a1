"""Several arms that hold one object: contacts, forward dynamics, forces, simulation."""

from __future__ import annotations

from .build import grasp
from .contacts import Contact, Hinge, Parted, Point, Rigid, SoftFinger, Surface
from .distribution import Distribution
from .mechanism import Grasp
from .monitor import Breach
from .motion import GraspMotion
from .omega import Omega
from .state import GraspState

__all__ = [
    "Breach",
    "Contact",
    "Distribution",
    "Grasp",
    "GraspMotion",
    "GraspState",
    "Hinge",
    "Omega",
    "Parted",
    "Point",
    "Rigid",
    "SoftFinger",
    "Surface",
    "grasp",
]
