"""Compiled loops as NumPy generalized ufuncs, and compiled functions as Python functions.

Both are made through C interfaces of NumPy and Python that are reached without a compiler: NumPy's tables of functions
(its C-API capsules, whose slots never change) and `ctypes.pythonapi`.
"""

from __future__ import annotations

import ctypes
import importlib
import struct
import sys
from collections.abc import Callable
from functools import cache
from types import MethodType
from typing import Any

import numpy as np

from .engine import Engine
from .keeper import keeper

__all__ = ["BYTES_HEAD", "CONTEXT", "HEAD", "TYPE_NUMBER", "fast_calls_work", "make_function", "make_ufunc"]

HEAD = object.__basicsize__
"""Bytes of PyObject's header."""
BYTES_HEAD = bytes.__basicsize__ - 1
"""The offset of the contents of a bytes object."""

CONTEXT = (
    *("get_attribute", "fallback", "vectorcall", "release", "ndarray_type", "dtype", "new_array", "array_return"),
    *("float_type", "workspace", "data", "dims", "numbers", "floor"),
)
"""The words of the context that `@bind` is given and @call reads: addresses, but for `numbers`.

`fallback` is a name: the method of that name is looked up in `self` for every call that it takes, so that @call holds
no reference that the collector cannot see.
"""

_UFUNC_FROM_SIGNATURE, _ARRAY_NEW, _ARRAY_RETURN = 31, 93, 76
_METH_FASTCALL_KEYWORDS = 0x0080 | 0x0002
TYPE_NUMBER = {"float32": 11, "float64": 12}
"""NumPy's numbers of the data types."""


@cache
def _api(name: str) -> Any:
    # where NumPy keeps its tables has changed its name between versions 1 and 2, what is in them has not
    core = "numpy._core" if np.__version__ >= "2" else "numpy.core"
    umath = importlib.import_module(f"{core}._multiarray_umath")
    kind = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    get = kind(("PyCapsule_GetPointer", ctypes.pythonapi))
    return ctypes.cast(get(getattr(umath, name), None), ctypes.POINTER(ctypes.c_void_p))


def make_ufunc(engine: Engine, data: int, tables: Any, inputs: int, signature: str, name: str, dtype: str) -> np.ufunc:
    """Return a generalized ufunc with one output, which owns all that it needs."""
    address, number, text = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
    kinds = [*[address] * 3, *[number] * 4, text, text, number, text]
    make = ctypes.PYFUNCTYPE(ctypes.py_object, *kinds)(_api("_UFUNC_API")[_UFUNC_FROM_SIGNATURE])
    functions = (ctypes.c_void_p * 1)(engine.address("loop"))
    datas = (ctypes.c_void_p * 1)(data)
    types = (ctypes.c_byte * (inputs + 1))(*[TYPE_NUMBER[dtype]] * (inputs + 1))
    texts = (name.encode(), b"", signature.encode())
    tables_at = [ctypes.addressof(x) for x in (functions, datas, types)]
    ufunc: np.ufunc = make(*tables_at, 1, inputs, 1, -1, *texts[:2], 0, texts[2])
    _hold(ufunc, keeper(name, engine.keeper, tables, functions, datas, types, texts))
    return ufunc


def _hold(ufunc: np.ufunc, kept: str) -> None:
    """Let a ufunc hold a keeper: NumPy gives ufuncs a field for an object that must live as long as they do."""
    at = _place_of_object()
    field = None if at is None else ctypes.c_void_p.from_address(id(ufunc) + at)
    if field is None or field.value is not None:
        _immortal.append(kept)  # a NumPy that is not known: keeping too much is safer than freeing too early
        return
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
    field.value = id(kept)


@cache
def _place_of_object() -> int | None:
    """Find the field of a ufunc's structure for its object, in a ufunc whose object is known."""
    probe: Any = [].append
    ufunc = np.frompyfunc(probe, 1, 1)
    size = struct.calcsize("P")
    places = range(HEAD, HEAD + 16 * size, size)
    return next((at for at in places if ctypes.c_void_p.from_address(id(ufunc) + at).value == id(probe)), None)


_immortal: list[str] = []


@cache
def fast_calls_work() -> bool:
    """Return True if Python's and NumPy's structures have the layout that `@call` expects."""
    if sys.implementation.name != "cpython":
        return False
    # objects of free-threaded Python have a longer header
    if struct.calcsize("P") != 8 or HEAD != 16 or BYTES_HEAD != 32 or MethodType.__basicsize__ != 48:
        return False
    a = np.arange(6.0).reshape(2, 3)[:, ::-1]
    word = ctypes.c_void_p.from_address
    dims, strides = word(id(a) + HEAD + 16).value, word(id(a) + HEAD + 24).value
    if not dims or not strides:
        return False
    return (
        word(id(a) + HEAD - 8).value == id(np.ndarray)
        and word(id(a) + HEAD).value == a.ctypes.data
        and ctypes.c_int.from_address(id(a) + HEAD + 8).value == 2
        and tuple((ctypes.c_int64 * 2).from_address(dims)) == a.shape
        and tuple((ctypes.c_int64 * 2).from_address(strides)) == a.strides
        and word(id(a) + HEAD + 40).value == id(np.dtype(np.float64))
        and bool(ctypes.c_int.from_address(id(a) + HEAD + 48).value & 0x100) == a.flags.aligned
        and ctypes.c_double.from_address(id(_PROBE) + HEAD).value == _PROBE
    )


_PROBE = 0.5 + len(CONTEXT)


def make_function(
    engine: Engine, own: dict[str, Any], memory: tuple[Any, ...], owner: Any, fallback: str, name: str, doc: str
) -> Callable[..., Any]:
    """Return a Python function that runs compiled code for one state, as a method of `owner`.

    `own` are the words of `CONTEXT` that belong to this function, and `memory` the objects that they point to. Calls
    with other arguments than plain arrays go to the owner's bound method `fallback`, which is looked up by its name
    each time; with a `floor`, so do calls whose result's last number is not above it. `doc` may begin with a signature,
    as Python's own functions do.

    All that the function needs belongs to a keeper in the place of its `__module__`, which is the last thing that a
    function lets go of when it dies; and the collector cannot take it away before.
    """
    key = str(fallback)
    values = {
        "get_attribute": _python("PyObject_GetAttr"),
        "fallback": id(key),
        "vectorcall": _vectorcall(),
        "release": _python("Py_DecRef"),
        "ndarray_type": id(np.ndarray),
        "new_array": _api("_ARRAY_API")[_ARRAY_NEW],
        "array_return": _api("_ARRAY_API")[_ARRAY_RETURN],
        "float_type": id(float),
        **own,
    }
    words = (ctypes.c_void_p * len(CONTEXT))(*(values[word] for word in CONTEXT))
    # the contents of a bytes object end with a zero, as texts of C do
    texts = [_texts.setdefault(text, text.encode()) for text in (name, doc)]
    c_name, c_doc = (id(text) + BYTES_HEAD for text in texts)
    definition = struct.pack("=4Q", c_name, engine.address("call"), _METH_FASTCALL_KEYWORDS, c_doc)
    kept = (engine.keeper, *memory, words, key, definition, *texts)
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
    prepare = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(engine.address("prepare"))
    prepare(own["data"], own["workspace"])
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(engine.address("bind"))(ctypes.addressof(words))
    made: Callable[..., Any] = new(id(definition) + BYTES_HEAD, owner, keeper(type(owner).__module__, *kept))
    return made


@cache
def _python(name: str) -> int | None:
    """Return the address of a function of Python's C interface."""
    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value


@cache
def _vectorcall() -> int | None:
    """Return the address that calls a bound method: the last word of its structure, where Python does not export it."""
    if hasattr(ctypes.pythonapi, "PyObject_Vectorcall"):
        return _python("PyObject_Vectorcall")
    method = MethodType(_python, "")  # with a name, so that it lives while its structure is read
    return ctypes.c_void_p.from_address(id(method) + MethodType.__basicsize__ - 8).value


_texts: dict[str, bytes] = {}
"""Names and descriptions of functions: many robots have the same."""
