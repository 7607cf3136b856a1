"""The joint-space mass matrix."""

from .composite_body import composite_body

__all__ = ["composite_body"]
