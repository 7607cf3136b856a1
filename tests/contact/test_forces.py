"""Contact forces of given motions: balance, cones, and agreement with rollouts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import ordern as on
from ordern.errors import ArgumentError
from tests.contact.robots import ball, floating

FEET = ("lf_foot", "rf_foot", "lh_foot", "rh_foot")
STAND = np.array(on.robots.positions("quadruped")["stand"])


def test_feet_carry_the_weight_and_stay_in_their_cones() -> None:
    robot = on.load("quadruped").with_contacts(on.Ground(0.4), points=FEET)
    rng = np.random.default_rng(0)
    q = robot.integrate(STAND, 0.02 * rng.standard_normal((20, 18)))
    a = np.zeros((20, 18))
    a[:, 3:6] = rng.uniform(-2.0, 2.0, (20, 3))  # within what friction allows
    found = robot.contact_forces(q, a=a, touching=np.ones(4, bool), iterations=3000)
    assert found.residual.max() <= 1e-4 * robot.mass * 9.81
    sideways = np.linalg.norm(found.forces[..., :2], axis=-1)
    assert (sideways <= 0.4 * found.forces[..., 2] + 1e-9).all()
    np.testing.assert_allclose(found.tau[:, :6], 0.0, atol=1e-2)


def test_motions_that_friction_cannot_cause_have_a_residual() -> None:
    robot = on.load("quadruped").with_contacts(on.Ground(0.2), points=FEET)
    a = np.zeros(18)
    a[3] = 5.0
    found = robot.contact_forces(STAND, a=a, touching=np.ones(4, bool), iterations=3000)
    assert found.residual > 0.1 * robot.mass * (5.0 - 0.2 * 9.81)
    flying = robot.contact_forces(STAND + np.eye(19)[6], a=-9.81 * np.eye(18)[5])
    assert not flying.forces.any()
    assert flying.residual <= 1e-9


def test_a_ball_that_rolls_down_a_slope() -> None:
    angle = 0.3
    robot = ball().with_contacts(on.Ground(0.8, normal=(np.sin(angle), 0.0, np.cos(angle))))
    start = np.array([1, 0, 0, 0, 0.1 * np.sin(angle), 0, 0.1 * np.cos(angle)])
    run = robot.rollout(start, np.zeros(6), steps=2, dt=1e-4)
    a = (run.v[1] - run.v[0]) / 1e-4
    found = robot.contact_forces(start, a=a)
    np.testing.assert_allclose(found.forces[0], run.contact_impulses[1, 0] / 1e-4, atol=1e-3)


def test_contacts_between_bodies_are_refused() -> None:
    robot = floating([("sphere", (0.1,))] * 2).with_contacts(pairs=[("0", "1")])
    with pytest.raises(ArgumentError, match="contacts with the ground"):
        robot.contact_forces(robot.neutral())
    with pytest.raises(ArgumentError, match="touching must be"):
        ball().with_contacts(on.Ground()).contact_forces(ball().neutral(), touching=[1.0])
    linkage, contacts = on.load("four-bar"), ball().with_contacts(on.Ground()).contacts
    with pytest.raises(ArgumentError, match="has loops or couplings"):
        on.Robot.of(replace(linkage, contacts=contacts)).contact_forces(linkage.neutral())
