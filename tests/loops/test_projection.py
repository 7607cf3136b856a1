"""Velocities and accelerations next to given ones that keep loops closed, with some joints kept as they are."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on
from ordern import robots


@pytest.mark.parametrize(
    ("name", "keep"),
    [
        ("four-bar", "drive"),
        *(
            pytest.param(*x, marks=pytest.mark.slow)
            for x in (
                ("five-bar", []),
                ("double-parallelogram", []),  # with redundant rows
                ("stewart-platform", ["leg1_drive", "leg4_drive"]),
            )
        ),
    ],
)
def test_kept_joints_stay_and_the_rest_is_nearest(name: str, keep) -> None:
    robot = on.load(name)
    keep = keep or [robot.joints[0].name]
    q = np.asarray(robots.positions(name)["assembled"], float)
    x = np.random.default_rng(3).normal(size=(3, robot.nv))
    kept = np.zeros(robot.nv, bool)
    for joint in (keep,) if isinstance(keep, str) else keep:
        kept[robot.joint(joint).v] = True
    K, M = robot.loop_jacobian(q), robot.mass_matrix(q)
    v = robot.project_velocity(q, x, keep=keep)
    a = robot.project_acceleration(q, v, x, keep=keep)
    assert np.array_equal(v[:, kept], x[:, kept]) and np.array_equal(a[:, kept], x[:, kept])
    assert np.abs(robot.loop_rate(q, v)).max() < 1e-10
    assert np.abs(a @ K.T + robot.loop_bias(q, v)).max() < 1e-9
    _, s, Vt = np.linalg.svd(np.concatenate([K, np.eye(robot.nv)[kept]]))
    N = Vt[int((s > 1e-9).sum()) :].T  # motions of the other joints that loops allow
    for new in (v, a):
        assert np.abs((new - x) @ M @ N).max(initial=0.0) < 1e-9
    free = robot.project_acceleration(q, v, x)
    N = robot.mobility(q).motions
    assert np.abs(free @ K.T + robot.loop_bias(q, v)).max() < 1e-9 and np.abs((free - x) @ M @ N).max() < 1e-9


def test_the_acceleration_of_forces_is_the_nearest_one() -> None:
    """Gauss: constraint forces change the accelerations of the open tree as little as possible."""
    robot = on.load("four-bar")
    q = np.asarray(robots.positions("four-bar")["assembled"], float)
    v, tau = robot.project_velocity(q, [1.0, 2.0, 3.0]), np.array([0.4, 0.0, 0.0])
    free = robot.opened().forward_dynamics(q, v, tau)
    np.testing.assert_allclose(robot.project_acceleration(q, v, free), robot.forward_dynamics(q, v, tau), atol=1e-10)


def test_what_cannot_be_kept_is_named() -> None:
    robot = on.load("four-bar")
    q = np.asarray(robots.positions("four-bar")["assembled"], float)
    names = [c.name for c in robot.joints]
    with pytest.raises(on.LoopError, match=rf"velocities .* while those of {names[0]}, {names[1]} stay .* loop 'pin'"):
        robot.project_velocity(q, [1.0, 1.0, 0.0], keep=names[:2])
    v = robot.project_velocity(q, [1.0, 0.0, 0.0])
    with pytest.raises(on.LoopError, match=r"accelerations .* loop 'pin' would still open"):
        robot.project_acceleration(q, v, np.ones(3), keep=names)
    with pytest.raises(on.UnknownNameError, match="driv"):
        robot.project_velocity(q, v, keep="driv")
    with pytest.raises(on.ArgumentError, match="project_acceleration: keep must be names of joints, not 3"):
        robot.project_acceleration(q, v, v, keep=3)
    with pytest.raises(on.InconsistentStateError, match="project_acceleration: velocities do not keep loop 'pin'"):
        robot.project_acceleration(q, [1.0, 1.0, 1.0], v)
    nan = robot.project_velocity(np.stack([q, np.full(3, np.nan)]), [1.0, 0.0, 0.0], keep=names[0])
    assert np.isfinite(nan[0]).all() and not np.isfinite(nan[1]).all()
    tree = robot.opened()
    assert np.array_equal(tree.project_acceleration(q, v, v, keep=names[0]), v)
