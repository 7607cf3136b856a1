"""A rolling disc: five positions, three velocities that are no rates, and a constraint that cannot be integrated."""

from __future__ import annotations

from itertools import pairwise

import mpmath
import numpy as np
import pytest

import ordern as on
from ordern.spatial import Freedoms
from tests.joints.poses import as_float, digits, hat, pose, rate
from tests.tolerances import INVERSION, ROUNDING, assert_close

R, MASS, A, C = 0.7, 2.0, 0.3, 0.55
"""Radius, mass, moments of inertia about a diameter and about the axle."""


def disc(tilt: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> on.Robot:
    return (
        on.Builder("disc")
        .body("plane")
        .body("disc", parent="plane", joint=on.RollingDisc(R), at=((0, 0, R), tilt), mass=MASS, inertia=(A, C, A))
        .build()
    )


def state(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.uniform(-1.0, 1.0, 5), rng.normal(size=3)


def test_sizes() -> None:
    assert (disc().nq, disc().nv) == (5, 3)


@pytest.mark.parametrize("seed", range(4))
def test_the_subspace_is_the_velocity_and_the_bias_its_rate(seed: int) -> None:
    joint = on.RollingDisc(R)
    q, v = (Freedoms(x.tolist()) for x in state(seed))
    with mpmath.workdps(60):
        q, v = digits(q), digits(v)
        qd = joint.rate(q, v)
        dT = rate(lambda t: pose(joint.transform(q + qd * t)))
        T = pose(joint.transform(q))
        body = np.zeros((4, 4), object)
        body[:3, :3], body[:3, 3] = T[:3, :3].T @ dT[:3, :3], T[:3, :3].T @ dT[:3, 3]
        assert_close(as_float(body), as_float(hat(joint.subspace(q) @ v)), ROUNDING)
        changed = rate(lambda t: (joint.subspace(q + qd * t) @ v).scalars)
        assert_close(as_float(joint.bias(q, v).scalars), as_float(changed), ROUNDING)


@pytest.mark.parametrize("seed", range(4))
def test_the_lowest_point_touches_the_plane_and_does_not_slip(seed: int) -> None:
    robot = disc()
    q, v = state(seed)
    T = robot.pose(q, "disc")
    around = np.linspace(0.0, 2.0 * np.pi, 20001)
    rim = T[:3, :3] @ (R * np.stack([np.sin(around), 0 * around, np.cos(around)])) + T[:3, 3:]
    lowest = rim[:, rim[2].argmin()]
    assert abs(lowest[2]) < 1e-7
    assert_close(lowest[:2], q[3:], 1e-3)  # where the rim was sampled
    w = robot.velocity(q, v, "disc", axes="world")
    contact = np.array([q[3], q[4], 0.0]) - T[:3, 3]
    assert_close(w[3:] + np.cross(w[:3], contact), np.zeros(3), ROUNDING)


def newton_euler(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The angular acceleration in the disc's axes, from moments about the moving point of contact.

    With r from contact to centre, u = w x r and f = m (a - g): I wd + w x I w = -r x f, where a = wd x r + w x rd' and
    r moves as the contact does.
    """
    robot = disc()
    I = np.diag([A, C, A])
    T = robot.pose(q, "disc")
    g = T[:3, :3].T @ [0.0, 0.0, -9.81]
    joint = on.RollingDisc(R)
    roll, rolling = q[2], float(joint.rate(Freedoms(q.tolist()), Freedoms(v.tolist()))[2])
    r = R * np.array([-np.sin(roll), 0.0, np.cos(roll)])
    r_dot = R * np.array([-np.cos(roll), 0.0, -np.sin(roll)]) * rolling  # as the disc sees it
    # a = d/dt (w x r) = wd x r + w x r_dot + w x (w x r), all in the disc's axes
    skew = np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])
    steady = np.cross(v, r_dot) + np.cross(v, np.cross(v, r)) - g
    M = I - MASS * skew @ skew
    return np.linalg.solve(M, -np.cross(v, I @ v) - MASS * np.cross(r, steady))


@pytest.mark.parametrize("way", ["interpreted", "unrolled", "rolled"])
@pytest.mark.parametrize("seed", range(4))
def test_against_newton_and_euler_about_the_contact(seed: int, way: str) -> None:
    q, v = state(seed)
    found = disc().kernel("forward_dynamics", way=way)(q, v, np.zeros(3))
    assert_close(found, newton_euler(q, v), INVERSION)


def test_steady_turning() -> None:
    """A leaning disc on a circle: with lean t, turning p and rolling s, and k = C + m R^2,

    k p s cos t + (k - A) p^2 sin t cos t = -m g R sin t.
    """
    lean, turning, k = 0.4, 1.7, C + MASS * R * R
    rolling = -(MASS * 9.81 * R * np.tan(lean) + (k - A) * turning**2 * np.sin(lean)) / (k * turning)
    q = np.array([0.3, lean, 0.0, 0.0, 0.0])
    v = np.array([0.0, rolling + turning * np.sin(lean), turning * np.cos(lean)])
    # constant in axes that do not roll, so that it turns against the rolling in those of the disc
    assert_close(disc().forward_dynamics(q, v, np.zeros(3)), [-rolling * v[2], 0.0, 0.0], INVERSION)


def test_energy_is_kept() -> None:
    robot = disc((0.1, -0.2, 0.3))
    q, v = np.array([0.1, 0.2, 0.3, 0.0, 0.0]), np.array([0.3, 4.0, 0.5])
    h = 1e-3

    def energy() -> float:
        return float(robot.kinetic_energy(q, v) + robot.potential_energy(q))

    joint, before, zero = on.RollingDisc(R), energy(), np.zeros(3)

    def slope(q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rates = joint.rate(Freedoms(q.tolist()), Freedoms(v.tolist()))
        return np.array(rates), robot.forward_dynamics(q, v, zero)

    for _ in range(400):
        k1 = slope(q, v)
        k2 = slope(q + h / 2 * k1[0], v + h / 2 * k1[1])
        k3 = slope(q + h / 2 * k2[0], v + h / 2 * k2[1])
        k4 = slope(q + h * k3[0], v + h * k3[1])
        q, v = (x + h / 6 * (a + 2 * b + 2 * c + d) for x, a, b, c, d in zip((q, v), k1, k2, k3, k4, strict=True))
    assert abs(q[3]) + abs(q[4]) > 0.3
    assert abs(energy() - before) < 1e-9 * abs(before)


def test_integrate_is_of_fourth_order() -> None:
    robot = disc()
    q, v = state(1)
    errors = []
    for n in (8, 16, 32):
        x = q
        for _ in range(n):
            x = robot.integrate(x, v, 0.4 / n)
        errors.append(x)
    apart = [np.abs(a - b).max() for a, b in pairwise(errors)]
    assert 10 < apart[0] / apart[1] < 24


def test_difference_undoes_small_steps() -> None:
    robot = disc()
    q, v = state(2)
    h = 1e-4
    assert_close(robot.difference(q, robot.integrate(q, v, h)) / h, v, 1e-7)


@pytest.mark.parametrize("radius", [0.0, -1.0, float("nan"), float("inf")])
def test_a_radius_that_is_none(radius: float) -> None:
    with pytest.raises(on.ModelError, match="a rolling disc's radius must be a positive number"):
        on.RollingDisc(radius)
