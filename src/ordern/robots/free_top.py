"""A heavy symmetric top (Lagrange's top) on a point: one body on a spherical joint, free of torques but for gravity.

It is not free to leave the point: "free" is its rotation. Our own numbers, in round figures: a disc of 0.5 kg, of
40 mm radius and 20 mm height, with its mass centre 60 mm above the point, along z at the neutral position. The stem
weighs nothing.
"""

from __future__ import annotations

from ..joints import Spherical
from ..model import ModelBuilder
from .generated import disc

__all__ = ["ACROSS", "ALONG", "HEIGHT", "MASS", "free_top"]

MASS = 0.5
HEIGHT = 0.06
"""The height of the mass centre above the point."""
_RADIUS, _THICKNESS = 0.04, 0.02
_DISC = disc(MASS, _RADIUS, _THICKNESS)
ACROSS, _, ALONG = _DISC["inertia"]
"""Moments of inertia about the mass centre: across the axis of symmetry, and about it."""


def free_top() -> ModelBuilder:
    """Return the top: body "top", joint "point", a frame "crown" where its axis leaves the disc."""
    return (
        ModelBuilder("free-top")
        .body("base")
        .body("top", parent="base", joint=Spherical(), joint_name="point", com=(0.0, 0.0, HEIGHT), **_DISC)
        .frame("crown", "top", at=(0.0, 0.0, HEIGHT + _THICKNESS / 2.0))
    )
