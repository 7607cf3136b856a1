"""What accelerations do joint forces cause?"""

from .articulated_body import articulated_body

__all__ = ["articulated_body"]
