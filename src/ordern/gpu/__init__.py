"""Kernels on NVIDIA GPUs: devices, arrays, and what other libraries have there.

No toolkit is needed: the driver of the GPU compiles and runs the code. Names are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .arrays import Array, array, empty
    from .device import Device, devices, find_device
    from .kernel import DeviceKernel

__all__ = ["Array", "Device", "DeviceKernel", "array", "devices", "empty", "find_device"]

_WHERE = {
    "Array": "arrays",
    "Device": "device",
    "DeviceKernel": "kernel",
    "array": "arrays",
    "devices": "device",
    "empty": "arrays",
    "find_device": "device",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{_WHERE[name]}", __name__), name)
    return value
