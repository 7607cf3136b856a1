"""A stand-in for CuPy: the part of it that ordern uses, with arrays in the memory of the stand-in for the driver."""

from __future__ import annotations

import ctypes
from contextlib import nullcontext
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from ordern import gpu as og
from ordern.gpu.device import Stream

from .stand_in import StandIn


def stand_in_cupy(gpu: StandIn) -> Any:
    """Return a module that works in a stream of its own, as lazily as the driver does."""
    stream = Stream(og.find_device("cuda:0"))

    class ndarray:
        def __init__(self, block: Any, shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any) -> None:
            self._block, self.shape, self.strides, self.dtype = block, shape, strides, np.dtype(dtype)
            self.data = SimpleNamespace(ptr=block.address, device_id=0)
            self.device = SimpleNamespace(id=0)

        def get(self) -> Any:
            """Copy the numbers to this machine, after all that is in the stream."""
            gpu.cuStreamSynchronize(stream.handle)
            whole = np.ctypeslib.as_array((ctypes.c_ubyte * self._block.nbytes).from_address(self._block.address))
            return np.lib.stride_tricks.as_strided(whole.view(self.dtype), self.shape, self.strides).copy()

        def reshape(self, *shape: int) -> ndarray:
            return asarray(self.get().reshape(shape))

        def __array__(self, *more: Any, **settings: Any) -> Any:
            raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`")

        @property
        def T(self) -> ndarray:
            return ndarray(self._block, self.shape[::-1], self.strides[::-1], self.dtype)

    ndarray.__module__ = "cupy"

    def empty(shape: Any, dtype: Any) -> ndarray:
        block = og.empty(shape, dtype)
        block.share()  # memory of CuPy is not in the pool of ordern
        return ndarray(block, block.shape, np.empty(block.shape, dtype).strides, dtype)

    def asarray(x: Any) -> ndarray:
        found = empty(x.shape, x.dtype)
        content = np.ascontiguousarray(x)
        with og.find_device("cuda:0"):
            gpu.cuMemcpyHtoDAsync_v2(found.data.ptr, content.ctypes.data, content.nbytes, stream.handle)
        return found

    module: Any = ModuleType("cupy")
    module.ndarray, module.empty, module.asarray = ndarray, empty, asarray
    module.ascontiguousarray = lambda x: asarray(x.get())
    module.cuda = SimpleNamespace(Device=nullcontext, get_current_stream=lambda: SimpleNamespace(ptr=stream.handle))
    module.stream = stream
    return module
