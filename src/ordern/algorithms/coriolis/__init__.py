"""Coriolis matrix: Coriolis and centrifugal forces are this matrix times the velocity."""

from .christoffel import christoffel
from .saha import saha

__all__ = ["christoffel", "saha"]
