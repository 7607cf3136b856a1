"""Kinematics: pose, velocity, acceleration and Jacobian of a frame."""

from .jacobian import jacobian
from .jacobian_rate import jacobian_rate
from .pose import pose
from .velocity import acceleration, velocity

__all__ = ["acceleration", "jacobian", "jacobian_rate", "pose", "velocity"]
