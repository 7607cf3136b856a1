"""Robots with random parameters, and the same robots with these numbers folded into their code."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import ordern as on
from ordern.model.parameter_fields import own_numbers
from ordern.model.variation import varied_robot

Array = NDArray[Any]
Numbers = dict[str, Array]


def random_numbers(robot: on.Robot, rng: np.random.Generator, shape: tuple[int, ...]) -> Numbers:
    """Numbers near those of a robot, with a leading shape, in all fields that it has."""
    found: Numbers = {}
    for field, x in own_numbers(robot).items():
        size = (*shape, *x.shape)
        if not x.size or (field == "added_inertia" and not robot.in_fluid):
            continue
        if field in ("inertia", "added_inertia"):  # a multiple of a possible inertia is possible
            found[field] = x * rng.uniform(0.8, 1.3, (*shape, len(x), 1))
        elif field in ("gravity", "joint_placement", "frame_placement", "rest", "mimic_offset"):
            found[field] = x + rng.normal(scale=0.1, size=size)
        else:
            found[field] = (x + 0.05) * rng.uniform(0.8, 1.3, size)
    return found


def folded(robot: on.Robot, numbers: Numbers, mask: Numbers | None = None) -> on.Robot:
    """An ordinary robot with one set of numbers."""
    one = varied_robot(robot, numbers, mask or {})
    return on.Robot(**{**one.__getstate__(), "variation": None})


def each_folded(robot: on.Robot, numbers: Numbers, mask: Numbers | None = None) -> list[on.Robot]:
    """Ordinary robots, one for each set along the first axis of the numbers."""
    count = len(next(iter(numbers.values())))
    return [folded(robot, {field: x[k] for field, x in numbers.items()}, mask) for k in range(count)]
