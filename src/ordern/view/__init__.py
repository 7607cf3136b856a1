"""The robot in three dimensions, in a browser: live, or in one file that plays without a network."""

from .show import Viewer, show

__all__ = ["Viewer", "show"]
