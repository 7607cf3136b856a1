"""`integrate` and `difference` as compiled functions of a robot, in both precisions."""

from __future__ import annotations

import numpy as np
import pytest

from tests.random_models import ALL_JOINTS, LIBRARY_JOINTS, random_robot, random_state
from tests.tolerances import EXACT, FINITE_DIFFERENCE, ROUNDING, SINGLE, assert_close

PRECISION = {"float64": EXACT * 10, "float32": SINGLE}
SIZES = (1e-30, 1e-8, 1e-3, 0.0099, 0.0101, 0.099, 0.101, 1.0, 2.9)


@pytest.fixture(scope="module")
def robot():
    return random_robot(11, n=9, joints=ALL_JOINTS, floating=True)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", PRECISION)
@pytest.mark.parametrize("size", SIZES)
def test_inverse_of_each_other(robot, dtype, size) -> None:
    q, v, _ = (x.astype(dtype) for x in random_state(robot, 0, (40,)))
    v = (v * size / 4).astype(dtype)
    there = robot.integrate(q, v, np.ones((), dtype))
    back = robot.difference(q, there)
    assert there.dtype == back.dtype == dtype
    assert_close(back, v, PRECISION[dtype])


@pytest.mark.parametrize("size", SIZES)
def test_compiled_as_interpreted(robot, size) -> None:
    q, v, _ = random_state(robot, 1, (40,))
    there = robot.integrate(q, v * size)
    assert_close(there, robot.kernel("integrate", way="interpreted")(q, v * size, np.ones(40)), EXACT * 20)
    back = robot.kernel("difference", way="interpreted")(q, there)
    assert_close(robot.difference(q, there), back, EXACT * 20)


def test_a_unit_of_time_is_of_any_precision(robot) -> None:
    """float32 in, float32 out, also when the time is left to its default or is a plain number."""
    q, v, _ = (x.astype(np.float32) for x in random_state(robot, 0, (3,)))
    assert robot.integrate(q, v).dtype == np.float32
    assert robot.integrate(q, v, 0.5).dtype == np.float32
    assert robot.integrate(q[0], v[0]).dtype == np.float32


def test_time_scales_velocity(robot) -> None:
    q, v, _ = random_state(robot, 2, (10,))
    t = np.linspace(-1.0, 1.0, 10)
    assert_close(robot.integrate(q, v, t), robot.integrate(q, v * t[:, None]), EXACT * 10)
    assert_close(robot.integrate(q, v, 0.0), q, EXACT * 4)
    assert (robot.integrate(q, v) == robot.integrate(q, v, 1.0)).all()


def test_velocity_is_the_rate_of_the_pose(robot) -> None:
    """What `integrate` steps along is what `velocity` says."""
    q, v, _ = random_state(robot, 3, (6,))
    h = 1e-5
    plus, minus = (robot.pose(robot.integrate(q, v, s * h), "tool") for s in (1.0, -1.0))
    T, rate = robot.pose(q, "tool"), (plus - minus) / (2 * h)
    body = np.swapaxes(T[:, :3, :3], 1, 2) @ rate[:, :3, :]
    found = np.stack([body[:, 2, 1], body[:, 0, 2], body[:, 1, 0], *body[:, :, 3].T], axis=-1)
    assert_close(found, robot.velocity(q, v, "tool"), FINITE_DIFFERENCE)


def test_a_long_way_keeps_quaternions_units() -> None:
    robot = random_robot(12, n=6, joints=LIBRARY_JOINTS)
    q, v, _ = random_state(robot, 4)
    for _ in range(300):
        q = robot.integrate(q, v, 0.1)
    for c in robot.joints:
        if c.nq > c.nv:
            assert_close(np.linalg.norm(q[c.q][:4]), 1.0, ROUNDING)
