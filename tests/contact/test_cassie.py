"""Cassie walks: `examples/27_cassie.py`, held to the laws of mechanics, to its motors and to its file."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ordern as on
from tests.tolerances import CASSIE

EXAMPLE = Path(__file__).parents[2] / "examples/27_cassie.py"
MOST = (112.5, 112.5, 195.2, 195.2, 45.0)
"""Torques of the motors of roll, yaw, pitch, knee and foot in N m, of MuJoCo Menagerie's Cassie; the file has none."""

pytestmark = [pytest.mark.slow, pytest.mark.needs("example_robot_data")]


@pytest.fixture(scope="module")
def walk() -> dict[str, Any]:
    """Return the names of the example after its run of eight seconds."""
    return runpy.run_path(str(EXAMPLE))


def gaps(walk: dict[str, Any], q: Any) -> Any:
    """Return how high the lowest point of each foot is."""
    return walk["walker"].contact_points(q).gap.reshape(*q.shape[:-1], 2, 4).min(axis=-1)


def upright(run: on.Rollout) -> bool:
    """Return whether no pelvis falls or leans by more than 6 degrees."""
    R = on.rotations.matrix_from_quaternion(run.q[..., :4])
    return bool((run.q[..., 6] > 0.82).all() and (R[..., 2, 2] > np.cos(np.radians(6.0))).all())


def test_it_walks_at_the_speeds_that_are_wanted(walk: dict[str, Any]) -> None:
    run, want = walk["run"], walk["want"]
    assert upright(run)
    np.testing.assert_allclose(run.q[:, -1, 4] - run.q[:, 4000, 4], 6.0 * want, atol=6.0 * 0.05)
    assert np.abs(run.q[..., 5]).max() < 0.2  # it walks straight on


def test_its_feet_leave_the_ground_in_turn(walk: dict[str, Any]) -> None:
    """In the middle of each step one foot stands, and the other is some centimetres above the ground."""
    run, first, period = walk["run"], walk["first"], walk["T"]
    load = run.contact_impulses[..., 2].reshape(5, -1, 2, 4).sum(axis=-1)
    numbers = np.arange(1, 24)
    middle = np.rint((first + (numbers - 0.5) * period) / 5e-4).astype(int)
    high = gaps(walk, run.q[:, middle])
    swings = numbers % 2
    assert (high[:, numbers - 1, swings] > 0.04).all() and (load[:, middle, swings] == 0.0).all()
    assert (high[:, numbers - 1, 1 - swings] < 1e-3).all() and (load[:, middle, 1 - swings] > 0.0).all()
    assert (load.sum(axis=-1) == 0.0).mean() < 0.01  # it does not run


def test_the_ground_gives_the_momentum_that_it_gets(walk: dict[str, Any]) -> None:
    """The impulses of the ground, less the weight, are the change of the momentum; errors are of order dt."""
    run, robot = walk["run"], walk["robot"]
    start, end = (robot.mass * robot.com_velocity(run.q[:, k], run.v[:, k]) for k in (4000, -1))
    given = run.contact_impulses[:, 4001:].sum(axis=(1, 2)) + robot.mass * np.array(robot.gravity) * 6.0
    np.testing.assert_allclose(given, end - start, atol=1e-4 * robot.mass * 9.81 * 6.0)


def test_its_loops_and_contacts_are_certified(walk: dict[str, Any]) -> None:
    run, robot = walk["run"], walk["robot"]
    assert np.abs(robot.loop_residual(run.q)).max() < 5.0 * CASSIE  # of the file's digits
    assert np.percentile(run.certificate.residual, 99) <= 1e-6 and run.uncertified.mean() < 0.01
    assert gaps(walk, run.q[:, ::20]).min() > -1e-6


def test_its_motors_and_joints_stay_within_their_limits(walk: dict[str, Any]) -> None:
    run, robot = walk["run"], walk["robot"]
    tau = (run.tau[:, :-1] - walk["drag"] * run.v[:, 1:])[..., walk["V"]]
    assert (np.abs(tau) < MOST).all() and np.abs(run.tau[..., :6]).max() == 0.0
    assert ((run.q > robot.lower) & (run.q < robot.upper) | ~np.isfinite(robot.lower)).all()


def test_it_walks_on_when_it_is_pushed(walk: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The pelvis is pushed by 80 N for a tenth of a second: to the left, to the right, ahead and back, at 0.3 m/s."""
    robot, q, v = walk["robot"], np.tile(walk["q0"], (5, 1)), np.zeros((5, walk["robot"].nv))
    push = np.zeros((5, 8000, len(robot.bodies), 6))
    for k, (axis, force) in enumerate(((4, 80.0), (4, -80.0), (3, 80.0), (3, -80.0))):
        push[k, 4000:4200, 0, axis] = force
    monkeypatch.setitem(walk["walk"].__globals__, "want", 0.3)
    monkeypatch.setitem(walk["walk"].__globals__, "begun", {})
    gains = (0.0 * v[0], walk["drag"], walk["q0"])
    run = walk["walker"].rollout(q, v, steps=8000, dt=5e-4, policy=walk["walk"], hold=4, feedback=gains, external=push)
    assert upright(run) and run.uncertified.mean() < 0.01
    moved = robot.com_velocity(run.q[:, 4200], run.v[:, 4200])
    assert (np.abs(moved[:4] - moved[4]).max(axis=1) > 0.1).all()  # the pushes count
    np.testing.assert_allclose(run.q[:, -1, 4] - run.q[:, 6720, 4], 0.3 * 0.64, atol=0.05)  # the last two steps
