"""Identification: regressors, base parameters, and estimates of a robot's parameters from measured motions."""

from .robot_methods import IdentifyMethods

__all__ = ["IdentifyMethods"]
