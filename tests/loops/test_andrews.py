"""Andrews' squeezing mechanism against the equations and the reference solution of the Test Set for IVP Solvers."""

from __future__ import annotations

from math import cos, sin

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import ordern as on
from ordern import robots
from ordern.loops.motion import ClosedMotion
from ordern.robots.mechanisms import andrews_squeezer as squeezer
from ordern.robots.mechanisms.andrews_squeezer import forces, in_order
from tests.tolerances import (
    ANDREWS,
    ANDREWS_FORCES,
    CLOSED_FORM,
    FINITE_DIFFERENCE,
    PUBLISHED,
    ROUNDING,
    assert_close,
    difference,
)

START = robots.positions("andrews-squeezer")["assembled"]
REST = np.zeros(7)

ACCELERATION = [14222.4439199541, -10666.8329399656, 0, 0, 0, 0, 0]
MULTIPLIERS = [98.5668703962411, -6.12268834425566, 0, 0, 0, 0]

Q_END = [
    *(15.81077119629904, -15.75637105984298, 0.04082224013073101, -0.5347301163226948),
    *(0.5244099658805304, 0.5347301163226948, 1.048080741042263),
]
V_END = [
    *(1139.920302151208, -1424.379294994111, 11.03291221937134, 19.29337464421385),
    *(0.5735699284790808, -19.29337464421385, 0.3231791658026955),
]
MULTIPLIERS_END = [
    *(199.1753333731910, -29.75531228015052, 23.06654119098399),
    *(31.45271365475927, 22.64249232082739, 11.61740700019673),
]
"""At 0.03 s, in the source's order."""


@pytest.fixture(scope="module")
def robot() -> on.Robot:
    return on.load("andrews-squeezer")


def published_mass_matrix(q: np.ndarray) -> np.ndarray:
    """Of the test set, in the source's order."""
    m1, m2, m3, m4, m5, m6, m7 = squeezer.MASSES
    i1, i2, i3, i4, i5, i6, i7 = squeezer.INERTIAS
    rr, ra, da, zt, u = squeezer.RR, squeezer.RA, squeezer.DA, squeezer.ZT, squeezer.U
    e, f = squeezer.E - squeezer.EA, squeezer.ZF - squeezer.FA
    _, theta, _, phi, _, omega, _ = q
    M = np.zeros((7, 7))
    M[0, 0] = m1 * ra**2 + m2 * (rr**2 - 2 * da * rr * cos(theta) + da**2) + i1 + i2
    M[0, 1] = M[1, 0] = m2 * (da**2 - da * rr * cos(theta)) + i2
    M[1, 1] = m2 * da**2 + i2
    M[2, 2] = m3 * (squeezer.SA**2 + squeezer.SB**2) + i3
    M[3, 3] = m4 * e**2 + i4
    M[3, 4] = M[4, 3] = m4 * (e**2 + zt * e * sin(phi)) + i4
    M[4, 4] = m4 * (zt**2 + 2 * zt * e * sin(phi) + e**2) + m5 * (squeezer.TA**2 + squeezer.TB**2) + i4 + i5
    M[5, 5] = m6 * f**2 + i6
    M[5, 6] = M[6, 5] = m6 * (f**2 - u * f * sin(omega)) + i6
    M[6, 6] = m6 * (f**2 - 2 * u * f * sin(omega) + u**2) + m7 * (squeezer.UA**2 + squeezer.UB**2) + i6 + i7
    return M


def published_constraints(q: np.ndarray) -> np.ndarray:
    """Of the test set: for K3, K4 and K6, by how much K2's end is off theirs."""
    beta, theta, gamma, phi, delta, omega, epsilon = q
    end = squeezer.RR * np.exp(1j * beta) - squeezer.D * np.exp(1j * (beta + theta))
    a, b = complex(*squeezer.A), complex(*squeezer.B)
    three = b - 1j * squeezer.SS * np.exp(1j * gamma)
    four = a + squeezer.ZT * np.exp(1j * delta) - 1j * squeezer.E * np.exp(1j * (phi + delta))
    six = a - 1j * squeezer.U * np.exp(1j * epsilon) + squeezer.ZF * np.exp(1j * (omega + epsilon))
    return end - np.array([three, four, six])


def published_order(q: np.ndarray) -> np.ndarray:
    """q here, from the source's order."""
    return np.array([q[squeezer.LETTERS.index(c.name)] for c in on.load("andrews-squeezer").joints])


def pin_forces(robot: on.Robot, motion: ClosedMotion, q: np.ndarray) -> np.ndarray:
    """The forces on K3, K4 and K6 at their pins, along x and z: the source's multipliers."""
    found = []
    for k in (3, 4, 6):
        force = robot.pose(q, f"K{k}")[:3, :3] @ motion.wrenches[f"pin{k}"][3:]
        assert abs(force[1]) < ROUNDING
        found += [force[0], force[2]]
    return np.array(found)


def test_mass_matrix_and_loops_are_the_published_ones(robot: on.Robot) -> None:
    rng = np.random.default_rng(0)
    for q in rng.uniform(-3.0, 3.0, (10, 7)):
        here = in_order(q)
        order = in_order(np.arange(7)).astype(int)
        assert_close(robot.mass_matrix(q)[np.ix_(order, order)] * 1e6, published_mass_matrix(here) * 1e6, CLOSED_FORM)
        residual = robot.loop_residual(q).reshape(3, 2)
        assert_close(np.linalg.norm(residual, axis=1), abs(published_constraints(here)), ROUNDING)
    assert_close(abs(published_constraints(in_order(START))), np.zeros(3), PUBLISHED)
    assert_close(published_order(in_order(START)), START, 0.0)


@pytest.mark.slow
def test_acceleration_and_forces_at_the_start(robot: on.Robot) -> None:
    motion = robot.closed_dynamics(START, REST, forces(START))
    assert difference(in_order(motion.a), ACCELERATION) < PUBLISHED
    assert difference(pin_forces(robot, motion, START), MULTIPLIERS) < PUBLISHED


def test_the_spring_has_the_energy_that_it_gives_back() -> None:
    """Its moment is the rate of c0 / 2 (l - l0)^2, with the distance l of C from a point of K3."""
    gamma, h = 0.3, 1e-5

    def energy(angle: float) -> float:
        point = complex(*squeezer.B) + complex(squeezer.SD, -squeezer.SC) * np.exp(1j * angle)
        return float(squeezer.STIFFNESS / 2 * (abs(point - complex(*squeezer.C)) - squeezer.REST) ** 2)

    q = np.array(START)
    q[2] = gamma
    tau = forces(q)
    assert tau[2] == pytest.approx(-(energy(gamma + h) - energy(gamma - h)) / (2 * h), abs=FINITE_DIFFERENCE)
    assert tau[0] == squeezer.MOMENT and not tau[[1, 3, 4, 5, 6]].any()
    assert_close(forces(np.stack([START, q]))[1], tau, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("closure", [None, on.Revolute((0.0, -1.0, 0.0))])
def test_motion_until_30_ms(closure: on.Joint | None) -> None:
    """By SciPy's method of eighth order, without stabilisation; also with hinges, of whose rows nine are redundant."""
    robot = on.Robot.of(squeezer.andrews_squeezer(closure=closure).build())

    def rate(t: float, x: np.ndarray) -> np.ndarray:
        q, v = x[:7], x[7:]
        return np.concatenate([v, robot.forward_dynamics(q, v, forces(q))])

    x = solve_ivp(rate, (0.0, 0.03), np.concatenate([START, REST]), method="DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    assert_close(in_order(x[:7]), Q_END, ANDREWS)
    assert_close(in_order(x[7:]), V_END, ANDREWS)
    motion = robot.closed_dynamics(x[:7], x[7:], forces(x[:7]))
    assert_close(pin_forces(robot, motion, x[:7]), MULTIPLIERS_END, ANDREWS_FORCES)
