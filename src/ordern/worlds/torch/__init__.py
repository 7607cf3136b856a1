"""PyTorch: functions of robots take tensors and return tensors, with gradients.

`library` registers the operators of ordern with PyTorch; `table` has what they need to know about each. `native` makes
operators of functions of NumPy arrays, such as those of `rollout`. `closed` is for robots with loops. `tensors` checks
arguments, `numbers` and `parameters` are for varied robots. `compiling` is for `torch.compile`, `cuda` for GPUs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from ...algorithms.derivatives.coordinates import NUMBERS
from ..operators import Operator, operator_of
from .library import call, compute
from .numbers import numbers_of
from .tensors import Tensor, external_tensor, is_plain, require_out, tensors_of

if TYPE_CHECKING:
    from ...kernel import Kernel

__all__ = ["answer", "delegate"]


def answer(kernel: Kernel, arguments: Sequence[Any], out: Any, threads: int | None) -> Tensor:
    """Return the answer of a kernel for arguments among which are tensors, as a tensor."""
    where, ports = kernel.question.name, kernel.ports
    kernel.runner.arguments.require_count(arguments)
    kernel.runner.arguments.require_threads(threads)
    named = {
        p.name: external_tensor(kernel.model, x) if p.kind == "bodies" and isinstance(x, Mapping) else x
        for p, x in zip(ports, arguments, strict=True)
    }
    operator = operator_of(kernel)
    if operator.numbers is not None:
        named[NUMBERS] = numbers_of(kernel.model, operator.numbers)
    given = tensors_of(where, named)
    if out is None:
        return call(operator, threads, given)
    require_out(where, out, given)
    return _stored(operator, threads, given, out)


def _stored(operator: Operator, threads: int | None, given: Sequence[Tensor], out: Tensor) -> Tensor:
    """Compute an answer into a tensor; tensors of a compiler or a transform have no memory to compute into."""
    if out.device.type != "cpu" or any(type(x) is not Tensor or not is_plain(x) for x in (*given, out)):
        out.copy_(call(operator, threads, given))
        return out
    with torch.no_grad():
        compute(operator, threads, given, out)
    torch.autograd.graph.increment_version(out)
    return out


def delegate(name: str) -> Callable[..., Any] | None:
    """Return the function that stands for a method of robots; None if there is no such function."""
    from .closed import accelerations, closed_dynamics
    from .parameters import total_mass, vary, with_parameters
    from .rollout import rollout

    found: dict[str, Callable[..., Any]] = {
        **{"forward_dynamics": accelerations, "closed_dynamics": closed_dynamics, "rollout": rollout},
        **{"vary": vary, "with_parameters": with_parameters, "mass": total_mass},
        "external_forces": external_tensor,
    }
    return found.get(name)
