"""Operators of ordern as operators of PyTorch, registered once for each number of tensors.

    ordern::answer_3(str operator, int threads, Tensor x0, Tensor x1, Tensor x2) -> Tensor

The string is the key of an `Operator` in this process (see `table`), so robots come and go without registrations, and
compiled graphs hold no robots. `threads` is 0 if the number of states is to decide. Each of these operators has a
kernel for the CPU and one for CUDA, a fake kernel that knows the shape of the answer, a rule for `vmap`, and
derivatives in both modes. These are calls of such operators again, so they have derivatives themselves.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd import forward_ad
from torch.autograd.function import _SingleLevelFunction

from ...errors import ArgumentError
from ...forking import COMPILING
from ..operators import Operator
from . import cuda
from .native import Native
from .table import Plan, keep, key_of, needs_answer, operator_of, plan, single

__all__ = ["call", "compute", "graph", "overload"]

_C = torch._C
_LIBRARY = torch.library.Library("ordern", "DEF")
_OVERLOADS: dict[int, Any] = {}


class _Graph(threading.local):
    """The state of PyTorch's compiler in this thread."""

    is_run = False
    """True while a graph of it is run, or followed, without being compiled further."""


graph = _Graph()


def call(operator: Operator | Native, threads: int | None, tensors: Sequence[Tensor]) -> Tensor:
    """Return the answer of an operator for tensors of one data type and device, with derivatives."""
    found: Tensor = overload(len(tensors))(key_of(operator), threads or 0, *tensors)
    return found


def overload(count: int) -> Any:
    """Return the operator of PyTorch for a number of tensors."""
    found = _OVERLOADS.get(count)
    if found is None:
        with COMPILING:
            found = _OVERLOADS.get(count)
            if found is None:
                found = _OVERLOADS[count] = _defined(count)
    return found


def compute(operator: Operator, threads: int | None, tensors: Sequence[Tensor], out: Tensor | None = None) -> Tensor:
    """Return the answer of an operator for tensors on the CPU, without derivatives."""
    arrays = [x.numpy() for x in tensors]
    if out is not None:
        operator(*arrays, out=out.numpy(), threads=threads)
        return out
    if threads is None and tensors[0].dtype is torch.float64:
        found = single(operator)(*arrays)
    else:
        found = operator(*arrays, threads=threads)
    if not isinstance(found, np.ndarray) or not (found.flags.c_contiguous and found.flags.writeable):
        found = np.array(found)
    return torch.from_numpy(found)


def _defined(count: int) -> Any:
    """Define the operator for a number of tensors, with its kernels and rules."""
    name = f"answer_{count}"
    tensors = ", ".join(f"Tensor x{k}" for k in range(count))
    _LIBRARY.define(f"{name}(str operator, int threads, {tensors}) -> Tensor", tags=(torch.Tag.pt2_compliant_tag,))
    defined = getattr(torch.ops.ordern, name).default

    def with_derivatives(keyset: Any, key: str, threads: int, *given: Tensor) -> Tensor:
        below = keyset & _C._after_autograd_keyset
        if _may_have_tangents() or (_C.is_grad_enabled() and _C._any_requires_grad(*given)):
            with enable_single_level_autograd_function():
                found: Tensor = _Differentiable.apply(defined, below, key, threads, *given)
                return found
        with _C._AutoDispatchBelowAutograd():
            return defined.redispatch(below, key, threads, *given)

    def batched(info: Any, places: tuple[int | None, ...], key: str, threads: int, *given: Tensor) -> Any:
        return defined(key, threads, *_with_batch(operator_of(key), places[2:], given)), 0

    _LIBRARY.impl(name, _on_cpu, "CPU")
    _LIBRARY.impl(name, _on_cuda, "CUDA")
    _LIBRARY.impl(name, with_derivatives, "Autograd", with_keyset=True)
    torch.library.register_fake(f"ordern::{name}", _fake, lib=_LIBRARY)
    torch.library.register_vmap(f"ordern::{name}", batched, lib=_LIBRARY)
    return defined


def _may_have_tangents() -> bool:
    """Return True if forward mode may be at work: graphs of the compiler enter its levels without telling Python."""
    return forward_ad._current_level >= 0 or _C._are_functorch_transforms_active() or graph.is_run


def _on_cpu(key: str, threads: int, *given: Tensor) -> Tensor:
    return compute(operator_of(key), threads or None, given)


def _on_cuda(key: str, threads: int, *given: Tensor) -> Tensor:
    return cuda.compute(operator_of(key), given)


def _fake(key: str, threads: int, *given: Tensor) -> Tensor:
    """Return a tensor of the answer's shape without numbers; raise for shapes that the operator does not take."""
    operator = keep(key)
    batches = []
    for x, port in zip(given, operator.inputs, strict=True):
        leading = x.ndim - len(port.shape)
        if leading < 0 or any(n != m for n, m in zip(x.shape[leading:], port.shape, strict=True)):
            raise ArgumentError(
                f"{operator.name}: argument {port.name!r} has shape {tuple(x.shape)}; for "
                f"{operator.robot!r} its last dimensions must be {port.shape}"
            )
        batches.append(x.shape[:leading])
    try:
        batch = torch.broadcast_shapes(*batches)
    except RuntimeError:
        listed = ", ".join(f"{p.name} {tuple(b)}" for p, b in zip(operator.inputs, batches, strict=True))
        raise ArgumentError(f"{operator.name}: the batch shapes of the arguments do not broadcast: {listed}") from None
    return given[0].new_empty((*batch, *operator.output))


def _with_batch(operator: Operator, places: Sequence[int | None], given: Sequence[Tensor]) -> list[Tensor]:
    """Return tensors whose mapped dimension is the first one of the batch, so that they broadcast to it."""
    cores = [len(port.shape) for port in operator.inputs]
    ranks = [x.ndim - n - (k is not None) for x, n, k in zip(given, cores, places, strict=True)]
    found = []
    for x, k, rank in zip(given, places, ranks, strict=True):
        if k is not None:
            x = x.movedim(k, 0)
            x = x.reshape(x.shape[:1] + (1,) * (max(ranks) - rank) + x.shape[1:])
        found.append(x)
    return found


class _Differentiable(_SingleLevelFunction):  # type: ignore[misc]
    """An operator with its derivatives, for one level of `torch.func`: the dispatcher calls it for each level."""

    @staticmethod
    def forward(ctx: Any, defined: Any, below: Any, key: str, threads: int, *given: Tensor) -> Tensor:
        """Compute the answer, and keep what the derivatives need."""
        ctx.operator, ctx.threads = operator_of(key), threads
        with _C._AutoDispatchBelowAutograd(), _derivatives_of_other_levels():
            found: Tensor = defined.redispatch(below, key, threads, *given)
        kept = (*given, found) if needs_answer(ctx.operator) else given
        ctx.save_for_backward(*kept)
        ctx.save_for_forward(*kept)
        ctx.set_materialize_grads(False)
        return found

    @staticmethod
    def backward(ctx: Any, weights: Tensor | None) -> Any:
        """Return the derivatives of the weighted sum of the answer."""
        varied = ctx.needs_input_grad[4:]
        if weights is None or not any(varied):
            return (None,) * (4 + len(varied))
        found: list[Tensor | None] = [None, None, None, None]
        function = getattr(ctx.operator, "function", None)
        if function is not None:  # a derivative of a native function
            parts = torch.func.vjp(function, *ctx.saved_tensors)[1](weights)
            return (*found, *(x if varies else None for x, varies in zip(parts, varied, strict=True)))
        pull, kept = plan(ctx.operator, "pull", varied), ctx.saved_tensors
        row = _called(pull, ctx, kept, weights)
        split = iter(zip(row.split(pull.sizes, -1), pull.shapes, strict=True))
        for x, varies in zip(kept, varied, strict=False):
            if not varies:
                found.append(None)
                continue
            part, core = next(split)
            part = part if len(core) == 1 else part.reshape(row.shape[:-1] + core)
            found.append(part if part.shape == x.shape else part.sum_to_size(x.shape))
        return tuple(found)

    @staticmethod
    def jvp(ctx: Any, *rates: Any) -> Tensor | None:
        """Return the rate of the answer for rates of the arguments."""
        moving = [x for x in rates[4:] if x is not None]
        if not moving:
            return None
        if hasattr(ctx.operator, "function"):
            raise ArgumentError(
                "second derivatives of rollouts are by reverse mode: in the place of torch.func.hessian(f), take "
                "jacrev(jacrev(f)) or jacrev(jacfwd(f))"
            )
        push = plan(ctx.operator, "push", tuple(x is not None for x in rates[4:]))
        return _called(push, ctx, ctx.saved_tensors, *moving)


def _called(derivative: Plan, ctx: Any, kept: Sequence[Tensor], *added: Tensor) -> Tensor:
    """Return the answer of a derivative, for the tensors that a call kept."""
    given = (*kept, *added) if needs_answer(ctx.operator) else (*kept, None, *added)
    return call(derivative.operator, ctx.threads, [given[k] for k in derivative.order])


@contextmanager
def _derivatives_of_other_levels() -> Iterator[None]:
    """Differentiate at the outer levels of `torch.func`; a function switches derivatives off while it computes."""
    if not _C._are_functorch_transforms_active():
        yield
        return
    with torch.enable_grad(), forward_ad._set_fwd_grad_enabled(True):
        yield
