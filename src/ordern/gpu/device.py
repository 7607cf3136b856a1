"""Devices: what a GPU is, its context, and its streams.

The context is the primary one of the device, which PyTorch, JAX and CuPy use too: so their addresses are valid here,
and ours there. It is current only within `with device:`, on the thread that says so, and the context that was current
before is so again afterwards.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any
from weakref import finalize

from ..errors import ArgumentError, GpuError
from .driver import NOT_READY, Driver, driver
from .library import ATTRIBUTES

if TYPE_CHECKING:
    from .memory import Pool

__all__ = ["Device", "Event", "Stream", "device_number", "devices", "find_device", "is_gpu", "release", "when_gone"]

_CORES = {
    (7, 0): (64, 32), (7, 2): (64, 32), (7, 5): (64, 2), (8, 0): (64, 32), (8, 6): (128, 2), (8, 7): (128, 2),
    (8, 9): (128, 2), (9, 0): (128, 64), (10, 0): (128, 64), (10, 3): (128, 2), (12, 0): (128, 2), (12, 1): (128, 2),
}  # fmt: skip
"""Fused multiply-adds of float32 and float64 that a multiprocessor does in a clock, by generation."""
_ARCHITECTURES = (70, 75, 80, 86, 89, 90)
"""The generations that code is written for; a newer GPU runs code of the newest one here."""
_NON_BLOCKING, _WITHOUT_TIMES = 1, 2


class Device:
    """One GPU, with its primary context."""

    def __init__(self, started: Driver, number: int) -> None:
        """Open the GPU of a `number` with a driver that has `started`; `find_device` does it once for each GPU."""
        self.driver, self.number = started, number
        self._handle = started.integer("cuDeviceGet", number)
        text = ctypes.create_string_buffer(256)
        started.call("cuDeviceGetName", text, 256, self._handle)
        self.name = text.value.decode(errors="replace")
        """The name of the GPU, such as "NVIDIA H200"."""
        self.capability = self.attribute("major"), self.attribute("minor")
        """The generation, such as (9, 0)."""
        if self.capability < (7, 0):
            major, minor = self.capability
            raise GpuError(
                f"{self.name} (device {number}) has compute capability {major}.{minor}, and ordern needs 7.0 or newer: "
                "the generation of Volta, of the year 2017"
            )
        size = ctypes.c_size_t()
        started.call("cuDeviceTotalMem_v2", ctypes.byref(size), self._handle)
        self.memory = size.value
        """Bytes of memory."""
        self._made: dict[str, Any] = {}
        self._lock = threading.RLock()

    def attribute(self, name: str) -> int:
        """Return a property of the device by its name in `library.ATTRIBUTES`; 0 if the driver does not tell it."""
        found = ctypes.c_int()
        code = self.driver.code("cuDeviceGetAttribute", ctypes.byref(found), ATTRIBUTES[name], self._handle)
        return 0 if code else found.value

    @property
    def architecture(self) -> str:
        """The name of the generation that code is written for, such as "sm_90"."""
        major, minor = self.capability
        return f"sm_{max(a for a in _ARCHITECTURES if a <= 10 * major + minor)}"

    def peak(self, dtype: str) -> float:
        """Return the most floating-point operations per second in a data type, `dtype`; 0 for an unknown generation."""
        single, double = _CORES.get(self.capability, (0, 0))
        cores = single if dtype == "float32" else double
        return 2e3 * cores * self.attribute("multiprocessors") * self.attribute("clock_khz")

    @property
    def bandwidth(self) -> float:
        """The most bytes per second between the memory and the processors; 0 if the driver does not tell it."""
        return 2e3 * self.attribute("memory_clock_khz") * self.attribute("memory_bus_bits") / 8

    @property
    def _context(self) -> int:
        found: int = self.once("context", lambda: self.driver.handle("cuDevicePrimaryCtxRetain", self._handle))
        return found

    def __enter__(self) -> Device:
        self.driver.call("cuCtxPushCurrent_v2", self._context)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(GpuError):  # an error of the body is the one to show
            self.driver.code("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    def free_memory(self) -> int:
        """Return the bytes of memory that nobody uses."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        with self:
            self.driver.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value

    @property
    def stream(self) -> Stream:
        """The stream of all arrays and kernels of this package that belong to no other library."""
        found: Stream = self.once("stream", lambda: Stream(self))
        return found

    @property
    def pool(self) -> Pool:
        """The memory of arrays of this package."""
        from .memory import Pool

        found: Pool = self.once("pool", lambda: Pool(self))
        return found

    def once(self, key: str, make: Callable[[], Any]) -> Any:
        """Return what belongs to the device under a key; the first thread that asks makes it."""
        if key not in self._made:
            with self._lock:
                if key not in self._made:
                    self._made[key] = make()
        return self._made[key]

    def __repr__(self) -> str:
        return f"<Device {self.number}: {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return find_device, (f"cuda:{self.number}",)


class Stream:
    """A queue of copies and kernels on a device; each begins when the one before has ended."""

    def __init__(self, device: Device) -> None:
        self.device = device
        with device:
            self.handle = device.driver.handle("cuStreamCreate", _NON_BLOCKING)
        when_gone(self, release, device, "cuStreamDestroy_v2", self.handle)

    def synchronise(self, doing: str = "") -> None:
        """Wait until everything in the queue is done; errors of kernels show here."""
        with self.device as d:
            d.driver.call("cuStreamSynchronize", self.handle, doing=doing)


class Event:
    """A mark in a stream, which is reached when everything before it is done."""

    def __init__(self, device: Device, timed: bool = False) -> None:
        self.device = device
        with device:
            self.handle = device.driver.handle("cuEventCreate", 0 if timed else _WITHOUT_TIMES)
        when_gone(self, release, device, "cuEventDestroy_v2", self.handle)

    def record(self, stream: int) -> None:
        """Put the mark into a stream."""
        with self.device as d:
            d.driver.call("cuEventRecord", self.handle, stream)

    def hold(self, stream: int) -> None:
        """Let a stream wait for the mark."""
        with self.device as d:
            d.driver.call("cuStreamWaitEvent", stream, self.handle, 0)

    def wait(self, doing: str = "") -> None:
        """Wait for the mark."""
        with self.device as d:
            d.driver.call("cuEventSynchronize", self.handle, doing=doing)

    def is_reached(self) -> bool:
        """Return True if the mark is reached, or if the device has failed."""
        with self.device as d:
            return d.driver.code("cuEventQuery", self.handle) != NOT_READY

    def seconds_since(self, begin: Event) -> float:
        """Return the time between two marks that are reached and timed."""
        found = ctypes.c_float()
        with self.device as d:
            d.driver.call("cuEventElapsedTime", ctypes.byref(found), begin.handle, self.handle)
        return found.value / 1e3


def release(device: Device, function: str, handle: int) -> None:
    """Give a handle or an address back to the driver; in a forked child there is nothing to give back."""
    if device.driver.is_alive:
        with suppress(GpuError), device:
            device.driver.code(function, handle)


def when_gone(owner: Any, function: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    """Call a function when an object is gone, or at once when the result is called; never at the end of the program."""
    found = finalize(owner, function, *arguments)
    found.atexit = False
    return found


_known: dict[tuple[int, int], Device] = {}
_finding = threading.Lock()


def devices() -> list[Device]:
    """Return all NVIDIA GPUs of this machine that can be used; an empty list if there is no driver or no GPU."""
    try:
        count = driver().integer("cuDeviceGetCount")
    except GpuError:
        return []
    found = []
    for k in range(count):
        with suppress(GpuError):  # an old one among others
            found.append(_device(k))
    return found


def find_device(device: str | int | Device = "cuda") -> Device:
    """Return a GPU by its name, "cuda" for the first or "cuda:1" for the one of that number, or by its number."""
    if isinstance(device, Device):
        return device
    number = device if type(device) is int else device_number(str(device))
    count = driver().integer("cuDeviceGetCount")
    if not count:
        raise GpuError(driver().words(100, "cuDeviceGetCount", f"device {device!r}"), 100)
    if not 0 <= number < count:
        known = ", ".join(f"cuda:{k}" for k in range(count))
        raise GpuError(f"device {device!r}: there is no GPU of this number; this machine has {known}", 101)
    return _device(number)


def _device(number: int) -> Device:
    started = driver()
    key = id(started), number
    if key not in _known:
        with _finding:
            if key not in _known:
                _known[key] = Device(started, number)
    return _known[key]


def is_gpu(device: Any, asking: str = "") -> bool:
    """Return True for "cuda" and "cuda:1", False for None and "cpu"; raise an error that names all others."""
    if device is None or isinstance(device, Device):
        return device is not None
    name = _name(device)
    if isinstance(name, str) and name == "cpu":
        return False
    device_number(device, asking)
    return True


def _name(device: Any) -> Any:
    """Return the name of a device of PyTorch; all else as it is."""
    return str(device) if (type(device).__module__, type(device).__name__) == ("torch", "device") else device


def device_number(device: Any, asking: str = "") -> int:
    """Return the number in the name of a device, such as 1 of "cuda:1"."""
    name = _name(device)
    if type(name) is str:
        kind, colon, number = name.partition(":")
        if kind == "cuda" and (number.isdecimal() if colon else True):
            return int(number or 0)
    where = f"{asking}: " if asking else ""
    raise ArgumentError(
        f'{where}`device` must be "cpu", "cuda", or "cuda:1" for the GPU of that number, not {device!r}'
    )
