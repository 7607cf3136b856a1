"""Kinetic and potential energy."""

from .kinetic import kinetic_energy
from .potential import potential_energy

__all__ = ["kinetic_energy", "potential_energy"]
