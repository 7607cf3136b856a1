"""Inverse dynamics: the joint forces of a motion."""

from .bias_force import bias_force, gravity_force
from .external_force import external_force
from .newton_euler import newton_euler

__all__ = ["bias_force", "external_force", "gravity_force", "newton_euler"]
