"""Compliant contacts of `simulate`: known answers, derivatives, series, events, the report, and refusals."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import ordern as on
from ordern.simulate.contacts.compliant import Compliant, dissipation_of
from tests.contact.robots import ball, block, floating, hopper

G = 9.81
LOOSE = {"contacts": "compliant", "rtol": 1e-8, "atol": 1e-8}


def test_a_ball_bounces_by_the_law_of_hunt_and_crossley() -> None:
    robot = floating([("sphere", (0.1,))]).with_contacts(on.Ground(0.3), stiffness=2e7, dissipation=0.3)
    result = robot.simulate([1, 0, 0, 0, 0, 0, 0.11], [0, 0, 0, 0, 0, -3.0], until=0.02, **LOOSE)
    s, e = 0.3 * 3.0, result.v[-1, 5] / 3.0
    assert s * (1.0 + e) == pytest.approx(math.log((1.0 + s) / (1.0 - e * s)), abs=1e-7)
    assert dissipation_of(e, 3.0) == pytest.approx(0.3, rel=1e-6)
    assert [x.name for x in result.events] == ["touching 0", "sticking 0", "leaving 0"]
    assert result.report.contacts is not None
    assert result.report.contacts.touches == 1
    assert result.report.energy_drift < 1e-8


@pytest.mark.slow
def test_a_block_rests_and_creeps_at_the_known_speed() -> None:
    angle, s = math.radians(20.0), 1e-4
    slope = on.Ground(0.5, normal=(math.sin(angle), 0.0, math.cos(angle)))
    robot = block().with_contacts(slope, slip_speed=s, stiffness=1e8)
    depth = (2.0 * G * math.cos(angle) / 4.0 / 1e8) ** (2.0 / 3.0)
    turn = [math.cos(angle / 2.0), 0.0, math.sin(angle / 2.0), 0.0]
    h = 0.05 - depth
    q0 = [*turn, h * math.sin(angle), 0.0, h * math.cos(angle)]
    result = robot.simulate(q0, until=0.5, contacts="compliant", rtol=1e-9, atol=1e-10)
    r = math.tan(angle) / 0.5
    assert result.v[-1, 3] == pytest.approx(s * r / math.sqrt(1.0 - r * r), rel=1e-4)
    forces = sum(result[f"force.{c.name}"][-1] for c in robot.contacts.pairs)  # type: ignore[union-attr]
    weight = 2.0 * G * np.array([math.sin(angle), 0.0, math.cos(angle)])
    np.testing.assert_allclose(np.abs(forces), weight, atol=1e-6)
    touching = [c.name for c in robot.contacts.pairs if result[f"force.{c.name}"][-1, 2] > 0.0]  # type: ignore[union-attr]
    depths = np.array([-result[f"gap.{name}"][-1] for name in touching])
    assert len(depths) == 4
    assert np.mean(depths**1.5) == pytest.approx(depth**1.5, rel=1e-6)


def test_a_ball_slides_and_then_rolls_at_five_sevenths() -> None:
    robot = ball().with_contacts(on.Ground(0.3))
    result = robot.simulate([1, 0, 0, 0, 0, 0, 0.0999], [0, 0, 0, 1, 0, 0], until=0.3, **LOOSE)
    assert result.v[-1, 1] * 0.1 == pytest.approx(5.0 / 7.0, abs=1e-6)
    assert [e.name for e in result.events] == ["sticking ball"]
    assert result.events[0].time == pytest.approx(
        2.0 / 7.0 / (0.3 * G), abs=1e-3
    )  # v0 (2/7) / (mu g), but for the slip speed
    assert result.report.contacts is not None
    assert result.report.contacts.residual <= 1e-3
    assert "creep" in str(result.report)


@pytest.mark.slow
def test_momentum_is_kept_when_bodies_collide() -> None:
    robot = floating([("sphere", (0.1,))] * 2).with_contacts(pairs=[("0", "1")], friction=0.4)
    q0 = [1, 0, 0, 0, 0, 0.03, 0, 1, 0, 0, 0, 0.25, 0, 0]
    result = robot.simulate(q0, [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0], until=0.2, **LOOSE)
    assert result.report.momentum_drift is not None
    assert result.report.momentum_drift < 1e-9
    assert result.report.contacts is not None
    assert result.report.contacts.touches == 1


@pytest.mark.slow
@pytest.mark.parametrize("apart", [0.3, 0.7])
def test_long_steps_of_free_flight_do_not_pass_through_a_body(apart: float) -> None:
    robot = floating([("sphere", (0.1,))] * 2).with_contacts(pairs=[("0", "1")], friction=0.4)
    q0 = [1, 0, 0, 0, 0, 0.03, 0, 1, 0, 0, 0, apart, 0, 0]
    result = robot.simulate(q0, [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0], until=apart + 0.3, **LOOSE)
    assert [e.name for e in result.events] == [f"{x} 0 - 1" for x in ("touching", "slipping", "sticking", "leaving")]
    assert result.v[-1, 3] == pytest.approx(0.45126021, abs=1e-6)


def test_contacts_that_come_near_at_the_same_moment_begin_one_step() -> None:
    builder = on.Builder("can").body("can", mass=0.3, inertia=(4e-4, 4e-4, 1e-4))
    builder.shape("can", "cylinder", (0.03, 0.1), role="collision")
    robot = builder.build(floating=True).with_contacts(on.Ground(1.0))
    result = robot.simulate([1, 0, 0, 0, 0, 0, 0.0505], until=0.012, contacts="compliant", rtol=1e-6, atol=1e-6)
    assert result.report.contacts is not None
    assert result.report.contacts.touches == 3  # the lowest rim has three of the four points
    assert result.report.steps < 200


def test_the_compiled_jacobian_is_that_of_the_forces() -> None:
    robot = hopper().with_contacts(on.Ground(0.7), points=["foot"])
    contacts = Compliant(robot)
    q, v = np.array([1.0, 0, 0, 0, 0, 0, 0.3965, 0.1, -0.2]), -0.1 * np.arange(8.0)
    J, e = contacts.jacobian(q, v), 1e-7
    assert np.abs(contacts.force(q, v)).max() > 1.0
    for k in range(17):
        d = e * np.eye(17)[k]
        difference = (contacts.force(q + d[:9], v + d[9:]) - contacts.force(q - d[:9], v - d[9:])) / (2.0 * e)
        np.testing.assert_allclose(J[:, k], difference, atol=1e-6 * np.abs(J).max())


@pytest.mark.slow
def test_a_run_goes_on_from_a_checkpoint_and_its_file_has_the_series(tmp_path: Path) -> None:
    robot = ball().with_contacts(on.Ground(0.3))
    q0, v0 = [1, 0, 0, 0, 0, 0, 0.11], [0, 0, 0, 1, 0, 0]
    whole = robot.simulate(q0, v0, until=0.1, **LOOSE)
    with pytest.warns(on.SimulationWarning):
        robot.simulate(q0, v0, until=0.1, checkpoint=tmp_path / "run", max_steps=40, **LOOSE)
    again = robot.simulate(q0, v0, until=0.1, checkpoint=tmp_path / "run", **LOOSE)
    np.testing.assert_array_equal(again.q, whole.q)
    np.testing.assert_array_equal(again["force.ball"], whole["force.ball"])
    assert again.report.contacts == whole.report.contacts
    whole.save(tmp_path / "run.npz")
    read = on.load_result(tmp_path / "run.npz")
    np.testing.assert_array_equal(read["gap.ball"], whole["gap.ball"])
    assert read.report.contacts == whole.report.contacts


def test_joints_stop_at_their_limits_unless_told_otherwise() -> None:
    robot = hopper().with_contacts(on.Ground(0.7), points=["foot"])
    q0, v0 = [1, 0, 0, 0, 0, 0, 1.0, 0.6, -1.2], [0, 0, 0, 0, 0, 0, 0, -20.0]
    result = robot.simulate(q0, v0, until=0.1, **LOOSE)
    assert result.q[:, 8].min() >= -1.5 - 1e-9
    free = robot.simulate(q0, v0, until=0.1, limits="ignore", **LOOSE)
    assert free.q[:, 8].min() < -1.5


def test_what_cannot_be_is_refused() -> None:
    plain = ball()
    robot = plain.with_contacts(on.Ground())
    with pytest.raises(on.ArgumentError, match="'ball' has contacts; choose a model of them, contacts='compliant'"):
        robot.simulate(until=0.1)
    with pytest.raises(on.ArgumentError, match="'ball' has no contacts"):
        plain.simulate(until=0.1, contacts="compliant")
    with pytest.raises(on.ArgumentError, match="unknown model of contacts 'soft'"):
        robot.simulate(until=0.1, contacts="soft")
    with pytest.raises(on.ArgumentError, match="stiffness"):
        plain.with_contacts(on.Ground(), stiffness=0.0)
    with pytest.raises(on.ArgumentError, match="dissipation"):
        plain.with_contacts(on.Ground(), dissipation=-1.0)
    result = robot.simulate([1, 0, 0, 0, 0, 0, 1.0], until=0.01, contacts="compliant", method="dormand-prince-8")
    with pytest.raises(on.ArgumentError, match="has contacts"):
        result.vjp(np.ones_like(result.q))
