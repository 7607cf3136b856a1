"""Plates, bodies with several points on the ground: flat feet, random problems, and points of unequal heights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.algorithms.contact.plate import Point, block
from ordern.algorithms.contact.problem import Problem
from ordern.algorithms.contact.rows import Link, Row
from ordern.model import ControlFlow
from tests.tolerances import ROUNDING, assert_close

H = 2e-3
CORNERS = [(x, y) for x in (-0.06, 0.12) for y in (-0.03, 0.03)]


def biped() -> on.Robot:
    """Return a free trunk on two legs of six joints with springs; each foot has four corners."""
    builder = on.Builder("biped")
    builder.body("trunk", mass=12.0, com=(0.0, 0.0, 0.15), inertia=(0.3, 0.25, 0.1))
    springs: dict[str, Any] = {"stiffness": 150.0, "damping": 5.0, "armature": 0.01}
    for side, y in (("left", 0.1), ("right", -0.1)):
        parts = ["hip yaw", "hip roll", "thigh", "shin", "ankle", "foot"]
        masses = [1.0, 1.0, 2.0, 1.5, 0.2, 0.6]
        axes = ["z", "x", "y", "y", "y", "x"]
        drops = [(0.0, y, 0.0), *((0.0, 0.0, -z) for z in (0.02, 0.02, 0.3, 0.3, 0.02))]
        parent = "trunk"
        for part, mass, axis, drop in zip(parts, masses, axes, drops, strict=True):
            name = f"{side} {part}"
            builder.body(name, mass=mass, com=(0.0, 0.0, -0.02), inertia=(0.01 * mass, 0.01 * mass, 0.004 * mass))
            along = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}[axis]
            builder.joint(f"{name} joint", on.Revolute(along), parent, name, at=drop, **springs)
            parent = name
        for k, (x, w) in enumerate(CORNERS):
            builder.frame(f"{side} {k}", f"{side} foot", (x, w, -0.04))
    return builder.build(floating=True)


def on_feet(sweeps: int = 10) -> on.Robot:
    points = {f"{side} {k}": 0.005 for side in ("left", "right") for k in range(4)}
    return biped().with_contacts(on.Ground(0.8), points=points, sweeps=sweeps)


def starts(robot: on.Robot, count: int, height: float) -> tuple[Any, Any]:
    """Return positions on straight legs with feet at about this height, and slow motions."""
    rng = np.random.default_rng(3)
    q = np.tile(robot.neutral(), (count, 1))
    q[:, 6] = 0.66 + 0.04 + 0.005 + height
    q[:, 7:] += 0.05 * rng.standard_normal((count, robot.nq - 7))
    v = 0.1 * rng.standard_normal((count, robot.nv))
    v[:, 3:5] += 0.5 * rng.standard_normal((count, 2))
    return q, v


@pytest.mark.slow
def test_flat_feet_fall_stand_and_tip_over_exactly() -> None:
    robot = on_feet()
    run = robot.rollout(*starts(robot, 64, 0.02), steps=250, dt=H)
    residual = run.certificate.residual[:, 1:]
    assert (run.contact_impulses[:, -1, :, 2] > 0.0).any(axis=1).mean() > 0.9
    assert np.quantile(residual, 0.5) <= 1e-9
    assert np.quantile(residual, 0.99) <= 2e-6
    assert residual.max() <= 0.1
    assert run.certificate.penetration[:, 125:].max() <= 1e-3


@pytest.mark.slow
def test_a_plate_is_the_same_in_every_way() -> None:
    robot = on_feet(6)
    q, v = starts(robot, 3, -0.001)
    n = robot.nv
    given = (q, v, np.zeros((3, n)), np.full(3, H), np.zeros((3, n)), np.tile(robot.lower, (3, 1)))
    surfaces = np.tile([0.8, 0.0, 0.0], (3, 8, 1))
    rest = (np.tile(robot.upper, (3, 1)), np.zeros((3, 8, 3)), np.zeros((3, n)), surfaces)
    found = [robot.kernel("contact_step", way=way)(*given, *rest) for way in ("interpreted", "unrolled")]
    moved = robot.nq + robot.nv
    np.testing.assert_allclose(found[0][:, :moved], found[1][:, :moved], atol=1e-6)


def block_on_corners(sweeps: int) -> on.Robot:
    builder = on.Builder("block")
    builder.body("block", mass=2.0, inertia=(0.02, 0.02, 0.02))
    for k, (x, y) in enumerate(CORNERS):
        builder.frame(str(k), "block", (x, y, -0.05))
    return builder.build(floating=True).with_contacts(on.Ground(0.8), points=[str(k) for k in range(4)], sweeps=sweeps)


def test_points_of_unequal_gaps_come_to_rest_together() -> None:
    """Taken where they are, they contradict each other by (0.18 m x angle)^2 / (h 0.18 m): 4e-4 m/s here."""
    robot = block_on_corners(30)
    angle = 2e-3
    q = [np.cos(angle / 2.0), 0.0, np.sin(angle / 2.0), 0.0, 0.0, 0.0, 0.05 + 0.12 * angle]
    run = robot.rollout(q, [0.0, 0.0, 0.0, 0.0, 0.0, -0.3], steps=20, dt=H)
    assert run.certificate.residual.max() <= 1e-9
    assert np.abs(run.v[-1]).max() <= 1e-9
    assert run.contact_impulses[-1, :, 2].sum() == pytest.approx(2.0 * 9.81 * H, rel=1e-6)


def test_a_plate_slides_as_friction_lets_it() -> None:
    robot = block_on_corners(30)
    run = robot.rollout([1, 0, 0, 0, 0, 0, 0.05], [0.0, 0.0, 0.0, 2.0, 1.0, 0.0], steps=100, dt=H)
    speed = np.hypot(run.v[:, 3], run.v[:, 4])
    assert_close(speed, np.hypot(2.0, 1.0) - 0.8 * 9.81 * H * np.arange(101), 1e-6)
    assert run.certificate.residual.max() <= 1e-6


def test_velocities_and_impulses_of_a_point_are_adjoint() -> None:
    rng = np.random.default_rng(0)
    point = Point(0, 0.0, 0.0, 0.5, (0.3, -0.2))
    u, p = rng.standard_normal(6).tolist(), tuple(rng.standard_normal(3).tolist())
    assert_close(np.dot(point.wrench(p), u), np.dot(p, point.moved(u)), ROUNDING)
    M = rng.standard_normal((6, 6))
    B = np.array([point.moved(e) for e in np.eye(6).tolist()]).T
    assert_close(np.array(block((M @ M.T).tolist(), point)), B @ M @ M.T @ B.T, ROUNDING)


def random_problem(count: int, bodies: int) -> Problem:
    """Return problems of feet that touch, as arrays of numbers; feet move each other a little."""
    rng = np.random.default_rng(7)
    n = 6 * bodies
    M = rng.standard_normal((count, n, 2 * n)) / np.sqrt(2 * n)
    scales = np.tile([1.0, 1.0, 1.0, 5.0, 5.0, 5.0], bodies)
    coupled = np.where(np.kron(np.eye(bodies), np.ones((6, 6))) > 0.0, 1.0, 0.2)
    G = scales[:, None] * (M @ M.swapaxes(1, 2) * coupled) * scales
    dense = [[np.ascontiguousarray(G[:, r, c]) for c in range(n)] for r in range(n)]
    rows = []
    for k in range(bodies):
        free = [*rng.standard_normal((2, count)), rng.standard_normal(count) - 1.0, *rng.standard_normal((3, count))]
        mu = rng.uniform(0.2, 1.0, count)
        points = tuple(Point(12 * k + 3 * j, np.zeros(count), np.zeros(count), mu, r) for j, r in enumerate(CORNERS))
        start = CORNERS[0]
        points = tuple(Point(p.at, p.bias, p.gap, p.mu, (p.lever[0] - start[0], p.lever[1] - start[1])) for p in points)
        rows.append(Row.of(free, free, points, Link.dense(dense, 6 * k, 6)))
    return Problem(ControlFlow(), rows, [1.0] * bodies, n)


@pytest.mark.parametrize("bodies", [1, 2])
def test_random_problems(bodies: int) -> None:
    problem = random_problem(300, bodies)
    zeros = [np.zeros(300)] * (12 * bodies)
    residual, _, work = problem.certified(*problem.solved(zeros, 30))[2]
    swept = ControlFlow().repeat(30, problem.sweep, zeros)
    assert np.quantile(residual, 0.95) <= 1e-6
    assert np.quantile(residual, 0.95) <= 1e-2 * np.quantile(
        problem.certified(swept, problem.channels(swept))[2][0], 0.95
    )
    exact = residual <= 1e-6
    assert (work[exact] <= 1e-6).all()
