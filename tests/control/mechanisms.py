"""Mechanisms with two closed positions each, by formulas on paper, and a frame that can be moved."""

from __future__ import annotations

from typing import Any

import numpy as np

import ordern as on
from ordern.robots.mechanisms import (
    delta_robot,
    five_bar,
    four_bar,
    slider_crank,
    spatial_slider_crank,
    stewart_platform,
)

Array = np.ndarray

TURN = (0.98, 0.1, -0.05, 0.15)
_ENDS: dict[str, tuple[Any, Any]] = {
    "four-bar": (four_bar.assembled_position(0.3), four_bar.assembled_position(0.3 + 2.0 * np.pi)),
    "slider-crank": (slider_crank.assembled_position(0.2), slider_crank.assembled_position(3.5)),
    "spatial-slider-crank": (
        spatial_slider_crank.assembled_position(0.2),
        spatial_slider_crank.assembled_position(1.2),
    ),
    "five-bar": (five_bar.inverse_kinematics((0.05, 0.35)), five_bar.inverse_kinematics((-0.1, 0.3))),
    "delta-robot": (
        delta_robot.inverse_kinematics((0.0, 0.0, -0.5)),
        delta_robot.inverse_kinematics((0.1, 0.05, -0.45)),
    ),
    "stewart-platform": (
        stewart_platform.inverse_kinematics((0.0, 0.0, 0.6)),
        stewart_platform.inverse_kinematics((0.05, -0.03, 0.65), TURN),
    ),
}
NAMES = tuple(_ENDS)
FRAMES = {"five-bar": "tool", "delta-robot": "platform", "stewart-platform": "platform"}
"""Frames of those that have as many freedoms as the positions of a frame in the plane or in space."""


def ends(name: str) -> tuple[Array, Array]:
    """Two closed positions."""
    one, other = _ENDS[name]
    return np.array(one), np.array(other)


def floating_four_bar(floating: bool) -> on.Robot:
    """A four-bar on a trunk."""
    linkage = four_bar.four_bar()
    builder = on.Builder("walker", actuated=["drive"]).body("ground", mass=2.0, inertia=(0.1, 0.1, 0.1))
    builder._links |= {name: link for name, link in linkage._links.items() if name != "ground"}
    builder._joints |= linkage._joints
    builder._parent_joint |= linkage._parent_joint
    builder._loops |= linkage._loops
    return builder.build(floating=floating)
