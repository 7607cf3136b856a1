"""Memory of a device, and pinned memory of this machine, from which a device copies without waiting.

A `Pool` keeps blocks that were freed, because the driver takes as long to give a block as a kernel takes to run. The
driver waits for all work on the device before it takes a block back, so that is always safe. A block that goes to the
pool may be written by the next owner while an earlier kernel still reads it, unless both work in one stream: only
blocks that were used in the device's own stream go there.
"""

from __future__ import annotations

import ctypes
import threading
from typing import Any

import numpy as np

from ..arguments import AnyArray
from ..errors import GpuError
from .device import Device, release, when_gone
from .driver import OUT_OF_MEMORY, gigabytes

__all__ = ["Block", "Pinned", "Pool"]

_KEPT = 1 / 16
"""The part of a device's memory that the pool keeps at most."""
_GRAIN = 1 << 9


class Block:
    """Some bytes of a device's memory, freed when nobody holds the block any more."""

    def __init__(self, device: Device, size: int, what: str = "") -> None:
        self.device, self.size, self.address = device, max(size, 1), 0
        self.shared = False
        """True if other libraries know the address: then the block does not go to the pool."""
        found = ctypes.c_uint64()
        with device as d:
            code = d.driver.code("cuMemAlloc_v2", ctypes.byref(found), self.size)
            if code == OUT_OF_MEMORY and d.pool.clear():
                code = d.driver.code("cuMemAlloc_v2", ctypes.byref(found), self.size)
        if code == OUT_OF_MEMORY:
            raise GpuError(too_little(device, self.size, what), code)
        if code:
            raise GpuError(device.driver.words(code, "cuMemAlloc_v2", what), code)
        self.address = found.value
        self._free = when_gone(self, release, device, "cuMemFree_v2", self.address)

    def free(self) -> None:
        """Give the memory back; the driver waits until the device is done with it."""
        self.address = 0
        self._free()


def too_little(device: Device, size: int, what: str) -> str:
    """Return the message for memory that does not fit."""
    where = f"{what}: " if what else ""
    return (
        f"{where}too little memory on {device.name} (device {device.number}): {gigabytes(size)} are needed, "
        f"{gigabytes(device.free_memory())} of {gigabytes(device.memory)} are free. Use smaller batches, or free what "
        "other programs and libraries hold"
    )


class Pool:
    """Blocks of a device that were freed in its own stream, by their sizes."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._free: dict[int, list[Block]] = {}
        self._bytes, self._lock = 0, threading.Lock()

    def take(self, size: int, what: str = "") -> Block:
        """Return a block of at least this size, for use in the device's own stream."""
        rounded = _rounded(size)
        with self._lock:
            found = self._free.get(rounded)
            if found:
                self._bytes -= rounded
                return found.pop()
        return Block(self.device, rounded, what)

    def give(self, block: Block) -> None:
        """Keep a block that was used only in the device's own stream, or free it."""
        with self._lock:
            if not block.shared and block.address and self._bytes + block.size <= _KEPT * self.device.memory:
                self._free.setdefault(block.size, []).append(block)
                self._bytes += block.size
                return
        block.free()

    def clear(self) -> int:
        """Free all blocks that are kept; return how many bytes they had."""
        with self._lock:
            blocks, size = [b for some in self._free.values() for b in some], self._bytes
            self._free, self._bytes = {}, 0
        for block in blocks:
            block.free()
        return size


def _rounded(size: int) -> int:
    """Return a size that many requests share: an eighth of a power of two above it at most."""
    size = max(size, _GRAIN)
    step = max(_GRAIN, 1 << (size.bit_length() - 4))
    return -(-size // step) * step


class Pinned:
    """Memory of this machine that stays where it is, so that a device copies from it by itself."""

    def __init__(self, device: Device, size: int) -> None:
        self.device, self.size, self.address = device, max(size, 1), 0
        with device as d:
            code = d.driver.code("cuMemHostAlloc", ctypes.byref(found := ctypes.c_void_p()), self.size, 1)
        if code:
            raise GpuError(
                f"{gigabytes(self.size)} of this machine's memory cannot be pinned for copies to {device.name}: "
                f"{device.driver.words(code, 'cuMemHostAlloc', '')}",
                code,
            )
        self.address = found.value or 0
        when_gone(self, release, device, "cuMemFreeHost", self.address)

    def array(self, offset: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> AnyArray:
        """Return a part of the memory as an array."""
        count = int(np.prod(shape, dtype=np.int64))
        raw: Any = (ctypes.c_byte * (count * dtype.itemsize)).from_address(self.address + offset)
        found: AnyArray = np.frombuffer(raw, dtype, count).reshape(shape)
        return found
