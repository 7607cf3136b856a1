"""Methods of robots for compilers that read Python code, such as that of PyTorch.

Such a compiler cannot read the code of a method, which looks up kernels and compiles them. In the place of a function,
PyTorch's compiler reads the function in its attribute `_torchdynamo_inline`. It does not read a function with the
attribute `_dynamo_marked_constant`, but calls it once, and takes its result for a constant. Machine code in the place
of a method (see `fast_path`) must be made known to it; the compiler is slow to import, so this is done when it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import FunctionType, ModuleType
from typing import Any, TypeVar
from weakref import WeakSet

__all__ = ["READERS", "allow", "readable"]

C = TypeVar("C", bound=type)
READERS: dict[str, Callable[..., Any]] = {}
"""The function that a compiler reads in the place of all methods; the module of its library adds it when imported."""
_COMPILER = "torch._dynamo"
_WAITING: WeakSet[Any] = WeakSet()
"""Functions to make known to PyTorch's compiler when it is imported."""


def readable(robots: C, names: Iterable[str] | None = None) -> C:
    """Let PyTorch's compiler read `ordern.worlds.torch.compiling` in the place of methods: all that are public."""
    for base in robots.__mro__:
        if base.__module__.startswith("ordern."):
            for name in [x for x in vars(base) if not x.startswith("_")] if names is None else names:
                method = vars(base)[name]
                if isinstance(method, FunctionType):
                    method._torchdynamo_inline = _instead(name)  # type: ignore[attr-defined]
    return robots


def _template(self: Any, *given: Any, **named: Any) -> Any:
    """Stand for a method: the compiler reads this function with the method's name in the place of "name"."""
    return READERS[_loaded("torch")](self, "name", given, named)


def _instead(name: str) -> Callable[..., Any]:
    """Return the function that the compiler reads in the place of a method.

    The name is a constant of its code: the compiler would look for a closure, or a default, in the method itself.
    """
    code = _template.__code__
    constants = tuple(name if x == "name" else x for x in code.co_consts)
    return FunctionType(code.replace(co_consts=constants, co_name=name), globals(), name)


def _loaded(library: str) -> str:
    """Import the module that adds a reader; return the name of the reader."""
    import_module(f"ordern.worlds.{library}.compiling")  # a higher layer
    return library


_loaded._dynamo_marked_constant = True  # type: ignore[attr-defined]


def allow(function: Any) -> None:
    """Let PyTorch's compiler put calls of machine code, in the place of a method, into its graphs."""
    if _COMPILER in sys.modules:
        sys.modules[_COMPILER].allow_in_graph(function)
        return
    _WAITING.add(function)
    if not any(isinstance(x, _Watch) for x in sys.meta_path):
        sys.meta_path.insert(0, _Watch())


class _Watch:
    """Waits for the import of PyTorch's compiler, and leaves then."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return how to import the compiler; None for all other modules."""
        if name != _COMPILER:
            return None
        sys.meta_path.remove(self)
        found = find_spec(name)
        if found is not None and found.loader is not None:
            load = found.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                load(module)
                for function in list(_WAITING):
                    module.allow_in_graph(function)

            found.loader.exec_module = exec_module  # type: ignore[method-assign]
        return found
