"""MJCF."""

from __future__ import annotations

from ..errors import ModelError
from ..model import ModelBuilder
from .xml import Element

__all__ = ["build_mjcf"]


def build_mjcf(root: Element) -> ModelBuilder:
    """A robot from the root element of a document."""
    raise ModelError("MJCF is not read yet", root.where)
