"""Forward dynamics: the accelerations that joint forces cause."""

from .articulated_body import articulated_body
from .joint_wrenches import caused_wrenches

__all__ = ["articulated_body", "caused_wrenches"]
