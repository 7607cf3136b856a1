"""Spatial algebra over any scalar: motions, forces, transforms, inertias, motion subspaces."""

from .inertia import ArticulatedInertia, Inertia
from .motion import Force, Motion
from .spin import Products, Spin
from .subspace import Columns, Factor, Forces, Freedoms, Subspace, Units, eliminate, plus_diagonal
from .transform import About, Chain, Identity, Pose, Rotation, Transform, Turn, factors
from .values import FixedSize, Real, leaves, rebuild

__all__ = [
    "About",
    "ArticulatedInertia",
    "Chain",
    "Columns",
    "Factor",
    "FixedSize",
    "Force",
    "Forces",
    "Freedoms",
    "Identity",
    "Inertia",
    "Motion",
    "Pose",
    "Products",
    "Real",
    "Rotation",
    "Spin",
    "Subspace",
    "Transform",
    "Turn",
    "Units",
    "eliminate",
    "factors",
    "leaves",
    "plus_diagonal",
    "rebuild",
]
