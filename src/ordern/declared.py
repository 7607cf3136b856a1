"""Errors that name an argument of the wrong kind, from the types that a function declares.

Functions check what their arguments mean: shapes, ranges, names. An argument of another kind altogether, such as an
array where a name is expected, or a ragged list, often shows only deep inside, as an error of Python or NumPy that says
nothing to a user. `explain` looks at such an error when it comes out of a public function: it compares the arguments
with the function's annotations, and raises an error about the first that does not match. Calls that succeed are not
checked. Errors of a user's own functions come out as they are.

    @explained
    def pose(R: ArrayLike, p: ArrayLike) -> Array: ...
"""

from __future__ import annotations

import builtins
import collections.abc
import functools
import math
import os
import re
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np

from .arguments import numbers, real_number, shown
from .errors import ArgumentError, OrdernError

__all__ = ["explain", "explained", "explained_methods"]

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)
_LARGEST = 2**62
_MOST = 1000
"""So many entries of a sequence are looked at."""
_OURS = frozenset({"ordern", "numpy", "scipy", *sys.stdlib_module_names}) - {"__main__"}
"""Packages whose errors are about what ordern gave them."""
_SHAPES = re.compile(
    r"broadcast|mismatch|dimension|shape|aligned|inhomogeneous|ambiguous|out of bounds|out of range|array element"
    r"|too many ind|unsized"
)
"""Words of NumPy about arrays that do not fit together."""
_TOO_LARGE = re.compile(r"array is too big|maximum allowed dimension|maximum supported dimension|Unable to allocate")


def explained(function: F) -> F:
    """Let errors about arguments of the wrong kind name them; see `explain`."""

    @functools.wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        try:
            return function(*given, **named)
        except Exception as e:
            explain(function, given, named, e)
            raise

    call.explained = True  # type: ignore[attr-defined]
    return typing.cast("F", call)


def explained_methods(cls: C) -> C:
    """Let errors of all public methods of a class, and of its base classes, name arguments of the wrong kind."""
    for base in cls.__mro__:
        if not base.__module__.startswith("ordern."):
            continue
        for name, value in list(vars(base).items()):
            if name.startswith("_") and name not in ("__call__", "__init__", "__new__"):
                continue
            function = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
            if isinstance(function, types.FunctionType) and not hasattr(function, "explained"):
                made = explained(function)
                setattr(base, name, type(value)(made) if function is not value else made)
    return cls


def explain(function: Callable[..., Any], given: tuple[Any, ...], named: Mapping[str, Any], error: Exception) -> None:
    """Raise an error about the argument of a call that does not match its declared type, or about shapes.

    Return if the error is one of ordern's, comes from a function of the user's, or is Python's own about a call that
    does not fit the signature; or if there is nothing to say about the arguments.
    """
    if isinstance(error, OrdernError) or _is_users(error):
        return
    import inspect  # slow to import, and needed for errors only

    try:
        bound = inspect.signature(function).bind(*given, **named)
    except (TypeError, ValueError):
        return
    where = re.sub(r"^(__init__|__call__|__post_init__)$", "", function.__name__) or function.__qualname__.split(".")[0]
    arguments = list(_arguments(function, bound))
    for name, x, hint in arguments:
        if not _matches(x, hint):
            if _is_arrays(hint):  # the check of arrays has the reason
                numbers(x, f"{where}: {name}")
            raise ArgumentError(f"{where}: {name} must be {_text(hint)}, not {shown(x)}") from error
    arrays = {name: np.asarray(x) for name, x, hint in arguments if _has_shape(x, hint)}
    for name, a in arrays.items():
        if a.dtype.kind == "f" and not np.isfinite(a).all():
            raise ArgumentError(f"{where}: {name} must be finite, not {shown(a)}") from error
        if a.dtype.kind == "O" and "ufunc" in str(error):
            kind = type(a.flat[0]).__name__ if a.size else "object"
            raise ArgumentError(f"{where}: {name} holds objects of type {kind}; convert them to floats") from error
    if isinstance(error, MemoryError) or _TOO_LARGE.search(str(error)):
        raise ArgumentError(f"{where}: the result does not fit into memory; ask for less at once ({error})") from error
    if isinstance(error, (ValueError, IndexError, TypeError)) and _SHAPES.search(str(error)):
        shapes = ", ".join(f"{name} {a.shape}" for name, a in arrays.items())
        if shapes:
            raise ArgumentError(f"{where}: the shapes do not fit: {shapes}; NumPy reports: {error}") from error


def _is_users(error: Exception) -> bool:
    """Return whether an error was raised in code of the user's, which ordern called."""
    tb, inside = error.__traceback__, False
    while tb is not None:
        package = str(tb.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
        if inside and package not in _OURS:
            return True
        inside, tb = inside or package == "ordern", tb.tb_next
    return False


def _arguments(function: Any, bound: Any) -> Iterator[tuple[str, Any, Any]]:
    """Return the names and values of the arguments of a call, and their declared types."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    names = _Names(function)
    for k, (name, x) in enumerate(bound.arguments.items()):
        p = bound.signature.parameters[name]
        if (k == 0 and name in ("self", "cls")) or p.annotation is p.empty:
            continue
        hint = _evaluated(p.annotation, names)
        if p.kind is p.VAR_POSITIONAL:
            yield from ((name, y, hint) for y in x)
        elif p.kind is p.VAR_KEYWORD:
            yield from ((key, y, hint) for key, y in x.items())
        else:
            yield name, x, hint


class _Names(dict[str, Any]):
    """The names in annotations of a function, also those that only type checkers import."""

    def __init__(self, function: Any) -> None:
        super().__init__({"ArrayLike": _Arrays, "Any": Any})
        self.known = (vars(sys.modules.get(function.__module__, builtins)), vars(builtins), vars(typing))

    def __missing__(self, name: str) -> Any:
        for names in (*self.known, vars(collections.abc)):
            if name in names:
                return names[name]
        modules = [vars(m) for path, m in list(sys.modules.items()) if path.startswith("ordern.")]
        found = [m[name] for m in modules if name in m]
        classes = tuple(dict.fromkeys(x for x in found if isinstance(x, type) or typing.get_origin(x) is not None))
        return typing.Union[classes] if classes else type(name, (), {})  # noqa: UP007


class _Arrays:
    """What NumPy can make an array of numbers of."""


def _evaluated(annotation: Any, names: _Names) -> Any:
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, {}, names)  # our own source
    except Exception:
        return Any


def _members(hint: Any) -> tuple[Any, ...]:
    """Return the members of a union; those of NumPy's arrays are one."""
    if typing.get_origin(hint) not in (typing.Union, types.UnionType):
        return (hint,)
    members = typing.get_args(hint)
    if not any(_of_numpy(x) for x in members):
        return members
    plain = (bool, int, float, complex, str, bytes)
    return (_Arrays, *(x for x in members if not _of_numpy(x) and x not in plain and "Buffer" not in str(x)))


def _of_numpy(hint: Any) -> bool:
    return str(getattr(typing.get_origin(hint) or hint, "__module__", "")).startswith("numpy._typing")


def _is_arrays(hint: Any) -> bool:
    return _members(hint) in ((_Arrays,), (_Arrays, type(None))) or _members(hint)[:1] == (type(None), _Arrays)


def _matches(x: Any, hint: Any) -> bool:
    """Return whether a value may be of a declared type; what this cannot tell, it may."""
    return any(_matches_one(x, member) for member in _members(hint))


def _matches_one(x: Any, hint: Any) -> bool:
    origin: Any = typing.get_origin(hint) or hint
    inside = typing.get_args(hint)
    if origin in (None, type(None)):
        return x is None
    if origin is _Arrays:
        return _is_array(x)
    if origin is typing.Literal:
        return isinstance(x, str) and x in inside
    if not isinstance(origin, type):
        return True
    if origin in _SCALARS:
        return _SCALARS[origin](x)
    if "Callable" in str(origin):
        return callable(x)
    if origin is np.ndarray:
        return (isinstance(x, np.ndarray) and x.dtype.kind in "biufc") or _is_elsewhere(x)
    if issubclass(origin, collections.abc.Mapping):
        pairs = inside if len(inside) == 2 else (Any, Any)
        return isinstance(x, collections.abc.Mapping) and all(
            _matches(k, pairs[0]) and _matches(y, pairs[1]) for k, y in x.items()
        )
    if origin in _SEQUENCES:
        return _matches_sequence(x, origin, inside)
    try:
        return isinstance(x, origin)
    except TypeError:  # protocols
        return True


def _matches_sequence(x: Any, origin: type, inside: tuple[Any, ...]) -> bool:
    """Return whether a value is a sequence of a declared type; a tuple may be a list, and an array."""
    if isinstance(x, (str, bytes, bytearray, memoryview)) or not isinstance(x, collections.abc.Iterable):
        return False
    if not isinstance(x, collections.abc.Sized):
        return origin is collections.abc.Iterable
    if isinstance(x, np.ndarray) and x.ndim == 0:
        return False
    if origin is tuple and inside and inside[-1] is not ...:
        return len(x) == len(inside) and all(map(_matches, x, inside))
    return not inside or all(_matches(y, inside[0]) for _, y in zip(range(_MOST), x, strict=False))


def _is_array(x: Any) -> bool:
    if _is_elsewhere(x):
        return True
    try:
        numbers(x, "")
    except Exception:
        return False
    return True


def _is_elsewhere(x: Any) -> bool:
    return not isinstance(x, (np.ndarray, np.generic)) and hasattr(x, "__dlpack__")


def _is_text(x: Any) -> bool:
    try:
        return isinstance(x, str) and "\0" not in x and bool(x.encode() or True)
    except UnicodeEncodeError:
        return False


def _is_number(x: Any) -> bool:
    return isinstance(x, (bool, np.bool_, float, np.floating)) or not math.isnan(real_number(x))


def _is_integer(x: Any) -> bool:
    counts = isinstance(x, (int, np.integer))
    return counts and not isinstance(x, np.timedelta64)  # which NumPy derives from its integers


def _is_path(x: Any) -> bool:
    return isinstance(x, os.PathLike) and _is_text(os.fspath(x))


_SCALARS: dict[Any, Callable[[Any], bool]] = {
    str: _is_text,
    bool: lambda x: isinstance(x, (bool, np.bool_)) or (isinstance(x, int) and x in (0, 1)),
    int: lambda x: _is_integer(x) and abs(int(x)) <= _LARGEST,
    float: _is_number,
    os.PathLike: _is_path,
}
_SEQUENCES = (
    *(tuple, list, set, frozenset, collections.abc.Sequence, collections.abc.Iterable),
    *(collections.abc.Collection, collections.abc.Set),
)
_WORDS = {
    str: "text",
    bool: "True or False",
    int: "an integer",
    float: "a number",
    os.PathLike: "a path",
    _Arrays: "an array of numbers",
    np.ndarray: "an array",
    type(None): "None",
    collections.abc.Callable: "a function",
}


def _text(hint: Any) -> str:
    """Return a declared type in words."""
    found = list(dict.fromkeys(_text_of_one(member) for member in _members(hint)))
    return found[0] if len(found) == 1 else f"{', '.join(found[:-1])} or {found[-1]}"


def _text_of_one(hint: Any) -> str:
    origin, inside = typing.get_origin(hint) or hint, typing.get_args(hint)
    if origin is None or origin in _WORDS:
        return _WORDS.get(origin, "None")
    if origin is typing.Literal:
        return " or ".join(map(repr, inside))
    if isinstance(origin, type) and issubclass(origin, collections.abc.Mapping):
        return "a dictionary" + (f" from {_text(inside[0])} to {_text(inside[1])}" if len(inside) == 2 else "")
    if origin in _SEQUENCES:
        several = f" of {', '.join(_text(y) for y in inside if y is not ...)}" if inside and Any not in inside else ""
        return "a sequence" + several
    name = getattr(origin, "__name__", str(origin))
    return f"{'an' if name[:1] in 'AEIOU' else 'a'} {name}"


def _has_shape(x: Any, hint: Any) -> bool:
    """Return whether an argument is an array of numbers, or a number, of NumPy's kinds."""
    if isinstance(x, np.ndarray):
        return True
    return not {_Arrays, float}.isdisjoint(_members(hint)) and not _is_elsewhere(x) and _is_array(x)
