"""The double pendulum and the heavy top against their closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on
from ordern import robots
from ordern.robots import double_pendulum as dp
from ordern.robots import free_top as ft
from tests.tolerances import CLOSED_FORM, FINITE_DIFFERENCE, assert_close

G = 9.81


def test_double_pendulum() -> None:
    robot = on.Robot.of(robots.builder("double-pendulum").build())
    q, v, a = np.random.default_rng(0).uniform(-3, 3, (3, 30, 2))
    m, l = dp.MASS, dp.LENGTH
    I = m * (3 * dp.RADIUS**2 + l**2) / 12
    c, s = np.cos(q[:, 1]), np.sin(q[:, 1])
    m22 = np.full(30, I + m * l**2 / 4)
    m12 = m22 + m * l**2 / 2 * c
    m11 = m22 + m12 + m * l**2 / 2 * c + I + m * l**2 / 4 + m * l**2 - m22
    M = np.stack([np.stack([m11, m12], 1), np.stack([m12, m22], 1)], 1)
    assert_close(robot.mass_matrix(q), M, CLOSED_FORM)

    k = m * l**2 / 2 * s
    centrifugal = np.stack([-k * (2 * v[:, 0] * v[:, 1] + v[:, 1] ** 2), k * v[:, 0] ** 2], 1)
    both = m * G * l / 2 * np.sin(q.sum(1))
    weight = np.stack([3 * m * G * l / 2 * np.sin(q[:, 0]) + both, both], 1)
    assert_close(robot.bias_force(q, v), centrifugal + weight, CLOSED_FORM)
    tau = np.einsum("kij,kj->ki", M, a) + centrifugal + weight
    assert_close(robot.forward_dynamics(q, v, tau), a, CLOSED_FORM)

    tip = robot.pose(q, "tip")[:, :3, 3]
    x = -l * (np.sin(q[:, 0]) + np.sin(q.sum(1)))
    z = -l * (np.cos(q[:, 0]) + np.cos(q.sum(1)))
    assert_close(tip, np.stack([x, 0 * x, z], 1), CLOSED_FORM)


@pytest.fixture(scope="module")
def top() -> on.Robot:
    return on.Robot.of(robots.builder("free-top").build())


def steady_precession(tilt: float, spin: float) -> float:
    """The slow rate of precession of a top that spins at `spin` about its axis, measured in space.

    A Omega^2 cos(tilt) - C spin Omega + m g h = 0, with A and C the inertias about the point.
    """
    A, C = ft.ACROSS + ft.MASS * ft.HEIGHT**2, ft.ALONG
    roots = np.roots([A * np.cos(tilt), -C * spin, ft.MASS * G * ft.HEIGHT])
    assert np.isreal(roots).all()
    return float(np.min(np.abs(roots)))


@pytest.mark.parametrize(("tilt", "spin"), [(0.3, 250.0), (1.0, 200.0), (1.4, -300.0)])
def test_steady_precession_has_the_acceleration_of_one(top: on.Robot, tilt: float, spin: float) -> None:
    rate = steady_precession(tilt, abs(spin)) * np.sign(spin)
    q = np.array([np.cos(tilt / 2), np.sin(tilt / 2), 0.0, 0.0])
    up = np.array([0.0, np.sin(tilt), np.cos(tilt)])
    own = spin - rate * np.cos(tilt)
    omega = rate * up + [0.0, 0.0, own]
    # In the top's axes, the vertical turns backwards about its axis of symmetry, and omega with it.
    expected = rate * own * np.cross(up, [0.0, 0.0, 1.0])
    assert_close(top.forward_dynamics(q, omega, np.zeros(3)), expected, CLOSED_FORM)


def test_steady_precession_goes_on(top: on.Robot) -> None:
    """A quarter of a turn later the top leans as before, a quarter further round."""
    tilt, spin = 0.6, 150.0
    rate = steady_precession(tilt, spin)
    q = np.array([np.cos(tilt / 2), np.sin(tilt / 2), 0.0, 0.0])
    omega = rate * np.array([0.0, np.sin(tilt), np.cos(tilt)]) + [0.0, 0.0, spin - rate * np.cos(tilt)]
    start = top.pose(q, "crown")[:3, 3]
    steps, zero = 1000, np.zeros(3)
    h = np.pi / 2 / rate / steps

    def slope(x: np.ndarray) -> np.ndarray:
        """Quaternion and angular velocity: q' = q (0, omega) / 2."""
        w, u, o = x[0], x[1:4], x[4:]
        turning = np.array([-u @ o, *(w * o + np.cross(u, o))]) / 2
        return np.concatenate([turning, top.forward_dynamics(x[:4] / np.linalg.norm(x[:4]), o, zero)])

    x = np.concatenate([q, omega])
    for _ in range(steps):
        k1 = slope(x)
        k2 = slope(x + h / 2 * k1)
        k3 = slope(x + h / 2 * k2)
        k4 = slope(x + h * k3)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    end = top.pose(x[:4] / np.linalg.norm(x[:4]), "crown")[:3, 3]
    assert_close(end, [-start[1], start[0], start[2]], 1e-7)


def test_spin_is_kept(top: on.Robot) -> None:
    """Gravity has no moment about the axis of symmetry."""
    rng = np.random.default_rng(2)
    q, v = top.random(rng, 20), rng.normal(size=(20, 3)) * 10
    assert_close(top.forward_dynamics(q, v, np.zeros((20, 3)))[:, 2], np.zeros(20), CLOSED_FORM)
    power = np.einsum("ki,ki->k", top.gravity_force(q), v)
    ahead, behind = (top.potential_energy(top.integrate(q, v, dt)) for dt in (1e-6, -1e-6))
    assert_close(power, (ahead - behind) / 2e-6, FINITE_DIFFERENCE)
