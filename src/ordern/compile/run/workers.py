"""A pool of threads that stay alive: starting one costs more than most calls."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

__all__ = ["cores", "shared_out"]


def cores() -> int:
    """Return how many threads can run at once."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_pools: dict[int, ThreadPoolExecutor] = {}


def shared_out(work: Callable[[int], None], pieces: Iterable[int], threads: int) -> None:
    """Do all parts of a work, in this thread and in others.

    There may be no others: at the end of a program no new threads start, and a system may have no more of them.
    """
    waiting = deque(pieces)

    def help_out() -> None:
        while True:
            try:
                piece = waiting.popleft()
            except IndexError:
                return
            work(piece)

    helpers = []
    for _ in range(threads - 1):
        try:
            helpers.append(_workers().submit(help_out))
        except RuntimeError:
            break
    try:
        help_out()
    finally:
        waiting.clear()  # after an interruption nothing more is begun
        for helper in helpers:
            helper.result()


def _workers() -> ThreadPoolExecutor:
    """Return the pool of this process: a forked child has its parent's memory, but not its threads."""
    pid = os.getpid()
    if pid not in _pools:
        from concurrent.futures import ThreadPoolExecutor

        _pools.clear()
        _pools[pid] = ThreadPoolExecutor(max_workers=cores(), thread_name_prefix="ordern")
    return _pools[pid]
