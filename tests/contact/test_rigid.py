"""Rigid contacts by events: closed forms, loops, rollouts and compliant contacts beside them, and what is told."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ordern as on
from tests.contact.robots import ball, block, floating, hopper
from tests.contact.test_known_answers import on_slope, slope

G = 9.81
RIGID: dict[str, Any] = {"contacts": "rigid"}
LANDING = [1, 0, 0, 0, 0, 0, 0.5, 0.6, -1.2]


def names(result: on.Result) -> list[str]:
    return [e.name for e in result.events]


@pytest.mark.slow
def test_a_ball_bounces_at_the_known_times_until_it_is_too_slow() -> None:
    robot = ball().with_contacts(on.Ground(0.0, restitution=0.5))
    result = robot.simulate([1, 0, 0, 0, 0, 0, 0.6], until=1.2, **RIGID)
    fall = math.sqrt(2.0 * 0.5 / G)
    times, speed = [fall], G * fall
    while speed > 0.01:
        speed *= 0.5
        times.append(times[-1] + 2.0 * speed / G)
    np.testing.assert_allclose([e.time for e in result.events if e.name == "touching ball"], times, rtol=1e-9)
    assert names(result)[-1] == "sticking ball"
    assert np.abs(result.q[-1, 6] - 0.1) < 1e-9
    assert result["force.ball"][-1, 2] == pytest.approx(G)
    assert result.report.contacts is not None
    assert "1 impacts below 0.01 m/s did not bounce (Zeno)" in result.report.contacts.held_to


@pytest.mark.slow
def test_a_ball_slides_and_then_rolls() -> None:
    robot = ball().with_contacts(on.Ground(0.3))
    result = robot.simulate([1, 0, 0, 0, 0, 0, 0.1], [0, 0, 0, 1, 0, 0], until=0.5, **RIGID)
    assert names(result) == ["touching ball", "slipping ball", "sticking ball"]
    stops = 2.0 / 7.0 / (0.3 * G)
    assert result.events[-1].time == pytest.approx(stops, abs=1e-9)
    x = stops - 0.5 * 0.3 * G * stops**2 + 5.0 / 7.0 * (0.5 - stops)
    assert result.q[-1, 4] == pytest.approx(x, abs=1e-9)
    assert result.report.dissipated == pytest.approx(0.5 * 2.0 / 7.0, abs=1e-9)
    assert result.report.impacts == 0


@pytest.mark.parametrize(("degrees", "mu"), [(20.0, 0.5), (35.0, 0.3)])
def test_a_block_on_a_slope_rests_or_slides(degrees: float, mu: float) -> None:
    angle = math.radians(degrees)
    robot = block().with_contacts(slope(angle, mu))
    result = robot.simulate(on_slope(angle, 0.05), until=2.0, **RIGID)
    a = max(G * (math.sin(angle) - mu * math.cos(angle)), 0.0)
    assert result.v[-1, 3] == pytest.approx(2.0 * a, abs=1e-10)
    down = np.array([math.cos(angle), 0.0, -math.sin(angle)])
    assert (result.q[-1, 4:] - result.q[0, 4:]) @ down == pytest.approx(2.0 * a, abs=1e-10)


def test_a_spinning_box_stops_at_the_known_time() -> None:
    result = (
        block()
        .with_contacts(on.Ground(0.4))
        .simulate([1, 0, 0, 0, 0, 0, 0.05], [0, 0, 3.0, 0, 0, 0], until=0.1, **RIGID)
    )
    inertia, lever = 2.0 / 12.0 * 0.08, math.hypot(0.1, 0.1)
    stops = 3.0 * inertia / (0.4 * 2.0 * G * lever)
    assert [e.time for e in result.events if e.name.startswith("sticking")] == pytest.approx([stops] * 4, abs=1e-8)
    assert np.abs(result.v[-1]).max() < 1e-10


def _planted(loop: bool) -> on.Robot:
    """Return a leg with its foot on the ground: by a loop, or by a contact."""
    builder = on.Builder("leg")
    builder.body("ground")
    builder.body("trunk", mass=5.0, inertia=(0.1, 0.1, 0.1))
    builder.body("shin", mass=0.5, com=(0.0, 0.0, -0.1), inertia=(0.005, 0.005, 0.001))
    builder.joint("float", on.Free(), "ground", "trunk")
    builder.joint("knee", on.Revolute((0.0, 1.0, 0.0)), "trunk", "shin", damping=0.5)
    builder.frame("foot", "shin", (0.0, 0.0, -0.2))
    if loop:
        builder.loop("foot on ground", on.Spherical(), "ground", "shin", child_at=(0.0, 0.0, -0.2))
    robot = builder.build()
    return robot if loop else robot.with_contacts(on.Ground(2.0), points=["foot"])


@pytest.mark.slow
def test_a_foot_that_sticks_is_a_loop_and_rollouts_are_of_first_order() -> None:
    q0, v0 = [1, 0, 0, 0, 0.2 * math.sin(-0.3), 0, 0.2 * math.cos(0.3), -0.3], np.zeros(7)
    loop, contact = _planted(True), _planted(False)
    exact = loop.simulate(q0, v0, until=0.1)
    found = contact.simulate(q0, v0, until=0.1, **RIGID)
    assert names(found) == ["touching foot", "sticking foot"]
    np.testing.assert_allclose(found.q[-1], exact.q[-1], atol=1e-9)
    errors = []
    for steps in (50, 100, 200):
        run = contact.rollout(q0, v0, steps=steps, dt=0.1 / steps, every=steps)
        errors.append(np.abs(run.q[-1] - exact.q[-1]).max())
    assert 1.8 < errors[0] / errors[1] < 2.2
    assert 1.8 < errors[1] / errors[2] < 2.2


@pytest.mark.slow
def test_rollouts_and_compliant_contacts_converge_to_it_through_an_impact() -> None:
    robot = hopper().with_contacts(on.Ground(0.7), points=["foot"], limits=False, sweeps=50)
    exact = robot.simulate(LANDING, until=0.24, **RIGID)
    assert names(exact) == ["touching foot", "sticking foot"]
    errors = []
    for steps in (120, 240, 480):
        run = robot.rollout(LANDING, np.zeros(8), steps=steps, dt=0.24 / steps, every=steps)
        errors.append(np.abs(robot.difference(exact.q[-1], run.q[-1])).max())
    assert 1.8 < errors[0] / errors[1] < 2.2
    assert 1.8 < errors[1] / errors[2] < 2.2
    off = []
    for stiffness in (1e7, 1e9):
        stiff = {"stiffness": stiffness, "dissipation": 50.0, "slip_speed": 1e-5}
        soft = hopper().with_contacts(on.Ground(0.7), points=["foot"], limits=False, **stiff)
        motion = soft.simulate(LANDING, until=0.24, contacts="compliant", rtol=1e-8, atol=1e-8)
        off.append(np.abs(robot.difference(exact.q[-1], motion.q[-1])).max())
    assert off[0] < 2e-3
    assert off[1] < 0.15 * off[0]


@pytest.mark.slow
def test_momentum_is_kept_when_bodies_collide() -> None:
    robot = floating([("sphere", (0.1,))] * 2).with_contacts(pairs=[("0", "1")], friction=0.4, restitution=0.5)
    q0 = [1, 0, 0, 0, 0, 0.03, 0, 1, 0, 0, 0, 0.5, 0, 0]
    result = robot.simulate(q0, [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0], until=0.5, **RIGID)
    assert names(result) == ["touching 0 - 1", "leaving 0 - 1"]
    assert result.report.momentum_drift is not None
    assert result.report.momentum_drift < 1e-11


def painleve(mu: float, towards: float) -> tuple[on.Robot, Any, Any]:
    """Return a rod of 1 m that leans by 35 degrees and slides on its lower end, along its lean or against it."""
    builder = on.Builder("rod")
    builder.body("rod", mass=1.0, inertia=(1.0 / 12.0, 1.0 / 12.0, 1e-4))
    builder.frame("tip", "rod", (0.0, 0.0, -0.5))
    angle = math.radians(35.0)
    c, s = math.cos(angle), math.sin(angle)
    q = [math.cos(angle / 2.0), 0.0, math.sin(angle / 2.0), 0.0, 0.5 * s, 0.0, 0.5 * c]
    v = [0.0, 0.0, 0.0, 2.0 * towards * c, 0.0, 2.0 * towards * s]
    return builder.build(floating=True).with_contacts(on.Ground(mu), points=["tip"]), q, v


@pytest.mark.slow
def test_the_rod_of_painleve_is_told() -> None:
    jams = "'tip' jams while it slips, at t = 0 s .Painleve's paradox."
    robot, q, v = painleve(3.0, -1.0)
    with pytest.warns(on.SimulationWarning, match=jams):
        result = robot.simulate(q, v, until=0.1, **RIGID)
    assert result.report.stopped == "not-converged"
    run = robot.rollout(q, v, steps=2, dt=1e-3)  # a step has a solution: an impulse that stops the tip
    assert run.contact_impulses is not None
    assert run.contact_impulses[1, 0, 2] > 30.0 * 9.81e-3
    assert run.certificate.residual.max() <= 1e-9
    for mu, towards in ((0.3, -1.0), (3.0, 1.0)):
        robot, q, v = painleve(mu, towards)
        assert robot.simulate(q, v, until=0.1, **RIGID).report.ok


@pytest.mark.slow
def test_a_run_goes_on_from_a_checkpoint(tmp_path: Path) -> None:
    robot = block().with_contacts(on.Ground(0.5))
    start = [1, 0, 0, 0, 0, 0, 0.06], [0.2, 0.1, 0, 0.5, 0, 0]
    whole = robot.simulate(*start, until=0.2, **RIGID)
    with pytest.warns(on.SimulationWarning):
        robot.simulate(*start, until=0.2, checkpoint=tmp_path / "run", max_steps=20, **RIGID)
    again = robot.simulate(*start, until=0.2, checkpoint=tmp_path / "run", **RIGID)
    np.testing.assert_array_equal(again.q, whole.q)
    assert names(again) == names(whole)


def test_what_it_has_not_is_refused() -> None:
    robot = hopper().with_contacts(on.Ground(0.7), points=["foot"])
    with pytest.raises(on.ArgumentError, match="limits='stop'"):
        robot.simulate(LANDING, until=0.1, limits="bounce", **RIGID)
    with pytest.raises(on.ArgumentError, match="method='radau'"):
        robot.simulate(LANDING, until=0.1, method="radau", **RIGID)
    result = robot.simulate(LANDING, until=0.5, **RIGID)
    assert result.report.message.startswith("lower limit of knee")


@pytest.mark.slow
@pytest.mark.parametrize("ground", [{"normal": (0.1, 0.0, 1.0)}, {"steps": [(0.1, 0.08), (0.4, 0.16)]}])
def test_trials_that_go_too_far_are_taken_again(ground: dict[str, Any]) -> None:
    """Steps after a landing are first tried too long for the dampers: no contact jams, and nothing is infinite."""
    robot, stand = on.load("quadruped"), on.robots.positions("quadruped")["stand"]
    walker = robot.with_contacts(on.Ground(0.8, **ground), points=[f"{leg}_foot" for leg in ("lf", "rf", "lh", "rh")])
    springs = on.controllers.PD(robot, stand, 200.0, 5.0)
    result = walker.simulate(stand + 0.12 * np.eye(19)[6], None, springs, until=0.2, contacts="rigid")
    assert result.report.ok
    assert result.report.contacts is not None
    assert result.report.contacts.penetration < 1e-6  # gaps below it close together
