"""Kinematics: pose, velocity, acceleration and Jacobian of a frame."""

from .jacobian import jacobian
from .pose import pose
from .velocity import acceleration, velocity

__all__ = ["acceleration", "jacobian", "pose", "velocity"]
