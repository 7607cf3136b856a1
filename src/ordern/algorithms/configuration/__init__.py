"""Joint by joint: steps of positions and velocities, and passive forces."""

from .euler import euler_position, euler_velocity
from .passive import passive_force
from .step import difference, integrate, position_rate, project

__all__ = ["difference", "euler_position", "euler_velocity", "integrate", "passive_force", "position_rate", "project"]
