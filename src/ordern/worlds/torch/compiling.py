"""Methods of robots under `torch.compile`.

The compiler reads Python code, and cannot read what a method does before it comes to an operator: it looks up kernels,
and compiles them. So it reads `traced` in the place of each method (see `ordern.kernel.tracing`). This function takes
the tensors out of the arguments. What is left over is a constant, which `_remembered` keeps under a key, and the graph
gets one call of `_run` with the key and the tensors. When the compiler then follows `_run` with fake tensors, the
method itself runs, and the operators of `library` enter the graph.
"""

from __future__ import annotations

import secrets
from typing import Any

import torch

from ...kernel.tracing import READERS
from ...model.variation import with_values

__all__ = ["traced"]

_CALLS: dict[str, tuple[Any, str, Any, Any, bool]] = {}
"""The calls in compiled graphs: the robot, the name of its method, the arguments, with marks for tensors, and whether
the first tensor has the parameters of the robot."""
_MARK = "tensor of a compiled call"


def traced(robot: Any, name: str, given: Any, named: Any) -> Any:
    """Return the answer of a method of a robot while the compiler reads it."""
    tensors: list[torch.Tensor] = []
    variation = getattr(robot, "variation", None)
    if variation is not None:
        _marked(variation.values, tensors)
    varied = len(tensors) > 0
    key = _remembered(robot, name, _marked(given, tensors), _marked(named, tensors), varied)
    return _run(key, *tensors)


def _marked(x: Any, tensors: list[torch.Tensor]) -> Any:
    """Return arguments with marks in the place of tensors, which are added to a list."""
    if isinstance(x, torch.Tensor):
        tensors.append(x)
        return (_MARK, len(tensors) - 1)
    if isinstance(x, dict):
        return {name: _marked(y, tensors) for name, y in x.items()}
    if isinstance(x, list):
        return [_marked(y, tensors) for y in x]
    if isinstance(x, tuple):
        return tuple([_marked(y, tensors) for y in x])
    return x


def _filled(x: Any, tensors: tuple[torch.Tensor, ...]) -> Any:
    """Return arguments with tensors in the place of marks."""
    if isinstance(x, dict):
        return {name: _filled(y, tensors) for name, y in x.items()}
    if isinstance(x, list):
        return [_filled(y, tensors) for y in x]
    if isinstance(x, tuple):
        return tensors[x[1]] if x[:1] == (_MARK,) else tuple(_filled(y, tensors) for y in x)
    return x


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _remembered(robot: Any, name: str, given: Any, named: Any, varied: bool) -> str:
    """Keep a call, and return its key. The compiler calls this function once for each call that it reads."""
    key = f"{name} of {getattr(robot, 'name', robot)} {secrets.token_hex(8)}"
    _CALLS[key] = robot, name, given, named, varied
    return key


@torch.compiler.allow_in_graph  # type: ignore[untyped-decorator]
def _run(key: str, *tensors: torch.Tensor) -> Any:
    """Run a method of a robot; the graph of the compiler has a call of this function."""
    robot, name, given, named, varied = _CALLS[key]
    if varied:
        robot = with_values(robot, tensors[0])
    return getattr(type(robot), name)(robot, *_filled(given, tensors), **_filled(named, tensors))


READERS["torch"] = traced
