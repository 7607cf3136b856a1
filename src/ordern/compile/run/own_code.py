"""Keys of code that is not the library's own: algorithms and joints that users write.

A key has everything that a function can see: its bytecode, constants and defaults, the values that it closes over, and
the globals that it names; of a class the same for all methods, with its bases; of an object its class and fields. The
bytecode is what runs; the file may have changed since it was imported. If a function can see something that cannot be
written down, such as a module of the user's or an open file, there is no key, and its code is not stored.
"""

from __future__ import annotations

import hashlib
import sys
from abc import ABC
from dataclasses import fields, is_dataclass
from functools import cached_property, partial
from operator import attrgetter, itemgetter
from types import BuiltinFunctionType, CodeType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, Generic, Protocol

import numpy as np

from ...graph.ops import OPS, OUR_OPS
from ...joints import Closure
from ...model.ports import AXES, OUR_AXES, OUR_KINDS, PORT_KINDS

if TYPE_CHECKING:
    from ...model import Model

__all__ = ["is_ours", "own_code", "own_joints", "own_rows"]

_PLAIN = frozenset({bool, int, float, complex, str, bytes, type(None), type(Ellipsis)})
_STATELESS = frozenset({object, ABC, Generic, Protocol})
"""Base classes of Python's that give their objects no fields."""
_TRUSTED = frozenset({"ordern", "numpy", *sys.stdlib_module_names})
"""Packages whose functions and classes are known by their names: the key of all code has their versions."""
_CODE = ("code", "exceptiontable", "names", "varnames", "freevars", "cellvars", "argcount", "kwonlyargcount", "flags")
_BOOKKEEPING = frozenset(
    {
        *("__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "__annotate__", "__annotate_func__"),
        *("__annotations_cache__", "__abstractmethods__", "_abc_impl", "__parameters__", "__orig_bases__"),
        *("__static_attributes__", "__firstlineno__", "__match_args__", "__slots__"),
        *("__dataclass_fields__", "__dataclass_params__"),
    }
)
"""Attributes of classes that no method computes with."""


_Seen = dict[int, tuple[int, Any]]
"""Objects that were met before: a number for each, and the object itself, so that its id is not used again."""


class _Unknown(Exception):
    """Something has no key."""


def is_ours(x: Any) -> bool:
    """Return True if a function or class is the library's own."""
    return str(x.__module__).startswith("ordern.")


def own_code(*things: Any) -> str | None:
    """Return a digest of functions, classes or objects, the same in all processes; None if one of them has no key."""
    try:
        key = [sys.version, np.__version__, *(_key(x, {}) for x in things)]
    except (_Unknown, RecursionError):
        return None
    return hashlib.sha256(repr(key).encode()).hexdigest()


def own_joints(model: Model) -> str | None:
    """Return a digest of the joints that are not the library's own: empty without any, None if it cannot be known."""
    joints = (*(kind.joint for kind in model.tables.kinds), *(loop.type for loop in model.loops))
    own = [joint for joint in joints if not _all_ours(joint)]
    return own_code(*own) if own else ""


def own_rows() -> str | None:
    """Return a digest of rows of tables that are not the library's: empty without any, None if it cannot be known."""
    tables: tuple[tuple[Any, Any], ...] = ((PORT_KINDS, OUR_KINDS), (AXES, OUR_AXES), (OPS, OUR_OPS))
    own = [[name, row] for table, ours in tables for name, row in table.items() if ours.get(name) is not row]
    return own_code(own) if own else ""


def _all_ours(x: Any) -> bool:
    """Return True if a joint, and all joints that it is made of, are the library's own."""
    if isinstance(x, tuple):
        return all(map(_all_ours, x))
    if not isinstance(x, Closure):
        return True
    of: Any = x
    parts = (getattr(x, f.name) for f in fields(of)) if is_dataclass(of) else ()
    return is_ours(type(x)) and all(map(_all_ours, parts))


def _key(x: Any, seen: _Seen) -> Any:
    """Return plain values that stand for x."""
    kind = type(x)
    if kind in _PLAIN or (isinstance(x, np.generic) and kind.__module__ == "numpy"):
        return [kind.__name__, repr(x)]
    if id(x) in seen:
        return ["again", seen[id(x)][0]]
    seen[id(x)] = (len(seen), x)
    if isinstance(x, CodeType):
        names = [getattr(x, f"co_{word}", None) for word in _CODE]
        return ["code", names, [_key(c, seen) for c in x.co_consts]]
    if isinstance(x, FunctionType):
        return _function(x, seen)
    if kind in (tuple, list):
        return [kind.__name__, *(_key(y, seen) for y in x)]
    if kind in (set, frozenset):
        return ["set", sorted(repr(_key(y, seen)) for y in x)]
    if kind is dict:
        return ["dict", *([_key(k, seen), _key(v, seen)] for k, v in x.items())]
    if kind is np.ndarray and not x.dtype.hasobject:
        return ["array", x.dtype.str, x.shape, hashlib.sha256(np.ascontiguousarray(x).tobytes()).hexdigest()]
    if kind in (itemgetter, attrgetter):
        return [kind.__name__, repr(x)]
    if isinstance(x, (type, BuiltinFunctionType, np.ufunc, ModuleType)):
        return _class(x, seen) if isinstance(x, type) else _named(x)
    return _object(x, seen)


def _function(f: FunctionType, seen: _Seen) -> Any:
    cells = [_key(_content(cell), seen) for cell in f.__closure__ or ()]
    if _trusted(f.__globals__.get("__name__")):
        return ["function", f.__module__, f.__qualname__, cells]
    seen_here = [name for name in sorted(_names(f.__code__)) if name in f.__globals__]
    globals_ = [[name, _key(f.__globals__[name], seen)] for name in seen_here]
    defaults = [_key(f.__defaults__, seen), _key(f.__kwdefaults__, seen)]
    return ["function", f.__qualname__, _key(f.__code__, seen), defaults, cells, globals_]


def _names(code: CodeType) -> set[str]:
    """Return the names of globals and attributes in a function, and in the functions inside it."""
    return set(code.co_names).union(*(_names(c) for c in code.co_consts if isinstance(c, CodeType)))


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not set yet
        raise _Unknown from None


def _trusted(module: Any) -> bool:
    return isinstance(module, str) and module.partition(".")[0] in _TRUSTED and module != "__main__"


def _named(x: Any) -> Any:
    """Return the key of something that Python, NumPy or this library defines."""
    module = x.__name__ if isinstance(x, ModuleType) else getattr(x, "__module__", None) or "numpy"
    owner = getattr(x, "__self__", None)
    if not _trusted(module) or not (owner is None or isinstance(owner, (ModuleType, type))):
        raise _Unknown
    return ["named", module, getattr(x, "__qualname__", x.__name__)]


def _class(x: type, seen: _Seen) -> Any:
    if _trusted(x.__module__):
        return ["class", x.__module__, x.__qualname__]
    members = [
        [name, _key(value, seen)]
        for name, value in sorted(vars(x).items())
        if name not in _BOOKKEEPING and not isinstance(value, MemberDescriptorType) and not _generated(value)
    ]
    return ["class", x.__qualname__, [_key(base, seen) for base in x.__bases__], members]


def _generated(value: Any) -> bool:
    """Return True if a method was written by `dataclass`: the names and values of the fields say the same."""
    return isinstance(value, FunctionType) and (
        value.__code__.co_filename == "<string>" or value.__globals__.get("__name__") == "dataclasses"
    )


def _object(x: Any, seen: _Seen) -> Any:
    if isinstance(x, (staticmethod, classmethod, MethodType)):
        return [type(x).__name__, _key(x.__func__, seen), _key(getattr(x, "__self__", None), seen)]
    if isinstance(x, property):
        return ["property", [_key(f, seen) for f in (x.fget, x.fset, x.fdel)]]
    if isinstance(x, cached_property):
        return ["cached_property", _key(x.func, seen)]
    if isinstance(x, partial):
        return ["partial", _key(x.func, seen), _key(x.args, seen), _key(x.keywords, seen)]
    kind = type(x)
    if any(_trusted(c.__module__) and not is_ours(c) and c not in _STATELESS for c in kind.__mro__):
        raise _Unknown  # a file, a lock, a generator
    values: dict[str, Any] = dict(getattr(x, "__dict__", {}))
    for base in kind.__mro__:
        slots = base.__dict__.get("__slots__", ())
        values.update(
            {name: getattr(x, name) for name in ((slots,) if isinstance(slots, str) else slots) if hasattr(x, name)}
        )
    computed = {name for name in values if isinstance(getattr(kind, name, None), cached_property)}
    return ["object", _class(kind, seen), [[k, _key(v, seen)] for k, v in sorted(values.items()) if k not in computed]]
