"""Memory of large results, used again once nobody holds it.

Memory that is fresh from the system costs more than what is computed into it: every page is cleared, when it is first
touched. Allocators keep what is given back to them, but not of large blocks. So a kernel keeps the blocks
of its last large results. One is given out again when neither the result nor any view of it is left.
"""

from __future__ import annotations

import math
import sys
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["FROM_BYTES", "UP_TO_BYTES", "Shelf"]

FROM_BYTES, UP_TO_BYTES = 1 << 20, 128 << 20
"""The sizes of results whose memory is kept."""
_KEPT = 2
"""Blocks on a shelf: while a result is computed, the one before is often still held."""
_ALIGNED = 64


def _holders(blocks: list[NDArray[np.uint8]], k: int) -> int:
    return sys.getrefcount(blocks[k])


_NOBODY = _holders([np.empty(1, np.uint8)], 0)
"""The count of a block that only its list holds."""
_COUNTS = sys.implementation.name == "cpython" and object.__basicsize__ == 16
"""Whether references are counted at once, by all threads; objects of free-threaded Python have a longer header."""


class Shelf:
    """The blocks of a kernel."""

    def __init__(self) -> None:
        self._blocks: list[NDArray[np.uint8]] = []
        self._lock = threading.Lock()

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any] | None:
        """An array for a result, with any contents; None if that is better left to NumPy."""
        size = math.prod(shape) * dtype.itemsize
        if not (_COUNTS and FROM_BYTES <= size <= UP_TO_BYTES):
            return None
        with self._lock:
            for k in range(len(self._blocks)):  # a variable for the block would be counted too
                if self._blocks[k].nbytes == size + _ALIGNED and _holders(self._blocks, k) == _NOBODY:
                    return _part(self._blocks[k], size, dtype, shape)
            fresh = np.empty(size + _ALIGNED, np.uint8)
            self._blocks = [*self._blocks[1 - _KEPT :], fresh]
            return _part(fresh, size, dtype, shape)


def _part(block: NDArray[np.uint8], size: int, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    start = -block.ctypes.data % _ALIGNED
    found: NDArray[Any] = block[start : start + size].view(dtype).reshape(shape)
    return found
