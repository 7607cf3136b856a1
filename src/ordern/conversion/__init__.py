"""Positions, velocities, accelerations and forces in the coordinates of Pinocchio, MuJoCo and Drake."""

from .converter import Converter, convert

__all__ = ["Converter", "convert"]
