"""Rates of answers in 50 digits: the texts of the algorithms run on jets of mpmath numbers.

This uses nothing of the derivatives of the library but the table of partial derivatives: no graph, no compiler.
"""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np

import ordern as on
from ordern.algorithms import find
from ordern.graph import Jet
from ordern.model import core_shape
from ordern.spatial import Freedoms

__all__ = ["DIGITS", "all_questions", "arguments", "precise_rate", "settings_of"]

DIGITS = 50


class Precise(Jet):
    """A jet with many digits, also if it is made from a constant of the model."""

    def __init__(self, value: Any, rate: Any = 0) -> None:
        super().__init__(mpmath.mpf(value), mpmath.mpf(rate))


def precise_rate(
    robot: on.Robot, question: str, given: dict[str, Any], along: dict[str, Any], **settings: Any
) -> np.ndarray:
    """The rate of an answer, as a tangent of it, while its arguments vary along tangents."""
    asked = find(question)[0]
    present = [p.name for p in asked.inputs if p.optional and p.name in given]
    with mpmath.workdps(DIGITS):
        jets = []
        for port in asked.inputs:
            if port.name not in given:
                continue
            x = _many(given[port.name])
            rate = _many(along[port.name]) if port.name in along else np.zeros_like(x)
            if port.kind == "q" and port.name in along:
                rate = robot.kernel("position_rate", way="interpreted")(x, rate)
            jets.append(np.asarray(np.frompyfunc(Precise, 2, 1)(x, rate), object))
        kernel = robot.kernel(question, present=present, way="interpreted", **settings)
        answer = np.asarray(kernel(*jets), object)
        value, rate = (np.asarray(_part(answer, name), object) for name in ("value", "rate"))
        return np.asarray(_tangent(robot, asked.output, value, rate), float)


def _many(x: Any) -> np.ndarray:
    return np.asarray(np.frompyfunc(mpmath.mpf, 1, 1)(np.asarray(x, float)), object)


def _part(answer: np.ndarray, name: str) -> Any:
    plain = {"value": lambda x: x, "rate": lambda x: mpmath.mpf(0)}[name]
    return np.frompyfunc(lambda x: mpmath.mpf(getattr(x, name) if isinstance(x, Jet) else plain(x)), 1, 1)(answer)


def _tangent(robot: on.Robot, kind: str, value: np.ndarray, rate: np.ndarray) -> Any:
    """The tangent of an answer from the rates of its numbers: exactly, where these keep a rotation a rotation."""
    if kind == "q":
        here, moved = (np.frompyfunc(Precise, 2, 1)(value, x) for x in (0 * rate, rate))
        return _part(robot.kernel("difference", way="interpreted")(here, moved), "rate")
    if kind == "loop_q":
        found = []
        for loop in robot.loop_table.loops:
            if isinstance(loop.type, on.Joint) and loop.q.stop > loop.q.start:
                here, moved = (
                    [Precise(*pair) for pair in zip(value[loop.q], x[loop.q], strict=True)] for x in (0 * rate, rate)
                )
                apart = loop.type.difference(Freedoms(here), Freedoms(moved))
                found += [x.rate if isinstance(x, Jet) else 0 for x in apart]
        return found
    if kind in ("pose", "poses", "body_poses"):
        R, dR = value[..., :3, :3], rate[..., :3, :3]
        W = np.einsum("...ki,...kj->...ij", R, dR)
        linear = np.einsum("...ki,...k->...i", R, rate[..., :3, 3])
        angular = np.stack([W[..., 2, 1], W[..., 0, 2], W[..., 1, 0]], axis=-1)
        return np.concatenate([angular, linear], axis=-1)
    return rate


OPTIONAL = ("external", "base_velocity", "base_acceleration", "t")
"""Optional arguments that are given."""
SETTINGS: dict[str, Any] = {"frame": "tool", "axes": "frame", "kind": "classical", "alpha": 1.0, "moving": True}


def settings_of(robot: on.Robot, question: str) -> dict[str, Any]:
    """Settings of a question for a robot that has a frame named "tool"."""
    known = SETTINGS | {"frames": ("tool", robot.bodies[0].name)}
    return {x: known[x] for x in find(question)[0].options}


def all_questions(loops: bool) -> list[str]:
    """The names of all questions about trees, or about loops, but for those that integrators ask, with own settings."""
    from ordern.algorithms import questions
    from ordern.algorithms.registry import import_all

    import_all()
    known = {*SETTINGS, "frames"}
    return [q.name for q in questions() if q.loops == loops and known.issuperset(q.options)]


def arguments(robot: on.Robot, question: str, rng: np.random.Generator) -> tuple[dict[str, Any], dict[str, Any]]:
    """Random arguments of a question by name, and tangents of them; numbers are positive."""
    given: dict[str, Any] = {}
    along: dict[str, Any] = {}
    for port in find(question)[0].inputs:
        if port.optional and port.name not in OPTIONAL:
            continue
        shape = core_shape(robot, port.kind)
        value = rng.normal(size=shape)
        given[port.name] = 0.1 + abs(value) if shape == () else value
        if port.name == "drag":  # a damping
            given[port.name] = abs(value)
        if question == "contact_step" and port.name == "dt":  # short: a disc that falls flat has no heading
            given[port.name] *= 0.1
        along[port.name] = rng.normal(size=core_shape(robot, "v" if port.kind == "q" else port.kind))
        if port.kind in ("q", "coordinates"):
            given[port.name] = robot.random(rng)
        if port.kind == "coordinates":  # methods may move inertia between bodies, as long as rotations stay rotations
            along[port.name] = robot.position_rate(given[port.name], rng.normal(size=robot.nv))
    return given, along
