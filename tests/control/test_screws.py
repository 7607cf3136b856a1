"""Exponential coordinates against matrix exponentials and differences."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

import ordern as on
from ordern import rotations
from ordern.algorithms.configuration.chart import TEXTS
from ordern.control import screws
from ordern.control.spaces import Configurations, Lines, Screws
from tests.random_models import random_robot
from tests.tolerances import FINITE_DIFFERENCE, ROUNDING, SECOND_DIFFERENCE, assert_close

Array = np.ndarray
ANGLES = [0.0, 1e-9, 1e-4, 0.0999, 0.1001, 1.0, 3.0, 3.14]


def hat(x: Array) -> Array:
    """The 4x4 matrix of a velocity."""
    out = np.zeros((4, 4))
    out[:3, :3] = np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])
    out[:3, 3] = x[3:]
    return out


def vectors(angle: float, seed: int = 0) -> Array:
    """Three random velocities, the first of which turns by an angle."""
    x = np.random.default_rng(seed).normal(size=(3, 6))
    x[0, :3] *= angle / np.linalg.norm(x[0, :3])
    return x


@pytest.mark.parametrize("angle", ANGLES)
def test_exponential_and_logarithm(angle: float) -> None:
    x = vectors(angle)[0]
    T = rotations.exp_pose(x)
    assert_close(T, expm(hat(x)), ROUNDING)
    assert_close(rotations.exp(x[:3]), Rotation.from_rotvec(x[:3]).as_matrix(), ROUNDING)
    assert_close(rotations.log_pose(T), x, ROUNDING)
    assert_close(rotations.inverse(T) @ T, np.eye(4), ROUNDING)


def test_half_turns_have_a_logarithm() -> None:
    for axis in np.eye(3):
        r = rotations.log(rotations.exp(np.pi * axis))
        assert_close(np.abs(r), np.pi * axis, ROUNDING)
    many = Rotation.random(50, random_state=1).as_matrix().reshape(5, 10, 3, 3)
    assert_close(rotations.exp(rotations.log(many)), many, ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize("angle", [*ANGLES, 5.0])
def test_velocities_in_a_chart(angle: float) -> None:
    x, dx, ddx = vectors(angle)
    h = 1e-4

    def at(t: float) -> Array:
        return expm(hat(x + t * dx + 0.5 * t * t * ddx))

    def velocity(t: float) -> Array:
        return rotations.log_pose(np.linalg.inv(at(t - h)) @ at(t + h)) / (2.0 * h)

    v, a = Screws().motion(x, dx, ddx)
    assert_close(v, velocity(0.0), FINITE_DIFFERENCE)
    assert_close(a, (velocity(h) - velocity(-h)) / (2.0 * h), SECOND_DIFFERENCE)
    for found, expected in zip(Screws().coordinates(x, v, a), (dx, ddx), strict=True):
        assert_close(found, expected, ROUNDING)


@pytest.mark.parametrize("angle", ANGLES)
def test_carried_velocities(angle: float) -> None:
    x, v, _ = vectors(angle)
    T = expm(hat(x))
    moved = T @ hat(v) @ np.linalg.inv(T)
    expected = np.array([moved[2, 1], moved[0, 2], moved[1, 0], *moved[:3, 3]])
    assert_close(screws.carry(x) @ v, expected, ROUNDING)


@pytest.mark.parametrize("space", [Screws(), Lines()], ids=["screws", "lines"])
def test_motion_of_the_frame_in_the_world(space: Screws | Lines) -> None:
    x, dx, ddx = vectors(1.2, 3)
    start, h = rotations.exp_pose(vectors(0.7, 4)[0]), 1e-3

    def at(t: float) -> Array:
        return space.integrate(start, x + t * dx + 0.5 * t * t * ddx)

    def turning(t: float) -> Array:
        W = (at(t + h) - at(t - h))[:3, :3] @ at(t)[:3, :3].T / (2.0 * h)
        return np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]]) / 2.0

    V, A = space.frame_motion(at(0.0), *space.motion(x, dx, ddx))
    p, before, after = (at(t)[:3, 3] for t in (0.0, -h, h))
    assert_close(V[3:], (after - before) / (2 * h), SECOND_DIFFERENCE)
    assert_close(A[3:], (after - 2 * p + before) / h**2, SECOND_DIFFERENCE)
    assert_close(V[:3], turning(0.0), SECOND_DIFFERENCE)
    assert_close(A[:3], (turning(h) - turning(-h)) / (2 * h), SECOND_DIFFERENCE)


def test_texts_of_compiled_loops_compute_the_same() -> None:
    """Velocities, accelerations and feedback of spherical, planar and free joints, for rotations up to half a turn."""
    robot = random_robot(5, 4, (on.Spherical, on.Planar, on.Revolute), floating=True)
    space = Configurations(robot)
    curved = [(at.start, places) for at, places in space.curved]
    assert {len(places) for _, places in curved} == {3, 6}
    rng = np.random.default_rng(0)
    x, y, z, w, kp, kd = rng.normal(size=(6, robot.nv))
    for at, places in space.curved:  # a large angle
        turns = x[at][[place < 3 for place in places]]
        x[at] *= 3.0 / np.linalg.norm(turns)
    found = {name: partial(text, curved) for name, text in TEXTS.items()}
    v, a = space.motion(x, y, z)
    assert_close(found["velocity"](x, y), v, 1e-12)
    assert_close(found["acceleration"](x, y, z), a, 1e-11)
    assert_close(found["carried"](x, y), space.carried(x, y), 1e-12)
    assert_close(found["feedback"](x, y, z, w, kp, kd), space.feedback(x, y, z, w, kp, kd), 1e-11)
