"""Arguments of other array libraries: a runner leaves them to the module of their library.

Runners look at types only where a call is not one of plain arrays, which machine code has checked by then: so calls
with NumPy arrays do not get slower.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..arguments import real
from ..model.variation import with_values

if TYPE_CHECKING:
    from ..arguments import AnyArray
    from .bound import Bound
    from .kernel import Kernel

__all__ = ["ELSEWHERE", "delegate", "elsewhere", "in_numpy", "is_elsewhere"]

ELSEWHERE = cast("AnyArray", NotImplemented)
"""The result of a runner that leaves a call to another array library."""

_PLAIN = frozenset({np.ndarray, float, int, bool, np.float64, np.float32, np.int64, str, type(None)})


@cache
def _worlds() -> Any:
    """Return the package of array libraries, which is of a higher layer."""
    return import_module("ordern.worlds")


def is_elsewhere(given: Sequence[Any], varied: Bound | None = None) -> bool:
    """Return True if an argument, or a number of a varied robot, may be an array of another library than NumPy."""
    if varied is not None and type(varied.values) is not np.ndarray:
        return True
    if _PLAIN.issuperset(map(type, given)):
        return False
    library_of = _worlds().library_of
    return any(library_of(x) is not None for x in given)


def delegate(name: str, robot: Any, arguments: Mapping[str, Any]) -> Callable[..., Any] | None:
    """Return the function that stands for a method of robots in the library of its arguments; None for NumPy."""
    varied = getattr(robot, "variation", None)
    if _PLAIN.issuperset(map(type, arguments.values())) and (varied is None or type(varied.values) is np.ndarray):
        return None
    found: Callable[..., Any] | None = _worlds().delegate(name, robot, arguments)
    return found


def in_numpy(robot: Any, where: str) -> Any:
    """Return a robot for a function of NumPy arrays: parameters that are arrays of another library become NumPy's.

    Raise if they have no numbers yet, or record gradients, which the function would lose.
    """
    varied = getattr(robot, "variation", None)
    if varied is None or varied.values is None or type(varied.values) is np.ndarray:
        return robot
    return with_values(robot, real(varied.values, f"{where}: the vector of parameters that vary"))


def elsewhere(kernel: Kernel, given: Sequence[Any], out: Any, threads: int | None) -> Any:
    """Return the answer of a kernel in the library of its arguments."""
    return _worlds().answer(kernel, given, out, threads)
