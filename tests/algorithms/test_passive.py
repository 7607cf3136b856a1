"""Damping, friction and springs."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on
from tests.tolerances import ROUNDING, assert_close


def hinge(**terms: float) -> on.Robot:
    return on.Builder().body("a").body("b", parent="a", joint=on.Revolute(), inertia=(1, 1, 1), **terms).build()


def test_damping() -> None:
    assert_close(hinge(damping=0.3).passive_force([1.0], [2.0]), [-0.6], ROUNDING)


def test_a_spring_is_slack_at_rest() -> None:
    robot = hinge(stiffness=5.0, rest=0.2)
    assert_close(robot.passive_force([[0.2], [0.5]], [0.0]), [[0.0], [-1.5]], ROUNDING)


def test_friction_is_smoothed() -> None:
    robot = hinge(friction=2.0)
    v = np.array([[-10.0], [-0.01], [0.0], [0.01], [10.0]])
    found = robot.passive_force([0.0], v)[:, 0]
    assert_close(found, [2.0, np.sqrt(2.0), 0.0, -np.sqrt(2.0), -2.0], 1e-6)
    assert_close(robot.passive_force([0.0], [0.5], smoothing=0.5), [-np.sqrt(2.0)], ROUNDING)


def test_they_are_no_part_of_the_dynamics() -> None:
    assert_close(hinge(damping=1.0, stiffness=1.0).forward_dynamics([1.0], [1.0], [0.0]), [0.0], ROUNDING)


def test_a_spherical_spring_pulls_along_the_rotation_vector() -> None:
    robot = on.Builder().body("a").body("b", parent="a", joint=on.Spherical(), inertia=(1, 1, 1), stiffness=2.0).build()
    angle, axis = 0.8, np.array([0.6, 0.0, 0.8])
    q = [np.cos(angle / 2), *(np.sin(angle / 2) * axis)]
    assert_close(robot.passive_force(q, np.zeros(3)), -2.0 * angle * axis, ROUNDING)


def test_the_work_of_a_spring_is_its_energy() -> None:
    """Over a step of a spherical joint between two rotations, by Simpson's rule."""
    robot = on.Builder().body("a").body("b", parent="a", joint=on.Spherical(), inertia=(1, 1, 1), stiffness=3.0).build()
    w = np.array([0.3, -0.5, 0.4])
    start = robot.integrate(robot.neutral(), [0.4, 0.1, -0.2])
    energy = lambda q: 1.5 * (robot.difference(robot.neutral(), q) ** 2).sum()  # noqa: E731
    t = np.linspace(0.0, 1.0, 41)
    power = robot.passive_force(robot.integrate(start, w, t), w) @ w
    weights = np.array([1, *([4, 2] * 19), 4, 1]) / 120.0
    assert_close(-(weights @ power), energy(robot.integrate(start, w)) - energy(start), 1e-8)


@pytest.mark.parametrize("term", ["damping", "friction", "stiffness"])
@pytest.mark.parametrize("value", [-1.0, np.inf, np.nan])
def test_terms_that_cannot_be(term: str, value: float) -> None:
    with pytest.raises(on.ModelError, match=f"joint 'b_joint': {term}"):
        hinge(**{term: value})
