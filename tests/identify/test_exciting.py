"""Motions that excite: exact gradients, limits that are kept, and better knowledge of the parameters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ordern as on
from ordern.identify import exciting
from ordern.identify.bases import Fourier
from ordern.identify.room import room_of
from tests.tolerances import assert_close

pytestmark = [pytest.mark.slow, pytest.mark.needs("scipy")]

ARM = on.load("planar-3r")


def problem(effort: float = 3.0) -> tuple[exciting._Problem, np.ndarray]:
    """A problem whose start exceeds the limits of effort, and the start."""
    room = room_of(ARM, ["link3", "link2"], -0.1, [(0.2, 0.2, 0.0, 0.3)])
    found = exciting._problem(ARM, np.arange(60) / 10.0, Fourier(6.0, 4), [1.0, 0.5, 0.2], 0.9, 4.0, effort, room)
    return found, exciting._start(ARM, found, 6, None, np.random.default_rng(0))


@pytest.mark.parametrize("criterion", ["determinant", "condition"])
def test_gradients_are_those_of_the_cost(criterion: str) -> None:
    (found, x), find = problem(), exciting._CRITERIA[criterion]
    value, slope = found.value(x, find, 2.0)
    rng = np.random.default_rng(1)
    for _ in range(3):
        d = rng.normal(size=x.size)
        ends = [found.value(x + h * d, find, 2.0)[0] for h in (1e-6, -1e-6)]
        assert_close((ends[0] - ends[1]) / 2e-6, slope @ d, 1e-6)
    rows = found.robot.inverse_dynamics_regressor(*found.motion(x), smoothing=0.05)[..., found.kept]
    F = (rows * found.weights[:, None]).reshape(-1, len(found.kept))
    expected = -0.5 * np.linalg.slogdet(F.T @ F)[1] / F.shape[1]
    if criterion == "condition":
        expected = np.log(np.linalg.cond(F / np.linalg.norm(F, axis=0)))
    assert_close(find(F)[0], expected, 1e-9)
    assert value > find(F)[0]  # the penalty of the effort


@pytest.mark.parametrize("criterion", ["determinant", "condition"])
def test_motion_is_better_and_keeps_limits(criterion: str) -> None:
    limits = {"velocity_limit": 3.0, "effort_limit": [20.0, 10.0, 5.0]}
    found = ARM.exciting_trajectory(8.0, 4, criterion, steps=60, **limits)
    q, v, a = found(np.array([0.0, 8.0]))
    assert np.abs(v).max() < 1e-9 and np.abs(a).max() < 1e-9 and np.abs(q[1] - q[0]).max() < 1e-9
    t, q, v, a = found.sample(200.0)
    assert_close(np.gradient(q, t, axis=0)[1:-1], v[1:-1], 1e-3)
    assert_close(np.gradient(v, t, axis=0)[1:-1], a[1:-1], 1e-3)
    assert np.abs(v).max() <= 0.9 * 3.0 * (1 + 1e-6)
    assert (np.abs(ARM.inverse_dynamics(q, v, a)).max(axis=0) <= 0.9 * np.array([20.0, 10.0, 5.0]) * (1 + 1e-6)).all()
    start = ARM.exciting_trajectory(8.0, 4, criterion, steps=1, **limits).identifiability(50.0)
    after = found.identifiability(50.0)
    if criterion == "determinant":
        logs = [
            np.linalg.slogdet(_covariance(x))[1] for x in (found, ARM.exciting_trajectory(8.0, 4, steps=1, **limits))
        ]
        assert logs[0] < logs[1] - 3.0
    else:
        assert after.condition < 0.7 * start.condition


def test_splines() -> None:
    found = ARM.exciting_trajectory(
        6.0, 4, steps=40, shape="spline", velocity_limit=3.0, effort_limit=[20.0, 10.0, 5.0]
    )
    q, v, a = found(np.array([0.0, 6.0]))
    assert np.abs(v).max() < 1e-9 and np.abs(a).max() < 1e-9 and np.abs(q[1] - q[0]).max() < 1e-9
    t, q, v, a = found.sample(200.0)
    assert_close(np.gradient(q, t, axis=0)[1:-1], v[1:-1], 1e-3)
    assert_close(np.gradient(v, t, axis=0)[1:-1], a[1:-1], 2e-3)
    assert np.isfinite(found.identifiability(50.0).condition) and found.coefficients.shape == (8, 3)


def test_heights_and_obstacles() -> None:
    """An arm in a vertical plane stays above a table, and out of a sphere that it hits otherwise."""
    arm = on.load("puma560")
    frames, ball = ["flange", "forearm"], np.array([0.5, -0.1, 0.7, 0.25])
    limits = {"effort_limit": 200.0, "velocity_limit": 3.0, "steps": 25, "middle": [0.0, 0.8, -0.5, 0.0, 0.5, 0.0]}
    free = arm.exciting_trajectory(6.0, 3, **limits).sample(100.0)[1]
    kept = arm.exciting_trajectory(6.0, 3, frames=frames, least_height=0.4, obstacles=[ball], **limits).sample(100.0)[1]
    places = [arm.poses(q, frames)[..., :3, 3] for q in (free, kept)]
    outside = [min(x[..., 2].min() - 0.4, (np.linalg.norm(x - ball[:3], axis=-1) - 0.25).min()) for x in places]
    assert outside[0] < -0.05 and outside[1] > -1e-6


def _covariance(trajectory: exciting.ExcitingTrajectory) -> np.ndarray:
    _, q, v, a = trajectory.sample(50.0)
    found = ARM.base_parameters()
    Y = found.columns(ARM.inverse_dynamics_regressor(q, v, a)).reshape(-1, len(found))
    return np.linalg.inv(Y.T @ Y)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ARM.exciting_trajectory(harmonics=1), "whole number from 2 to 50"),
        (lambda: ARM.exciting_trajectory(margin=2.0), "at most 1"),
        (lambda: ARM.exciting_trajectory(criterion="trace"), "unknown criterion 'trace'"),
        (lambda: ARM.exciting_trajectory(middle=[9.0, 0, 0]), "within the limits of all joints"),
        (lambda: ARM.exciting_trajectory(effort_limit=0.01, steps=2), "give another `middle`"),
        (lambda: ARM.exciting_trajectory(shape="circle"), "unknown shape 'circle'"),
        (lambda: ARM.exciting_trajectory(frames=["link3"]), "give one"),
        (lambda: ARM.exciting_trajectory(obstacles=[(0, 0, 0, -1)]), "an obstacle is a sphere"),
        (lambda: ARM.exciting_trajectory(obstacles=[(0, 0, 0)]), "an obstacle"),
        (lambda: ARM.exciting_trajectory(frames=["hand"], least_height=0.0), "unknown frame 'hand'"),
        (lambda: ARM.exciting_trajectory(least_height=5.0, steps=2), "keeps the limits of position"),
        (lambda: on.load("four-bar").exciting_trajectory(), "has loops"),
        (lambda: on.load("free-top").exciting_trajectory(), "are not plain numbers"),
        (
            lambda: on.load("planar-3r").exciting_trajectory(effort_limit=[1, 1]),
            r"effort_limit has shape \(2,\); expected one number, or 3",
        ),
    ],
)
def test_errors(call: Callable[[], object], message: str) -> None:
    with pytest.raises(on.OrdernError, match=message):
        call()
