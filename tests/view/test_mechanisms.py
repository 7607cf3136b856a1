"""Robots with loops on a page: bodies reach to where loops hold them, and the forces of their joints are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ordern as on
from ordern import robots
from ordern.robots.mechanisms import delta_robot, five_bar, stewart_platform
from ordern.view.motion import Motion
from ordern.view.skeleton import Skeleton
from ordern.view.stage import joint_forces
from tests.tolerances import ROUNDING, assert_close

UP = np.array([0.0, 0.0, 1.0])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["four-bar", "delta-robot"])
def test_a_page_can_be_saved(name: str, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    on.load(name).view(robots.positions(name)["assembled"], save=file)
    assert file.stat().st_size > 10_000


def test_bodies_end_where_loops_hold_them() -> None:
    robot = on.load("stewart-platform")
    ends = Skeleton(robot, UP)._ends[0]
    assert_close(np.array(ends), np.array(stewart_platform.anchors()[1]), ROUNDING)
    rods = Skeleton(on.load("delta-robot"), UP)._ends[2]
    assert_close(np.array(rods), np.array([[delta_robot.FOREARM, 0.0, 0.0]]), ROUNDING)


def test_forces_at_rest_are_those_of_drives_alone() -> None:
    """The shoulder of a five-bar bears its own arm and forearm, if drives hold all joints."""
    robot = on.load("five-bar")
    q = np.array([robots.positions("five-bar")["assembled"]])
    force = joint_forces(robot, Motion(np.zeros(1), q), None)[0]
    weights = [five_bar.UPPER + five_bar.FOREARM, five_bar.FOREARM] * 2
    assert_close(np.linalg.norm(force, axis=1), 9.81 * np.array(weights), ROUNDING)
