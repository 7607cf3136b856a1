"""States that the user's functions see: they are read-only."""

from __future__ import annotations

from ..arguments import Array

__all__ = ["read_only"]


def read_only(x: Array) -> Array:
    """Return a view of an array that cannot be written to: a function that wrote to it would change the run's state."""
    view: Array = x.view()
    view.flags.writeable = False
    return view
