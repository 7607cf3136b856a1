"""Robots with parameters that are tensors, by which gradients are computed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from ...model.parameter_sets import fixed_model
from ...model.variation import with_values
from ...parameters.numbers import parameters_of
from ...parameters.possible import require_possible
from .. import parameters
from ..parameters import Arrays
from .tensors import is_plain, tensors_of

if TYPE_CHECKING:
    from ...robot import Robot

__all__ = ["total_mass", "vary", "with_parameters"]


def vary(robot: Robot, changes: Mapping[str, Any], fold: bool) -> Robot:
    """Return a robot with changes by name; see `Robot.vary`."""
    return _possible(robot, parameters.vary(_arrays(robot, changes), robot, changes, fold))


def with_parameters(robot: Robot, record: Any, arrays: Mapping[str, Any], fold: bool) -> Robot:
    """Return a robot with tensors for some fields of its parameters; see `Robot.with_parameters`."""
    return _possible(robot, parameters.with_parameters(_arrays(robot, arrays), robot, record, arrays, fold))


def total_mass(robot: Robot) -> Any:
    """Return the mass of all moving bodies."""
    return parameters.total_mass(_arrays(robot, {}), robot)


def _arrays(robot: Robot, changes: Mapping[str, Any]) -> Arrays:
    """Return the functions of PyTorch, for numbers of the data type and device of the tensors."""
    found, varied = dict(_tensors_in("", changes)), robot.variation
    if varied is not None and isinstance(varied.values, Tensor):
        found["parameters of the robot"] = varied.values
    like = tensors_of("vary", found)[0]

    def array(x: Any) -> Tensor:
        return torch.as_tensor(x if isinstance(x, Tensor) else np.asarray(x, float)).to(like)

    def where(condition: Any, x: Any, y: Any) -> Tensor:
        return torch.where(torch.as_tensor(condition, device=like.device), array(x), array(y))

    return Arrays(
        "tensors",
        array,
        where,
        lambda x, shape: x.expand(shape),
        lambda parts: torch.cat(parts, dim=-1),
        lambda parts: torch.stack(parts, dim=-1),
        _put,
    )


def _tensors_in(name: str, x: Any) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors among changes with their names, such as "mass of hand"."""
    if isinstance(x, Tensor):
        yield name, x
    elif isinstance(x, Mapping):
        for key, y in x.items():
            label = str(getattr(key, "name", key))
            yield from _tensors_in(f"{name} of {label}" if name else label, y)
    elif isinstance(x, (list, tuple)):
        for k, y in enumerate(x):
            yield from _tensors_in(f"{name}[{k}]", y)


def _put(x: Tensor, index: tuple[Any, ...], numbers: Tensor) -> Tensor:
    """Return a tensor with other numbers at an index, `...` and one for each of the last dimensions.

    Nothing is written in place, so that it works under `vmap`.
    """
    rank = len(index) - 1
    leading, core = x.shape[: x.ndim - rank], x.shape[x.ndim - rank :]
    places = np.asarray(np.arange(math.prod(core)).reshape(core)[index[1:]])
    new = numbers.expand((*leading, *places.shape)).reshape((*leading, places.size))
    at = torch.as_tensor(places.ravel(), device=x.device)
    return x.reshape((*leading, math.prod(core))).index_copy(-1, at, new).reshape(x.shape)


def _possible(robot: Robot, made: Robot) -> Robot:
    """Return a robot with parameters that are tensors; raise if no robot can have them, where they are known."""
    values: Any = made.variation.values  # type: ignore[union-attr]
    if is_plain(values) and values.device.type == "cpu" and type(values) is Tensor:
        numbers = with_values(made, values.detach().numpy().astype(float))
        fixed = robot.parameters if robot.variation is None else parameters_of(fixed_model(numbers))
        require_possible(robot, fixed, numbers.parameters)
    return made
