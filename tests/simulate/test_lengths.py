"""Steps, times and tolerances that no run can do with are errors at once, whatever the method."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.errors import ArgumentError
from ordern.simulate.options import METHODS

PENDULUM = on.load("double-pendulum")
START = [0.3, 0.2]
HUGE = 10**400
FIXED = ("variational", "rk4", "semi-implicit-euler", "plain-euler")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("step", [1e-300, 5e-324, 1e-17])
def test_a_step_that_changes_no_time(method: str, step: float) -> None:
    for events in ([], [on.Event(lambda t, q, v: v[0], terminal=True)]):
        with pytest.raises(ArgumentError, match=r"step = .* s is too short for a run to until = 1 s"):
            PENDULUM.simulate(START, until=1.0, method=method, step=step, events=events)


@pytest.mark.parametrize("method", METHODS)
def test_more_steps_than_a_run_may_take(method: str) -> None:
    with pytest.raises(ArgumentError, match=r"step = 1e-12 s takes 1e\+12 steps to until = 1 s, and max_steps = 10,"):
        PENDULUM.simulate(START, until=1.0, method=method, step=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("step", [0, -1.0, math.nan, math.inf, -math.inf, HUGE, True, 1j, "1", [0.1]])
def test_a_step_that_is_none(method: str, step: Any) -> None:
    with pytest.raises(ArgumentError, match="step, in seconds, must be a finite number above zero"):
        PENDULUM.simulate(START, until=1.0, method=method, step=step)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_a_step_that_is_longer_than_the_run(method: str) -> None:
    """The run is one step, or as many as the method chooses; one that it cannot take is told in the report."""
    options = {"step": 1e300, "until": 0.01, "method": method}
    result = PENDULUM.simulate(START, **options)
    assert result.report.stopped == "end"
    assert result.t[-1] == 0.01
    if method in FIXED:
        assert result.report.steps == 1
    if method == "variational":
        with pytest.warns(on.SimulationWarning, match="the step of 1 s at t = 0 s has no solution .* shorter `step`"):
            assert PENDULUM.simulate(START, **options | {"until": 1.0}).report.stopped == "not-converged"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("until", "words"),
    [
        (-1.0, "not below 0"),
        (math.nan, "finite"),
        (math.inf, "finite"),
        (HUGE, "until must be a time"),
        (True, "until must be a time"),
        (1j, "until must be a time"),
        (None, "until must be a time"),
        ([], "until must be a time"),
        (1e-300, "until = 1e-300 s is too short a run: give at least 1e-100 s, or 0"),
        ([0.0, 5e-324], "is too short a run"),
        (1e300, r"too (long|short)"),
        (1e16, r"too (long|short)"),
    ],
)
def test_times_that_are_none(method: str, until: Any, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        PENDULUM.simulate(START, until=until, method=method, step=0.1 if method in FIXED else None)


def test_an_event_may_end_what_has_no_end() -> None:
    turns = on.Event(lambda t, q, v: v[0], terminal=True)
    adaptive = PENDULUM.simulate(START, until=1e300, events=[turns])
    fixed = PENDULUM.simulate(START, until=1e9, method="rk4", step=1e-3, events=[turns])
    assert adaptive.report.stopped == fixed.report.stopped == "event"
    assert adaptive.t[-1] == pytest.approx(fixed.t[-1], abs=1e-8)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"atol": 0.0}, "atol must be at least 1e-60, not 0.0"),
        ({"atol": 1e-300}, "atol must be at least 1e-60, not 1e-300"),
        ({"rtol": 1e-300, "atol": 1e-300}, r"rtol = 1e-300 and atol = 1e-300 are too small: no step is that accurate"),
        ({"rtol": 1e-30, "atol": 1e-30}, "no step is that accurate"),
        ({"rtol": math.nan}, "rtol must be a finite number not below zero, not nan"),
        ({"atol": math.inf}, "atol must be a finite number not below zero, not inf"),
        ({"rtol": HUGE}, "rtol must be"),
        ({"atol": 1j}, "atol must be"),
        ({"rtol": True}, "rtol must be"),
        ({"smoothing": HUGE}, "smoothing, a velocity, must be"),
        ({"smoothing": math.nan}, "smoothing, a velocity, must be"),
        ({"restitution": 1j}, "restitution must be"),
        ({"restitution": HUGE}, "restitution must be"),
    ],
)
def test_tolerances_that_are_none(method: str, given: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        PENDULUM.simulate(START, until=1.0, method=method, step=0.1, **given)


def test_tolerances_at_the_edge_end() -> None:
    """A coordinate or a velocity of zero needs no more than some dozens of steps more."""
    for native in (None, False):
        for given in ({"atol": 1e-60}, {"rtol": 0.0}, {"rtol": 1e-300}, {"rtol": 1e300, "atol": 1e300}):
            result = PENDULUM.simulate(START, until=1.0, native=native, **given)
            assert result.report.stopped == "end"
            assert result.report.steps < 300


class Held:
    """A controller with a period."""

    def __init__(self, period: Any) -> None:
        self.period = period

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.zeros(2)


@pytest.mark.parametrize(
    ("period", "words"),
    [
        (1e-300, "the period of tau = 1e-300 s is too short"),
        (1e-12, "the period of tau = 1e-12 s takes 1e\\+12 steps"),
        (HUGE, "period of Held must be a finite number above zero"),
        (math.nan, "period of Held must be a finite number above zero"),
        (True, "period of Held must be a finite number above zero"),
    ],
)
def test_periods_that_are_none(period: Any, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        PENDULUM.simulate(START, tau=Held(period), until=1.0)


def test_a_break_that_leaves_no_time_for_a_step() -> None:
    table = on.Table([0.0, 1e-300, 1.0], np.zeros((3, 2)))
    assert PENDULUM.simulate(START, tau=table, until=0.1).report.stopped == "end"
    with pytest.warns(on.SimulationWarning, match="the step of 1e-300 s at t = 0 s is too short"):
        result = PENDULUM.simulate(START, tau=table, until=0.1, method="variational", step=0.01)
    assert result.report.stopped == "step-too-small"


@pytest.mark.parametrize("dt", [0, -1.0, math.nan, math.inf, HUGE, True, None, 1j, "1"])
def test_rollouts_whose_step_is_none(dt: Any) -> None:
    with pytest.raises(ArgumentError, match="`dt` must be a finite number above zero"):
        PENDULUM.rollout(START, [0.0, 0.0], steps=3, dt=dt)


@pytest.mark.parametrize(("dt", "kind"), [(1e308, np.float64), (1e300, np.float32), (1e-300, np.float32)])
def test_rollouts_beyond_all_numbers(dt: float, kind: type) -> None:
    state = np.array([START, [0.0, 0.0]], kind)
    with pytest.raises(ArgumentError, match=r"3 steps of dt = 1e.* s are beyond the numbers of float"):
        PENDULUM.rollout(*state, steps=3, dt=dt)
