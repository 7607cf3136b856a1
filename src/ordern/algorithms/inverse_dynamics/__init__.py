"""Inverse dynamics: the joint forces of a motion."""

from . import bias_force, external_force, newton_euler  # noqa: F401 - declared from the start: these are the most used ones
