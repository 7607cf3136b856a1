"""Array libraries: a call is answered in the library that its arguments come from.

NumPy arrays and Python numbers fit everywhere. A call with JAX arrays or PyTorch tensors returns such; a call with both
is an error. Types are known by the names of their modules, so this module imports no array library: a library is
imported by the one who made the array.

Each library has a module of its name in this package, with two functions:

    answer(kernel, arguments, out, threads)     the answer of a kernel
    delegate(name)                              the function for a method of robots that is not one kernel, or None

`operators` has what they share: a question about a robot as a pure function of arrays, and its derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError

if TYPE_CHECKING:
    from ..kernel import Kernel

__all__ = ["answer", "delegate", "library", "library_of"]

_LIBRARIES = {"jax": "JAX", "jaxlib": "JAX", "torch": "PyTorch", "cupy": "CuPy", "ordern.gpu.arrays": "ordern.gpu"}
"""The names of libraries, by the packages or modules that define their types."""
_MODULES = {"JAX": "jax", "PyTorch": "torch", "CuPy": "device", "ordern.gpu": "device"}
"""The names of their modules here."""
_NUMBERS, _NESTED = frozenset({int, float, bool}), frozenset({list, tuple, dict})

_DEEPEST = 64
"""Arrays are looked for in so many lists within each other; NumPy's arrays have as many dimensions at most."""


def library_of(x: Any) -> str | None:
    """Return the library of an array, or of the first array in a list or dictionary; None for NumPy and all else."""
    return next(_libraries(x), None)


def _libraries(x: Any, depth: int = 0) -> Iterator[str]:
    """Yield the libraries of an array, or of all arrays in a list or dictionary, which may contain itself."""
    if isinstance(x, (list, tuple, Mapping)):
        parts = x.values() if isinstance(x, Mapping) else x
        if depth < _DEEPEST and not _NUMBERS.issuperset(map(type, parts)):
            yield from chain.from_iterable(_libraries(part, depth + 1) for part in parts)
        return
    kind: Any = type(x)
    found = _of_type(kind)
    if found is not None:
        yield found


@lru_cache(maxsize=256)
def _of_type(kind: type) -> str | None:
    """Return the library of a type: that of the first of its base classes that is from a known package."""
    modules = [str(base.__module__) for base in kind.__mro__]
    found = (_LIBRARIES.get(name) or _LIBRARIES.get(name.partition(".")[0]) for name in modules)
    return next(filter(None, found), None)


def library(where: str, arguments: Mapping[str, Any]) -> str | None:
    """Return the library of all arguments of a call, by name; None if all fit NumPy. A mixture is an error."""
    found = {name: sorted(set(_libraries(x))) for name, x in arguments.items()}
    kinds = sorted(set(chain.from_iterable(found.values())))
    if len(kinds) > 1:
        listed = ", ".join(f"{name} of {' and '.join(some)}" for name, some in found.items() if some)
        raise ArgumentError(
            f"{where}: the arguments come from several array libraries ({listed}); give all in one of them. NumPy "
            "arrays and numbers go with each"
        )
    return kinds[0] if kinds else None


def answer(kernel: Kernel, arguments: Sequence[Any], out: Any, threads: int | None) -> Any:
    """Return the answer of a kernel in the library of its arguments, which is not NumPy."""
    kinds = set(map(type, arguments))
    if len(kinds) == 1 and kinds.isdisjoint(_NESTED) and out is None and kernel.model.variation is None:
        kind = library_of(arguments[0])  # the usual case: naming the arguments takes microseconds
    else:
        named = dict(_named(kernel, arguments))
        kind = library(kernel.question.name, named if out is None else {**named, "out": out})
    assert kind is not None
    return _world(kind).answer(kernel, arguments, out, threads)


def delegate(name: str, robot: Any, arguments: Mapping[str, Any]) -> Callable[..., Any] | None:
    """Return the function that stands for a method of a robot in the library of its arguments; None for NumPy."""
    varied = getattr(robot, "variation", None)
    values = None if varied is None else varied.values
    kind = library(name, {**arguments, "parameters of the robot": values})
    if kind is None:
        return None
    found: Callable[..., Any] | None = _world(kind).delegate(name)
    if found is None:
        raise ArgumentError(
            f"{name} is a function of NumPy arrays, and an argument is of {kind}: convert it with `numpy.asarray`"
        )
    return found


def _named(kernel: Kernel, arguments: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the arguments of a kernel with their names, and the numbers of a varied robot."""
    for k, x in enumerate(arguments):
        yield (kernel.ports[k].name if k < len(kernel.ports) else f"argument {k + 1}"), x
    variation = kernel.model.variation
    if variation is not None:
        yield "parameters of the robot", variation.values


def _world(kind: str) -> Any:
    """Return the module of a library."""
    return import_module(f".{_MODULES[kind]}", __name__)
