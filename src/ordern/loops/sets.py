"""Functions of robots with sets of parameters, set after set: for code that solves the equations of one robot.

All sets share compiled code, so that each costs a call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import broadcast_shapes
from ..errors import LoopError, SingularError
from ..model.parameter_sets import fixed_model
from ..model.variation import with_values
from .kernels import Array

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["by_sets"]

Function = Callable[["Robot", dict[str, Any]], Sequence[Array]]


def by_sets(robot: Robot, given: Mapping[str, Any], cores: Mapping[str, int], function: Function) -> list[Array]:
    """Return the arrays of a function of one robot and of arrays by name, for all sets of parameters of a robot.

    `cores` has the number of dimensions of one state, where it is not 1. Arrays, the leading shape of the sets and the
    results broadcast, as in all functions of a robot; the results have the batch shape first. Errors about a state
    name its set.
    """
    arrays = {x: np.asarray(y) for x, y in given.items()}
    batches = {x: y.shape[: y.ndim - cores.get(x, 1)] for x, y in arrays.items()}
    batch = broadcast_shapes("the arguments and the robot's parameters", robot.batch_shape, *batches.values())
    wide = {x: np.broadcast_to(y, (*batch, *y.shape[len(batches[x]) :])) for x, y in arrays.items()}
    if 0 in robot.batch_shape:
        return list(function(fixed_model(robot), wide))  # no numbers, in arrays of the right shapes
    sizes = (1,) * (len(batch) - len(robot.batch_shape)) + robot.batch_shape
    found: list[Array] = []
    assert robot.variation is not None
    assert robot.variation.values is not None
    numbers = robot.variation.values
    for index in np.ndindex(sizes):
        own = index[len(sizes) - len(robot.batch_shape) :]
        one = with_values(robot, numbers[own])
        place = tuple(slice(None) if n == 1 else slice(k, k + 1) for n, k in zip(sizes, index, strict=True))
        try:
            parts = function(one, {x: y[place] for x, y in wide.items()})
        except (LoopError, SingularError) as e:
            e.args = (f"set {own[0] if len(own) == 1 else own}: {e}", *e.args[1:])
            raise
        if not found:
            found = [np.empty((*batch, *x.shape[len(batch) :]), x.dtype) for x in parts]
        for out, x in zip(found, parts, strict=True):
            out[place] = x
    return found
