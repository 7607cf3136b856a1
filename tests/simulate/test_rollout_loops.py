"""Many trajectories of mechanisms at once: loops stay closed, and each is the one that `simulate` finds."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on
from ordern import robots
from ordern.errors import ArgumentError
from tests.tolerances import ROLLED_LOOPS, assert_close


def start(name: str, count: int) -> tuple[on.Robot, np.ndarray, np.ndarray]:
    """A mechanism, its closed position, and velocities that keep it so."""
    robot, q = on.load(name), np.array(robots.positions(name)["assembled"])
    return robot, q, robot.project_velocity(q, 0.3 * np.random.default_rng(0).normal(size=(count, robot.nv)))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["four-bar", "bricard", "slider-crank"])  # Bricard's rows depend on each other
def test_trajectories_are_those_of_simulate(name: str) -> None:
    robot, q, v = start(name, 11)
    q_end, v_end, t = robot.rollout(q, v, steps=200, dt=1e-3, method="rk4", every=200)
    assert np.abs(robot.loop_residual(q_end[:, -1])).max() < ROLLED_LOOPS
    assert np.abs(robot.loop_rate(q_end[:, -1], v_end[:, -1])).max() < 100 * ROLLED_LOOPS
    for k in (0, 10):
        one = robot.simulate(q, v[k], until=float(t[-1]))
        assert_close(q_end[k, -1], one.q[-1], 10 * ROLLED_LOOPS)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["four-bar", "bricard"])
@pytest.mark.parametrize("method", ["rk4", "semi-implicit-euler"])
def test_projected_steps_are_those_of_simulate(name: str, method: str) -> None:
    """The same projection as in the steps that `simulate` takes from Python, in each lane."""
    robot, q, v = start(name, 11)
    found = robot.rollout(q, v, steps=100, dt=1e-3, method=method, drift="project")
    assert np.abs(robot.loop_residual(found.q)).max() < 1e-11
    assert np.abs(robot.loop_rate(found.q, found.v)).max() < 1e-10
    for k in (0, 7, 10):
        one = robot.simulate(q, v[k], until=0.1, method=method, step=1e-3, native=False)
        assert_close(found.q[k], one.q, ROLLED_LOOPS)
        assert_close(found.v[k], one.v, ROLLED_LOOPS)


@pytest.mark.slow
def test_a_trajectory_that_cannot_be_closed_does_not_affect_others() -> None:
    robot, q, v = start("slider-crank", 3)
    v[1] *= 1e3  # after some steps no closed position is near
    options = {"steps": 20, "dt": 1e-3, "method": "rk4", "drift": "project"}
    found, alone = robot.rollout(q, v, **options), robot.rollout(q, v[2], **options)
    assert found.diverged.tolist() == [False, True, False]
    assert np.array_equal(found.q[2], alone.q)
    first = int(np.isnan(found.q[1]).any(-1).argmax())
    assert found.diverged_at[1] <= first  # it is too fast before it cannot be closed
    assert np.isnan(found.q[1, first:]).all()
    assert np.abs(robot.loop_residual(found.q[1, :first])).max() < 1e-11


def test_couplings_are_kept() -> None:
    """Two wheels, of which one is bound to turn twice as fast as the other, and back."""
    builder = on.Builder("gears", gravity=(0, 0, 0)).body("ground")
    for name in ("one", "two"):
        builder.body(name, parent="ground", joint=on.Revolute((0, 0, 1)), mass=1.0, inertia=(0.1, 0.1, 0.3))
    robot = builder.couple("mesh", "two_joint", "one_joint", (0.0, -2.0)).build()
    q, v, _ = robot.rollout([0.1, -0.2], [1.0, -2.0], [0.5, 0.0], steps=500, dt=1e-3, method="rk4")
    a = 0.5 / (0.3 + 4 * 0.3)
    assert_close(v[-1], [1.0 + 0.5 * a, -2.0 - a], ROLLED_LOOPS)
    assert_close(q[-1, 1], -2.0 * q[-1, 0], ROLLED_LOOPS)


def test_what_compiled_steps_cannot_do_is_refused() -> None:
    robot, q, v = start("four-bar", 1)
    with pytest.raises(ArgumentError, match=r"loop 'pin' open by up to .*assemble"):
        robot.rollout(q + 0.1, v, steps=1)
    with pytest.raises(ArgumentError, match=r"loop 'pin' opening at up to .*project_velocity"):
        robot.rollout(q, v + 0.1, steps=1)
    with pytest.raises(on.OrdernError, match=r"unknown drift .projects. in rollout.*Did you mean .project."):
        robot.rollout(q, v, steps=1, drift="projects")
    with pytest.raises(ArgumentError, match=r"drift='project' is not possible .*not compiled in one piece"):
        robot.rollout(q, v, steps=1, drift="project", dynamics="null-space")
    link = {"mass": 1.0, "com": (0.2, 0, 0), "inertia": (0.01,) * 3}
    arm = on.Builder("arm").body("ground").body("bar", parent="ground", joint=on.Revolute((0, 1, 0)), **link)
    driven = arm.loop("motor", on.Driven(on.Revolute((0, 1, 0)), (0.0, 1.0)), "ground", "bar").build()
    with pytest.raises(ArgumentError, match=r"loop 'motor' is driven by time; robot.simulate"):
        driven.rollout([0.0], [1.0], steps=1)


@pytest.mark.slow
def test_springs_and_dampers_in_loops_act() -> None:
    """A bar on a hinge, and on a second one of the same axis with a spring and a damper, which bears nothing else."""
    bar = {"mass": 1.0, "inertia": (0.2, 0.2, 0.2), "joint": on.Revolute((0, 1, 0))}
    spring = {"stiffness": 3.0, "damping": 0.4}
    closed = on.Builder("closed").body("ground").body("bar", parent="ground", **bar)
    closed = closed.loop("hinge", on.Revolute((0, 1, 0)), "ground", "bar", **spring).build()
    tree = on.Builder("tree").body("ground").body("bar", parent="ground", **bar, **spring).build()
    for robot in (closed, tree):
        end = robot.rollout([0.3], [1.0], steps=400, dt=1e-3, method="rk4", every=400)
        assert_close(end.q[-1], closed.simulate([0.3], [1.0], until=0.4).q[-1], ROLLED_LOOPS)
