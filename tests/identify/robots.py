"""Robots and motions for the tests of identification, and their regressors beside what they stand for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import ordern as on
from tests.random_models import random_robot, random_state

Array = np.ndarray[Any, Any]
WORLD = on.Frame("world", -1)


def random_tree(seed: int) -> on.Robot:
    """Trees, chains, floating ones, with joints that follow others, with fixed joints, drives and friction."""
    return random_robot(
        seed, 4 + seed % 9, floating=seed % 3 == 1, chain=seed % 5 == 2, mimic=seed % 4 == 3, merge=seed % 7 != 6,
        armature=seed % 2 == 0, passive=seed % 3 != 0,
    )  # fmt: skip


def compared(robot: on.Robot, seed: int, way: str = "interpreted") -> Iterator[tuple[str, Array, Array]]:
    """Each regressor times theta, and the interpreted answer that it stands for."""
    q, v, a = random_state(robot, seed, (3,))
    theta = robot.parameters.theta

    def found(name: str, *arguments: Array, **options: Any) -> tuple[str, Array]:
        return name, robot.kernel(name, way=way, **options)(*arguments) @ theta

    def ask(name: str, *arguments: Array, **options: Any) -> Array:
        return robot.kernel(name, way="interpreted", **options)(*arguments)

    slack = robot.with_parameters(stiffness=0.0 * robot.parameters.stiffness, fold=True)
    resisting = slack.passive_force(q, v)
    yield *found("inverse_dynamics_regressor", q, v, a, np.full(3, 0.01)), ask("inverse_dynamics", q, v, a) - resisting
    yield *found("joint_wrench_regressor", q, v, a), ask("joint_wrenches", q, v, a)
    base = ask("supported_wrench", q, v, a, frame=WORLD, axes="frame")
    yield *found("base_wrench_regressor", q, v, a), base
    yield *found("momentum_regressor", q, v, frame="tool"), ask("momentum", q, v, frame="tool")
    yield *found("kinetic_energy_regressor", q, v), ask("kinetic_energy", q, v)
    yield *found("potential_energy_regressor", q), ask("potential_energy", q)


def closed_motion(name: str) -> tuple[on.Robot, tuple[Array, Array, Array]]:
    """A mechanism, and a position, velocity and acceleration that keep its loops closed."""
    robot, rng = on.load(name), np.random.default_rng(1)
    q = robot.assemble().q
    v = robot.project_velocity(q, rng.normal(size=robot.nv))
    return robot, (q, v, robot.project_acceleration(q, v, rng.normal(size=robot.nv)))
