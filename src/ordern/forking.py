"""The locks of compiled code, and forks that wait for them.

A child process has its parent's memory but only the thread that forked. If another thread was compiling, the child
would wait for ever: for LLVM's lock, for ours, or for Python's lock of a module that was being imported. So a fork
waits until no thread compiles, imports a module, or is inside LLVM. So does the end of the process, while daemon
threads still run.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from contextlib import ExitStack
from functools import cached_property
from typing import Any

__all__ = ["COMPILING", "RESULTS", "install"]

COMPILING = threading.RLock()
"""Hold this to compile and to load machine code. The same thread may take it again, as a `__del__` may."""
RESULTS = threading.Lock()
"""Hold this to hand out memory for large results."""

_MOST_SECONDS = 10.0
"""The longest time that a fork waits for imports: the importing thread may wait for a lock of this one."""
_held = ExitStack()


def _before_fork() -> None:
    """Take all locks at a moment at which nobody imports: who imports may need the locks, so they are not held."""
    patience = time.monotonic() + _MOST_SECONDS
    while True:
        while _importing() and time.monotonic() < patience:
            time.sleep(0.001)
        _held.enter_context(COMPILING)
        lock = _llvm_lock()
        if lock is not None:
            _held.enter_context(lock)
        _held.enter_context(RESULTS)
        if not _importing() or time.monotonic() >= patience:
            return
        _held.close()


def _llvm_lock() -> Any:
    """Return the lock of LLVM, if it is in use: other packages use it too, beside our lock."""
    ffi = sys.modules.get("llvmlite.binding.ffi")
    return getattr(getattr(ffi, "lib", None), "_lock", None)


def _importing() -> bool:
    """Return True if another thread is in the middle of an import, of this package or of one that it imports late."""
    locks = getattr(sys.modules.get("_frozen_importlib"), "_module_locks", {})
    owners = (getattr(reference(), "owner", None) for reference in list(locks.values()))
    return any(owner is not None and owner != threading.get_ident() for owner in owners)


def _after_fork() -> None:
    _held.close()


def _in_child() -> None:
    """Release the locks; before Python 3.12, cached properties have locks too, which other threads may have held."""
    _held.close()
    if sys.version_info >= (3, 12):
        return
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "ordern" and module is not None:
            for cls in list(vars(module).values()):
                if isinstance(cls, type) and cls.__module__ == name:
                    for x in vars(cls).values():
                        if isinstance(x, cached_property):
                            vars(x)["lock"] = threading.RLock()


def _at_exit() -> None:
    """Wait until no thread compiles, and keep the locks: daemon threads must not be inside LLVM when it is taken down.

    A thread that waits for a lock is left alone; one that returned from LLVM would be ended in the middle of its code.
    Without other threads there is nothing to wait for.
    """
    if threading.active_count() == 1:
        return
    for lock in (COMPILING, getattr(_llvm_lock(), "_lock", None)):
        if lock is not None:
            lock.acquire(timeout=_MOST_SECONDS)


def install() -> None:
    """Let forks and the end of the process wait from now on. Importing the package calls this once."""
    atexit.register(_at_exit)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_child)
