"""The memory of this machine: data that cannot fit is refused before anything is read or computed."""

from __future__ import annotations

import os

__all__ = ["machine_memory"]


def machine_memory() -> float:
    """Return the memory of this machine in bytes; a number larger than any memory if it is unknown."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return 1e13
