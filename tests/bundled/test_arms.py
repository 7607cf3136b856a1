"""The arms of the literature against the values that are published for them, and against formulas on paper."""

from __future__ import annotations

from dataclasses import replace
from math import pi
from pathlib import Path

import numpy as np
import pytest

import ordern as on
from ordern import robots
from ordern.io.dh import dh_builder
from ordern.robots import planar_3r, stanford_arm
from tests.tolerances import CLOSED_FORM, ROUNDING, assert_close

URDF = Path(__file__).parents[2] / "examples" / "robots" / "puma560.urdf"
G = 9.81
rng = np.random.default_rng(0)


def robot(name: str) -> on.Robot:
    return on.Robot.of(robots.builder(name).build())


# ---------------------------------------------------------------- Saha's planar arm


def test_planar_arm() -> None:
    """Newton and Euler in the complex plane: moments of the links beyond a joint, about that joint."""
    arm = robot("planar-3r")
    q, v, a = rng.uniform(-3, 3, (3, 20, 3))
    angle, rate, spin = (np.cumsum(x, axis=1) for x in (q, v, a))
    direction = np.exp(1j * angle)
    along = np.array(planar_3r.LENGTHS) * direction
    along_dd = along * (1j * spin - rate**2)
    start, start_dd = (np.cumsum(x, axis=1) - x for x in (along, along_dd))
    centre, centre_dd = start + along / 2, start_dd + along_dd / 2
    force = np.array(planar_3r.MASSES) * (centre_dd + 1j * G)
    I = np.array(planar_3r.MASSES) * np.array(planar_3r.LENGTHS) ** 2 / 12
    tau = np.zeros((20, 3))
    for joint in range(3):
        for link in range(joint, 3):
            arm_length = centre[:, link] - start[:, joint]
            tau[:, joint] += (arm_length.conj() * force[:, link]).imag + I[link] * spin[:, link]
    assert_close(arm.inverse_dynamics(q, v, a), tau, CLOSED_FORM)
    tip = arm.pose(q, "tool")[:, :2, 3]
    assert_close(tip[:, 0] + 1j * tip[:, 1], along.sum(axis=1), CLOSED_FORM)


# ---------------------------------------------------------------- Saha's Stanford arm


@pytest.fixture(scope="module")
def stanford() -> on.Robot:
    return robot("stanford-arm")


START = robots.positions("stanford-arm")["initial"]


def test_stanford_arm_at_the_start_of_its_trajectory(stanford: on.Robot) -> None:
    """There it is at rest with the arm level: 1 kg at .7 m and 1.1 kg at .6 m are on joint 2."""
    assert_close(START, [0, pi / 2, 0, 0, 0, 0], ROUNDING)
    rest = np.zeros(6)
    tau = stanford.inverse_dynamics(START, rest, rest)
    assert_close(tau, [0.0, 13.3416, 0.0, 0.0, 0.0, 0.0], ROUNDING)
    assert_close(stanford.pose(START, "link6")[:3, 3], [-0.6, 0.1, 0.2], ROUNDING)


def test_stanford_arm_with_mass_centres_on_the_wrong_side() -> None:
    """What a reader gets who takes r for the mass centre itself."""
    rows = [{("com" if key == "r" else key): x for key, x in row.items()} for row in stanford_arm.TABLE]
    wrong = on.Robot.of(dh_builder(rows, degrees=True).build())
    assert_close(wrong.gravity_force(START)[1], 11.3796, ROUNDING)


def test_stanford_arm_has_the_bodies_of_the_table(stanford: on.Robot) -> None:
    assert [b.name for b in stanford.bodies] == [f"link{k}" for k in range(1, 7)]
    assert [b.mass for b in stanford.bodies] == [9, 6, 4, 1, 0.6, 0.5]
    assert stanford.body("link1").com == (0.0, 0.1, 0.0)
    assert stanford.body("link6").inertia[:3] == (0.003, 0.001, 0.002)
    assert [type(c.type) for c in stanford.joints] == [on.Revolute] * 2 + [on.Prismatic] + [on.Revolute] * 3


def test_stanford_arm_in_free_fall(stanford: on.Robot) -> None:
    """Section 6.2 without torques, for one second: the arm turns down, and its slider runs out by 3 m."""
    h, zero = 1 / 250, np.zeros(6)
    q, v = START, zero

    def f(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return stanford.forward_dynamics(q, v, zero)

    for _ in range(250):
        a1 = f(q, v)
        a2 = f(q + h / 2 * v, v + h / 2 * a1)
        a3 = f(q + h / 2 * v + h * h / 4 * a1, v + h / 2 * a2)
        a4 = f(q + h * v + h * h / 2 * a2, v + h * a3)
        q, v = q + h * v + h * h / 6 * (a1 + a2 + a3), v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
    assert q[2] == pytest.approx(3.0, abs=1e-3)
    total = stanford.kinetic_energy(q, v) + stanford.potential_energy(q)
    assert total == pytest.approx(stanford.potential_energy(START), abs=1e-7)


# ---------------------------------------------------------------- PUMA 560

PRINTED = 5e-5
"""The values of the Robotics Toolbox have four decimals."""


@pytest.fixture(scope="module")
def puma() -> on.Robot:
    return robot("puma560")


def test_puma_gravity_load(puma: on.Robot) -> None:
    q = robots.positions("puma560")["nominal"]
    np.testing.assert_allclose(puma.gravity_force(q), [0.0, 31.6399, 6.0351, 0.0, 0.0283, 0.0], atol=PRINTED)


def test_puma_mass_matrix(puma: on.Robot) -> None:
    M = puma.mass_matrix(robots.positions("puma560")["nominal"])
    np.testing.assert_allclose(M.diagonal(), [3.6594, 4.4137, 0.9378, 0.1925, 0.1713, 0.1941], atol=PRINTED)
    np.testing.assert_allclose([M[0, 1], M[0, 2], M[1, 2]], [-0.4044, 0.1006, 0.3509], atol=PRINTED)


def test_puma_is_the_one_of_the_file(puma: on.Robot) -> None:
    """But for the motors, which a URDF file cannot have."""
    file = on.load(URDF)
    assert [c.name for c in puma.joints] == [c.name for c in file.joints]
    assert_close(puma.lower, file.lower, ROUNDING)
    assert_close(puma.upper, file.upper, ROUNDING)
    geared = [replace(c, armature=p.armature) for c, p in zip(file.joints, puma.joints, strict=True)]
    file = replace(file, joints=tuple(geared))
    q, (v, a) = file.random(rng, 20), rng.normal(size=(2, 20, 6))
    assert_close(puma.inverse_dynamics(q, v, a), file.inverse_dynamics(q, v, a), ROUNDING)
    assert_close(puma.pose(q, "flange"), file.pose(q, "flange"), ROUNDING)


def test_puma_stretched_and_ready(puma: on.Robot) -> None:
    named = robots.positions("puma560")
    stretched, ready = (puma.pose(named[x], "flange")[:3, 3] for x in ("stretch", "ready"))
    assert_close(stretched, [0.4318 + 0.4318, -0.15005, 0.672 + 0.0203 * -1], ROUNDING)
    assert_close(ready, [0.0203, -0.15005, 0.672 + 2 * 0.4318], ROUNDING)


def test_puma_of_armstrong_khatib_and_burdick() -> None:
    """The gravity terms, and the inertias of joints 2 to 6, of the paper's explicit model; it prints three digits."""
    arm = robot("puma560-akb")
    q = arm.random(rng, 50)
    _, q2, q3, q4, q5, _ = q.T
    s2, s3, s4, s5, s23 = np.sin([q2, q3, q4, q5, q2 + q3])
    c2, c3, c4, c5, c23 = np.cos([q2, q3, q4, q5, q2 + q3])
    g1, g2, g3, g4, g5 = -37.2, -8.44, 1.02, 0.249, -0.0282
    hand = g5 * (s23 * c5 + c23 * c4 * s5)
    forearm = g2 * s23 + g4 * c23 + hand
    load = arm.gravity_force(q)
    zero = np.zeros(50)
    np.testing.assert_allclose(load[:, 0], zero, atol=1e-12)
    np.testing.assert_allclose(load[:, 1], g1 * c2 + g3 * s2 + forearm, atol=0.06)
    np.testing.assert_allclose(load[:, 2], forearm, atol=0.02)
    np.testing.assert_allclose(load[:, 3], -g5 * s23 * s4 * s5, atol=1e-4)
    np.testing.assert_allclose(load[:, 4], g5 * (c23 * s5 + s23 * c4 * c5), atol=1e-4)
    np.testing.assert_allclose(load[:, 5], zero, atol=1e-12)
    M = arm.mass_matrix(q)
    np.testing.assert_allclose(M[:, 1, 1], 6.79 + 0.744 * s3, atol=0.03)
    np.testing.assert_allclose(M[:, 1, 2], 0.333 + 0.372 * s3 - 0.011 * c3, atol=0.005)
    np.testing.assert_allclose(M[:, 2, 2], 1.16 + zero, atol=0.01)
    np.testing.assert_allclose(M[:, 3, 3], 0.20 + zero, atol=0.005)
    np.testing.assert_allclose(M[:, 4, 4], 0.18 + zero, atol=0.005)
    np.testing.assert_allclose(M[:, 5, 5], 0.19 + zero, atol=0.005)


def test_the_two_pumas_differ_in_the_forearm() -> None:
    """By 1.3 mm in its length, and in the side of the wrist on which the mass centre of link 4 lies.

    Stretched forward, that is all that the load on shoulder and elbow shows; the axes have opposite directions.
    """
    one, other = robot("puma560"), robot("puma560-akb")
    load = one.gravity_force(robots.positions("puma560")["stretch"])
    akb = other.gravity_force(robots.positions("puma560-akb")["stretch"])
    shorter, moved = 1.25 * G * (0.4331 - 0.4318), 0.82 * G * 2 * 0.019
    assert_close(load[1:3] + akb[1:3], [moved - shorter] * 2, ROUNDING)


# ---------------------------------------------------------------- KUKA KR5


def test_kuka() -> None:
    arm, q = robot("kuka-kr5"), np.zeros(6)
    assert_close(arm.pose(q, "tool")[:3, 3], [0.18 + 0.6 + 0.12, 0.0, 0.4 - 0.62 - 0.115], ROUNDING)
    lever = np.array([0.267012, 0.6 + 0.087677, 0.72 - 0.000033, 0.72, 0.72])
    mass = np.array([7.988, 12.973, 2.051, 0.811, 0.008])
    tau = arm.gravity_force(q)
    assert tau[1] == pytest.approx(G * mass @ lever, abs=1e-11)
    assert tau[2] == pytest.approx(G * mass[1:] @ (lever[1:] - 0.6), abs=1e-11)
    assert tau[0] == pytest.approx(0.0, abs=1e-12)
    assert arm.mass == pytest.approx(39.869, abs=1e-12)
