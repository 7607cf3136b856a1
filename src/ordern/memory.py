"""The memory of this machine: what cannot fit is refused before anything is read, computed or compiled."""

from __future__ import annotations

import contextlib
import math
import os
from pathlib import Path

__all__ = ["free_memory", "machine_memory"]


def machine_memory() -> float:
    """Return the memory of this machine in bytes; a number larger than any memory if it is unknown."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return 1e13


def free_memory() -> float:
    """Return how many bytes this process can still allocate; infinity where the system does not tell.

    Counted are the memory that the machine has left, that of the control group of a container, and the limit of the
    address space of the process (`ulimit -v`).
    """
    return min(_left_on_machine(), _left_in_group(), _left_in_process())


def _left_on_machine() -> float:
    with contextlib.suppress(OSError, ValueError, IndexError):
        lines = (line.split() for line in Path("/proc/meminfo").read_text().splitlines())
        kib = {words[0]: float(words[1]) for words in lines if len(words) > 1}
        if "MemAvailable:" in kib:
            return 1024.0 * (kib["MemAvailable:"] + kib.get("SwapFree:", 0.0))
    return math.inf


def _left_in_group() -> float:
    folder = Path("/sys/fs/cgroup")
    with contextlib.suppress(OSError, ValueError):
        most = (folder / "memory.max").read_text().strip()
        if most != "max":
            stat = (line.split() for line in (folder / "memory.stat").read_text().splitlines())
            cached = next((float(n) for name, n in stat if name == "inactive_file"), 0.0)
            return max(0.0, float(most) - float((folder / "memory.current").read_text()) + cached)
    return math.inf


def _left_in_process() -> float:
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource  # Unix only

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        if most != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            return max(0.0, float(most - pages * os.sysconf("SC_PAGE_SIZE")))
    return math.inf
