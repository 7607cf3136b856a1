"""Joints that strike their stops and rest on them, in machine code: the same motion as from Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ordern as on
from tests.tolerances import assert_close

SAME = 1e-9
"""Roundings of some hundred steps, which a chaotic arm magnifies."""


def both(robot: on.Robot, *state: Any, **options: Any) -> tuple[on.Result, on.Result]:
    """The same run in machine code and from Python."""
    found = [robot.simulate(*state, limits="bounce", native=native, **options) for native in (True, False)]
    assert [x.report.native for x in found] == [True, False]
    return found[0], found[1]


@pytest.mark.slow
@pytest.mark.parametrize("restitution", [0.0, 0.3])
def test_an_arm_falls_onto_its_stops(restitution: float) -> None:
    """Fixed steps to rounding: several joints rest at once, one of them is let go again."""
    arm = on.load("puma560")
    options = {"until": 0.8, "method": "rk4", "step": 2e-3, "restitution": restitution}
    native, python = both(arm, **options)
    assert native.report.impacts == python.report.impacts > 0
    assert [e.name for e in native.events] == [e.name for e in python.events]
    assert native.report.steps == python.report.steps
    for name in ("t", "q", "v", "a", "work"):
        assert_close(getattr(native, name), getattr(python, name), SAME)


@pytest.mark.slow
def test_resting_joints_do_not_move() -> None:
    """A double pendulum whose first joint lies on its stop, until the second one swings it off."""
    link = {"mass": 1.0, "com": (0.5, 0, 0), "inertia": (0.05, 0.05, 0.05), "joint": on.Revolute((0, 1, 0))}
    builder = on.Builder("arm").body("ground").body("upper", parent="ground", upper=0.2, **link)
    arm = builder.body("lower", parent="upper", at=(1.0, 0, 0), **link).build()
    native, python = both(arm, [0.2, -2.5], [0.0, -6.0], until=1.0, restitution=0.0)
    rests = native.v[:, 0] == 0.0
    assert rests[0]
    assert 3 < rests.sum() < len(rests)
    assert (native.q[rests, 0] == 0.2).all()
    assert_close(native.q[-1], python.q[-1], 1e-8)
    assert abs(native.report.energy_error) < 1e-8


def ball() -> on.Robot:
    """A mass on a slide, 1 m above its stop."""
    slide = on.Prismatic((0, 0, 1))
    return on.Builder("ball").body("ground").body("ball", parent="ground", joint=slide, lower=0.0, mass=2.0).build()


@pytest.mark.parametrize("method", ["semi-implicit-euler", "rk4"])
def test_a_ball_of_a_rollout_bounces_and_rests(method: str) -> None:
    """It strikes at sqrt(2 / g), and rises to e^2 of its height; errors are of the order of the step."""
    g, e, dt = 9.81, 0.5, 1e-4
    q, v, t = ball().rollout([1.0], [0.0], steps=20000, dt=dt, method=method, limits="bounce", restitution=e)
    first = np.sqrt(2.0 / g)
    second = first * (1.0 + 2.0 * e)
    assert (q >= 0.0).all()
    between = (t > first) & (t < second)
    assert_close(q[between].max(), e * e, 20.0 * dt)
    assert_close(t[between][q[between, 0].argmax()], first * (1.0 + e), 20.0 * dt)
    at_rest = t > first * (1.0 + 2.0 * e / (1.0 - e)) + 0.05
    assert at_rest.any()
    assert (q[at_rest] == 0.0).all()
    assert np.abs(v[at_rest]).max() < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_trajectories_strike_as_in_simulate(restitution: float) -> None:
    """Each lane has its own stops; the error is of the order of the step, and no joint is beyond a limit."""
    arm = on.load("puma560")
    q = np.clip(0.5 * arm.random(1, 9), arm.lower, arm.upper)
    options = {"limits": "bounce", "restitution": restitution}
    ends = [arm.rollout(q, 0.0 * q, steps=n, dt=0.4 / n, method="rk4", **options) for n in (400, 3200)]
    assert all((arm.lower <= x.q).all() and (x.q <= arm.upper).all() for x in ends)
    alone = arm.rollout(q[7], 0.0 * q[7], steps=400, dt=1e-3, method="rk4", **options)
    assert np.array_equal(ends[0].q[7], alone.q)
    exact = [arm.simulate(x, until=0.4, **options) for x in q]
    assert sum(x.report.impacts for x in exact) >= 3
    errors = [np.abs(x.q[:, -1] - [y.q[-1] for y in exact]).max() for x in ends]
    assert errors[0] < 0.05
    assert errors[1] < 0.3 * errors[0]


def test_two_stops_share_an_impact() -> None:
    """Two slides in series that strike at once: both velocities are zero after a plastic impact."""
    slide = {"joint": on.Prismatic((0, 0, 1)), "lower": 0.0, "mass": 1.0}
    two = on.Builder("two", gravity=(0, 0, 0)).body("ground")
    two = two.body("one", parent="ground", **slide).body("two", parent="one", **slide).build()
    q, v, _ = two.rollout([0.1, 0.1], [-1.0, -1.0], steps=200, dt=1e-3, limits="bounce")
    assert np.abs(q[-1]).max() < 1e-12
    assert np.abs(v[-1]).max() < 1e-10


def test_rollouts_refuse_what_cannot_bounce() -> None:
    with pytest.raises(on.OrdernError, match=r"unknown limits 'stop' in rollout.*simulate"):
        ball().rollout([1.0], [0.0], steps=1, limits="stop")
    with pytest.raises(on.ArgumentError, match="restitution must be between 0 and 1"):
        ball().rollout([1.0], [0.0], steps=1, limits="bounce", restitution=1.5)
    with pytest.raises(on.ArgumentError, match=r"joint 'ball_joint' beyond its lower limit 0 \(state \[1\]"):
        ball().rollout([[1.0], [-1.0]], [0.0], steps=1, limits="bounce")
    with pytest.raises(on.ArgumentError, match=r"joint 'waist' beyond its upper limit .*start within the limits"):
        on.load("puma560").rollout(np.full(6, 10.0), np.zeros(6), steps=1, limits="bounce")
    with pytest.raises(on.ArgumentError, match="limits='bounce' is for trees"):
        on.load("four-bar-chain-1").rollout([0.0, 0.0, 0.0], [0.0, 0.0, 0.0], steps=1, limits="bounce")
