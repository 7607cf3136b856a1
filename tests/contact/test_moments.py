"""Torsional and rolling friction with known answers: spinning and rolling balls slow down at exact rates, and stop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ordern as on
from tests.contact.robots import ball, block

H, G, M, R = 1e-3, 9.81, 1.0, 0.1
INERTIA = 0.4 * M * R * R
START = [1, 0, 0, 0, 0, 0, R]


def test_a_spinning_ball_slows_down_by_torsional_friction() -> None:
    robot = ball().with_contacts(on.Ground(0.8, torsional=0.002))
    rate = 0.002 * M * G / INERTIA
    run = robot.rollout(START, [0, 0, 3, 0, 0, 0], steps=1000, dt=H)
    expected = np.maximum(3.0 - rate * run.t, 0.0)
    np.testing.assert_allclose(run.v[:, 2], expected, atol=1e-9)
    np.testing.assert_allclose(run.v[:, [0, 1, 3, 4, 5]], 0.0, atol=1e-9)
    assert run.contact_moments[1, 0, 2] / H == pytest.approx(-0.002 * M * G)
    assert not run.uncertified.any()
    assert (run.certificate.work <= 1e-12).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_rolling_ball_slows_down_by_rolling_friction(dtype: Any) -> None:
    robot = ball().with_contacts(on.Ground(0.8, rolling=0.001))
    a = 5.0 / 7.0 * 0.001 * G / R
    v0 = np.array([0, 0.3 / R, 0, 0.3, 0, 0], dtype)
    run = robot.rollout(np.array(START, dtype), v0, steps=5000, dt=H, every=50)
    expected = np.maximum(0.3 - a * run.t, 0.0)
    exact = dtype is np.float64
    world = np.linalg.norm(run.v[:, 3:], axis=-1)
    np.testing.assert_allclose(world, expected, atol=1e-9 if exact else 2e-4)
    np.testing.assert_allclose(run.v[:, 1] * R, expected, atol=1e-9 if exact else 2e-4)
    assert not run.uncertified.any()


@pytest.mark.parametrize("rolling", [0.009, 0.011])
def test_a_ball_on_a_slope_rests_if_rolling_friction_holds_it(rolling: float) -> None:
    """It holds up to tan(angle) = rolling / radius."""
    normal = np.array([0.1, 0.0, 1.0]) / np.hypot(0.1, 1.0)
    robot = ball().with_contacts(on.Ground(0.8, normal=tuple(normal), rolling=rolling))
    run = robot.rollout([1, 0, 0, 0, *(R * normal)], np.zeros(6), steps=1000, dt=H)
    down = G * normal[0] - rolling / R * G * normal[2]
    speed = np.linalg.norm(run.v[-1, 3:])
    assert speed == pytest.approx(max(5.0 / 7.0 * down * run.t[-1], 0.0), abs=1e-9)
    assert not run.uncertified.any()


def test_torsional_friction_between_bodies() -> None:
    """Two balls that are pressed together stop spinning against each other, and keep their angular momentum."""
    text = """<mujoco><option gravity="0 0 0"/><worldbody>
      <body><freejoint/><geom name="a" size="0.1" mass="1" condim="4" friction="0.5 0.01"/></body>
      <body pos="0.2 0 0"><freejoint/><geom name="b" size="0.1" mass="1"/></body></worldbody></mujoco>"""
    two = on.load(text).with_contacts(self_collision=True)
    q0 = [1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0.2, 0, 0]
    tau = np.array([0, 0, 0, 5.0, 0, 0, 0, 0, 0, -5.0, 0, 0])
    run = two.rollout(q0, [2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], tau, steps=1000, dt=H)
    rate = 0.01 * 5.0 / 0.004
    np.testing.assert_allclose(run.v[:, 0], np.maximum(2.0 - rate * run.t, 1.0), atol=1e-9)
    np.testing.assert_allclose(run.v[:, 6], np.minimum(rate * run.t, 1.0), atol=1e-9)


@pytest.mark.slow
def test_compiled_steps_with_moments_are_the_interpreted_ones() -> None:
    robot = block().with_contacts(on.Ground(0.5, torsional=0.01, rolling=0.005), sweeps=60)
    rng = np.random.default_rng(2)
    q = robot.integrate(np.array([1, 0, 0, 0, 0, 0, 0.05]), 0.02 * rng.standard_normal((4, 6)))
    v = 0.3 * rng.standard_normal((4, 6))
    surfaces = np.tile([0.5, 0.0, 0.0], (4, 8, 1))
    zero = np.zeros(6)
    given = [q, v, zero, H, zero, robot.lower, robot.upper, np.zeros((16, 3)), zero, surfaces]
    expected = robot.kernel("contact_step", way="interpreted")(*given)
    found = robot.kernel("contact_step")(*given)
    # compiled code stops where it has settled, and points of a plate share its load in many ways: motions are unique
    np.testing.assert_allclose(found[:, :13], expected[:, :13], rtol=1e-8, atol=1e-8)
    assert (expected[:, 13 + 24 : 13 + 48] != 0.0).any()
    run = robot.rollout(q, v, steps=600, dt=H)
    assert np.abs(run.v[:, -1]).max() <= 1e-6  # it has come to rest
    assert run.uncertified.mean() <= 0.05
