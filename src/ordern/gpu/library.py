"""The functions of NVIDIA's driver that this package calls, by ctypes: no toolkit and no compiler is needed."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

from ..errors import GpuError

__all__ = ["ATTRIBUTES", "FUNCTION_ATTRIBUTES", "open_library"]

_INT, _UINT, _SIZE, _FLOAT = ctypes.c_int, ctypes.c_uint, ctypes.c_size_t, ctypes.c_float
_POINTER = ctypes.c_void_p
"""A pointer to anything, or one of the driver's handles."""
_ADDRESS = ctypes.c_uint64
"""An address in the memory of a device."""

_ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "cuInit": (_UINT,),
    "cuDriverGetVersion": (_POINTER,),
    "cuGetErrorName": (_INT, _POINTER),
    "cuGetErrorString": (_INT, _POINTER),
    "cuDeviceGetCount": (_POINTER,),
    "cuDeviceGet": (_POINTER, _INT),
    "cuDeviceGetName": (_POINTER, _INT, _INT),
    "cuDeviceGetAttribute": (_POINTER, _INT, _INT),
    "cuDeviceTotalMem_v2": (_POINTER, _INT),
    "cuDevicePrimaryCtxRetain": (_POINTER, _INT),
    "cuCtxPushCurrent_v2": (_POINTER,),
    "cuCtxPopCurrent_v2": (_POINTER,),
    "cuCtxGetDevice": (_POINTER,),
    "cuMemGetInfo_v2": (_POINTER, _POINTER),
    "cuMemAlloc_v2": (_POINTER, _SIZE),
    "cuMemFree_v2": (_ADDRESS,),
    "cuMemHostAlloc": (_POINTER, _SIZE, _UINT),
    "cuMemFreeHost": (_POINTER,),
    "cuMemcpyHtoDAsync_v2": (_ADDRESS, _POINTER, _SIZE, _POINTER),
    "cuMemcpyDtoHAsync_v2": (_POINTER, _ADDRESS, _SIZE, _POINTER),
    "cuMemcpyDtoDAsync_v2": (_ADDRESS, _ADDRESS, _SIZE, _POINTER),
    "cuStreamCreate": (_POINTER, _UINT),
    "cuStreamBeginCapture_v2": (_POINTER, _INT),
    "cuStreamEndCapture": (_POINTER, _POINTER),
    "cuGraphInstantiateWithFlags": (_POINTER, _POINTER, ctypes.c_uint64),
    "cuGraphLaunch": (_POINTER, _POINTER),
    "cuGraphDestroy": (_POINTER,),
    "cuGraphExecDestroy": (_POINTER,),
    "cuStreamDestroy_v2": (_POINTER,),
    "cuStreamSynchronize": (_POINTER,),
    "cuStreamWaitEvent": (_POINTER, _POINTER, _UINT),
    "cuEventCreate": (_POINTER, _UINT),
    "cuEventDestroy_v2": (_POINTER,),
    "cuEventRecord": (_POINTER, _POINTER),
    "cuEventQuery": (_POINTER,),
    "cuEventSynchronize": (_POINTER,),
    "cuEventElapsedTime": (_POINTER, _POINTER, _POINTER),
    "cuLinkCreate_v2": (_UINT, _POINTER, _POINTER, _POINTER),
    "cuLinkAddData_v2": (_POINTER, _INT, _POINTER, _SIZE, ctypes.c_char_p, _UINT, _POINTER, _POINTER),
    "cuLinkComplete": (_POINTER, _POINTER, _POINTER),
    "cuLinkDestroy": (_POINTER,),
    "cuModuleLoadData": (_POINTER, _POINTER),
    "cuModuleUnload": (_POINTER,),
    "cuModuleGetFunction": (_POINTER, _POINTER, ctypes.c_char_p),
    "cuFuncGetAttribute": (_POINTER, _INT, _POINTER),
    "cuFuncSetAttribute": (_POINTER, _INT, _INT),
    "cuOccupancyMaxActiveBlocksPerMultiprocessor": (_POINTER, _POINTER, _INT, _SIZE),
    "cuLaunchKernel": (_POINTER, *[_UINT] * 7, _POINTER, _POINTER, _POINTER),
}
"""The arguments of each function. All return the number of an error, or 0."""

ATTRIBUTES = {
    "threads_per_block": 1,
    "clock_khz": 13,
    "multiprocessors": 16,
    "memory_clock_khz": 36,
    "memory_bus_bits": 37,
    "threads_per_multiprocessor": 39,
    "major": 75,
    "minor": 76,
    "shared_per_block": 97,
}
"""The numbers that the driver has for properties of devices; shared memory is what a kernel gets if it asks."""
FUNCTION_ATTRIBUTES = {"local": 3, "registers": 4, "dynamic_shared": 8}
"""The numbers that the driver has for properties of loaded functions."""


def open_library() -> Any:
    """Return the driver's library with the types of all functions; raise an error in words if there is none."""
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    if sys.platform == "darwin":
        raise GpuError('there are no NVIDIA GPUs on macOS: leave `device` out, or use device="cpu"')
    try:
        library = ctypes.CDLL(name) if sys.platform != "win32" else ctypes.WinDLL(name)  # type: ignore[attr-defined,unused-ignore]
    except OSError as e:
        raise GpuError(
            f"no NVIDIA driver is installed ({name} cannot be loaded: {e}). Install the driver of your GPU, or use "
            'device="cpu"; in a container, start it with access to the GPU (`docker run --gpus all`)'
        ) from None
    for function, arguments in _ARGUMENTS.items():
        found = getattr(library, function, None)
        if found is not None:
            found.argtypes, found.restype = arguments, _INT
    return library
