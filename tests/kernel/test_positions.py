"""Functions of two positions, and static torques."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on
from ordern.errors import ArgumentError
from tests.random_models import random_robot, random_state
from tests.tolerances import ROUNDING, SINGLE, assert_close


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_interpolate(seed: int) -> None:
    robot = random_robot(810 + seed, 6, floating=seed % 2 == 1)
    q0, q1 = (random_state(robot, seed + k, (3,))[0] for k in (0, 1))
    v = robot.difference(q0, q1)
    assert robot.same_position(robot.interpolate(q0, q1, 0.0), q0, 1e-9).all()
    assert robot.same_position(robot.interpolate(q0, q1, 1.0), q1, 1e-9).all()
    middle = robot.interpolate(q0, q1, 0.5)
    assert_close(robot.difference(q0, middle), 0.5 * v, ROUNDING)
    ways = robot.interpolate(q0[0], q1[0], np.linspace(0.0, 1.0, 5))
    assert ways.shape == (5, robot.nq)
    assert_close(robot.distance(q0[0], ways), np.linspace(0.0, 1.0, 5) * np.linalg.norm(v[0]), ROUNDING)


def test_same_position() -> None:
    body = (
        on.Builder("body").body("base").body("b", parent="base", joint=on.Free(), mass=1.0, inertia=(1, 1, 1)).build()
    )
    q = body.random(np.random.default_rng(1))
    turned = np.concatenate([-q[:4], q[4:]])
    assert body.same_position(q, turned).shape == ()
    assert body.same_position(q, turned)
    off = q + 1e-9 * np.eye(7)[6]
    assert body.same_position(np.stack([q, off]), q).tolist() == [True, False]
    assert body.same_position(np.stack([q, off]), q, 1e-8).all()
    with pytest.raises(ArgumentError, match="tolerance must be a finite number not below zero"):
        body.same_position(q, q, -1.0)
    assert_close(body.normalise(2.0 * q)[:4], q[:4], ROUNDING)
    assert_close(body.project(2.0 * q)[:4], q[:4], ROUNDING)


def test_project_closes_loops_and_normalize_does_not() -> None:
    robot, q = on.load("four-bar"), np.array([[0.3, 0.0, 0.0], [0.5, -0.2, 0.1]])
    out = np.empty((2, 3))
    assert robot.project(q, out=out) is out
    assert_close(robot.loop_residual(out), np.zeros((2, robot.nc)), 1e-12)
    assert np.abs(robot.loop_residual(q)).max() > 0.1
    assert_close(robot.normalize(q), q, 0.0)
    with pytest.raises(ArgumentError, match="project: 'four-bar' has loops, which are closed on the CPU only"):
        robot.project(q, device="cuda")


def test_static_torque() -> None:
    robot = on.load("puma560")
    rng = np.random.default_rng(2)
    q, force = rng.normal(size=(4, 6)), rng.normal(size=(4, 6))
    assert_close(robot.static_torque(q), robot.gravity_force(q), ROUNDING)
    loaded = robot.static_torque(q, external={"flange": force})
    pushed = robot.jacobian(q, "flange").swapaxes(-1, -2) @ force[..., None]
    assert_close(loaded, robot.gravity_force(q) - pushed[..., 0], ROUNDING)
    single = robot.static_torque(q.astype(np.float32))
    assert single.dtype == np.float32
    assert_close(single, robot.gravity_force(q), SINGLE)
