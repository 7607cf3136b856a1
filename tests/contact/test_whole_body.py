"""Whole-body control: the equations, cones and limits of its solutions, what is not possible, and a humanoid."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on
from ordern.errors import ArgumentError
from tests.contact.robots import ball

pytestmark = pytest.mark.needs("clarabel")
FEET = ("lf_foot", "rf_foot", "lh_foot", "rh_foot")
STAND = np.array(on.robots.positions("quadruped")["stand"])


def quadruped(mu: float = 0.6, **ground: object) -> on.Robot:
    return on.load("quadruped").with_contacts(on.Ground(mu, **ground), points=FEET)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_rollout_with_the_motor_forces_has_the_accelerations_and_contact_forces() -> None:
    robot, rng = quadruped(), np.random.default_rng(0)
    tasks = [
        on.tasks.CentreOfMass(acceleration=rng.uniform(-1.0, 1.0, (2, 5, 3))),
        on.tasks.Posture(STAND, weight=0.01),
    ]
    q = np.tile(STAND, (2, 5, 1))
    found = robot.whole_body(q, tasks=tasks)
    assert (found.status == "solved").all()
    assert found.residual.max() < 1e-9
    assert (np.linalg.norm(found.forces[..., :2], axis=-1) <= 0.6 * found.forces[..., 2] + 1e-7).all()
    dt = 1e-3
    run = robot.rollout(q, np.zeros((2, 5, 18)), found.tau, 1, dt)
    np.testing.assert_allclose(run.v[..., -1, :] / dt, found.a, atol=1e-5)
    np.testing.assert_allclose(run.contact_impulses[..., -1, :, :] / dt, found.forces, atol=1e-4)


def test_cones_are_round() -> None:
    """What friction allows is the same in all directions, and the limit is that of Coulomb."""
    robot = quadruped(0.3)
    angles = np.linspace(0.0, np.pi / 2.0, 5)
    wish = 20.0 * np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=-1)
    hold = on.tasks.Rotation("trunk", np.eye(3), weight=100.0)
    found = robot.whole_body(np.tile(STAND, (5, 1)), tasks=[on.tasks.CentreOfMass(acceleration=wish), hold])
    total = found.forces.sum(axis=1)
    np.testing.assert_allclose(np.linalg.norm(total[:, :2], axis=1), 0.3 * total[:, 2], rtol=1e-3)
    np.testing.assert_allclose(total[:, 0] * np.sin(angles), total[:, 1] * np.cos(angles), atol=0.1)


def test_motors_keep_their_limits_and_frames_their_accelerations() -> None:
    robot = quadruped()
    up = [on.tasks.CentreOfMass(acceleration=[0.0, 0.0, 100.0])]
    assert np.abs(robot.whole_body(STAND, tasks=up).tau).max() == pytest.approx(35.0, rel=1e-6)
    assert np.abs(robot.whole_body(STAND, tasks=up, effort=10.0).tau).max() == pytest.approx(10.0, rel=1e-6)
    three = [True, True, True, False]
    lift = on.tasks.Point("rh_foot", acceleration=[0.0, 0.0, 2.0])
    found = robot.whole_body(STAND, 0.1 * np.ones(18), [lift], touching=three)
    assert not found.forces[3].any()
    a = robot.acceleration(STAND, 0.1 * np.ones(18), found.a, "rh_foot", axes="world")[3:]
    np.testing.assert_allclose(a, [0.0, 0.0, 2.0], atol=1e-3)


def test_what_is_not_possible_is_told() -> None:
    steep = quadruped(0.1, normal=(0.5, 0.0, 1.0))
    found = steep.whole_body(STAND, tasks=[], touching=[True] * 4, effort=0.0)
    assert found.status == "infeasible: effort limits"
    assert np.isnan(found.a).all() and np.isnan(found.forces).all()
    rolling = ball().with_contacts(on.Ground(0.1, normal=(1.0, 0.0, 1.0)))
    start = [1.0, 0.0, 0.0, 0.0, 0.1 * 0.5**0.5, 0.0, 0.1 * 0.5**0.5]
    assert rolling.whole_body(start).status == "infeasible: contacts cannot stick and push"
    rolls = [0.0, 5.0, 0.0, 0.5**1.5, 0.0, -(0.5**1.5)]
    gentle = ball().with_contacts(on.Ground(0.8, normal=(1.0, 0.0, 1.0))).whole_body(start, rolls)
    g = 9.81 * 0.5**0.5
    np.testing.assert_allclose(gentle.forces[0], [-2.0 / 7.0 * g, 0.0, g], atol=1e-6)  # of a ball that rolls


def test_wrong_tasks_are_named() -> None:
    robot = quadruped()
    with pytest.raises(ArgumentError, match=r"on\.tasks\.CentreOfMass: goal"):
        robot.whole_body(STAND, tasks=[on.tasks.CentreOfMass([0.0, 1.0])])
    with pytest.raises(ArgumentError, match="a velocity is that of a goal"):
        robot.whole_body(STAND, tasks=[on.tasks.Point("lf_foot", velocity=[0.0, 0.0, 1.0])])
    with pytest.raises(ArgumentError, match="its numbers are for a batch"):
        robot.whole_body(STAND, tasks=on.tasks.CentreOfMass(acceleration=np.zeros((4, 3))))
    with pytest.raises(ArgumentError, match="a task is one of"):
        robot.whole_body(STAND, tasks=["com"])
    with pytest.raises(ArgumentError, match="contacts with the ground"):
        on.load("quadruped").whole_body(STAND)


@pytest.mark.slow
@pytest.mark.parametrize("push", [(80.0, 0.0, 0.0), (0.0, 80.0, 0.0)])
def test_a_humanoid_that_is_pushed_stands(push: tuple[float, float, float]) -> None:
    robot = on.load("humanoid")
    stand = on.robots.positions("humanoid")["stand"]
    soles = [f"{side}_sole_{k}" for side in "lr" for k in (1, 2, 3, 4)]
    walker = robot.with_contacts(on.Ground(0.7), points=soles)
    goal = robot.com(stand)
    tasks = [
        on.tasks.CentreOfMass(goal, stiffness=40.0),
        on.tasks.Rotation("trunk", np.eye(3), stiffness=60.0, weight=0.3),
        on.tasks.Posture(stand, stiffness=60.0, weight=0.01),
    ]
    q, v, impulses = stand, np.zeros(robot.nv), None
    for k in range(250):
        found = walker.whole_body(q, v, tasks, touching=[True] * 8)
        assert found.status == "solved"
        force = {"trunk": [0.0, 0.0, 0.0, *push]} if k < 20 else None
        run = walker.rollout(q, v, found.tau, 5, 1e-3, external=force, contact_impulses=impulses, every=5)
        q, v, impulses = run.q[-1], run.v[-1], run.contact_impulses[-1]
    assert np.abs(robot.com(q) - goal).max() < 0.02
    assert np.abs(v).max() < 0.1
