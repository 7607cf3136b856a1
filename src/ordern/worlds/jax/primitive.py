"""Operators as a primitive of JAX: shapes, batches, derivatives, and the call of machine code.

All operators are one primitive, whose parameter is the operator. Its operands have shapes (*batch, *core), with batch
dimensions of equal number that broadcast. JAX builds all transformations from five rules:

* the shape of the answer;
* batches: `vmap` adds a leading dimension, of length one for operands that are the same for all;
* tangents: the `push` of the operator, linear in the rates;
* transposes: of a push the `pull`, and of a pull the push;
* the lowering: a call of a handler, for CPUs (see `handler`) or for NVIDIA GPUs (see `cuda`).

So gradients are products with matrices that are never formed, and derivatives of any order follow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from ...algorithms.derivatives.coordinates import PUSH
from ...errors import ArgumentError
from ..operators import Derivative, Operator
from .targets import target

__all__ = ["call"]

answer_p = Primitive("ordern")


def call(operator: Operator, operands: Sequence[Any], threads: int | None) -> Any:
    """Return the answer of an operator for operands of one data type, whose batch dimensions broadcast."""
    rank = max((x.ndim - len(i.shape) for x, i in zip(operands, operator.inputs, strict=True)), default=0)
    aligned = [
        x if x.ndim == rank + len(i.shape) else jax.lax.expand_dims(x, range(rank + len(i.shape) - x.ndim))
        for x, i in zip(operands, operator.inputs, strict=True)
    ]
    return answer_p.bind(*_varying_alike(aligned), operator=operator, threads=threads)


def _batch(operator: Operator, operands: Sequence[Any]) -> tuple[int, ...]:
    """Return the batch shape of all operands together."""
    shapes = [x.shape[: len(x.shape) - len(i.shape)] for x, i in zip(operands, operator.inputs, strict=True)]
    found: tuple[int, ...] = jax.numpy.broadcast_shapes(*shapes)  # lengths may be symbols, for `jax.export`
    return found


# shapes ---------------------------------------------------------------------------------------------------------------


def _shape(*avals: Any, operator: Operator, threads: int | None) -> Any:
    shape = (*_batch(operator, avals), *operator.output)
    first = avals[0]
    sharding = first.sharding
    spec = jax.sharding.PartitionSpec(*(None for _ in shape))
    return first.update(shape=shape, weak_type=False, sharding=type(sharding)(sharding.mesh, spec))


answer_p.def_abstract_eval(_shape)


def _varying(x: Any) -> frozenset[Any]:
    """Return the axes of a `shard_map` along which an array differs."""
    kind = jax.typeof(x)
    axes = getattr(kind, "mat", None)
    found: frozenset[Any] = getattr(kind, "vma", frozenset()) if axes is None else axes.varying
    return found


def _varying_alike(operands: Sequence[Any]) -> list[Any]:
    """Return operands that differ along the same axes of a `shard_map`."""
    axes = [_varying(x) for x in operands]
    every = frozenset().union(*axes)
    if all(own == every for own in axes):
        return list(operands)
    cast = getattr(jax.lax, "pcast", None)
    missing = [tuple(sorted(every - own)) for own in axes]
    return [
        x if not more else jax.lax.pvary(x, more) if cast is None else cast(x, more, to="varying")
        for x, more in zip(operands, missing, strict=True)
    ]


# batches --------------------------------------------------------------------------------------------------------------


def _batched(operands: Sequence[Any], dims: Sequence[Any], *, operator: Operator, threads: int | None) -> Any:
    moved = [
        jax.lax.expand_dims(x, (0,)) if d is None else jax.numpy.moveaxis(x, d, 0)
        for x, d in zip(operands, dims, strict=True)
    ]
    return call(operator, moved, threads), 0


batching.primitive_batchers[answer_p] = _batched


# derivatives ----------------------------------------------------------------------------------------------------------


def _tangent(primals: Sequence[Any], tangents: Sequence[Any], *, operator: Operator, threads: int | None) -> Any:
    answer = call(operator, primals, threads)
    rates = {x: t for x, t in zip(operator.names, tangents, strict=True) if type(t) is not ad.Zero}
    parts = []
    if isinstance(operator, Derivative):  # it is linear in what it adds
        along = [x for x in operator.added if x in rates]
        if along:
            parts.append(_along(operator, along, primals, {x: rates.pop(x) for x in along}, threads))
    if rates:
        push = operator.push(*rates)
        parts.append(call(push, push.arguments(primals, answer, list(rates.values())), threads))
    return answer, parts[0] if len(parts) == 1 else jax.lax.add(*_alike(parts))


def _along(
    operator: Derivative, names: Sequence[str], primals: Sequence[Any], rates: dict[str, Any], threads: int | None
) -> Any:
    """Return a derivative with rates in the place of some inputs that it is linear in."""
    known = dict(zip(operator.names, primals, strict=True)) | rates
    if operator.mode == PUSH and len(names) < len(operator.added):
        wrt = [x for x, rate in zip(operator.wrt, operator.added, strict=True) if rate in names]
        push = operator.base.push(*wrt)
        known |= dict(zip(push.added, rates.values(), strict=True))
        operator = push
    return call(operator, [known[x] for x in operator.names], threads)


def _alike(parts: Sequence[Any]) -> list[Any]:
    """Return arrays of the shape that they broadcast to."""
    shape = np.broadcast_shapes(*(x.shape for x in parts))
    return [jax.numpy.broadcast_to(x, shape) for x in parts]


def _transposed(weights: Any, *operands: Any, operator: Operator, threads: int | None) -> list[Any]:
    shapes = {x: y.aval.shape for x, y in zip(operator.names, operands, strict=True) if ad.is_undefined_primal(y)}
    if type(weights) is ad.Zero:
        return [ad.Zero(y.aval) if ad.is_undefined_primal(y) else None for y in operands]
    known = dict(zip(operator.names, operands, strict=True))
    if isinstance(operator, Derivative) and set(shapes) <= set(operator.added):
        found = _transposed_derivative(operator, known, weights, list(shapes), threads)
    else:  # it is linear in these inputs, so that their values do not matter
        pull = operator.pull(*shapes)
        zeros = {x: jax.numpy.zeros(shape, weights.dtype) for x, shape in shapes.items()}
        given = [(known | zeros)[x] for x in operator.names]
        row = call(pull, pull.arguments(given, weights, [weights]), threads)
        found = dict(zip(pull.wrt, pull.split(row), strict=True))
    return [_summed(found[x], shapes[x]) if x in shapes else None for x in operator.names]


def _transposed_derivative(
    operator: Derivative, known: dict[str, Any], weights: Any, unknown: Sequence[str], threads: int | None
) -> dict[str, Any]:
    """Return the weights of the inputs that a derivative is linear in."""
    if operator.mode == PUSH:
        wrt = [x for x, rate in zip(operator.wrt, operator.added, strict=True) if rate in unknown]
        pull = operator.base.pull(*wrt)
        known = known | dict(zip(pull.added, [weights], strict=True))
        row = call(pull, [known[x] for x in pull.names], threads)
        return dict(zip(unknown, pull.split(row), strict=True))
    push = operator.base.push(*operator.wrt)
    known = known | dict(zip(push.added, operator.split(weights), strict=True))
    return {unknown[0]: call(push, [known[x] for x in push.names], threads)}


def _summed(x: Any, shape: tuple[int, ...]) -> Any:
    """Return the sum over the dimensions along which an operand was the same for all."""
    axes = tuple(k for k, (n, m) in enumerate(zip(x.shape, shape, strict=True)) if m == 1 and n != 1)
    return jax.numpy.sum(x, axis=axes, keepdims=True) if axes else x


ad.primitive_jvps[answer_p] = _tangent
ad.primitive_transposes[answer_p] = _transposed


# calls ----------------------------------------------------------------------------------------------------------------


def _now(*operands: Any, operator: Operator, threads: int | None) -> Any:
    made: dict[Any, Any] = operator.__dict__.setdefault("_jax_calls", {})
    if threads not in made:
        made[threads] = jax.jit(lambda *xs: answer_p.bind(*xs, operator=operator, threads=threads))
    with jax.disable_jit(False):  # where users have disabled it, this would call itself for ever
        return made[threads](*operands)


answer_p.def_impl(_now)


def _on_cpu(ctx: Any, *operands: Any, operator: Operator, threads: int | None) -> Any:
    def run(*arrays: Any) -> Any:
        dtype = arrays[0].dtype
        batch = _batch(operator, arrays)
        answer = jax.ShapeDtypeStruct((*batch, *operator.output), dtype)
        if not operator.is_compiled:
            return jax.pure_callback(
                lambda *xs: np.asarray(operator(*map(np.asarray, xs), threads=threads), dtype), answer, *arrays
            )
        whole = [_whole(x, i.shape, batch) for x, i in zip(arrays, operator.inputs, strict=True)]
        read = operator.code_inputs(whole, dtype.name, jax.numpy)
        return jax.ffi.ffi_call(target(operator, dtype.name, threads), answer, vmap_method="expand_dims")(*read)

    return mlir.lower_fun(run, multiple_results=False)(ctx, *operands)


def _whole(x: Any, core: tuple[int, ...], batch: tuple[int, ...]) -> Any:
    """Return an operand with one state, or with the whole batch."""
    own = x.shape[: x.ndim - len(core)]
    if own == batch or all(isinstance(n, int) and n == 1 for n in own):
        return x
    return jax.numpy.broadcast_to(x, (*batch, *core))


def _on_cuda(ctx: Any, *operands: Any, operator: Operator, threads: int | None) -> Any:
    if not operator.is_compiled:
        return _on_cpu(ctx, *operands, operator=operator, threads=threads)  # it is a callback
    from .cuda import cuda_loaded, cuda_target

    def run(*arrays: Any) -> Any:
        dtype = arrays[0].dtype
        batch, loaded = _batch(operator, arrays), cuda_loaded(operator, dtype.name)
        results = [jax.ShapeDtypeStruct((*batch, *operator.output), dtype)]
        scratch = loaded.workspace(math.prod(batch), dtype.itemsize) // dtype.itemsize
        if loaded.binary.workspace:
            results.append(jax.ShapeDtypeStruct((scratch,), dtype))
        read = [_whole(x, i.shape, batch) for x, i in zip(arrays, operator.inputs, strict=True)]
        if operator.numbers is not None:
            numbers = operator.numbers.read_by(loaded.binary.numbers, read.pop(), jax.numpy)
            read += [] if numbers is None else [numbers]
        return jax.ffi.ffi_call(cuda_target(operator, dtype.name), results, vmap_method="expand_dims")(*read)[0]

    return mlir.lower_fun(run, multiple_results=False)(ctx, *operands)


def _elsewhere(ctx: Any, *operands: Any, operator: Operator, threads: int | None) -> Any:
    raise ArgumentError(
        f"{operator.name} of {operator.robot!r} runs on CPUs and NVIDIA GPUs in JAX; this function is for "
        f"{', '.join(ctx.module_context.platforms)}. Put its arguments on the CPU, as `jax.device_put(x, "
        "jax.devices('cpu')[0])`"
    )


mlir.register_lowering(answer_p, _elsewhere)
mlir.register_lowering(answer_p, _on_cpu, platform="cpu")
mlir.register_lowering(answer_p, _on_cuda, platform="cuda")
