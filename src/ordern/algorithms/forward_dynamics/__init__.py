"""Forward dynamics: the accelerations that joint forces cause."""

from . import articulated_body, joint_wrenches  # noqa: F401 - declared from the start: these are the most used ones
