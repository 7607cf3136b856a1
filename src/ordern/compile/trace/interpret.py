"""The interpreter: an algorithm run loop by loop on arrays, or on any other scalars.

Slow, and easy to follow in a debugger; it works on longdouble and, through arrays of objects, on mpmath numbers. It is
the oracle that compiled code is tested against.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arguments import AnyArray
from ...errors import ArgumentError
from ...graph import Node
from ...model import ArrayNumbers, ConcreteTree, RowAnswer, Runner, result_scalars

if TYPE_CHECKING:
    from ..pipeline import Request

__all__ = ["converted", "interpret"]


def converted(arrays: Sequence[AnyArray], dtype: np.dtype[Any]) -> list[AnyArray]:
    """Convert arrays to one data type without loss. Numbers beside objects are converted to the type of the objects."""
    if dtype.kind != "O":
        return [a.astype(dtype, copy=False) for a in arrays]
    number = _number(arrays, dtype)
    found = []
    for a in arrays:
        objects = a if a.dtype.kind == "O" else a.astype(float if a.dtype.itemsize <= 8 else a.dtype).astype(object)
        if number is not None and any(type(x) is not number for x in objects.flat):
            same = np.empty(objects.shape, object)
            try:
                same.reshape(-1)[:] = [number(x) for x in objects.flat]
            except OverflowError:
                raise ArgumentError(f"a number among the arguments is too large for {number.__name__}") from None
            objects = same
        found.append(objects)
    return found


def interpret(
    request: Request, arrays: Sequence[AnyArray], runner: Runner | None = None, values: AnyArray | None = None
) -> AnyArray:
    """Run an algorithm on arrays of one data type, with any batch shape; `runner` runs pieces instead of Python.

    `values` (..., count) are the numbers of a varied robot that vary.
    """
    model, shape = request.model, request.shape(request.question.output)
    dtype = np.result_type(*arrays)
    number = _number(arrays, dtype)
    tree = ConcreteTree(model, number, values=None if values is None else _scalars(values, dtype, number))
    tree.runner, tree.frames = runner, request.frames
    inputs, batches, remaining = [], [] if values is None else [values.shape[:-1]], iter(arrays)
    for kind, given in request.slots:
        if not given:
            inputs.append(tree.zeros(kind))
            continue
        array = next(remaining)
        core = len(request.shape(kind))
        batch = array.shape[: array.ndim - core]
        flat = array.reshape((*batch, int(np.prod(array.shape[array.ndim - core :]))))
        batches.append(batch)
        if dtype.kind == "O":  # single numbers without a batch, not 0-d arrays: objects compute only outside of them
            inputs.append(tree.input(kind, [flat[..., k] if batch else flat[k] for k in range(flat.shape[-1])]))
        else:
            inputs.append(tree.input(kind, ArrayNumbers(flat)))
    batch = np.broadcast_shapes(*batches)
    with np.errstate(all="ignore"):
        answer = request.algorithm.function(tree, *inputs, **dict(request.options))
        if isinstance(answer, RowAnswer):
            return np.moveaxis(answer.rows, 0, -1).reshape((*batch, *shape)) + 0.0  # no negative zeros
        scalars = result_scalars(answer, math.prod(shape))
    result = np.empty((*batch, len(scalars)), dtype)
    for k, x in enumerate(scalars):
        result[..., k] = x + 0.0  # no negative zeros
    return result.reshape((*batch, *shape))


def _scalars(values: AnyArray, dtype: np.dtype[Any], number: Callable[[float], Any] | None) -> list[Any]:
    """Return the numbers that vary in the data type of the arguments: numbers, or arrays with a number for each set."""
    if dtype.kind == "O":
        given = np.empty(values.shape, object)
        given.reshape(-1)[:] = [x if number is None else number(x) for x in values.ravel().tolist()]
    else:
        given = values.astype(dtype, copy=False)
    return list(np.moveaxis(given, -1, 0))


def _number(arrays: Sequence[AnyArray], dtype: np.dtype[Any]) -> Callable[[float], Any] | None:
    """Return the type to which the model's constants are converted to match the arguments; None for floats."""
    if dtype.kind == "O":
        kinds = {type(x) for array in arrays for x in array.flat} - {float, int, Node}  # nodes take floats as they are
        return kinds.pop() if len(kinds) == 1 else None
    return dtype.type if dtype.itemsize > 8 else None
