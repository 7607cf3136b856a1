"""Own what machine code needs until the last object that can run it has died.

The cyclic collector finalises and clears the members of a garbage cycle in any order, while `__del__` methods of other
members may still call a robot of that cycle, or bring it back to life. Machine code, its tables and its method
definitions must not be freed by then. A keeper owns them outside of the collector's view, and dies only when its
reference count drops to zero.

Python gives instances of every class to the collector, even of classes without fields. So the type of keepers is made
through Python's C interface, as types of extension modules are.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

__all__ = ["keeper"]

_contents: dict[int, tuple[Any, ...]] = {}
"""Everything that keepers own, by the keeper's address."""


def keeper(text: str, *things: Any) -> str:
    """Return a text that owns things: they live as long as the text has references.

    The things must not refer back to the keeper, since the collector would not find such a cycle. A keeper is a text so
    that it can stand for the module's name in a built-in function.
    """
    made: str = _type()(text)
    _contents[id(made)] = things
    return made


class _Spec(ctypes.Structure):
    """PyType_Spec."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("basicsize", ctypes.c_int),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.c_void_p),
    )


_HAVE_GC = 1 << 14


@cache
def _type() -> Any:
    """Make the type: a `str` that the collector does not track."""
    name = b"ordern.compile.run.keeper.Keeper"
    no_slots = (ctypes.c_void_p * 2)(0, 0)
    spec = _Spec(name, 0, 0, 0, ctypes.addressof(no_slots))
    make = ctypes.pythonapi.PyType_FromSpecWithBases
    make.restype, make.argtypes = ctypes.py_object, [ctypes.POINTER(_Spec), ctypes.py_object]
    kind = make(spec, (str,))
    if kind.__flags__ & _HAVE_GC:
        raise SystemError("this version of Python gives texts to its cyclic collector: ordern cannot run on it")
    kind.__del__ = _forget
    kind.name_in_c = name  # older versions of Python do not copy it
    return kind


# A default argument, because module globals are gone when the last keepers die at the end of a program.
def _forget(dying: str, drop: Any = _contents.pop) -> None:
    drop(id(dying), None)
