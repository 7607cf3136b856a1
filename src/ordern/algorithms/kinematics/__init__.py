"""Where is a frame, and how does it move?"""

from .jacobian import jacobian
from .pose import pose
from .velocity import acceleration, velocity

__all__ = ["acceleration", "jacobian", "pose", "velocity"]
