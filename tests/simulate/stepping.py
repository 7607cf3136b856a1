"""Integrators by themselves, without the driver."""

from __future__ import annotations

from typing import Any

import numpy as np

import ordern as on
from ordern.simulate.forces import External, applied
from ordern.simulate.integrators.integrator import Integrator, Settings, Step
from ordern.simulate.integrators.radau import Radau
from ordern.simulate.integrators.variational import Variational
from ordern.simulate.run.problem import Problem

Array = np.ndarray


def started(
    kind: type[Radau] | type[Variational],
    robot: on.Robot,
    q: Any,
    v: Any,
    *,
    tau: Any = None,
    forces: Any = None,
    smoothing: float = 0.01,
    **settings: float,
) -> Any:
    """An integrator of one of the two kinds at the beginning of a run."""
    problem = Problem(robot, applied(robot, tau), External(robot, forces), smoothing=smoothing)
    integrator = kind(problem, Settings(**settings))
    integrator.start(0.0, np.array(q, dtype=float), np.array(v, dtype=float))
    return integrator


def run(integrator: Integrator, end: float) -> list[Step]:
    """All steps to a time."""
    steps = [integrator.step(end)]
    while steps[-1].t1 < end:
        steps.append(integrator.step(end))
    return steps


def energy(robot: on.Robot, q: Array, v: Array) -> Array:
    """Kinetic energy and that of gravity."""
    return robot.kinetic_energy(q, v) + robot.potential_energy(q)


def apart(robot: on.Robot, one: Step, q: Array, v: Array) -> float:
    """How far the end of a step is from a state."""
    return float(max(np.abs(robot.difference(q, one.q1)).max(), np.abs(one.v1 - v).max()))


def without_gravity(robot: on.Robot) -> on.Robot:
    """The same robot, floating in space."""
    builder = robot.builder()
    builder.gravity = (0.0, 0.0, 0.0)
    return builder.build()
