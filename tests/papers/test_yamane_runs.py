"""Yamane and Nakamura's chains with 30 freedoms: against Pinocchio with SciPy, another method, and their energy."""

from __future__ import annotations

import numpy as np
import pytest

from ordern.papers import yamane_runs
from tests.tolerances import FREE_FALL, KEPT_ENERGY, assert_close


@pytest.mark.slow
@pytest.mark.parametrize("name", yamane_runs.ROBOTS)
def test_motion_is_that_of_pinocchio(name: str) -> None:
    times = [0.25, 0.5]
    result = yamane_runs.run(name, times)
    assert result.report.dynamics == "virtual-work"
    assert_close(result.q, yamane_runs.theirs(name, times), FREE_FALL)
    robot = result.robot
    energy = robot.kinetic_energy(result.q, result.v) + robot.potential_energy(result.q)
    start = float(robot.potential_energy(yamane_runs.start(robot)))
    assert np.abs(energy - start).max() / robot.kinetic_energy(result.q, result.v).max() < KEPT_ENERGY


def test_they_leave_the_plane() -> None:
    for name in yamane_runs.ROBOTS:
        robot = yamane_runs.load(name)
        assert robot.nv == 30
        tip = robot.pose(yamane_runs.start(robot), robot.bodies[-1].name)
        assert abs(tip[1, 3]) > 0.01
