"""Simulated motions against closed forms, and against a computation with 60 digits."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

import ordern as on
from tests.tolerances import REQUESTED, REQUESTED_FIFTH_ORDER, ROUNDING, assert_close

ADAPTIVE = ("dormand-prince-8", "dormand-prince", "cash-karp")
G = 9.81

# Taylor series in 60 digits of the two coupled equations in the absolute angles p1 = q1, p2 = q1 + q2,
#     (I + 5/4 m l^2) p1'' + m l^2 / 2 (cos(p1 - p2) p2'' + sin(p1 - p2) p2'^2) + 3/2 m g l sin p1 = 0
#     (I + 1/4 m l^2) p2'' + m l^2 / 2 (cos(p1 - p2) p1'' - sin(p1 - p2) p1'^2) + 1/2 m g l sin p2 = 0
# with I = m (3 r^2 + l^2) / 12; steps of 1/320 s with 34 terms and of 1/250 s with 30 agree in all digits below.
DOUBLE_PENDULUM_START = (2.0, -0.5)
DOUBLE_PENDULUM_AT_2 = (
    0.1280105593831397631089455,
    -1.386304968615658562846789,
    2.073115323013325712148123,
    8.052292247881798789953137,
)
"""q1, q2, v1, v2 of the bundled double pendulum, let go at q = (2, -0.5), after 2 s."""


def kept(method: str) -> float:
    """How close a method comes to the truth at the default tolerances."""
    return REQUESTED if method == "dormand-prince-8" else REQUESTED_FIFTH_ORDER


def body(joint: on.Joint, gravity: tuple[float, float, float] = (0.0, 0.0, -G), **options: object) -> on.Robot:
    """One body on a joint."""
    made = on.Builder("one", gravity=gravity).body("base")
    return made.body("body", parent="base", joint=joint, joint_name="joint", **options).build()


@pytest.mark.slow
@pytest.mark.parametrize("method", [*ADAPTIVE, "radau"])
def test_double_pendulum(method: str) -> None:
    result = on.load("double-pendulum").simulate(DOUBLE_PENDULUM_START, until=2.0, method=method)
    assert_close(np.concatenate([result.q[-1], result.v[-1]]), DOUBLE_PENDULUM_AT_2, kept(method))
    assert result.report.ok and result.t[-1] == 2.0


@pytest.mark.slow
def test_projectile_with_spin() -> None:
    """A ball that spins: its centre goes along a parabola, and turns at a constant rate."""
    robot = body(on.Free(), mass=2.0, inertia=(0.3, 0.3, 0.3))
    spin, v0, p0 = np.array([0.5, -1.0, 2.0]), np.array([3.0, 1.0, 5.0]), np.array([1.0, 2.0, 3.0])
    times = np.linspace(0.0, 1.5, 31)
    result = robot.simulate([1, 0, 0, 0, *p0], [*spin, *v0], until=times)
    t = times[:, None]
    assert_close(result.q[:, 4:], p0 + v0 * t + 0.5 * np.array([0, 0, -G]) * t**2, REQUESTED)
    angle = np.linalg.norm(spin) * t
    axis = spin / np.linalg.norm(spin)
    assert_close(result.q[:, :4], np.concatenate([np.cos(angle / 2), np.sin(angle / 2) * axis], axis=1), REQUESTED)
    assert_close(result.v[:, :3], np.tile(spin, (31, 1)), REQUESTED)
    assert_close(np.linalg.norm(result.q[:, :4], axis=1), np.ones(31), ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize("method", [*ADAPTIVE, "radau"])
def test_symmetric_free_top(method: str) -> None:
    """Without torques the axis of a symmetric body goes round its angular momentum at the rate |L| / A."""
    A, C = 0.4, 0.7
    robot = body(on.Spherical(), gravity=(0, 0, 0), mass=1.0, inertia=(A, A, C))
    w = np.array([0.8, 0.0, 2.0])
    times = np.linspace(0.0, 4.0, 17)
    result = robot.simulate([1, 0, 0, 0], w, until=times, method=method)
    k = (C - A) / A * w[2]
    expected = np.stack([w[0] * np.cos(k * times), w[0] * np.sin(k * times), np.full(17, w[2])], axis=1)
    assert_close(result.v, expected, kept(method))
    L = np.array([A, A, C]) * w
    n, rate = L / np.linalg.norm(L), np.linalg.norm(L) / A
    z = np.array([0.0, 0.0, 1.0])
    c, s = np.cos(rate * times)[:, None], np.sin(rate * times)[:, None]
    precessed = c * z + s * np.cross(n, z) + (1 - c) * (n @ z) * n
    assert_close(result.pose("body")[:, :3, 2], precessed, kept(method))


@pytest.mark.slow
def test_asymmetric_free_top() -> None:
    """Euler's top by Jacobi's elliptic functions (Landau and Lifshitz, Mechanics, sec. 37)."""
    I = np.array([0.2, 0.5, 0.6])
    robot = body(on.Spherical(), gravity=(0, 0, 0), mass=1.0, inertia=tuple(I))
    w0 = np.array([0.9, 0.0, 1.5])
    E2, M2 = float(I @ w0**2), float((I**2) @ w0**2)
    assert E2 * I[1] < M2
    rate = math.sqrt((I[2] - I[1]) * (M2 - E2 * I[0]) / I.prod())
    m = (I[1] - I[0]) * (E2 * I[2] - M2) / ((I[2] - I[1]) * (M2 - E2 * I[0]))
    a1 = math.sqrt((E2 * I[2] - M2) / (I[0] * (I[2] - I[0])))
    a2 = math.sqrt((E2 * I[2] - M2) / (I[1] * (I[2] - I[1])))
    a3 = math.sqrt((M2 - E2 * I[0]) / (I[2] * (I[2] - I[0])))
    times = np.linspace(0.0, 20.0, 41)
    expected = [
        [a * float(mp.ellipfun(f, rate * t, m=m)) for f, a in (("cn", a1), ("sn", a2), ("dn", a3))] for t in times
    ]
    result = robot.simulate(v0=w0, until=times)
    assert_close(result.v, expected, REQUESTED)


@pytest.mark.slow
def test_pendulum_of_any_amplitude() -> None:
    """sin(angle / 2) = k cd(w t), with k the sine of half of the amplitude."""
    m, r, I, start = 1.3, 0.7, 0.2, 2.5
    rod = {"mass": m, "com": (0, 0, -r), "inertia": (I, I, 0.01)}
    robot = body(on.Revolute((0, 1, 0)), **rod)
    w = math.sqrt(m * G * r / (I + m * r * r))
    k = math.sin(start / 2)
    times = np.linspace(0.0, 6.0, 61)
    cd = [float(mp.ellipfun("cd", w * t, m=k * k)) for t in times]
    result = robot.simulate([start], until=times)
    assert_close(result.q[:, 0], 2 * np.arcsin(k * np.array(cd)), REQUESTED)


@pytest.mark.slow
@pytest.mark.parametrize("method", [*ADAPTIVE, "radau"])
def test_damped_oscillator(method: str) -> None:
    m, d, k, x0, rest = 2.0, 1.5, 30.0, 0.4, 0.1
    spring = {"damping": d, "stiffness": k, "rest": rest}
    robot = body(on.Prismatic((1, 0, 0)), mass=m, **spring)
    decay, w = d / (2 * m), math.sqrt(k / m - (d / (2 * m)) ** 2)
    times = np.linspace(0.0, 5.0, 26)
    result = robot.simulate([x0], until=times, method=method)
    x = (x0 - rest) * np.exp(-decay * times) * (np.cos(w * times) + decay / w * np.sin(w * times))
    v = -(x0 - rest) * np.exp(-decay * times) * k / (m * w) * np.sin(w * times)
    assert_close(result.q[:, 0] - rest, x, kept(method))
    assert_close(result.v[:, 0], v, kept(method))
    lost = 0.5 * k * (x0 - rest) ** 2 - 0.5 * k * x**2 - 0.5 * m * v**2
    assert_close(result.dissipated, lost, kept(method))
    assert result.report.energy_drift < kept(method)


@pytest.mark.slow
@pytest.mark.parametrize("native", [None, False])
def test_constant_force_on_a_slider(native: bool | None) -> None:
    robot = body(on.Prismatic((0, 0, 1)), mass=2.0)
    result = robot.simulate([0.5], [1.0], tau=[30.0], until=2.0, native=native)
    a = 30.0 / 2.0 - G
    assert_close(result.q[:, 0], 0.5 + result.t + 0.5 * a * result.t**2, REQUESTED)
    assert_close(result.work, 30.0 * (result.q[:, 0] - 0.5), REQUESTED)
    assert_close(result.a, np.full_like(result.a, a), ROUNDING)
    assert result.report.native == (native is None)


@pytest.mark.slow
def test_disc_rolls_steadily_in_a_circle() -> None:
    """A disc that leans at a constant angle goes round at a constant rate, if its spin n about the axle fits.

    With the lean angle s, the rate W, inertias A across and C along the axle: the rate of the angular momentum about
    the centre is the moment of the contact's force, -(C + m r^2) W n + A W^2 sin s = m g r tan s.
    """
    m, r, lean, W = 2.0, 0.5, 0.3, 3.0
    A, C = m * r * r / 4, m * r * r / 2
    robot = body(on.RollingDisc(r), mass=m, inertia=(A, C, A))
    n = (A * W**2 * math.sin(lean) - m * G * r * math.tan(lean)) / ((C + m * r * r) * W)
    rolling = n - W * math.sin(lean)
    times = np.linspace(0.0, 1.5, 16)
    result = robot.simulate([0, lean, 0, 0, 0], [0, n, W * math.cos(lean)], until=times, rtol=1e-12, atol=1e-12)
    R = r * rolling / W
    expected = [W * times, np.full(16, lean), rolling * times, R * np.sin(W * times), R * (1 - np.cos(W * times))]
    assert_close(result.q, np.stack(expected, axis=1), REQUESTED)
    assert result.report.energy_drift < REQUESTED
