"""NVIDIA's driver in this process: every call is checked, and every error is in words.

The driver starts when a device is first used. It does not survive a fork, so a forked child gets an error that says
what to do. Nothing in this package calls the library but `Driver.call`.
"""

from __future__ import annotations

import ctypes
import os
import threading
from typing import Any

from ..errors import GpuError
from . import library

__all__ = ["NOT_READY", "OUT_OF_MEMORY", "Driver", "driver", "gigabytes"]

OUT_OF_MEMORY, NOT_READY = 2, 600
_LOST = (700, 702, 714, 715, 716, 717, 718, 719)
"""Errors after which the context of the process is lost."""
_OLDEST = 11000
"""CUDA 11.0, of the year 2020: the oldest driver that knows the functions and the code of this package."""
_FORKED = (
    "this process was forked after the GPU was first used, and NVIDIA's driver does not work in forked processes: "
    "start processes by 'spawn' (multiprocessing.get_context('spawn')), or use the GPU only after the fork"
)
_WORDS = {
    1: "the driver refuses an argument",
    3: _FORKED,
    4: "the driver has shut down, because the process is ending",
    34: "the library of the driver is a stub without a driver behind it: install the driver of your GPU",
    46: "the GPU is used by another process that holds it alone, or is not available",
    100: "no NVIDIA GPU is found: check `nvidia-smi` and the variable CUDA_VISIBLE_DEVICES, or use device='cpu'",
    101: "there is no such device",
    201: "the context of the device is gone: another library reset the device",
    209: "the code does not fit this generation of GPUs",
    218: "the driver cannot compile the code",
    222: "the driver is too old for the code: update it",
    304: "the operating system refuses: check that this user may use the GPU",
    700: "code on the GPU accessed an address that is not valid; an array was freed too early, or this is a mistake "
    "of ordern",
    701: "the kernel needs more registers or shared memory than the GPU has",
    702: "the kernel ran longer than the system allows for a GPU with a display",
    719: "a kernel on the GPU failed",
    802: "the system of the GPU is not ready yet: the fabric manager may be starting",
    803: "the driver's library and the driver in the kernel have different versions: restart the machine",
    804: "this driver and GPU do not work together",
}


class Driver:
    """The driver, started in this process."""

    def __init__(self, functions: Any) -> None:
        self._functions, self._pid = functions, os.getpid()
        self.call("cuInit", 0)
        self.version = self.integer("cuDriverGetVersion")
        """1000 times the major version of CUDA that the driver supports, plus 10 times the minor one."""
        if self.version < _OLDEST:
            raise GpuError(
                f"the NVIDIA driver is too old: it supports CUDA {self.version_text}, and ordern needs "
                f"{_OLDEST // 1000}.{_OLDEST % 1000 // 10} or newer. Update the driver"
            )

    @property
    def version_text(self) -> str:
        """The version of CUDA that the driver supports, such as "12.4"."""
        return f"{self.version // 1000}.{self.version % 1000 // 10}"

    @property
    def is_alive(self) -> bool:
        """True if the driver works in this process: False in a forked child."""
        return os.getpid() == self._pid

    def call(self, name: str, *arguments: Any, doing: str = "") -> None:
        """Call a function of the driver, and raise an error in words if it fails while `doing` something."""
        code = self.code(name, *arguments)
        if code:
            raise GpuError(self.words(code, name, doing), code)

    def code(self, name: str, *arguments: Any) -> int:
        """Call a function of the driver, and return the number of its error, or 0."""
        if os.getpid() != self._pid:
            raise GpuError(_FORKED)
        function = getattr(self._functions, name, None)
        if function is None:
            raise GpuError(f"the NVIDIA driver is too old: it has no function {name}. Update the driver")
        return int(function(*arguments))

    def address(self, name: str) -> int:
        """Return the address of a function of the driver, for code that calls it without Python."""
        return ctypes.cast(getattr(self._functions, name), ctypes.c_void_p).value or 0

    def integer(self, name: str, *arguments: Any) -> int:
        """Return the integer that a function of the driver writes through its first argument."""
        found = ctypes.c_int()
        self.call(name, ctypes.byref(found), *arguments)
        return found.value

    def handle(self, name: str, *arguments: Any) -> int:
        """Return the handle that a function of the driver writes through its first argument."""
        found = ctypes.c_void_p()
        self.call(name, ctypes.byref(found), *arguments)
        return found.value or 0

    def words(self, code: int, name: str, doing: str) -> str:
        """Return the message for an error of the driver."""
        text = ctypes.c_char_p()
        self._functions.cuGetErrorName(code, ctypes.byref(text))
        known = (text.value or b"unknown error").decode()
        message = f"{doing}: " if doing else ""
        message += f"{_WORDS.get(code, 'the NVIDIA driver reports an error')} ({known} in {name})"
        if code in _LOST:
            message += ". The GPU cannot be used any more in this process: start a new one"
        return message


_started: Driver | None = None
_starting = threading.Lock()


def driver() -> Driver:
    """Return the driver of this process; the first call starts it."""
    global _started  # noqa: PLW0603
    if _started is None:
        with _starting:
            if _started is None:
                _started = Driver(library.open_library())
    return _started


def gigabytes(size: float) -> str:
    """Return a number of bytes in words."""
    return f"{size / 1e9:.2f} GB" if size >= 1e8 else f"{size / 1e6:.2f} MB"
