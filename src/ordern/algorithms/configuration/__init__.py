"""How do positions and velocities fit together?"""

from .step import difference, integrate

__all__ = ["difference", "integrate"]
