"""Robots with loops on a page: bodies reach to where loops hold them, and the forces of their joints are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ordern as on
from ordern import robots
from ordern.graph import OPS
from ordern.model.poses import body_poses
from ordern.robots.mechanisms import delta_robot, five_bar, stewart_platform
from ordern.view.closing import _SYMBOLS, closures
from ordern.view.looks import Looks
from ordern.view.motion import Motion
from ordern.view.skeleton import Skeleton
from ordern.view.stage import Stage, joint_forces
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


@pytest.mark.slow
def test_telescopic_legs_are_whole_in_every_position() -> None:
    """The rod of a leg reaches from the ball on the platform to the joint at the ground, wherever the platform is."""
    robot = on.load("stewart-platform")
    looks = Looks(robot)
    rods = [part for part in looks.parts if part.rod is not None]
    assert len(rods) == 6
    for q in robot.assemble(robots.positions("stewart-platform")["assembled"] + np.eye(25)[[4, 5, 6]] * 0.1).q:
        poses = body_poses(robot, q)
        for k, part in enumerate(rods):
            ends = np.array([part.solid.vertices[:, 2].min(), part.solid.vertices[:, 2].max()])
            T = poses[part.body] @ part.rod
            low, high = (T @ [0.0, 0.0, z * looks.length(part, poses), 1.0] for z in ends)
            assert_close(high[:3], poses[part.body, :3, 3], ROUNDING)
            assert_close(low[:3], poses[part.body - 1, :3, 3], ROUNDING)
            assert abs(looks.length(part, poses)) == pytest.approx(abs(q[robot.joint(f"leg{k + 1}_drive").q][0]))


@pytest.mark.parametrize("name", ["four-bar", "stewart-platform", "delta-robot"])
def test_mechanisms_start_closed_and_within_limits(name: str) -> None:
    robot = on.load(name)
    q = Stage(robot).q
    assert np.abs(robot.loop_residual(q)).max() < 1e-9
    assert (q >= robot.lower).all() and (q <= robot.upper).all()


def test_closures_on_a_page_are_those_of_the_dynamics() -> None:
    """Each operation of the graph has a text; a revolute loop uses most of them."""
    text = closures(on.load("bricard"))
    assert text.count("=>") == 1 and text.count("return[") == 1 and "Math.sqrt" in text and "<" in text
    assert set(_SYMBOLS) == set(OPS)
