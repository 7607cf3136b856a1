"""The fast path of single states: machine code in the place of a robot's method.

A call of a small robot takes less than a microsecond, of which a Python frame would be a third. So after the first
call of `robot.forward_dynamics` the robot's own dictionary holds an emitted C function of that name, which Python finds
before the method of the class. The function takes plain arrays of one state and no keywords. All other calls go to a
second entry of the dictionary, `_general_forward_dynamics`, which the function looks up by name: so it holds no
reference that the cyclic collector cannot see (see `ordern.compile.run.keeper`).

`install` is the only function that writes such entries. They change the speed of calls, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

from .tracing import allow

if TYPE_CHECKING:
    from .kernel import Kernel

__all__ = ["add_fallback", "install"]


def install(robot: Any, name: str, kernel: Kernel, *, first: int | None = None, floor: float | None = None) -> bool:
    """Put machine code in the place of a method of a robot; tell whether it is there.

    A robot without a method of this name, or of a class that overrides it, is left as it is, and so is a varied robot.

    Of an answer that is a vector, the function may return the `first` numbers only; with a `floor`, states whose last
    number is not above it go to the method itself.
    """
    if kernel.is_varied:
        return False
    import inspect  # slow to import, and not needed to load a robot

    general: Any = next((vars(c)[name] for c in type(robot).__mro__ if name in vars(c)), None)
    if general is None or not general.__module__.startswith("ordern."):
        return False
    parameters = list(inspect.signature(general).parameters.values())[1:]
    shown = [p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in parameters]
    named = sum(p.kind is p.KEYWORD_ONLY for p in parameters)
    if named:
        shown.insert(len(shown) - named, "*")
    doc = f"{name}({', '.join(shown)})\n--\n\n{inspect.getdoc(general)}"
    fallback = general.__get__(robot)
    if first is None:
        fallback = _for_batches(kernel, fallback)
    function = kernel.fast(fallback, robot, doc, name=name, first=first, floor=floor)
    robot.__dict__[name] = function
    allow(function)
    return True


def add_fallback(owner: Any, name: str, fallback: Callable[..., Any]) -> str:
    """Write the function for all other calls into the owner's dictionary; return its key there."""
    # a bound method can be called without building a tuple of arguments, in every version of Python
    method = fallback if isinstance(fallback, MethodType) else MethodType(_call, fallback)
    key, n = f"_general_{name}", 0
    while owner.__dict__.setdefault(key, method) is not method:  # another function of this name
        n += 1
        key = f"_general_{name}_{n}"
    return key


def _call(function: Any, *arguments: Any, **keywords: Any) -> Any:
    return function(*arguments, **keywords)


def _for_batches(kernel: Kernel, general: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that calls the kernel at once with arrays, as many as it takes, and else the general method."""
    plain, known = (np.ndarray,) * len(kernel.ports), {"threads", "out"}

    def method(*arguments: Any, **settings: Any) -> Any:
        if tuple(map(type, arguments)) == plain and settings.keys() <= known:
            return kernel(*arguments, **settings)
        return general(*arguments, **settings)

    return method
