"""Derivatives of many questions about many robots, as JAX's own test compares them with differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

import ordern as on
from ordern.algorithms.registry import find_question
from tests.worlds.jax_precision import double  # noqa: F401

QUESTIONS = (
    *("inverse_dynamics", "forward_dynamics", "bias_force", "gravity_force", "passive_force", "coriolis_matrix"),
    *("mass_matrix", "mass_matrix_inverse", "mass_matrix_factor", "mass_matrix_pivots", "mass_matrix_root_product"),
    *("mass_matrix_root_solve", "mass_matrix_product", "mass_matrix_solve", "joint_wrenches", "supported_wrench"),
    *("constraint_forces", "momentum", "operational_inertia_inverse", "frame_response", "kinetic_energy"),
    *("potential_energy", "pose", "velocity", "acceleration", "jacobian", "jacobian_rate", "body_poses"),
    *("body_velocities", "body_accelerations", "com", "com_velocity", "com_acceleration", "com_jacobian"),
    *("centroidal_momentum", "centroidal_map", "integrate", "difference", "position_rate", "normalize"),
)
ROBOTS: dict[str, Callable[[], on.Robot]] = {
    **{name: lambda name=name: on.load(name) for name in ("double-pendulum", "planar-3r", "puma560", "stanford-arm")},
    **{name: lambda name=name: on.load(name) for name in ("kuka-kr5", "free-top", "spherical-chain-2")},
    "sliding chain": lambda: on.chain(3, on.Prismatic),
    "mixed chain": lambda: on.chain(3, [on.Universal, on.Cylindrical, on.Planar]),
    "tree": lambda: on.tree(4),
}


def _check(robot: on.Robot, question: str, order: int = 1) -> None:
    """Check the derivatives by all arguments; positions vary along `integrate`, so quaternions keep their length."""
    asked, rng = find_question(question), np.random.default_rng(0)
    frame = robot.bodies[-1].name
    usual = {"frame": frame, "axes": "world", "kind": "classical"}
    kernel = robot.kernel(question, **{x: usual[x] for x in asked.options})
    starts, points = [], []
    for port, shape in zip(kernel.ports, kernel.runner.arguments.shapes, strict=True):
        starts.append(robot.random(rng) if port.kind == "q" else None)
        size = (robot.nv,) if port.kind == "q" else shape
        points.append(jnp.asarray(0.3 * rng.standard_normal(size) if size else 0.3))

    def answer(*given: Any) -> Any:
        q0s = zip(starts, given, strict=True)
        return kernel(*(x if q0 is None else robot.integrate(q0, x) for q0, x in q0s))

    check_grads(answer, tuple(points), order=order)


@pytest.mark.parametrize(("name", "question"), [("double-pendulum", "inverse_dynamics"), ("free-top", "pose")])
def test_some_derivatives(name: str, question: str) -> None:
    _check(ROBOTS[name](), question)


@pytest.mark.campaign
@pytest.mark.parametrize("name", ROBOTS)
def test_all_derivatives(name: str, campaign: Callable[[int, int], int]) -> None:
    """All questions of ten robots; a fifth of them for each robot in a sample."""
    robot, step = ROBOTS[name](), campaign(5, 1)
    for question in QUESTIONS[list(ROBOTS).index(name) % step :: step]:
        try:
            _check(robot, question)
        except AssertionError as e:
            raise AssertionError(f"{question} of {name}: {e}") from e


@pytest.mark.slow
@pytest.mark.parametrize("name", ["planar-3r", "free-top"])
@pytest.mark.parametrize("question", ["forward_dynamics", "inverse_dynamics", "mass_matrix_solve", "pose", "integrate"])
def test_derivatives_of_second_order(name: str, question: str) -> None:
    _check(ROBOTS[name](), question, order=2)
