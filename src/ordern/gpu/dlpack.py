"""DLPack: arrays on a device handed from one library to another, without a copy.

A capsule holds a record with the address, the shape and a function that frees it. `exported` makes one of an array of
this package, `imported` reads that of another library. The versions below 1.0 and above have different records.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..records import dataclass

__all__ = ["CUDA", "View", "exported", "imported"]

CUDA, _PINNED, _MANAGED = 2, 3, 13
_FLOAT, _READ_ONLY = 2, 1


class _Device(ctypes.Structure):
    _fields_ = (("kind", ctypes.c_int32), ("number", ctypes.c_int32))


class _Type(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


_Sizes = ctypes.POINTER(ctypes.c_int64)


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _Type),
        ("shape", _Sizes),
        ("strides", _Sizes),
        ("byte_offset", ctypes.c_uint64),
    )


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter))


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", _Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


@dataclass(frozen=True, slots=True)
class View:
    """An array on a device: where it is, and what keeps it alive."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """In numbers, not bytes."""
    dtype: np.dtype[Any]
    device: int
    owner: Any
    read_only: bool = False

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)


_address, _text = ctypes.c_void_p, ctypes.c_char_p
# functions of our own: others declare types for those of `ctypes.pythonapi`, which all libraries share
_New = ctypes.PYFUNCTYPE(ctypes.py_object, _address, _text, _address)(("PyCapsule_New", ctypes.pythonapi))
_IsValid = ctypes.PYFUNCTYPE(ctypes.c_int, _address, _text)(("PyCapsule_IsValid", ctypes.pythonapi))
_Pointer = ctypes.PYFUNCTYPE(_address, _address, _text)(("PyCapsule_GetPointer", ctypes.pythonapi))
_NAMES = b"dltensor", b"dltensor_versioned"
_exports: dict[int, tuple[Any, ...]] = {}
"""Records that others hold, by their addresses, with what they point to."""
_lock = threading.Lock()


def _forget_record(address: Any) -> None:
    """Forget a record that its consumer no longer needs."""
    with _lock:
        kept = _exports.pop(address or 0, None)
    del kept  # frees the memory outside of the lock


_forget: Any = _Deleter(_forget_record)


def _drop_capsule(capsule: Any) -> None:
    """Forget the record of a capsule that nobody consumed; a consumer changes the capsule's name."""
    for name in _NAMES:
        if not sys.is_finalizing() and _IsValid(capsule, name):
            _forget_record(_Pointer(capsule, name))


_dropped: Any = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(_drop_capsule)


def exported(view: View, versioned: bool) -> Any:
    """Return a capsule of an array; its owner lives until the consumer frees the capsule."""
    n = len(view.shape)
    shape, strides = (ctypes.c_int64 * max(n, 1))(*view.shape), (ctypes.c_int64 * max(n, 1))(*view.strides)
    kind = _Type(_FLOAT, 8 * view.dtype.itemsize, 1)
    where = _Device(CUDA, view.device)
    tensor = _Tensor(view.address or None, where, n, kind, ctypes.cast(shape, _Sizes), None, 0)
    tensor.strides = ctypes.cast(strides, _Sizes)
    record: Any
    if versioned:
        record = _Versioned(1, 0, None, _forget, _READ_ONLY if view.read_only else 0, tensor)
    else:
        record = _Managed(tensor, None, _forget)
    address = ctypes.addressof(record)
    with _lock:
        _exports[address] = record, shape, strides, view.owner
    return _New(address, _NAMES[versioned], ctypes.cast(_dropped, ctypes.c_void_p))


def imported(x: Any, stream: int, asking: str, name: str) -> View:
    """Return where an array with `__dlpack__` is; work of its library on it comes before that in `stream`."""
    kind, number = x.__dlpack_device__()
    if int(kind) not in (CUDA, _MANAGED):
        raise ArgumentError(
            f"{asking}: argument {name!r} ({type(x).__module__}.{type(x).__name__}) is not in the memory of an NVIDIA "
            "GPU; copy it there first, or leave the device out for arrays of this machine"
        )
    try:
        capsule = x.__dlpack__(stream=stream, max_version=(1, 0))
    except TypeError:  # a library from before version 1.0
        capsule = x.__dlpack__(stream=stream)
    versioned = bool(_IsValid(id(capsule), _NAMES[1]))
    address = _Pointer(id(capsule), _NAMES[versioned])
    record: Any = (_Versioned if versioned else _Managed).from_address(address)
    t = record.tensor
    shape = tuple(t.shape[: t.ndim])
    strides = tuple(t.strides[: t.ndim]) if t.strides else _packed(shape)
    if t.dtype.code != _FLOAT or t.dtype.bits not in (32, 64) or t.dtype.lanes != 1:
        raise ArgumentError(f"{asking}: argument {name!r} must have float32 or float64 numbers on a GPU")
    dtype = np.dtype(f"float{t.dtype.bits}")
    read_only = bool(versioned and record.flags & _READ_ONLY)
    # the capsule is not renamed: its own destructor frees it, when the view is gone
    return View((t.data or 0) + t.byte_offset, shape, strides, dtype, int(number), (x, capsule), read_only)


def _packed(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of an array without gaps."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))
