"""Memory of large results, used again once no array refers to it.

New memory from the system costs more than the computation: every page is cleared when it is first touched. Allocators
keep small blocks that are freed, but not large ones. So a kernel keeps the blocks of its last large results, and uses a
block again when neither the result nor any view of it is left.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...forking import RESULTS

__all__ = ["FROM_BYTES", "UP_TO_BYTES", "ResultPool"]

FROM_BYTES, UP_TO_BYTES = 1 << 20, 128 << 20
"""The sizes of results whose memory is kept."""
_KEPT = 2
"""Blocks in a pool: while a result is computed, the one before is often still held."""
_ALIGNED = 64


_Block = tuple[NDArray[np.uint8], NDArray[Any]]
"""Memory, and the result in it."""


def _fresh(shape: tuple[int, ...], dtype: np.dtype[Any]) -> _Block:
    size = math.prod(shape) * dtype.itemsize
    memory = np.empty(size + _ALIGNED, np.uint8)
    start = -memory.ctypes.data % _ALIGNED
    return memory, memory[start : start + size].view(dtype).reshape(shape)


def _holders(blocks: list[_Block], k: int) -> int:
    return sys.getrefcount(blocks[k][0])


_NOBODY = _holders([_fresh((1,), np.dtype(float))], 0)
"""The count of memory that only its pool holds."""
_COUNTS = sys.implementation.name == "cpython" and object.__basicsize__ == 16
"""True if all threads count references at once; objects of free-threaded Python have a longer header."""


class ResultPool:
    """The blocks of a kernel."""

    def __init__(self) -> None:
        self._blocks: list[_Block] = []

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any] | None:
        """Return an array for a result, with any contents; None if NumPy should allocate it."""
        with RESULTS:
            for k in range(len(self._blocks)):
                result = self._blocks[k][1]  # but not the memory: that would count as held
                if result.shape == shape and result.dtype == dtype and _holders(self._blocks, k) == _NOBODY:
                    return result[...]
            if not (_COUNTS and FROM_BYTES <= math.prod(shape) * dtype.itemsize <= UP_TO_BYTES):
                return None
            self._blocks = [*self._blocks[1 - _KEPT :], _fresh(shape, dtype)]
            return self._blocks[-1][1][...]
