"""What accelerations do joint forces cause?"""

from .articulated_body import articulated_body
from .joint_wrenches import caused_wrenches

__all__ = ["articulated_body", "caused_wrenches"]
