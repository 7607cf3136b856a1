"""Contacts with known answers: slopes, rolling, bouncing, weight, momentum, stops, stacks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import ordern as on
from tests.contact.robots import ball, block, floating, hopper

H, G = 1e-3, 9.81


def on_slope(angle: float, height: float) -> Any:
    """Return the pose of a body that lies on a slope, as the position of a free joint."""
    turn = [math.cos(angle / 2.0), 0.0, math.sin(angle / 2.0), 0.0]
    return [*turn, height * math.sin(angle), 0.0, height * math.cos(angle)]


def slope(angle: float, friction: float) -> on.Ground:
    return on.Ground(friction, normal=(math.sin(angle), 0.0, math.cos(angle)))


def test_below_the_angle_of_friction_a_block_rests() -> None:
    angle = math.radians(20.0)
    robot = block().with_contacts(slope(angle, 0.5), sweeps=30)
    q0 = on_slope(angle, 0.05)
    run = robot.rollout(q0, np.zeros(6), steps=2000, dt=H, every=100)
    assert np.abs(run.q[-1, 4:] - run.q[0, 4:]).max() <= 1e-9
    assert not run.uncertified.any()


def test_above_it_a_block_slides_with_the_known_acceleration() -> None:
    angle, mu = math.radians(35.0), 0.3
    robot = block().with_contacts(slope(angle, mu), sweeps=30)
    run = robot.rollout(on_slope(angle, 0.05), np.zeros(6), steps=1000, dt=H, every=100)
    a = G * (math.sin(angle) - mu * math.cos(angle))
    down = np.array([math.cos(angle), 0.0, -math.sin(angle)])
    slid = (run.q[:, 4:] - run.q[0, 4:]) @ down
    assert run.v[-1, 3] == pytest.approx(a * 1.0, abs=1e-6)
    assert slid[-1] == pytest.approx(0.5 * a, abs=a * H)  # of first order
    assert np.abs(run.v[:, [0, 1, 2, 4, 5]]).max() <= 1e-6


@pytest.mark.parametrize("dt", [1e-3, 4e-3])
def test_a_ball_slides_and_then_rolls_at_five_sevenths(dt: float) -> None:
    robot = ball().with_contacts(on.Ground(0.3))
    run = robot.rollout([1, 0, 0, 0, 0, 0, 0.1], [0, 0, 0, 1, 0, 0], steps=int(1.0 / dt), dt=dt)
    speed = np.linalg.norm(run.v[-1, 3:])
    assert speed == pytest.approx(5.0 / 7.0, abs=1e-9)
    assert run.v[-1, 1] * 0.1 == pytest.approx(5.0 / 7.0, abs=1e-9)
    assert (run.certificate.work <= 1e-12).all()


@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_a_ball_bounces_by_its_restitution(e: float) -> None:
    robot = ball().with_contacts(on.Ground(0.0, restitution=e))
    run = robot.rollout([1, 0, 0, 0, 0, 0, 0.6], np.zeros(6), steps=600, dt=H)
    fell = math.sqrt(2.0 * G * 0.5)
    up = run.v[:, 5].max()
    assert up == pytest.approx(e * fell, abs=0.02)
    assert run.certificate.penetration.max() <= 1e-9


def test_the_weight_of_a_block_at_rest() -> None:
    robot = block(mass=3.0).with_contacts(on.Ground(0.8), sweeps=50)
    run = robot.rollout([1, 0, 0, 0, 0, 0, 0.05], np.zeros(6), steps=500, dt=H)
    forces = run.contact_impulses[-1] / H
    assert forces[:, 2].sum() == pytest.approx(3.0 * G, abs=1e-8)
    np.testing.assert_allclose(forces[:, :2].sum(axis=0), 0.0, atol=1e-8)  # friction may hold the corners together


def test_momentum_is_kept_when_bodies_collide() -> None:
    robot = floating([("sphere", (0.1,))] * 2).with_contacts(pairs=[("0", "1")], friction=0.4, restitution=1.0)
    q0 = [1, 0, 0, 0, 0, 0.03, 0, 1, 0, 0, 0, 0.5, 0, 0]
    v0 = [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]
    run = robot.rollout(q0, v0, steps=1000, dt=H)
    before, after = robot.momentum(run.q[0], run.v[0]), robot.momentum(run.q[-1], run.v[-1])
    np.testing.assert_allclose(after, before, atol=1e-12)
    assert robot.kinetic_energy(run.q[-1], run.v[-1]) <= 0.5 + 1e-12
    assert run.v[-1, 9] > 0.5


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_joints_stop_at_their_limits(dtype: Any) -> None:
    builder = on.Builder("pendulum")
    builder.body("base")
    builder.body("rod", mass=1.0, com=(0.0, 0.0, -0.5), inertia=(0.1, 0.1, 0.01))
    builder.joint("hinge", on.Revolute((0, 1, 0)), "base", "rod", lower=-0.5, upper=0.4)
    builder.frame("tip", "rod", (0.0, 0.0, -1.0))
    robot = builder.build().with_contacts(on.Ground(height=-5.0), points=["tip"])
    run = robot.rollout(np.array([0.3], dtype), np.array([3.0], dtype), steps=2000, dt=H)
    assert run.q.max() <= 0.4 + (1e-9 if dtype is np.float64 else 1e-5)
    assert run.q.min() >= -0.5 - (1e-9 if dtype is np.float64 else 1e-5)
    assert run.q.max() >= 0.399
    assert run.stop_impulses is not None
    assert (run.stop_impulses[run.q > 0.3] <= 0.0).all() and (run.stop_impulses[run.q < -0.3] >= 0.0).all()
    assert run.stop_impulses.min() < -0.5


def test_trajectories_do_not_depend_on_their_place_in_the_batch() -> None:
    robot = block().with_contacts(on.Ground(0.6), sweeps=8)
    rng = np.random.default_rng(5)
    q0 = robot.integrate(np.array([1, 0, 0, 0, 0, 0, 0.2]), 0.3 * rng.standard_normal((9, 6)))
    v0 = rng.standard_normal((9, 6))
    together = robot.rollout(q0, v0, steps=300, dt=H, threads=2)
    for k in (0, 4, 8):
        alone = robot.rollout(q0[k], v0[k], steps=300, dt=H)
        np.testing.assert_array_equal(alone.q, together.q[k])
        np.testing.assert_array_equal(alone.contact_impulses, together.contact_impulses[k])
        np.testing.assert_array_equal(alone.certificate.residual, together[k].certificate.residual)


@pytest.mark.slow
def test_a_block_rests_on_another() -> None:
    two = floating([("box", (0.2, 0.2, 0.1)), ("box", (0.1, 0.1, 0.1))], G)
    pair = two.with_contacts(on.Ground(0.6), pairs=[("0", "1")], sweeps=60)
    q0 = [1, 0, 0, 0, 0, 0, 0.05, 1, 0, 0, 0, 0.03, 0.02, 0.15]
    run = pair.rollout(q0, np.zeros(12), steps=200, dt=H)
    assert np.abs(run.q[-1] - run.q[0]).max() <= 1e-6
    on_ground = [k for k, c in enumerate(pair.contacts.pairs) if c.second is None]  # type: ignore[union-attr]
    assert run.contact_impulses[-1, on_ground, 2].sum() / H == pytest.approx(2.0 * G, rel=1e-4)


def test_the_energy_of_a_hopper_never_rises() -> None:
    robot = hopper().with_contacts(on.Ground(0.7), points=["foot"], sweeps=100)  # the knee stops while the foot stands
    q0 = [1, 0, 0, 0, 0, 0, 0.5, 0.6, -1.2]
    run = robot.rollout(q0, np.zeros(8), steps=600, dt=H)
    energy = robot.kinetic_energy(run.q, run.v) + robot.potential_energy(run.q)
    assert np.diff(energy).max() <= 1e-3  # the error of a step of first order; there are no motors
    assert run.contact_impulses[:, 0, 2].max() > 0.0
    assert not run.uncertified.any()
