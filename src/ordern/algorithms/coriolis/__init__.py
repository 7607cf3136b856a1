"""Which matrix gives the Coriolis and centrifugal forces of a velocity?"""

from .christoffel import christoffel
from .saha import saha

__all__ = ["christoffel", "saha"]
