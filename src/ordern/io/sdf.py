"""SDF."""

from __future__ import annotations

from ..errors import ModelError
from ..model import ModelBuilder
from .xml import Element

__all__ = ["build_sdf"]


def build_sdf(root: Element) -> ModelBuilder:
    """A robot from the root element of a document."""
    raise ModelError("SDF is not read yet", root.where)
