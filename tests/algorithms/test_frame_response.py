"""How joints respond to forces at a frame."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on
from tests.random_models import random_robot
from tests.tolerances import INVERSION, assert_close


@pytest.mark.parametrize("axes", ["frame", "world"])
@pytest.mark.parametrize("seed", range(6))
def test_it_is_the_solution_for_the_jacobian(seed: int, axes: str) -> None:
    robot = random_robot(seed, 7, armature=seed % 2 == 0, floating=seed == 3)
    q = robot.random(seed, (3,))
    M = robot.kernel("mass_matrix", way="interpreted")(q)
    J = robot.kernel("jacobian", way="interpreted", frame="tool", axes=axes)(q)
    found = robot.kernel("frame_response", way="interpreted", frame="tool", axes=axes)(q)
    assert_close(found, np.linalg.solve(M, J.swapaxes(-1, -2)), INVERSION)


def test_in_every_way_and_where_the_jacobian_is_singular() -> None:
    robot = on.load("planar-3r")
    q = np.zeros(3)
    expected = np.linalg.solve(robot.mass_matrix(q), robot.jacobian(q, "link3").T)
    for way in ("interpreted", "unrolled", "rolled"):
        kernel = robot.kernel("frame_response", way=way, frame="link3", axes="frame")
        assert_close(kernel(q), expected, INVERSION)
    assert_close(robot.frame_response(q, "link3"), expected, INVERSION)
