"""Files that one process at a time may write to; the lock goes with the process, however that ends."""

from __future__ import annotations

import errno
import os
import sys
from typing import BinaryIO

from ...errors import ModelError

__all__ = ["lock"]

_BYTE = 0x7FFF0000
"""Windows locks bytes, and nobody else can read those: one far beyond what is read."""


def lock(file: BinaryIO, name: str) -> None:
    """Lock an open file until it is closed; raise if another has it."""
    try:
        _lock(file)
    except OSError as e:
        if e.errno in (errno.EACCES, errno.EAGAIN, errno.EDEADLK, errno.EWOULDBLOCK):
            raise ModelError(
                "another run is writing to this checkpoint; wait for it to end, or give another file", name
            ) from None
        raise ModelError(f"the checkpoint cannot be locked: {e.strerror or e}", name) from None


if sys.platform == "win32":
    import msvcrt

    def _lock(file: BinaryIO) -> None:
        os.lseek(file.fileno(), _BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        finally:
            os.lseek(file.fileno(), 0, os.SEEK_SET)

else:
    import fcntl

    def _lock(file: BinaryIO) -> None:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
