"""Arrays of other libraries on a GPU: where they are, the stream of their library, and new arrays of the same kind.

Nothing is imported that the caller has not imported: a library is found by the type of an argument.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import ArgumentError
from .arrays import Array, array, empty
from .device import Device, Event, find_device
from .dlpack import View, imported

__all__ = ["Library", "is_here", "known_library", "library_of"]

_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


class Library(ABC):
    """The library of a kernel's arguments: where its arrays are, and how it makes new ones."""

    name: str

    @abstractmethod
    def stream(self, device: Device) -> int:
        """Return the handle of the stream that the library works in."""

    @abstractmethod
    def view(self, x: Any, device: Device, asking: str, name: str) -> View:
        """Return where an array is; the work that makes its numbers comes before that in `stream`."""

    @abstractmethod
    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], device: Device) -> Any:
        """Return an array of the library whose numbers are not set, for use in `stream`."""

    @abstractmethod
    def copied(self, x: Any, dtype: np.dtype[Any], device: Device) -> Any:
        """Return numbers of this machine as an array of the library, for use in `stream`."""

    def fetched(self, x: Any) -> Any:
        """Return the numbers of an array of the library as a NumPy array; waits for them."""
        return x.numpy() if isinstance(x, Array) else np.asarray(x)

    def key(self, x: Any) -> Any:
        """Return all about an array but its address; None if calls with such arrays have nothing in common."""
        return None

    def address(self, x: Any) -> int:
        """Return the address of an array whose key is not None."""
        raise NotImplementedError

    def number(self, x: Any) -> int:
        """Return the number of the device that an array is on."""
        return int(x.__dlpack_device__()[1])

    def device(self, x: Any) -> Device:
        """Return the device that an array is on."""
        return find_device(self.number(x))

    def packed(self, x: Any, asking: str, name: str) -> Any:
        """Return an array with the same numbers, without gaps."""
        raise ArgumentError(f"{asking}: the numbers of a state in argument {name!r} must be next to each other")

    def done(self, views: list[View], answer: Any, device: Device) -> Any:
        """Return the answer to the caller, after the kernel that computes it is in the stream."""
        return answer


class _Own(Library):
    name = "ordern.gpu"

    def stream(self, device: Device) -> int:
        return device.stream.handle

    def key(self, x: Any) -> Any:
        return x.shape, x.dtype.char, x.device.number

    def address(self, x: Any) -> int:
        return int(x.address)

    def view(self, x: Any, device: Device, asking: str, name: str) -> View:
        found: View = x.view()
        return found

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], device: Device) -> Any:
        return empty(shape, dtype, device)

    def copied(self, x: Any, dtype: np.dtype[Any], device: Device) -> Any:
        return array(x, dtype, device)


class _Torch(Library):
    name = "PyTorch"

    def __init__(self) -> None:
        self._torch: Any = sys.modules["torch"]
        self._devices = [self._torch.device("cuda", k) for k in range(self._torch.cuda.device_count())]
        self._raw = getattr(self._torch._C, "_cuda_getCurrentRawStream", None)  # ten times quicker than the public way
        self._types: dict[Any, np.dtype[Any]] = {self._torch.float32: _SINGLE, self._torch.float64: _DOUBLE}

    def stream(self, device: Device) -> int:
        if self._raw is not None:
            return int(self._raw(device.number))
        return int(self._torch.cuda.current_stream(device.number).cuda_stream)

    def key(self, x: Any) -> Any:
        if x.requires_grad and self._torch.is_grad_enabled():
            return None
        return x.shape, x.stride(), x.dtype, x.device

    def address(self, x: Any) -> int:
        return int(x.data_ptr())

    def number(self, x: Any) -> int:
        return int(x.device.index)

    def view(self, x: Any, device: Device, asking: str, name: str) -> View:
        if x.requires_grad and self._torch.is_grad_enabled():
            raise ArgumentError(
                f"{asking}: argument {name!r} requires a gradient, which a kernel does not know; call the method of "
                "the robot, or `detach()` the tensor"
            )
        dtype = self._types.get(x.dtype)
        if dtype is None:
            raise ArgumentError(f"{asking}: argument {name!r} has {x.dtype}; on a GPU, give float32 or float64")
        return View(x.data_ptr(), tuple(x.shape), tuple(x.stride()), dtype, device.number, x)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], device: Device) -> Any:
        kind = self._torch.float32 if dtype.itemsize == 4 else self._torch.float64
        return self._torch.empty(shape, dtype=kind, device=self._devices[device.number])

    def copied(self, x: Any, dtype: np.dtype[Any], device: Device) -> Any:
        return self._torch.as_tensor(np.array(x, dtype), device=self._devices[device.number])

    def packed(self, x: Any, asking: str, name: str) -> Any:
        return x.contiguous()

    def fetched(self, x: Any) -> Any:
        return x.detach().cpu().numpy()


class _CuPy(Library):
    name = "CuPy"

    def __init__(self) -> None:
        self._cupy: Any = sys.modules["cupy"]

    def stream(self, device: Device) -> int:
        with self._cupy.cuda.Device(device.number):
            return int(self._cupy.cuda.get_current_stream().ptr)

    def key(self, x: Any) -> Any:
        return x.shape, x.strides, x.dtype.char, x.data.device_id

    def address(self, x: Any) -> int:
        return int(x.data.ptr)

    def number(self, x: Any) -> int:
        return int(x.device.id)

    def view(self, x: Any, device: Device, asking: str, name: str) -> View:
        if x.dtype not in (_SINGLE, _DOUBLE):
            raise ArgumentError(f"{asking}: argument {name!r} has {x.dtype}; on a GPU, give float32 or float64")
        strides = tuple(s // x.dtype.itemsize for s in x.strides)
        return View(x.data.ptr, tuple(x.shape), strides, np.dtype(x.dtype), device.number, x)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], device: Device) -> Any:
        with self._cupy.cuda.Device(device.number):
            return self._cupy.empty(shape, dtype)

    def copied(self, x: Any, dtype: np.dtype[Any], device: Device) -> Any:
        with self._cupy.cuda.Device(device.number):
            return self._cupy.asarray(np.array(x, dtype))

    def packed(self, x: Any, asking: str, name: str) -> Any:
        return self._cupy.ascontiguousarray(x)

    def fetched(self, x: Any) -> Any:
        return x.get()


class _ByDlpack(_Own):
    """Any library with `__dlpack__`: kernels run in the stream of this package, which waits for the library's work."""

    name = "DLPack"

    def key(self, x: Any) -> Any:
        return None

    def __init__(self) -> None:
        self._waiting: deque[tuple[Event, list[View]]] = deque()

    def view(self, x: Any, device: Device, asking: str, name: str) -> View:
        if isinstance(x, Array):
            return x.view()
        return imported(x, device.stream.handle, asking, name)

    def done(self, views: list[View], answer: Any, device: Device) -> Any:
        """Keep the arguments alive until the kernel has read them: their library does not know about it."""
        event = Event(device)
        event.record(device.stream.handle)
        self._waiting.append((event, views))
        while self._waiting and self._waiting[0][0].is_reached():
            self._waiting.popleft()
        return answer


class _Jax(_ByDlpack):
    name = "JAX"

    def done(self, views: list[View], answer: Any, device: Device) -> Any:
        super().done(views, answer, device)
        if not isinstance(answer, Array):
            return answer
        return sys.modules["jax"].dlpack.from_dlpack(answer)


_KINDS: dict[str, type[Library]] = {"torch": _Torch, "cupy": _CuPy, "jax": _Jax, "jaxlib": _Jax, "ordern": _Own}
_known: dict[type[Library], Library] = {}
_by_type: dict[type, Library] = {}
"""The libraries of types that were seen, for calls like earlier ones."""


def known_library(kind: type) -> Library | None:
    """Return the library of a type of arrays on a device that was seen before; None for others."""
    return _by_type.get(kind)


def library_of(given: Mapping[str, Any], asking: str) -> Library | None:
    """Return the library of the arrays on a device; None if all arguments are of this machine."""
    found = {name: _kind(x) for name, x in given.items() if not is_here(x)}
    if not found:
        return None
    kinds = set(found.values())
    if len(kinds) > 1:
        listed = ", ".join(f"{name} {_family(x)}" for name, x in given.items())
        raise ArgumentError(f"{asking}: the arguments come from several libraries ({listed}); give arrays of one")
    kind = kinds.pop()
    if kind not in _known:
        _known[kind] = kind()
    for name in found:
        _by_type[type(given[name])] = _known[kind]
    return _known[kind]


def is_here(x: Any) -> bool:
    """Return True for arguments of this machine: arrays of NumPy, lists, and numbers."""
    if isinstance(x, (np.ndarray, np.generic)):
        return True
    return type(x).__module__.partition(".")[0] not in _KINDS and not hasattr(x, "__dlpack_device__")


def _kind(x: Any) -> type[Library]:
    return _KINDS.get(type(x).__module__.partition(".")[0], _ByDlpack)


def _family(x: Any) -> str:
    """Return the type of an argument, in words."""
    root = type(x).__module__.partition(".")[0]
    return type(x).__name__ if root == "builtins" else f"{root}.{type(x).__name__}"
