"""Arrays on a GPU for programs without PyTorch, JAX or CuPy, and the bridge to them."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from ..arguments import AnyArray
from ..errors import ArgumentError
from .device import Device, Event, find_device, when_gone
from .dlpack import CUDA, View, exported
from .memory import Block

__all__ = ["Array", "array", "empty"]

_LEGACY = 1
"""The driver's handle of the default stream, which libraries that name no stream use."""


class _Held:
    """A block that goes back to the pool of its device when the last array in it is gone."""

    def __init__(self, device: Device, size: int, what: str) -> None:
        self.block: Block = device.pool.take(size, what)
        when_gone(self, device.pool.give, self.block)


class Array:
    """Numbers in the memory of a GPU, in rows without gaps: `array` and `empty` make one.

    `numpy()` copies the numbers to this machine. PyTorch, JAX and CuPy take an array without a copy, by their functions
    `from_dlpack`. Kernels on a GPU (`kernel.on("cuda")`) take and return arrays. Everything is done in one stream for
    each device, so no call but `numpy()` waits.
    """

    __slots__ = ("__weakref__", "_held", "_offset", "device", "dtype", "shape")

    def __init__(
        self, shape: tuple[int, ...], dtype: np.dtype[Any], device: Device, held: Any, offset: int = 0
    ) -> None:
        """Describe memory of a `device` as an array of a `shape` and `dtype`: from an `offset` in a `held` block."""
        self.shape, self.dtype, self.device = shape, dtype, device
        self._held, self._offset = held, offset

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of numbers."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The number of bytes."""
        return self.size * self.dtype.itemsize

    @property
    def address(self) -> int:
        """The address of the first number, in the memory of the device."""
        return int(self._held.block.address) + self._offset

    def numpy(self, out: AnyArray | None = None) -> AnyArray:
        """Return the numbers as a NumPy array, or copy them into `out`; waits until they are computed."""
        found = out
        if found is None or not (found.flags.c_contiguous and found.dtype == self.dtype and found.flags.writeable):
            found = np.empty(self.shape, self.dtype)
        if found.shape != self.shape:
            raise ArgumentError(f"Array.numpy: `out` has shape {found.shape}, but the array has {self.shape}")
        if self.size:
            stream = self.device.stream
            with self.device as d:
                d.driver.call("cuMemcpyDtoHAsync_v2", found.ctypes.data, self.address, self.nbytes, stream.handle)
            stream.synchronise("copying an array to this machine")
        if out is not None and found is not out:
            out[...] = found
        return found if out is None else out

    def reshape(self, *shape: Any) -> Array:
        """Return the same numbers in another `shape`; one size may be -1."""
        given = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
        found = np.broadcast_to(np.int8(0), (self.size,)).reshape(given).shape if self.size else tuple(given)
        return Array(tuple(map(int, found)), self.dtype, self.device, self._held, self._offset)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array of no dimensions has no length")
        return self.shape[0]

    def __getitem__(self, index: int | slice) -> Array:
        """Return a row, or consecutive rows, without a copy."""
        if not self.shape or not isinstance(index, (int, slice, np.integer)):
            raise ArgumentError(f"an array on a GPU has rows by a number or a slice, not by {index!r}; use `numpy()`")
        rows = range(len(self))[slice(index, index + 1 or None) if not isinstance(index, slice) else index]
        if rows.step != 1 and len(rows) > 1:
            raise ArgumentError(f"an array on a GPU has consecutive rows only, not those of {index!r}; use `numpy()`")
        if not isinstance(index, slice) and not rows:
            raise IndexError(f"row {index} of an array with {len(self)} rows")
        inner = self.shape[1:]
        offset = self._offset + (rows.start if rows else 0) * math.prod(inner) * self.dtype.itemsize
        shape = (len(rows), *inner) if isinstance(index, slice) else inner
        return Array(shape, self.dtype, self.device, self._held, offset)

    def view(self) -> View:
        """Return where the array is."""
        strides = tuple(math.prod(self.shape[k + 1 :]) for k in range(self.ndim))
        return View(self.address, self.shape, strides, self.dtype, self.device.number, self)

    def share(self) -> None:
        """Keep the memory from other arrays when this one is gone: it may still be read in another stream."""
        self._held.block.shared = True

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, self.device.number

    def __dlpack__(
        self, *, stream: Any = None, max_version: tuple[int, int] | None = None, dl_device: Any = None, copy: Any = None
    ) -> Any:
        """Hand the array to another library, whose `stream` waits until the numbers are computed."""
        if copy or (dl_device is not None and tuple(map(int, dl_device)) != self.__dlpack_device__()):
            raise BufferError("an array on a GPU is handed over where it is; `numpy()` copies it to this machine")
        self.share()
        if stream != -1:  # which says that the consumer waits by itself
            event = Event(self.device)
            event.record(self.device.stream.handle)
            event.hold(_LEGACY if stream is None else int(stream))
        return exported(self.view(), versioned=max_version is not None and max_version[0] >= 1)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        self.share()
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address, False),
            "strides": None,
            "stream": self.device.stream.handle,
            "version": 3,
        }

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise ArgumentError("an array on a GPU does not become a NumPy array by itself; `numpy()` copies it")

    def __repr__(self) -> str:
        return f"<Array {self.shape} of {self.dtype} on {self.device.name} (device {self.device.number})>"


def empty(shape: int | Sequence[int], dtype: DTypeLike = np.float64, device: str | Device = "cuda") -> Array:
    """Return an array on a `device` whose numbers are not set, of a `shape` and a `dtype`, float32 or float64."""
    kind = np.dtype(dtype)
    if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ArgumentError(f"arrays on a GPU have float32 or float64 numbers, not {kind}")
    sizes = (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(map(int, shape))
    if any(n < 0 for n in sizes):
        raise ArgumentError(f"the sizes of an array are 0 or more, not {sizes}")
    on = find_device(device)
    return Array(sizes, kind, on, _Held(on, math.prod(sizes) * kind.itemsize, f"an array of shape {sizes}"))


def array(x: ArrayLike, dtype: DTypeLike | None = None, device: str | Device = "cuda") -> Array:
    """Return numbers of this machine as an array on a `device`; `dtype` is float64 unless x or you say float32."""
    given = np.asarray(x)
    kind = np.dtype(dtype) if dtype is not None else np.result_type(given, np.float32)
    content = np.ascontiguousarray(given, kind).reshape(given.shape)
    found = empty(content.shape, kind, device)
    if found.size:
        with found.device as d:
            stream, text = d.stream, ctypes.c_void_p(content.ctypes.data)
            d.driver.call("cuMemcpyHtoDAsync_v2", found.address, text, content.nbytes, stream.handle)
        stream.synchronise()  # the caller may change its numbers now
    return found
