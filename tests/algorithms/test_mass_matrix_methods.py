"""The methods of the mass matrix, against each other and in every way of running."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on
from tests.algorithms.trees import ask
from tests.random_models import random_robot, random_state
from tests.tolerances import ROUNDING, SINGLE, assert_close

METHODS = ["unit-acceleration", "symmetric", "denoc", "operator", "composite-body-absolute"]
STATES = 3


def tree(seed: int) -> on.Robot:
    """Trees, chains, floating ones, with armature, with joints that follow others, with fixed joints."""
    return random_robot(
        200 + seed,
        4 + seed,
        floating=seed % 3 == 1,
        chain=seed % 5 == 2,
        armature=seed % 2 == 0,
        mimic=seed % 4 == 3,
        merge=seed % 7 != 6,
    )


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(12))
def test_all_methods_agree(seed: int, method: str) -> None:
    robot = tree(seed)
    q, _, _ = random_state(robot, seed, (STATES,))
    found = ask(robot, "mass_matrix", q, method=method)
    assert_close(found, ask(robot, "mass_matrix", q), ROUNDING)
    assert (found == found.swapaxes(-1, -2)).all()


SMALL = {
    "tree": random_robot(220, 4, (on.Revolute, on.Universal, on.Spherical), armature=True),
    "coupled": random_robot(222, 3, (on.Revolute,), chain=True, mimic=True),
}


@pytest.mark.slow
@pytest.mark.parametrize("robot", SMALL.values(), ids=SMALL)
@pytest.mark.parametrize("method", METHODS)
def test_every_way_of_running(method: str, robot: on.Robot) -> None:
    q, _, _ = random_state(robot, 1, (STATES,))
    expected = ask(robot, "mass_matrix", q, method=method)
    for way in ("rolled", "unrolled"):
        kernel = robot.kernel("mass_matrix", method, way=way)
        found = kernel(q)
        assert_close(found, expected, ROUNDING)
        assert (found == found.swapaxes(-1, -2)).all()
    if robot is SMALL["coupled"]:
        single = kernel(q.astype(np.float32))
        assert single.dtype == np.float32
        assert_close(single, expected, SINGLE)


def test_half_of_the_columns_cost_less() -> None:
    """Jain, sec. 3: of the methods of Walker and Orin each is cheaper than the one before."""
    robot = random_robot(230, 6, (on.Revolute,), chain=True)
    direct, half, composite = (
        robot.kernel("mass_matrix", method, way="unrolled").counts().multiplications
        for method in ("unit-acceleration", "symmetric", "composite-body")
    )
    assert direct > half > composite


def test_columns_are_forces_of_unit_accelerations() -> None:
    """Featherstone and Orin, sec. 3.2: M delta = D(q, v, delta) - D(q, v, 0)."""
    robot = tree(6)
    q, v, _ = random_state(robot, 0, (STATES,))
    M = ask(robot, "mass_matrix", q, method="unit-acceleration")
    rest = ask(robot, "inverse_dynamics", q, v, 0 * v)
    for k in range(robot.nv):
        assert_close(M[..., k], ask(robot, "inverse_dynamics", q, v, np.eye(robot.nv)[k]) - rest, ROUNDING)
