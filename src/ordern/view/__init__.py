"""The robot in three dimensions: in a browser, in one file that plays without a network, in pictures and films."""

from .live import Viewer
from .pictures import animate
from .show import show

__all__ = ["Viewer", "animate", "show"]
