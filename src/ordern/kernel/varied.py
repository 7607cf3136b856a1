"""Runners of varied robots: all robots of one structure share them, and give them their own numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..compile.pipeline import Request
from ..errors import ArgumentError
from ..model import Frame, Model
from ..model.shiftable_inertia import singular_bodies
from ..model.variation import structure_of
from .bound import Bound, bound
from .runners import Runner

__all__ = ["varied_runner"]

Make = Callable[[Model, Request], Runner]


def varied_runner(model: Model, request: Request, make: Make) -> tuple[Request, Runner, Bound | None]:
    """Return the request about the structure of a varied robot, its runner, and the numbers that it is called with.

    A method that is NumPy code around other kernels calls those of the robot itself, which have the numbers.
    """
    algorithm, name = request.algorithm, request.question.name
    if algorithm.pieces:
        if model.batch_shape:
            raise _unsupported(model, request, "it is NumPy code around other functions")
        return request, make(model, request), None
    structure = structure_of(model)
    if algorithm.borrows and singular_bodies(structure.tables).any():
        raise _unsupported(model, request, "it lends inertia to bodies that have none, as much as the numbers ask for")
    settings = tuple((key, _of_structure(model, structure, x)) for key, x in request.options)
    found = replace(request, model=structure, options=settings)
    runners: dict[Any, Runner] = structure.__dict__.setdefault("_runners", {})
    key = (name, id(algorithm), request.present, settings, request.way)  # a runner keeps its algorithm alive
    runner = runners.get(key)
    if runner is None:
        runner = runners[key] = make(structure, found)
    return found, runner, bound(model)


def _of_structure(model: Model, structure: Model, setting: Any) -> Any:
    """Return a setting with the frames of the structure in the places of the robot's."""
    if isinstance(setting, tuple):
        return tuple(_of_structure(model, structure, x) for x in setting)
    if isinstance(setting, Frame) and model._frame_index.get(setting.name) == setting:
        return structure.frame(setting.name)
    return setting


def _unsupported(model: Model, request: Request, why: str) -> ArgumentError:
    return ArgumentError(
        f"{request.question.name} by the method {request.algorithm.name!r} is not for {model.name!r}, whose parameters "
        f"vary: {why}; use the default method"
    )
