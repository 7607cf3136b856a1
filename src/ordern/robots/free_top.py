"""A heavy symmetric top (Lagrange's top) on a point: one body on a spherical joint, free of torques but for gravity.

It is not free to leave the point: "free" is its rotation. Our own numbers, in round figures: a disc of 0.5 kg, of
40 mm radius and 20 mm height, with its mass centre 60 mm above the point, along z at the neutral position. The stem
weighs nothing.
"""

from __future__ import annotations

from ..joints import Spherical
from ..model import ModelBuilder

__all__ = ["ACROSS", "ALONG", "HEIGHT", "MASS", "free_top"]

MASS = 0.5
HEIGHT = 0.06
"""The height of the mass centre above the point."""
_RADIUS, _THICKNESS = 0.04, 0.02
ACROSS = MASS * (3.0 * _RADIUS**2 + _THICKNESS**2) / 12.0
"""Inertia about the mass centre and an axis across that of symmetry."""
ALONG = MASS * _RADIUS**2 / 2.0
"""Inertia about the axis of symmetry."""


def free_top() -> ModelBuilder:
    """Return the top: body "top", joint "point", a frame "crown" where its axis leaves the disc."""
    return (
        ModelBuilder("free-top")
        .body("base")
        .body(
            "top",
            parent="base",
            joint=Spherical(),
            joint_name="point",
            mass=MASS,
            com=(0.0, 0.0, HEIGHT),
            inertia=(ACROSS, ACROSS, ALONG),
        )
        .frame("crown", "top", at=(0.0, 0.0, HEIGHT + _THICKNESS / 2.0))
    )
