"""A pool of threads that stay alive: starting one costs more than most calls.

Ctrl-C reaches the main thread of Python between two instructions, not within compiled code. So long work is done in
short pieces; or, if a piece may be long, by other threads, while the main thread waits and can be interrupted. Compiled
loops then end at their next step, when they read a `stop` that is not zero.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

__all__ = ["Stopping", "can_stop", "cores", "is_stopped", "shared_out"]


def cores() -> int:
    """Return how many threads can run at once."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_pools: dict[int, ThreadPoolExecutor] = {}


_here = threading.local()


class Stopping:
    """Work of threads that can be stopped from another: use it as a context in each of them."""

    def __init__(self) -> None:
        self.stopped = False
        self._flags: list[NDArray[np.int64]] = []
        self._lock = threading.Lock()

    def stop(self) -> None:
        """Let compiled loops end at their next step, and their callers raise KeyboardInterrupt."""
        with self._lock:
            self.stopped = True
            for flag in self._flags:
                flag[0] = 1

    def __enter__(self) -> Stopping:
        _here.stopping = self
        return self

    def __exit__(self, *error: object) -> None:
        _here.stopping = None

    @contextmanager
    def reaching(self, flag: NDArray[np.int64]) -> Iterator[None]:
        """Let `stop` set a flag that compiled loops read; raise if it has."""
        with self._lock:
            self._flags.append(flag)
            flag[0] |= self.stopped
        try:
            yield
        finally:
            with self._lock:
                self._flags = [x for x in self._flags if x is not flag]
        if flag[0]:
            raise KeyboardInterrupt


def can_stop() -> bool:
    """Return True if the work of this thread can be stopped from another."""
    return getattr(_here, "stopping", None) is not None


def is_stopped() -> bool:
    """Return True if the work of this thread was stopped from another."""
    here = getattr(_here, "stopping", None)
    return here is not None and here.stopped


_TURN = 0.05
"""The seconds between two looks at work that other threads do."""


def shared_out(
    work: Callable[[int], None], pieces: Iterable[int], threads: int, *, stop: NDArray[np.int64] | None = None,
    aside: bool = False, meanwhile: Callable[[], None] | None = None,
) -> None:  # fmt: skip
    """Do all parts of a work, in this thread and in others.

    There may be no others: at the end of a program no new threads start, and a system may have no more of them. After
    an interruption no part is begun, and `stop` is set to 1 for those that go on. With `aside`, the main thread leaves
    all parts to others, calls `meanwhile` from time to time, and so can be interrupted at any time.
    """
    here = getattr(_here, "stopping", None)
    if here is None or stop is None:
        _shared_out(work, deque(pieces), threads, stop, aside, meanwhile)
    else:
        with here.reaching(stop):
            _shared_out(work, deque(pieces), threads, stop, aside, meanwhile)


def _shared_out(
    work: Callable[[int], None], waiting: deque[int], threads: int, stop: NDArray[np.int64] | None, aside: bool,
    meanwhile: Callable[[], None] | None,
) -> None:  # fmt: skip
    aside = aside and threading.current_thread() is threading.main_thread()

    def help_out() -> None:
        while True:
            try:
                piece = waiting.popleft()
            except IndexError:
                return
            work(piece)

    helpers: list[Future[None]] = []
    for _ in range(threads if aside else threads - 1):
        try:
            helpers.append(_workers().submit(help_out))
        except RuntimeError:
            break
    try:
        if aside and helpers:
            _wait(helpers, meanwhile)
        help_out()
    except BaseException:
        if stop is not None:
            stop[0] = 1
        raise
    finally:
        waiting.clear()  # after an interruption nothing more is begun
        for helper in helpers:
            helper.result()


def _wait(helpers: list[Future[None]], meanwhile: Callable[[], None] | None) -> None:
    """Wait until all helpers are done, or one has failed."""
    from concurrent.futures import FIRST_EXCEPTION, wait

    left: set[Future[None]] = set(helpers)
    while left:
        done, left = wait(left, _TURN, FIRST_EXCEPTION)
        for helper in done:
            helper.result()
        if meanwhile is not None:
            meanwhile()


def _workers() -> ThreadPoolExecutor:
    """Return the pool of this process: a forked child has its parent's memory, but not its threads."""
    pid = os.getpid()
    if pid not in _pools:
        from concurrent.futures import ThreadPoolExecutor

        _pools.clear()
        _pools[pid] = ThreadPoolExecutor(max_workers=cores(), thread_name_prefix="ordern")
    return _pools[pid]
