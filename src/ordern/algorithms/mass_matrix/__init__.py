"""The joint-space mass matrix."""

from . import composite_body  # noqa: F401 - declared from the start: these are the most used ones
