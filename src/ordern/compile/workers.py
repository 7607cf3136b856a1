"""Threads that stay: starting one costs more than most calls."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

__all__ = ["cores", "workers"]


def cores() -> int:
    """How many threads can run at once."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_pools: dict[int, ThreadPoolExecutor] = {}


def workers() -> ThreadPoolExecutor:
    """The pool of this process: a forked child has its parent's memory, but not its threads."""
    pid = os.getpid()
    if pid not in _pools:
        from concurrent.futures import ThreadPoolExecutor

        _pools.clear()
        _pools[pid] = ThreadPoolExecutor(max_workers=cores(), thread_name_prefix="ordern")
    return _pools[pid]
