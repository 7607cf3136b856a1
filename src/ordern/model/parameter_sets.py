"""Sets of parameters beside batches of states: code that flattens states, or picks some, does the same with the sets.

Kernels broadcast the sets of a robot with their arguments. NumPy code around kernels often works on states in one row,
on some of them, or on a row for each column of a matrix; these functions give it a robot whose sets are the same.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..arguments import Array
from ..rotations import exp
from .checks import require_one_set
from .variation import with_values

if TYPE_CHECKING:
    from .model import Model
    from .parts import Frame

__all__ = [
    "fixed_model",
    "flattened",
    "for_kinematics",
    "has_sets_of_places",
    "part",
    "spread",
    "varied_place",
    "varies_place",
]

M = TypeVar("M", bound="Model")
_OF_MOTION = ("joint_numbers", "mimic_ratio", "mimic_offset", "joint_placement", "frame_placement")
"""The fields of parameters that kinematics depends on."""


def fixed_model(model: M) -> M:
    """Return a model with the numbers that it had before some of them varied."""
    varied = model.variation
    if varied is None:
        return model
    parts: dict[str, Any] = {"bodies": varied.bodies, "joints": varied.joints, "frames": varied.frames}
    return replace(model, **parts, gravity=varied.gravity, contacts=varied.contacts, variation=None)


def has_sets_of_places(model: Model) -> bool:
    """Return True if placements, or other numbers that kinematics depends on, have sets."""
    return bool(model.batch_shape) and model.variation is not None and model.variation.varies(*_OF_MOTION)


def for_kinematics(robot: M, what: str) -> M:
    """Return a robot for a function of kinematics alone, which has one answer for all sets of masses or friction.

    It is the robot from before the numbers varied. Raise if placements or other numbers of kinematics have sets.
    """
    if not robot.batch_shape:
        return robot
    if has_sets_of_places(robot):
        require_one_set(robot, what)
    found: M = robot.__dict__.setdefault("_unvaried", None) or fixed_model(robot)
    robot.__dict__["_unvaried"] = found  # with the functions that it compiles
    return found


def flattened(robot: M, batch: tuple[int, ...]) -> M:
    """Return a robot with one leading dimension for all states of a batch, whose shape its own broadcasts to.

    A robot with one set of numbers stays as it is.
    """
    if not robot.batch_shape:
        return robot
    assert robot.variation is not None and robot.variation.values is not None
    values = robot.variation.values
    return with_values(robot, np.broadcast_to(values, (*batch, values.shape[-1])).reshape(-1, values.shape[-1]))


def spread(robot: M) -> M:
    """Return a robot whose sets of numbers have one more dimension, of length one, beside that of rows or columns.

    A robot with one set of numbers stays as it is.
    """
    if not robot.batch_shape:
        return robot
    assert robot.variation is not None and robot.variation.values is not None
    return with_values(robot, robot.variation.values[..., None, :])


def part(robot: M, index: Any) -> M:
    """Return a robot with some of the sets of numbers of another; a robot with one set stays as it is."""
    if not robot.batch_shape:
        return robot
    assert robot.variation is not None and robot.variation.values is not None
    return with_values(robot, robot.variation.values[index])


def varies_place(model: Model, frame: Frame) -> bool:
    """Return True if numbers of the placement of a frame vary."""
    variation = model.variation
    if variation is None or not variation.varies("frame_placement"):
        return False
    places = zip(variation.frames, variation.masks["frame_placement"], strict=True)
    return any(own.name == frame.name and mask.any() for own, mask in places)


def varied_place(model: Model, frame: Frame) -> tuple[Array, Array] | None:
    """Return rotations (*leading, 3, 3) and positions (*leading, 3) of a frame that varies; None if it is fixed."""
    variation = model.variation
    if variation is None or not variation.varies("frame_placement"):
        return None
    for k, own in enumerate(variation.frames):
        if own == frame and variation.masks["frame_placement"][k].any():
            six = variation.full()["frame_placement"][..., k, :]
            return exp(six[..., 3:]), six[..., :3]
    return None
