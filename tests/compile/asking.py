"""Everything that can be asked of a robot, so that each way of running it can be compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import ordern as on
from ordern.algorithms import questions
from tests.random_models import random_state

Array = np.ndarray

_CHOICES = {"axes": ("frame", "world"), "kind": ("classical", "spatial")}


CORE = {
    *("inverse_dynamics", "forward_dynamics", "mass_matrix", "bias_force", "gravity_force", "passive_force"),
    *("kinetic_energy", "potential_energy", "pose", "velocity", "acceleration", "jacobian", "integrate", "difference"),
}
"""Questions that are asked in every combination of ways, types and settings; the others have tests of their own."""


def everything(frame: str = "tool") -> Iterator[tuple[str, tuple[str, ...], dict[str, str]]]:
    """Every question of the core, with and without its optional arguments, with every setting."""
    for question in (q for q in questions() if q.name in CORE):
        optional = tuple(p.name for p in question.inputs if p.optional)
        settings: list[dict[str, str]] = [{}]
        for option in question.options:
            values = (frame,) if option == "frame" else _CHOICES[option]
            settings = [{**s, option: value} for s in settings for value in values]
        for present in [(), optional] if optional else [()]:
            for s in settings:
                yield question.name, present, s


EVERYTHING = list(everything())


def name_of(asked: tuple[str, tuple[str, ...], dict[str, str]]) -> str:
    question, present, settings = asked
    return "-".join([question, *present, *(v for k, v in settings.items() if k != "frame")])


def arguments(robot: on.Robot, question: str, present: tuple[str, ...], count: int, seed: int = 0) -> list[Array]:
    """Random arguments for so many states."""
    rng = np.random.default_rng(seed)
    q, v, a = random_state(robot, seed, (count,))
    drawn: dict[str, Any] = {
        "q": q,
        "v": v,
        "a": a,
        "tau": rng.normal(size=v.shape),
        "external": rng.normal(size=(count, len(robot.bodies), 6)),
        "dt": rng.uniform(0.1, 0.9, count),
        "base_velocity": rng.normal(size=(count, 6)),
        "base_acceleration": rng.normal(size=(count, 6)),
        "smoothing": rng.uniform(0.01, 0.1, count),
        "x": rng.normal(size=v.shape),
        "q0": q,
        "q1": random_state(robot, seed + 1, (count,))[0],
    }
    ports = next(x.inputs for x in questions() if x.name == question)
    return [drawn[p.name] for p in ports if not p.optional or p.name in present]


def relative(actual: Any, expected: Any) -> float:
    """The largest difference of any state, relative to the largest entry of that state's answer."""
    a, b = np.asarray(actual), np.asarray(expected)
    assert a.shape == b.shape, (a.shape, b.shape)
    axes = tuple(range(1, a.ndim))
    apart, size = np.abs(a - b).max(axis=axes), np.abs(b).max(axis=axes)
    return float((apart / np.where(size > 0.0, size, 1.0)).max())
