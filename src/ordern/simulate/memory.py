"""How much memory there is: what cannot fit is refused before anything is read or computed."""

from __future__ import annotations

import os

__all__ = ["machine_memory"]


def machine_memory() -> float:
    """Return the bytes of this machine's memory; more than any machine has where it does not tell."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return 1e13
