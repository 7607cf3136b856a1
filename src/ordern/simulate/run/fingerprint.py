"""Fingerprints of the user's functions and controllers. Checkpoints recognise them by these.

The fingerprint of a function covers its name (not the name of its module, which may be run or imported), code,
constants and defaults, and the numbers, texts, arrays and functions that it uses from enclosing functions and from its
module. The fingerprint of an object covers its class, and attributes of the same kinds. Lists, dictionaries and
variables that a function sets itself are its memory: they are left out, as are attributes that are computed on demand.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["fingerprint"]

_DEPTH = 6
_PLAIN = (int, float, complex, str, bytes, bool, type(None), type(Ellipsis), np.generic)
_SETS = {"STORE_DEREF", "STORE_GLOBAL", "DELETE_DEREF", "DELETE_GLOBAL"}


def fingerprint(x: Any) -> str:
    """Return a text that is the same for the same function, also in another process of the same Python."""
    h = hashlib.sha256()
    for part in _parts(x, _DEPTH, set()):
        h.update(part.encode() + b"\0")
    return h.hexdigest()


def _parts(x: Any, depth: int, seen: set[int]) -> Iterator[str]:
    if isinstance(x, _PLAIN):
        yield f"{type(x).__name__} {x!r}"
    elif isinstance(x, np.ndarray):
        numbers = b"" if x.dtype.hasobject else np.ascontiguousarray(x).tobytes()
        yield f"array {x.dtype.str} {x.shape} {hashlib.sha256(numbers).hexdigest()}"
    elif isinstance(x, types.CodeType):
        yield from _code(x, depth, seen)
    elif isinstance(x, tuple):
        yield f"tuple {len(x)}"
        for y in x:
            yield from _parts(y, depth, seen)
    elif isinstance(x, frozenset):
        yield f"frozenset {sorted(map(repr, x))}"
    elif isinstance(x, type):
        yield f"class {x.__qualname__}"
    elif depth == 0 or id(x) in seen:
        yield type(x).__qualname__
    else:
        yield from _compound(x, depth - 1, seen | {id(x)})


def _compound(x: Any, depth: int, seen: set[int]) -> Iterator[str]:
    """Yield the parts of a function or an object."""
    if isinstance(x, types.FunctionType):
        yield from _function(x, depth, seen)
    elif isinstance(x, types.MethodType):
        yield from _parts((x.__func__, x.__self__), depth, seen)
    elif isinstance(x, functools.partial):
        yield from _parts(("partial", x.func, x.args, tuple(sorted(x.keywords.items()))), depth, seen)
    elif isinstance(getattr(x, "digest", None), str):  # a robot
        yield f"{type(x).__qualname__} {x.digest}"
    else:
        kind = type(x)
        yield f"object {kind.__qualname__} {getattr(x, '__qualname__', '')}"
        call = getattr(kind, "__call__", None)  # noqa: B004, its code, not whether it is there
        if isinstance(call, types.FunctionType):
            yield from _parts(call, depth, seen)
        yield from _attributes(x, kind, depth, seen)


def _attributes(x: Any, kind: type, depth: int, seen: set[int]) -> Iterator[str]:
    if isinstance(x, (types.ModuleType, list, dict, set)):
        return
    for name, value in sorted(getattr(x, "__dict__", {}).items()):
        if not isinstance(getattr(kind, name, None), functools.cached_property):
            yield f"attribute {name}"
            yield from _parts(value, depth, seen)


def _function(f: types.FunctionType, depth: int, seen: set[int]) -> Iterator[str]:
    yield f"function {f.__qualname__}"
    yield from _code(f.__code__, depth, seen)
    yield from _parts(f.__defaults__ or (), depth, seen)
    yield from _parts(tuple(sorted((f.__kwdefaults__ or {}).items())), depth, seen)
    own = {i.argval for i in dis.get_instructions(f.__code__) if i.opname in _SETS}
    for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
        if name not in own:
            yield f"enclosed {name}"
            yield from _parts(_content(cell), depth, seen)
    for name in f.__code__.co_names:
        value = f.__globals__.get(name)
        if name not in own and isinstance(value, (*_PLAIN, np.ndarray, tuple, types.FunctionType)):
            yield f"global {name}"
            yield from _parts(value, depth, seen)


def _code(code: types.CodeType, depth: int, seen: set[int]) -> Iterator[str]:
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_argcount, code.co_kwonlyargcount)
    yield f"code {code.co_code.hex()} {names}"
    doc = code.co_consts[:1] if code.co_consts and isinstance(code.co_consts[0], str) else ()
    yield from _parts(code.co_consts[len(doc) :], depth, seen)


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not set yet
        return None
