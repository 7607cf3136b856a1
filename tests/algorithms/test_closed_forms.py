"""Robots of one or two bodies whose equations of motion can be written on paper."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on
from tests.tolerances import CLOSED_FORM, ROUNDING, assert_close

G = 9.81
N = 40
rng = np.random.default_rng(0)


def pendulum(mass: float = 1.3, length: float = 0.7, inertia: float = 0.05) -> on.Robot:
    """Hangs along -z, swings about y."""
    return (
        on.Builder("pendulum")
        .body("ground")
        .body(
            "bob",
            parent="ground",
            joint=on.Revolute((0, 1, 0)),
            mass=mass,
            com=(0, 0, -length),
            inertia=(0.01, inertia, 0.02),
        )
        .frame("end", "bob", at=(0, 0, -2 * length))
        .build()
    )


def test_pendulum() -> None:
    m, l, J = 1.3, 0.7, 0.05
    robot = pendulum(m, l, J)
    q, v, tau = rng.uniform(-3, 3, (3, N, 1))
    about_pivot = J + m * l * l
    fall = m * G * l * np.sin(q)
    assert_close(robot.forward_dynamics(q, v, tau), (tau - fall) / about_pivot, CLOSED_FORM)
    assert_close(robot.inverse_dynamics(q, v, tau), about_pivot * tau + fall, CLOSED_FORM)
    assert_close(robot.bias_force(q, v), fall, CLOSED_FORM)
    assert_close(robot.gravity_force(q), fall, CLOSED_FORM)
    assert_close(robot.mass_matrix(q), np.full((N, 1, 1), about_pivot), CLOSED_FORM)
    assert_close(robot.kinetic_energy(q, v), about_pivot * v[:, 0] ** 2 / 2, CLOSED_FORM)
    assert_close(robot.potential_energy(q), -m * G * l * np.cos(q[:, 0]), CLOSED_FORM)


def test_end_of_a_pendulum() -> None:
    l, robot = 1.4, pendulum()
    q, v, a = rng.uniform(-3, 3, (3, N, 1))
    s, c, o = np.sin(q[:, 0]), np.cos(q[:, 0]), np.zeros(N)
    w, dw = v[:, 0], a[:, 0]
    R = np.array([[c, o, s], [o, o + 1, o], [-s, o, c]]).transpose(2, 0, 1)
    pose = robot.pose(q, "end")
    assert_close(pose[:, :3, :3], R, CLOSED_FORM)
    assert_close(pose[:, :3, 3], np.stack([-l * s, o, -l * c], axis=1), CLOSED_FORM)
    assert_close(pose[:, 3], np.tile([0.0, 0.0, 0.0, 1.0], (N, 1)), CLOSED_FORM)
    assert_close(robot.velocity(q, v, "end"), np.stack([o, w, o, -l * w, o, o], axis=1), CLOSED_FORM)
    world = np.stack([o, w, o, -l * c * w, o, l * s * w], axis=1)
    assert_close(robot.velocity(q, v, "end", axes="world"), world, CLOSED_FORM)
    assert_close(robot.jacobian(q, "end", axes="world")[..., 0] * v, world, CLOSED_FORM)
    classical = np.stack([o, dw, o, -l * dw, o, l * w * w], axis=1)
    assert_close(robot.acceleration(q, v, a, "end"), classical, CLOSED_FORM)
    spatial = np.stack([o, dw, o, -l * dw, o, o], axis=1)
    assert_close(robot.acceleration(q, v, a, "end", kind="spatial"), spatial, CLOSED_FORM)


def test_double_pendulum() -> None:
    """Two rods in the plane of x and z; both angles are relative to the body before."""
    m1, m2, l1, c1, c2, J1, J2 = 1.1, 0.6, 0.9, 0.4, 0.35, 0.03, 0.02
    robot = (
        on.Builder("double pendulum")
        .body("ground")
        .body("upper", parent="ground", joint=on.Revolute((0, 1, 0)), mass=m1, com=(0, 0, -c1), inertia=(0, J1, 0))
        .body(
            "lower",
            parent="upper",
            joint=on.Revolute((0, 1, 0)),
            at=(0, 0, -l1),
            mass=m2,
            com=(0, 0, -c2),
            inertia=(0, J2, 0),
        )
        .build()
    )
    q, v, tau = rng.uniform(-3, 3, (3, N, 2))
    (q1, q2), (v1, v2) = q.T, v.T
    k = m2 * l1 * c2 * np.cos(q2)
    M11 = J1 + J2 + m1 * c1**2 + m2 * (l1**2 + c2**2) + 2 * k
    M12 = J2 + m2 * c2**2 + k
    M22 = np.full(N, J2 + m2 * c2**2)
    M = np.array([[M11, M12], [M12, M22]]).transpose(2, 0, 1)
    h = m2 * l1 * c2 * np.sin(q2)
    coriolis = np.stack([-h * v2 * (2 * v1 + v2), h * v1**2], axis=1)
    g2 = m2 * G * c2 * np.sin(q1 + q2)
    gravity = np.stack([(m1 * c1 + m2 * l1) * G * np.sin(q1) + g2, g2], axis=1)
    assert_close(robot.mass_matrix(q), M, CLOSED_FORM)
    assert_close(robot.bias_force(q, v), coriolis + gravity, CLOSED_FORM)
    assert_close(robot.gravity_force(q), gravity, CLOSED_FORM)
    expected = np.linalg.solve(M, (tau - coriolis - gravity)[..., None])[..., 0]
    assert_close(robot.forward_dynamics(q, v, tau), expected, CLOSED_FORM)


def free_body(inertia: tuple[float, ...] = (0.3, 0.5, 0.7)) -> on.Robot:
    return on.Builder("stone").body("stone", mass=2.0, inertia=inertia).build(floating=True)


def rotations(q: np.ndarray) -> np.ndarray:
    """Rotation matrices of quaternions, by the sandwich product."""
    w, u = q[:, :1], q[:, 1:4]
    columns = [e + 2 * w * np.cross(u, e) + 2 * np.cross(u, np.cross(u, e)) for e in np.eye(3)]
    return np.stack(columns, axis=-1)


def test_projectile() -> None:
    """In its own axes the velocity of a stone changes by gravity and by its turning; in the world's by gravity only."""
    robot = free_body()
    q, v = robot.random(rng, N), rng.normal(size=(N, 6))
    a = robot.forward_dynamics(q, v, np.zeros(6))
    g = np.array([0, 0, -G])
    own = np.einsum("nji,j->ni", rotations(q), g)
    assert_close(a[:, 3:], own - np.cross(v[:, :3], v[:, 3:]), CLOSED_FORM)
    world = robot.acceleration(q, v, a, "stone", axes="world")
    assert_close(world[:, 3:], np.broadcast_to(g, (N, 3)), CLOSED_FORM)
    assert_close(robot.potential_energy(q), 2.0 * G * q[:, 6], CLOSED_FORM)


def test_path_of_a_projectile() -> None:
    """Without rotation, steps with the mean velocity follow the parabola exactly."""
    robot = free_body()
    q = robot.neutral()
    v = np.array([0.0, 0.0, 0.0, 3.0, 0.0, 4.0])
    for _ in range(100):
        a = robot.forward_dynamics(q, v, np.zeros(6))
        q, v = robot.integrate(q, v + 0.005 * a, 0.01), v + 0.01 * a
    assert_close(q[4:], [3.0, 0.0, 4.0 - G / 2], CLOSED_FORM)
    assert_close(v[3:], [3.0, 0.0, 4.0 - G], CLOSED_FORM)


def test_free_top() -> None:
    """Euler's equations: I dw + w x I w = moment."""
    I = np.array([0.3, 0.5, 0.7])
    robot = (
        on.Builder("top", gravity=(0, 0, 0))
        .body("ground")
        .body("top", parent="ground", joint=on.Spherical(), mass=2.0, inertia=I)
        .build()
    )
    q, w, moment = robot.random(rng, N), rng.normal(size=(N, 3)), rng.normal(size=(N, 3))
    assert_close(robot.forward_dynamics(q, w, moment), (moment - np.cross(w, I * w)) / I, CLOSED_FORM)
    assert_close(robot.kinetic_energy(q, w), (I * w * w).sum(axis=1) / 2, CLOSED_FORM)
    free = free_body()
    v = np.concatenate([w, np.zeros((N, 3))], axis=1)
    a = free.forward_dynamics(free.random(rng, N), v, np.zeros(6))
    assert_close(a[:, :3], -np.cross(w, I * w) / I, CLOSED_FORM)


def test_heavy_top() -> None:
    """About its tip: I_tip dw + w x I_tip w = c x m R^T g."""
    m, c, I = 1.5, np.array([0.02, -0.03, 0.4]), np.array([0.02, 0.03, 0.01])
    robot = (
        on.Builder("top")
        .body("ground")
        .body("top", parent="ground", joint=on.Spherical(), mass=m, com=c, inertia=I)
        .build()
    )
    q, w = robot.random(rng, N), rng.normal(size=(N, 3))
    about_tip = np.diag(I) + m * (c @ c * np.eye(3) - np.outer(c, c))
    weight = m * np.einsum("nji,j->ni", rotations(q), [0, 0, -G])
    moment = np.cross(c, weight) - np.cross(w, w @ about_tip)
    assert_close(robot.forward_dynamics(q, w, np.zeros(3)), moment @ np.linalg.inv(about_tip), CLOSED_FORM)


def test_slider_on_an_incline() -> None:
    m, slope = 2.5, 0.4
    robot = (
        on.Builder("slider")
        .body("ground")
        .body(
            "block",
            parent="ground",
            joint=on.Prismatic((1, 0, 0)),
            at=((0, 0, 0), (0, -slope, 0)),
            mass=m,
            com=(0.1, 0, 0),
            armature=0.5,
        )
        .build()
    )
    q, v, f = rng.uniform(-3, 3, (3, N, 1))
    assert_close(robot.forward_dynamics(q, v, f), (f - m * G * np.sin(slope)) / (m + 0.5), CLOSED_FORM)
    assert_close(robot.kinetic_energy(q, v), (m + 0.5) * v[:, 0] ** 2 / 2, CLOSED_FORM)
    assert_close(robot.potential_energy(q), m * G * np.sin(slope) * (q[:, 0] + 0.1), CLOSED_FORM)


def test_bead_on_a_turning_rod() -> None:
    """Centrifugal and Coriolis forces: (J + m r^2) ddphi + 2 m r dr dphi, m ddr - m r dphi^2."""
    m, J = 0.8, 0.3
    robot = (
        on.Builder("bead", gravity=(0, 0, -G))
        .body("ground")
        .body("rod", parent="ground", joint=on.Continuous((0, 0, 1)), inertia=(0, 0, J), mass=1.0)
        .body("bead", parent="rod", joint=on.Prismatic((1, 0, 0)), mass=m)
        .build()
    )
    q, v, tau = rng.uniform(-3, 3, (3, N, 2))
    r, w, dr = q[:, 1], v[:, 0], v[:, 1]
    bias = np.stack([2 * m * r * dr * w, -m * r * w**2], axis=1)
    assert_close(robot.bias_force(q, v), bias, CLOSED_FORM)
    M = np.stack([J + m * r**2, np.full(N, m)], axis=1)
    assert_close(robot.forward_dynamics(q, v, tau), (tau - bias) / M, CLOSED_FORM)


def test_spinning_body_keeps_spinning() -> None:
    """A body that spins about a principal axis: exactly no acceleration, and integrate turns it by the angle."""
    robot = free_body()
    v = np.array([0.0, 0.0, 2.0, 0.0, 0.0, 0.0])
    a = robot.forward_dynamics(robot.neutral(), v, [0, 0, 0, 0, 0, 2.0 * G])
    assert_close(a, np.zeros(6), CLOSED_FORM)
    q = robot.integrate(robot.neutral(), v, 0.25)
    assert_close(q, [np.cos(0.25), 0.0, 0.0, np.sin(0.25), 0.0, 0.0, 0.0], CLOSED_FORM)


def test_screw_motion_of_a_free_body() -> None:
    """Constant velocity in its own axes, turning about z and moving along x: a circle of radius u/w."""
    robot = free_body()
    w, u, t = 1.5, 0.6, 0.8
    q = robot.integrate(robot.neutral(), [0, 0, w, u, 0, 0.3], t)
    angle = w * t
    assert_close(q[:4], [np.cos(angle / 2), 0, 0, np.sin(angle / 2)], CLOSED_FORM)
    assert_close(q[4:], [u / w * np.sin(angle), u / w * (1 - np.cos(angle)), 0.3 * t], CLOSED_FORM)
    assert_close(robot.difference(robot.neutral(), q), t * np.array([0, 0, w, u, 0, 0.3]), CLOSED_FORM)


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-6, 9e-3, 1.1e-2, 0.09, 0.11, 1.0, 3.0, np.pi])
def test_rotations_of_every_size_come_back(angle: float) -> None:
    """Small angles take other formulas than large ones; at half a turn either sign is right."""
    robot = free_body()
    axis = np.array([0.48, -0.6, 0.64])
    v = np.concatenate([angle * axis, [0.3, -0.2, 0.5]])
    q0 = robot.random(rng)
    q1 = robot.integrate(q0, v)
    assert_close(np.linalg.norm(q1[:4]), 1.0, CLOSED_FORM)
    back = robot.difference(q0, q1)
    if angle == np.pi:
        assert_close(np.abs(back[:3]), np.abs(v[:3]), ROUNDING)
        assert_close(
            np.abs(robot.pose(robot.integrate(q0, back), "stone") - robot.pose(q1, "stone")).max(), 0.0, ROUNDING
        )
    else:
        assert_close(back, v, ROUNDING)
