"""What functions and objects compute with, as plain values that are the same in all processes.

The content of a function is its bytecode, constants and defaults, the values that it closes over, and the globals that
it names; of a class the content of all methods and attributes, with its bases; of an object its class and its state.
The bytecode is what runs; the file may have changed since it was imported. Python, NumPy and this library are known by
name: keys of stored code have their versions.

`Definition` is for functions that are traced once, and whose code is stored: what they read beyond their arguments and
their content, such as files and the environment, has no content. `simulate.run.fingerprint` extends it for functions
that run, such as controllers.
"""

from __future__ import annotations

import dis
import hashlib
import sys
from abc import ABC
from collections.abc import Iterator
from functools import cached_property, partial
from operator import attrgetter, itemgetter
from types import BuiltinFunctionType, CodeType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any, Generic, Protocol

import numpy as np

__all__ = ["Definition", "Unknown"]

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
_PURE = frozenset(
    {
        *("abc", "array", "bisect", "builtins", "cmath", "collections", "contextlib", "copy", "dataclasses", "decimal"),
        *("enum", "fractions", "functools", "heapq", "itertools", "math", "numbers", "operator", "re", "statistics"),
        *("string", "types", "typing", "warnings", "__future__", "_collections_abc", "_operator", "_functools"),
    }
)
"""Modules of Python whose functions depend on their arguments alone."""
_OUTSIDE = frozenset(
    {
        *("open", "input", "eval", "exec", "compile", "globals", "vars", "breakpoint", "__import__", "hash", "id"),
        *("load", "loadtxt", "genfromtxt", "fromfile", "fromregex", "memmap", "random", "DataSource"),
    }
)
"""Builtins, and functions of NumPy and this library, whose results depend on more than their arguments."""
_STORES = frozenset({"STORE_GLOBAL", "DELETE_GLOBAL", "STORE_DEREF", "DELETE_DEREF"})


class Unknown(Exception):
    """Something has no content that can be written down; its text says what, and where."""


class Definition:
    """The content of functions, classes and objects that a traced definition is made of."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[str, Any]] = {}
        """Digests of objects that were met before, and the objects themselves, so that no id is used again."""
        self._open: dict[int, int] = {}
        """Objects whose content is being written down, and how deep they are."""
        self.where: list[str] = []

    def digest(self, *things: Any) -> str:
        """Return a digest of things, the same in all processes; raise `Unknown` if one of them has no content."""
        try:
            key = [sys.version, np.__version__, *(self.of(x) for x in things)]
        except RecursionError:
            raise Unknown("it is nested too deeply") from None
        return hashlib.sha256(repr(key).encode()).hexdigest()

    def of(self, x: Any, where: str = "") -> Any:
        """Return plain values that stand for x."""
        kind = type(x)
        if kind in _PLAIN or (isinstance(x, np.generic) and kind.__module__ == "numpy"):
            return [kind.__name__, repr(x)]
        if id(x) in self._found:
            return self._found[id(x)][0]
        if id(x) in self._open:
            return ["around", len(self._open) - self._open[id(x)]]
        self._open[id(x)] = len(self._open)
        self.where.append(where)
        try:
            found = hashlib.sha256(repr(self.compound(x)).encode()).hexdigest()
        finally:
            del self._open[id(x)]
        self.where.pop()  # kept if there is an error, whose text it is
        self._found[id(x)] = (found, x)
        return found

    def unknown(self, x: Any) -> Unknown:
        """Return the error for something that has no content."""
        what = x.__name__ if isinstance(x, (type, ModuleType)) else f"a {type(x).__name__}"
        path = [word for word in self.where if word]
        return Unknown(f"{' of '.join(reversed(path))} is {what}" if path else f"it is {what}")

    def compound(self, x: Any) -> Any:
        """Return the content of something that is no plain value."""
        kind = type(x)
        if isinstance(x, CodeType):
            names = [getattr(x, f"co_{word}", None) for word in _CODE]
            return ["code", names, [self.of(c) for c in x.co_consts]]
        if isinstance(x, FunctionType):
            return self.function(x)
        if kind in (tuple, list):
            return [kind.__name__, *(self.of(y) for y in x)]
        if kind in (set, frozenset):
            return ["set", sorted(repr(self.of(y)) for y in x)]
        if kind is dict:
            return ["dict", *([self.of(k), self.of(v, repr(k))] for k, v in x.items())]
        if kind is np.ndarray and not x.dtype.hasobject:
            return ["array", x.dtype.str, x.shape, _bytes_digest(np.ascontiguousarray(x).tobytes())]
        if kind in (itemgetter, attrgetter):
            return [kind.__name__, repr(x)]
        if isinstance(x, (type, BuiltinFunctionType, np.ufunc, ModuleType)):
            return self.class_(x) if isinstance(x, type) else self.named(x)
        if isinstance(x, (staticmethod, classmethod, MethodType)):
            return [kind.__name__, self.of(x.__func__), self.of(getattr(x, "__self__", None))]
        if isinstance(x, property):
            return ["property", [self.of(f) for f in (x.fget, x.fset, x.fdel)]]
        if isinstance(x, cached_property):
            return ["cached_property", self.of(x.func)]
        if isinstance(x, partial):
            return ["partial", self.of(x.func), self.of(x.args), self.of(x.keywords)]
        return self.object(x)

    def function(self, f: FunctionType) -> Any:
        """Return the content of a function."""
        module = f.__globals__.get("__name__")
        if self.trusted(module):
            return ["function", self.of_library(f, str(module)), f.__qualname__, *self.closed(f, set())]
        self.require_pure(f)
        globals_ = [[name, self.of(f.__globals__[name], f"global {name!r}")] for name in self.globals_of(f)]
        return ["function", f.__qualname__, self.of(f.__code__), *self.closed(f, set()), globals_]

    def closed(self, f: FunctionType, left_out: set[str]) -> Any:
        """Return the defaults of a function, and the values that it closes over."""
        defaults = [self.of(f.__defaults__, "a default"), self.of(f.__kwdefaults__, "a default")]
        cells = zip(f.__code__.co_freevars, f.__closure__ or (), strict=True)
        return defaults, [self.of(_content(c), f"variable {name!r}") for name, c in cells if name not in left_out]

    def globals_of(self, f: FunctionType) -> list[str]:
        """Return the globals that a function can see by the names in it."""
        return [name for name in sorted(names_of(f.__code__)) if name in f.__globals__]

    def require_pure(self, f: FunctionType) -> None:
        """Raise if a function reads anything beyond its arguments and its content, or has a memory."""
        for code in codes_of(f.__code__):
            free = {*code.co_freevars} if code is f.__code__ else set()
            for i in dis.get_instructions(code):
                name = str(i.argval)
                reads = name in _OUTSIDE and i.opname in ("LOAD_GLOBAL", "LOAD_NAME") and name not in f.__globals__
                keeps = i.opname in _STORES and (i.opname.endswith("GLOBAL") or name in free)
                if reads or keeps or (i.opname == "IMPORT_NAME" and not _pure(name)):
                    raise Unknown(f"{f.__qualname__} uses {name!r}")
        names = names_of(f.__code__)
        modules = (name for name in names if isinstance(f.__globals__.get(name, sys.modules.get(name)), ModuleType))
        if names & _OUTSIDE and any(modules):
            raise Unknown(f"{f.__qualname__} uses {min(names & _OUTSIDE)!r}")

    def trusted(self, module: Any) -> bool:
        """Return True if what a module defines is known by its name."""
        return isinstance(module, str) and module.partition(".")[0] in _TRUSTED and module != "__main__"

    def of_library(self, x: Any, module: str) -> str:
        """Return the name of a module whose function or class `x` is known by name; raise if that is not enough."""
        if not _pure(module) or getattr(x, "__name__", "") in _OUTSIDE:
            raise self.unknown(x)
        return module

    def named(self, x: Any) -> Any:
        """Return the content of something that Python, NumPy or this library defines."""
        module = x.__name__ if isinstance(x, ModuleType) else getattr(x, "__module__", None) or "numpy"
        owner = getattr(x, "__self__", None)
        if not self.trusted(module) or not (owner is None or isinstance(owner, (ModuleType, type))):
            raise self.unknown(x)
        return ["named", self.of_library(x, module), getattr(x, "__qualname__", x.__name__)]

    def class_(self, x: type) -> Any:
        """Return the content of a class."""
        if self.trusted(x.__module__):
            return ["class", self.of_library(x, x.__module__), x.__qualname__]
        members = [
            [name, self.of(value, f"attribute {name!r} of {x.__qualname__}")]
            for name, value in sorted(vars(x).items())
            if name not in _BOOKKEEPING and not isinstance(value, MemberDescriptorType) and not _generated(value)
        ]
        return ["class", x.__qualname__, [self.of(base) for base in x.__bases__], members]

    def object(self, x: Any) -> Any:
        """Return the content of an object."""
        kind = type(x)
        for c in kind.__mro__:
            if self.trusted(c.__module__) and not c.__module__.startswith("ordern.") and c not in _STATELESS:
                raise self.unknown(x)  # a file, a lock, a generator
        values: dict[str, Any] = dict(getattr(x, "__dict__", {}))
        for base in kind.__mro__:
            slots = base.__dict__.get("__slots__", ())
            values.update(
                {name: getattr(x, name) for name in ((slots,) if isinstance(slots, str) else slots) if hasattr(x, name)}
            )
        return ["object", self.class_(kind), self.fields(kind, values)]

    def fields(self, kind: type, values: dict[str, Any]) -> Any:
        """Return the content of the fields of an object, but for those that are computed on demand."""
        computed = {name for name in values if isinstance(getattr(kind, name, None), cached_property)}
        what = {name: f"attribute {name!r} of {kind.__name__}" for name in values}
        return [[k, self.of(v, what[k])] for k, v in sorted(values.items()) if k not in computed]


def codes_of(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of a function, and of the functions inside it."""
    yield code
    for c in code.co_consts:
        if isinstance(c, CodeType):
            yield from codes_of(c)


def names_of(code: CodeType) -> set[str]:
    """Return the names of globals and attributes in a function, and in the functions inside it."""
    return {name for c in codes_of(code) for name in c.co_names}


def _pure(module: str) -> bool:
    """Return True if functions of a library's module depend on their arguments alone, but for those named _OUTSIDE."""
    return module.partition(".")[0] in (*_PURE, "numpy", "ordern") and "random" not in module.split(".")


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not set yet
        raise Unknown("a variable is not set yet") from None


def _bytes_digest(numbers: bytes) -> str:
    return hashlib.sha256(numbers).hexdigest()


def _generated(value: Any) -> bool:
    """Return True if a method was written by `dataclass`: the names and values of the fields say the same."""
    return isinstance(value, FunctionType) and (
        value.__code__.co_filename == "<string>" or value.__globals__.get("__name__") == "dataclasses"
    )
