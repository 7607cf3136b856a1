"""Joint by joint: steps of positions and velocities, and passive forces."""

from . import euler, passive, step  # noqa: F401 - declared from the start: these are the most used ones
