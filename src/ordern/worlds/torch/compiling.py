"""Methods of robots under `torch.compile`.

The compiler reads Python code, and cannot read what a method does before it comes to an operator: it looks up kernels,
and compiles them. So it reads `traced` in the place of each method (see `ordern.kernel.tracing`). This function takes
the tensors out of the arguments. What is left over is a constant, which `_remembered` keeps under a key, and the graph
gets one call of `_run` with the key and the tensors. When the compiler then follows `_run` with fake tensors, the
method itself runs, and the operators of `library` enter the graph.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from types import CodeType
from typing import Any

import numpy as np
import torch

from ...errors import ArgumentError
from ...kernel.tracing import READERS
from ...model.variation import with_values
from .library import graph

__all__ = ["traced"]

_CALLS: dict[str, tuple[Any, str, Any, Any, bool, int]] = {}
"""The calls in compiled graphs: the robot, the name of its method, the arguments, with marks for tensors and arrays,
whether the first tensor has the parameters of the robot, and the number of tensors."""
_TENSOR, _ARRAY = "tensor of a compiled call", "array of a compiled call"


def traced(robot: Any, name: str, given: Any, named: Any) -> Any:
    """Return the answer of a method of a robot while the compiler reads it."""
    tensors: list[torch.Tensor] = []
    arrays: list[torch.Tensor] = []
    variation: Any = getattr(robot, "variation", None)
    varied = variation is not None and isinstance(variation.values, torch.Tensor)
    if varied:
        tensors.append(variation.values)
    marked = _marked(given, tensors, arrays), _marked(named, tensors, arrays)
    key = _remembered(robot, name, *marked, varied, len(tensors))
    return _run(key, *tensors, *arrays)


def _marked(x: Any, tensors: list[torch.Tensor], arrays: list[torch.Tensor]) -> Any:
    """Return arguments with marks in the place of tensors and NumPy arrays, which are added to lists."""
    if isinstance(x, torch.Tensor):
        tensors.append(x)
        return (_TENSOR, len(tensors) - 1)
    if isinstance(x, np.ndarray):
        arrays.append(torch.as_tensor(x))
        return (_ARRAY, len(arrays) - 1)
    if isinstance(x, dict):
        return {name: _marked(y, tensors, arrays) for name, y in x.items()}
    if isinstance(x, list):
        return [_marked(y, tensors, arrays) for y in x]
    if isinstance(x, tuple):
        return tuple([_marked(y, tensors, arrays) for y in x])
    return x


def _filled(x: Any, tensors: Sequence[torch.Tensor], arrays: Sequence[torch.Tensor]) -> Any:
    """Return arguments with tensors in the place of marks."""
    if isinstance(x, dict):
        return {name: _filled(y, tensors, arrays) for name, y in x.items()}
    if isinstance(x, list):
        return [_filled(y, tensors, arrays) for y in x]
    if isinstance(x, tuple):
        if x[:1] in ((_TENSOR,), (_ARRAY,)):
            return (tensors if x[0] == _TENSOR else arrays)[x[1]]
        return tuple(_filled(y, tensors, arrays) for y in x)
    return x


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _remembered(robot: Any, name: str, given: Any, named: Any, varied: bool, count: int) -> str:
    """Keep a call, and return its key. The compiler calls this function once for each call that it reads."""
    key = f"{name} of {getattr(robot, 'name', robot)} {secrets.token_hex(8)}"
    _CALLS[key] = robot, name, given, named, varied, count
    return key


@torch.compiler.allow_in_graph  # type: ignore[untyped-decorator]
def _run(key: str, *tensors: torch.Tensor) -> Any:
    """Run a method of a robot; the graph of the compiler has a call of this function."""
    robot, name, given, named, varied, count = _CALLS[key]
    own, arrays = tensors[:count], list(tensors[count:])
    if varied:
        robot = with_values(robot, own[0])
    if own:  # arrays take the precision of the tensors beside them, as they do outside of a compiler
        double = any(x.dtype == torch.float64 for x in own)
        arrays = [x.to(torch.float64 if double else torch.float32) for x in arrays]
    before, graph.is_run = graph.is_run, True
    try:
        return getattr(type(robot), name)(robot, *_filled(given, own, arrays), **_filled(named, own, arrays))
    finally:
        graph.is_run = before


def _require_version() -> None:
    """Raise if the compiler takes no objects for constants: versions of PyTorch up to 2.8 do not, and 2.13 does."""
    from torch._dynamo.variables import functions

    makes = getattr(functions, "invoke_and_store_as_constant", None)
    if makes is not None and "UserDefinedObjectVariable" not in _names_in(makes.__code__):
        raise ArgumentError(
            f"torch.compile of functions that call robots needs a later version of PyTorch than {torch.__version__}, "
            "such as 2.13; without compilation, robots answer tensors in this version, too"
        )


def _names_in(code: CodeType) -> tuple[Any, ...]:
    """Return the names that a function and the functions in it use."""
    inner = (x for x in code.co_consts if isinstance(x, CodeType))
    return (*code.co_names, *(name for x in inner for name in _names_in(x)))


_require_version()
READERS["torch"] = traced
