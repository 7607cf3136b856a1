"""Kinematics: pose, velocity, acceleration and Jacobian of a frame."""

from . import jacobian, pose, velocity  # noqa: F401 - declared from the start: these are the most used ones
