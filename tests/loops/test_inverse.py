"""Forces of chosen joints that cause a motion of a mechanism."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on
from ordern import robots
from ordern.errors import LoopError
from tests.loops.closed_systems import closed_robot, motion_state
from tests.loops.test_solvers import ABOUT, parallelogram, parallelogram_acceleration


def motion(robot, q, seed):
    """A velocity and an acceleration that keep loops closed."""
    v, tau = motion_state(robot, q, seed)
    return v, robot.closed_dynamics(q, v, tau).a


def test_one_drive_for_one_freedom_is_the_virtual_power():
    robot = parallelogram()
    q, way = np.array([0.7, -0.7, 0.7]), np.array([1.0, -1.0, 1.0])
    alpha, inertia = 2.5, 2 * (1 / 12 + 0.25) + 0.5
    needed = inertia * (alpha - parallelogram_acceleration(0.7, 1.3))
    for joint in ("a", "b", "c"):
        found = robot.actuation(q, 1.3 * way, alpha * way, [joint])
        sign = {"a": 1.0, "b": -1.0, "c": 1.0}[joint]
        np.testing.assert_allclose(found.forces[joint], [sign * needed], rtol=1e-11)
        assert found.internal.shape == (1, 0)
        # and these forces do cause the motion
        motion = robot.closed_dynamics(q, 1.3 * way, found.tau)
        np.testing.assert_allclose(motion.a, alpha * way, atol=1e-10)
        np.testing.assert_allclose(motion.multipliers, found.multipliers, atol=1e-10)


def test_redundant_drives_share_by_weights_and_leave_internal_forces():
    robot = parallelogram()
    q, way = np.array([0.7, -0.7, 0.7]), np.array([1.0, -1.0, 1.0])
    alpha, inertia = 2.5, 2 * (1 / 12 + 0.25) + 0.5
    needed = inertia * (alpha - parallelogram_acceleration(0.7, 1.3))
    equal = robot.actuation(q, 1.3 * way, alpha * way, ["a", "c"])
    np.testing.assert_allclose(equal.u, [needed / 2, needed / 2], rtol=1e-11)
    # least w u^2 with u_a + u_c = needed: shares are as 1 / w
    uneven = robot.actuation(q, 1.3 * way, alpha * way, ["a", "c"], weights={"a": 3.0})
    np.testing.assert_allclose(uneven.u, [needed / 4, 3 * needed / 4], rtol=1e-11)
    assert equal.internal.shape == (2, 1)
    for z in (-3.0, 4.0):
        u = equal.with_internal([z])
        tau = np.array([u[0], 0.0, u[1]])
        np.testing.assert_allclose(robot.closed_dynamics(q, 1.3 * way, tau).a, alpha * way, atol=1e-10)


@pytest.mark.slow
def test_drives_of_a_stewart_platform_and_of_random_systems():
    robot = on.load("stewart-platform")
    q = np.asarray(robots.positions("stewart-platform")["assembled"], float)
    v, a = motion(robot, q, 4)
    legs = [c.name for c in robot.joints if isinstance(c.type, on.Prismatic)]
    assert len(legs) == 6
    found = robot.actuation(q, v, a, legs)
    np.testing.assert_allclose(robot.closed_dynamics(q, v, found.tau).a, a, atol=1e-9 * np.abs(a).max())
    passive = np.ones(robot.nv, bool)
    for name in legs:
        passive[robot.joint(name).v] = False
    assert not np.abs(found.tau[passive]).any()


@pytest.mark.slow
def test_all_joints_and_batches():
    robot, q = closed_robot(41, 6, ("spherical",))
    rng = np.random.default_rng(0)
    states = robot.assemble(robot.integrate(q, 0.02 * rng.normal(size=(4, robot.nv)))).q
    v = robot.project_velocity(states, rng.normal(size=(4, robot.nv)))
    a = robot.closed_dynamics(states, v, rng.normal(size=robot.nv)).a
    found = robot.actuation(states, v, a)
    np.testing.assert_allclose(robot.closed_dynamics(states, v, found.tau).a, a, atol=1e-8)
    # the least norm of all forces has nothing that loops could bear
    K = robot.loop_jacobian(states)
    assert np.abs(K @ found.tau[..., None]).max() < 1e-8 * np.abs(found.tau).max()
    assert len(found.internal) == 4


def test_drives_in_loops_and_external_forces():
    robot = parallelogram(on.Revolute(ABOUT))
    q, way = np.array([0.7, -0.7, 0.7]), np.array([1.0, -1.0, 1.0])
    alpha, inertia = 2.5, 2 * (1 / 12 + 0.25) + 0.5
    needed = inertia * (alpha - parallelogram_acceleration(0.7, 1.3))
    found = robot.actuation(q, 1.3 * way, alpha * way, ["pin"])
    np.testing.assert_allclose(found.u, [-needed], rtol=1e-10)  # the pin turns against the bars
    again = robot.closed_dynamics(q, 1.3 * way, np.zeros(3), loop_forces={"pin": found.u})
    np.testing.assert_allclose(again.a, alpha * way, atol=1e-9)
    # a weight of 3 N on the top costs its virtual power
    loaded = robot.actuation(q, 1.3 * way, alpha * way, ["a"], external={"top": [0, 0, 0, 0, 0, -3.0]})
    np.testing.assert_allclose(loaded.u, [needed + 3.0 * np.cos(0.7)], rtol=1e-10)


def test_what_cannot_be_driven_is_named():
    robot = on.load("five-bar")
    q = np.asarray(robots.positions("five-bar")["assembled"], float)
    v, a = motion(robot, q, 1)
    first = robot.joints[0].name
    with pytest.raises(LoopError, match=rf"2 freedoms.*\({first}\) drive 1.*cannot drive the motion"):
        robot.actuation(q, v, a, [first])
    with pytest.raises(on.UnknownNameError, match="joint or loop"):
        robot.actuation(q, v, a, ["nothing"])
    with pytest.raises(on.ArgumentError, match="twice"):
        robot.actuation(q, v, a, [first, first])
    with pytest.raises(on.ArgumentError, match="accelerations do not keep loop"):
        robot.actuation(q, v, a + np.array([1.0, 0.0, 0.0, 0.0]), [first])
    with pytest.raises(on.ArgumentError, match="velocities do not keep loop"):
        robot.actuation(q, v + np.array([1.0, 0.0, 0.0, 0.0]), a, [first])


def test_an_open_mechanism_has_no_motion():
    robot = parallelogram()
    with pytest.raises(LoopError, match=r"actuation: loop 'pin' .* is open by .*assemble"):
        robot.actuation([0.3, 0.4, -0.2], np.zeros(3), np.zeros(3), ["a"])
