"""Series of what controllers want, and of the errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ordern as on
from tests.tolerances import CLOSED_LOOP, ROUNDING, assert_close

co, tr = on.controllers, on.trajectories
ARM = on.load("planar-3r")
START, END = np.array([0.1, -0.4, 0.3]), np.array([0.6, 0.2, -0.5])
MOVE = tr.cycloidal(ARM, START, END, 0.3)
SERIES = ["q_reference", "v_reference", "q_error", "v_error"]


@pytest.fixture(scope="module")
def tracked() -> on.Result:
    gravity = co.GravityCompensation(ARM)
    control = co.Saturated(ARM, co.Sampled(co.Sum(gravity, co.PD(ARM, MOVE, 3.0, 0.3)), 0.01), limits=50.0)
    return ARM.simulate(START, tau=control, until=0.4)


def test_series_are_those_of_the_trajectory(tracked: on.Result) -> None:
    q, v, _ = MOVE(tracked.t)
    assert list(tracked.extra) == SERIES and tracked.report.native
    assert_close(tracked["q_reference"], q, ROUNDING)
    assert_close(tracked["q_error"], q - tracked.q, ROUNDING)
    assert_close(tracked["v_error"], v - tracked.v, ROUNDING)
    name = ARM.joints[1].name
    assert np.array_equal(tracked[f"v_reference.{name}"], tracked["v_reference"][:, 1])
    assert np.abs(tracked["q_error"]).max() > 1e-3


def test_files_parts_and_joins(tracked: on.Result, tmp_path: Path) -> None:
    for suffix in ("csv", "npz"):
        tracked.save(tmp_path / f"run.{suffix}")
        assert on.load_result(tmp_path / f"run.{suffix}") == tracked
    assert f"q_error.{ARM.joints[0].name}" in (tmp_path / "run.csv").read_text().splitlines()[1]
    assert tracked[:20].then(tracked[20:]) == tracked
    fall = ARM.simulate(START, until=0.1)
    for one, other in ((tracked, fall), (fall, tracked)):
        both = one.then(other, shift=True)
        wanted = both["q_error"][np.isfinite(both["q_error"]).all(axis=1)]
        assert np.array_equal(wanted[-5:], tracked["q_error"][-5:]) and len(wanted) < len(both)
    fine = tracked.resample(rate=1000)
    assert_close(fine["q_error"], MOVE(fine.t).q - fine.q, 1e-3)


def test_controllers_of_the_user() -> None:
    class Own(co.Controller):
        def reference(self, t: float) -> object:
            return START + t, np.ones(3), np.zeros(3)

        def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
            return START + t - q

    class Silent(Own):
        def reference(self, t: float) -> object:
            return None

    class Other(Own):
        def reference(self, t: float) -> object:
            return START

    class Attribute(Silent):
        reference = START  # type: ignore[assignment]

    class Wrong(Own):
        def reference(self, t: float) -> object:
            return START, np.ones(2), np.zeros(3)

    times = [0.0, 0.05, 0.1]
    found = ARM.simulate(START, tau=Own(), until=times)
    assert_close(found["q_error"], START + np.array(times)[:, None] - found.q, ROUNDING)
    for control in (Silent(), Other(), Attribute()):  # the last two only have the same name
        assert not ARM.simulate(START, tau=control, until=times).extra
    with pytest.raises(on.ArgumentError, match=r"v of Wrong.reference at t = 0 has shape \(2,\); expected \(3,\)"):
        ARM.simulate(START, tau=Wrong(), until=times)


def test_no_series_where_goals_differ() -> None:
    one, other = (co.PD(ARM, q, 1.0, 1.0) for q in (START, END))
    assert not ARM.simulate(START, tau=co.Sum(one, other), until=0.01).extra
    assert list(ARM.simulate(START, tau=co.Sum(one, co.PD(ARM, START, 2.0, 0.0)), until=0.01).extra) == SERIES
    assert not ARM.simulate(START, tau=lambda t, q, v: -v, until=0.01).extra


@pytest.mark.slow
def test_rotations() -> None:
    ball = on.Builder("ball").body("base")
    robot = ball.body("ball", parent="base", joint=on.Spherical(), mass=1.0, inertia=(0.1, 0.2, 0.15)).build()
    q0 = robot.random(0)
    move = tr.minimum_jerk(robot, robot.neutral(), q0, 0.3)
    found = robot.simulate(tau=co.ComputedTorque(robot, move, 100.0), until=0.3, native=False)
    assert np.abs(found["q_error"]).max() < CLOSED_LOOP and found["q_reference"].shape[1] == 4
    away = robot.simulate(q0, tau=co.PD(robot, robot.neutral(), 1.0, 1.0), until=[0.0, 0.1], native=False)
    assert_close(away["q_error"][0], robot.difference(q0, robot.neutral()), ROUNDING)


def test_poses() -> None:
    arm = on.load("puma560")
    q0 = np.array([0.0, 0.8, -2.2, 0.0, 0.6, 0.0])
    goal = arm.pose(q0, "flange")
    goal[:3, 3] += [0.0, 0.02, 0.01]
    control = co.OperationalSpace(arm, "flange", goal, 400.0)
    found = arm.simulate(q0, tau=control, until=[0.0, 0.02], native=False)
    assert list(found.extra) == ["pose_reference", "pose_error"]
    assert_close(found["pose_error"][0], [0, 0, 0, 0, 0.02, 0.01], ROUNDING)
    assert_close(found["pose_reference"][1], goal, ROUNDING)
    assert_close(found["pose_error.linear.z"], goal[2, 3] - found["position.flange.z"], ROUNDING)
