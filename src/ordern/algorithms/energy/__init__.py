"""Kinetic and potential energy."""

from . import kinetic, potential  # noqa: F401 - declared from the start: these are the most used ones
