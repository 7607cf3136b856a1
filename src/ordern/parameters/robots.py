"""Robots with other parameters: the functions behind the methods of `ParameterMethods`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import leading_shape, random_generator
from ..errors import ArgumentError
from ..kernel.elsewhere import delegate
from ..model import Body, Model
from ..model.parameter_sets import fixed_model
from ..model.variation import varied_robot
from .changes import Mask, changed_parameters
from .names import FIELDS
from .numbers import changed_links, folded_model, parameters_of
from .possible import require_possible
from .random_sets import random_changes
from .record import Parameters

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["folded", "randomise", "vary", "with_parameters"]

Given = Mapping[str, Any]
"""The values that users give, by the names of arguments; None for arguments without one."""


def with_parameters(robot: Robot, parameters: Parameters | None, fields: Given, fold: bool) -> Robot:
    """Return a robot with the parameters of a record, and of the fields that are not None."""
    arrays = {name: x for name, x in fields.items() if x is not None}
    elsewhere = delegate("with_parameters", robot, arrays)
    if elsewhere is not None:
        found: Robot = elsewhere(robot, parameters, arrays, fold)
        return found
    now = robot.parameters
    if parameters is not None:
        if not isinstance(parameters, Parameters):
            raise ArgumentError(
                "with_parameters: give a record such as `robot.parameters.replace(...)`, or fields by name; not a "
                f"{type(parameters).__name__}"
            )
        if parameters.names != now.names:
            raise ArgumentError(
                f"with_parameters: these are the parameters of {parameters.names.robot!r}, whose bodies, joints or "
                f"frames are not those of {robot.name!r}"
            )
        differ = [x for x in FIELDS if not np.array_equal(getattr(parameters, x), getattr(now, x))]
        arrays = {x: getattr(parameters, x) for x in differ} | arrays
    mask: Mask = {x: np.ones(now.names.core_shape(x), bool) for x in arrays}
    return _changed(robot, now.replace(**arrays), mask, {}, fold)


def vary(robot: Robot, changes: Given, fold: bool) -> Robot:
    """Return a robot with the changes that are not None."""
    given = {name: x for name, x in changes.items() if x is not None}
    elsewhere = delegate("vary", robot, given)
    if elsewhere is not None:
        found: Robot = elsewhere(robot, given, fold)
        return found
    return _with_changes(robot, given, fold)


def randomise(robot: Robot, rng: Any, shape: int | tuple[int, ...], spreads: Given, fold: bool) -> Robot:
    """Return robots with random parameters; `spreads` that are None do not vary."""
    given = {name: x for name, x in spreads.items() if x is not None}
    if not given:
        raise ArgumentError("randomise: give the standard deviation of at least one parameter, such as mass=0.1")
    leading = leading_shape(shape, "randomise")
    if not _broadcast(leading, robot.batch_shape):
        sets = " x ".join(map(str, robot.batch_shape))
        ones = ", 1" * len(robot.batch_shape)
        raise ArgumentError(
            f"randomise: the shape {leading} does not broadcast with the leading shape {robot.batch_shape} of the "
            f"parameters of {robot.name!r}; for that many robots of each of its {sets} sets, give the shape "
            f"({', '.join(map(str, leading))}{ones})"
        )
    changes = random_changes(robot, robot.parameters, random_generator(rng, "randomise"), leading, given)
    return _with_changes(robot, changes, fold)


def folded(robot: Robot, index: int | tuple[int, ...]) -> Robot:
    """Return an ordinary robot with the numbers of one set."""
    given = robot.parameters.at(index)
    return robot if robot.variation is None else _folded(robot, given, {})


def _broadcast(*shapes: tuple[int, ...]) -> bool:
    """Return True if shapes broadcast."""
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        return False
    return True


def _with_changes(robot: Robot, changes: Mapping[str, Any], fold: bool) -> Robot:
    """Return a robot with changes by name."""
    now = robot.parameters
    found = changed_parameters(robot, now, changes)
    return _changed(robot, now.replace(**found.values), found.mask, found.links, fold)


def _changed(robot: Robot, given: Parameters, mask: Mask, links: Mapping[str, Body | None], fold: bool) -> Robot:
    """Return a robot with these parameters. Those in the mask are inputs of its functions, unless `fold` is True."""
    require_possible(robot, _fixed(robot)[1], given)
    if fold and given.shape:
        raise ArgumentError(
            f"fold: an ordinary robot has one set of parameters, but these have the leading shape {given.shape}"
        )
    if fold:
        return _folded(robot, given, links)
    made = varied_robot(robot, {x: getattr(given, x) for x in mask}, mask)
    if not made.links or (made.batch_shape and not links):
        return made
    if made.batch_shape:
        return replace(made, links=tuple(replace(x, bare=x.bare and x.name not in links) for x in made.links))
    return replace(made, links=changed_links(robot, robot.parameters, given, links, made.frames))


def _folded(robot: Robot, given: Parameters, links: Mapping[str, Body | None]) -> Robot:
    """Return an ordinary robot."""
    found = folded_model(*_fixed(robot), given)
    return robot.of(replace(found, links=changed_links(robot, robot.parameters, given, links, found.frames)))


def _fixed(robot: Robot) -> tuple[Model, Parameters]:
    """Return the model from before any number varied, and its parameters."""
    if robot.variation is None:
        return robot, robot.parameters
    model = fixed_model(robot)
    return model, parameters_of(model)
