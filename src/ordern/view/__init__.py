"""The robot in three dimensions, in a browser: live, or in one file that plays without a network."""

from .live import Viewer
from .show import show

__all__ = ["Viewer", "show"]
