"""Motions of a frame: it is on its path, and the joints' velocities and accelerations are those of the frame."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import ordern as on
from tests.control.moving import slopes
from tests.robots import ROBOTS
from tests.tolerances import ROUNDING, SECOND_DIFFERENCE, assert_close

Array = np.ndarray
tr = on.trajectories
FRAME = "panda_hand_tcp"
HOME = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.7, 0.02])
ACCURACY = 1e-6
"""What `tip` promises by default, in rad and m."""


@pytest.fixture(scope="module")
def panda() -> on.Robot:
    return on.load(ROBOTS / "panda_description/urdf/panda.urdf")


def moved(T: Array, turn: Any, shift: Any) -> Array:
    out = T.copy()
    out[:3, :3] = T[:3, :3] @ Rotation.from_rotvec(turn).as_matrix()
    out[:3, 3] += shift
    return out


@pytest.fixture(scope="module")
def poses(panda: on.Robot) -> list[Array]:
    T = panda.pose(HOME, FRAME)
    one = moved(T, [0.0, 0.0, 0.0], [0.1, 0.3, -0.2])
    return [T, one, moved(one, [0.3, 0.5, -0.4], [-0.2, 0.0, 0.0])]


WAYS: dict[str, dict[str, Any]] = {
    "line": {"duration": 2.0},
    "screw": {"duration": [1.0, 2.0], "path": "screw", "law": "minimum-jerk"},
    "spline": {"times": [0.0, 1.0, 2.0], "path": "spline"},
    "position": {"duration": 1.5, "task": "position"},
    "orientation": {"duration": 1.5, "task": "orientation"},
}
ROWS = {"position": slice(3, 6), "orientation": slice(0, 3)}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_the_frame_follows_its_path(panda: on.Robot, poses: list[Array], way: str) -> None:
    trajectory = tr.tip(panda, FRAME, poses, q0=HOME, **WAYS[way])
    rows = ROWS.get(way, slice(0, 6))
    assert max(trajectory.error) <= ACCURACY
    t = np.linspace(0.0, trajectory.duration, 57)
    q, v, a = trajectory(t)
    T, V, A = trajectory.path(t)
    if way != "orientation":
        assert_close(panda.pose(q, FRAME)[:, :3, 3], T[:, :3, 3], 2 * ACCURACY)
    if way != "position":
        assert_close(panda.pose(q, FRAME)[:, :3, :3], T[:, :3, :3], 2 * ACCURACY)
    assert_close(panda.velocity(q, v, FRAME, axes="world")[:, rows], V[:, rows], 100 * ACCURACY)
    assert_close(panda.acceleration(q, v, a, FRAME, axes="world")[:, rows], A[:, rows], 3000 * ACCURACY)
    inside = t[2:-2][[min(abs(x - trajectory.t)) > 1e-3 for x in t[2:-2]]]
    slope = slopes(panda, trajectory, inside)
    assert_close(trajectory(inside).v, slope[0], SECOND_DIFFERENCE)
    assert_close(trajectory(inside).a, slope[1], 10 * SECOND_DIFFERENCE)


@pytest.mark.slow
def test_a_line_is_straight_and_a_screw_is_not(panda: on.Robot, poses: list[Array]) -> None:
    start, end = poses[0], poses[2]
    for path, straight in (("line", True), ("screw", False)):
        found = tr.tip(panda, FRAME, [start, end], 2.0, path=path, q0=HOME)
        p = panda.pose(found(np.linspace(0, 2.0, 20)).q, FRAME)[:, :3, 3]
        way = end[:3, 3] - start[:3, 3]
        off = np.linalg.norm(np.cross(p - start[:3, 3], way / np.linalg.norm(way)), axis=1).max()
        assert (off < ACCURACY) == straight
        T = found.path(1.0)[0]
        half = Rotation.from_matrix(start[:3, :3].T @ T[:3, :3]).as_rotvec()
        full = Rotation.from_matrix(start[:3, :3].T @ end[:3, :3]).as_rotvec()
        assert_close(half, 0.5 * full, ROUNDING)


@pytest.mark.slow
def test_one_pose_is_reached_from_where_the_robot_is(panda: on.Robot, poses: list[Array]) -> None:
    found = tr.tip(panda, FRAME, poses[1], 1.0, q0=HOME)
    assert_close(found(0.0).q, HOME, 1e-9)
    assert_close(panda.pose(found(1.0).q, FRAME), poses[1], 1e-8)
    assert not found(0.0).v.any() and np.abs(found(1.0).v).max() < 1e-12
    assert_close(found(0.5).q[7], HOME[7], ROUNDING)  # a finger that has no part in it


@pytest.mark.slow
def test_trapezoidal_keeps_the_limits_of_the_frame(panda: on.Robot, poses: list[Array]) -> None:
    options: dict[str, Any] = {"law": "trapezoidal", "velocity": (1.0, 0.3), "acceleration": (3.0, 0.6)}
    found = tr.tip(panda, FRAME, poses[:2], q0=HOME, **options)
    way = np.linalg.norm(poses[1][:3, 3] - poses[0][:3, 3])
    assert found.duration == pytest.approx(way / 0.3 + 0.3 / 0.6)
    t = np.linspace(0.0, found.duration, 101)
    q, v, a = found(t)
    speed = np.linalg.norm(panda.velocity(q, v, FRAME)[:, 3:], axis=1)
    assert speed.max() == pytest.approx(0.3, rel=1e-4)
    rise = np.linalg.norm(panda.acceleration(q, v, a, FRAME)[:, 3:], axis=1)
    assert rise.max() == pytest.approx(0.6, rel=1e-3)
    assert found.breaks == pytest.approx((0.5, found.duration - 0.5))


def test_a_path_of_ones_own(panda: on.Robot, poses: list[Array]) -> None:
    centre = poses[0][:3, 3] - [0.1, 0.0, 0.0]

    def circle(t: float) -> tuple[Array, Array, Array]:
        c, s = 0.1 * np.cos(t), 0.1 * np.sin(t)
        T = poses[0].copy()
        T[:3, 3] = centre + np.array([c, s, 0.0])
        return T, np.array([0, 0, 0, -s, c, 0]), np.array([0, 0, 0, -c, -s, 0])

    found = tr.tip(panda, FRAME, circle, 2 * np.pi, q0=HOME)
    p = panda.pose(found(np.linspace(0.0, 6.0, 50)).q, FRAME)[:, :3, 3] - centre
    assert_close(np.hypot(p[:, 0], p[:, 1]), np.full(50, 0.1), ACCURACY)
    with pytest.raises(on.ArgumentError, match=r"\(pose, velocity, acceleration\) at t = 0"):
        tr.tip(panda, FRAME, lambda t: 3, 1.0, q0=HOME)


def test_what_cannot_be_followed(panda: on.Robot, poses: list[Array]) -> None:
    far = moved(poses[0], [0, 0, 0], [1.0, 0.0, 0.0])
    with pytest.raises(on.ArgumentError, match=r"not followed beyond t = 0\.\d+ s: 0 of 1 reached; .*off by up to"):
        tr.tip(panda, FRAME, far, 1.0, q0=HOME)
    with pytest.raises(on.ArgumentError, match="the start of the path is not reached"):
        tr.tip(panda, FRAME, [far, poses[0]], 1.0, q0=HOME)
    for words, call in (
        ("unknown task 'both'", lambda: tr.tip(panda, FRAME, poses, 1.0, q0=HOME, task="both")),
        ("unknown kind of path", lambda: tr.tip(panda, FRAME, poses, 1.0, q0=HOME, path="arc")),
        ("unknown frame 'hand'", lambda: tr.tip(panda, "hand", poses, 1.0, q0=HOME)),
        ("needs `times`", lambda: tr.tip(panda, FRAME, poses, 1.0, q0=HOME, path="spline")),
        ("give the duration", lambda: tr.tip(panda, FRAME, poses, q0=HOME)),
        ("one pose is reached from the position q0", lambda: tr.tip(panda, FRAME, poses[0], 1.0)),
        ("point 1 is not a pose", lambda: tr.tip(panda, FRAME, [poses[0], np.ones((4, 4))], 1.0, q0=HOME)),
    ):
        with pytest.raises(on.OrdernError, match=words):
            call()
