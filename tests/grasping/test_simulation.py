"""Motions of grasps in time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ordern as on
from tests.tolerances import EVENT_TIME, GRASPED, KEPT_ENERGY

C = on.contacts
MASS, FRICTION, PUSH = 2.0, 0.5, 40.0
SLIPS = 1.0 - MASS * 9.81 / (2.0 * FRICTION * PUSH)
"""When two fingers that push with PUSH (1 - t) cannot carry the weight any more."""


def held_block(kind: Any = C.SoftFinger) -> on.Grasp:
    """A block between two fingers that slide along x."""
    finger = (
        on.Builder("finger").body("base").body("tip", parent="base", joint=on.Prismatic((0, 0, 1)), mass=0.3).build()
    )
    return on.grasp(
        [finger, finger],
        (MASS, (0, 0, 0), (0.01, 0.02, 0.03)),
        kind(surface=C.Surface(FRICTION)),
        bases=[((-0.1, 0, 0), (0, np.pi / 2, 0)), ((0.1, 0, 0), (0, -np.pi / 2, 0))],
    )


def fading(t: float, state: Any) -> np.ndarray:
    return np.full(2, PUSH * (1.0 - t))


def run(grasp: on.Grasp, breach: str, until: Any = 0.8) -> Any:
    return grasp.simulate(
        np.zeros(2), None, fading, until, pose=np.eye(4), velocity=np.zeros(6), breach=breach, rtol=1e-9, atol=1e-9
    )


@pytest.mark.slow
def test_a_block_slips_when_the_squeeze_fades() -> None:
    result = run(held_block(), "stop")
    assert result.report.stopped == "event"
    assert result.report.time == pytest.approx(SLIPS, abs=1e3 * EVENT_TIME)
    assert {(e.contact, e.kind) for e in result.events} == {("finger-1", "slip"), ("finger-2", "slip")}
    assert result.events[0].by < 1e-9  # found where it begins
    assert np.abs(result.q[:, -3:]).max() < GRASPED  # it hung still
    force = result["force.finger-1"]
    assert np.abs(force[:, 5] - MASS * 9.81 / 2.0).max() < GRASPED
    assert np.abs(force[:, 3] - PUSH * (1.0 - result.t)).max() < GRASPED


@pytest.mark.slow
def test_it_is_held_on_with_a_warning() -> None:
    words = r"t = 0.5095 s: contact 'finger-.' of arm 'finger-.' would slip, by 5.81 N \(and 1 more"
    with pytest.warns(on.SimulationWarning, match=words):
        result = run(held_block(), "warn")
    assert len(result.events) == 2
    assert result.report.stopped == "end"
    assert result.report.time == 0.8
    for event in result.events:
        assert event.time == pytest.approx(SLIPS, abs=1e3 * EVENT_TIME)
        assert event.by == pytest.approx(MASS * 9.81 / 2.0 - FRICTION * PUSH * 0.2)  # at the end, where it is the most
    assert np.abs(result.q[-1, -3:]).max() < GRASPED


def test_it_falls_when_it_is_released() -> None:
    times = np.linspace(0.0, 0.8, 9)
    result = run(held_block(), "release", times)
    assert result.report.stopped == "end"
    after = result.t > SLIPS
    fallen = 0.5 * 9.81 * (result.t[after] - SLIPS) ** 2
    assert np.abs(result.q[after, -1] + fallen).max() < GRASPED
    assert np.abs(result["force.finger-2"][after][1:]).max() == 0.0
    assert set(times) <= set(result.t)


def test_a_result_in_a_file_keeps_what_happened(tmp_path: Path) -> None:
    result = run(held_block(), "stop")
    result.save(tmp_path / "slip.npz")
    again = on.load_result(tmp_path / "slip.npz")
    assert again.events[0].name == result.events[0].name
    assert "would slip" in again.events[0].name
    assert np.array_equal(again["force.finger-2"], result["force.finger-2"])


@pytest.mark.slow
def test_energy_and_contacts_are_kept() -> None:
    arm = on.load("puma560")
    q0 = np.array([0.3, 1.2, -0.9, 0.2, 0.4, 0.0])
    for contacts in (C.Rigid(), [C.Hinge(axis=(0, 0, 1)), C.Rigid()]):
        grasp = on.grasp(
            [arm, arm],
            (2.0, (0, 0, 0.05), (0.02, 0.03, 0.04)),
            contacts,
            bases=[(0, 0, 0), ((1.2, 0, 0), (0, 0, np.pi))],
            q=[q0, q0],
            pose=(0.6, 0, 0.3),
        )
        result = grasp.simulate([q0, q0], until=0.5, rtol=1e-9, atol=1e-9, tolerance="step")
        assert result.report.ok
        assert result.report.energy_error < 10.0 * KEPT_ENERGY * result.report.kinetic
        assert np.ptp(result.energy) < 10.0 * KEPT_ENERGY * result.report.kinetic
        assert result["residual"].max() < 1e-12
        assert result["residual.velocity"].max() < GRASPED
        loose = grasp.simulate([q0, q0], until=0.5, rtol=1e-9, atol=1e-9, tolerance="step", project=False)
        assert 1e-12 < loose["residual"].max() < 1e-6  # what projection takes away
        assert np.abs(loose.q[-1] - result.q[-1]).max() < 1e-6


@pytest.mark.slow
def test_work_of_forces_on_arms_and_object_is_counted() -> None:
    body = on.Builder("ball", gravity=(0, 0, 0)).body("ball", mass=3.0, inertia=(0.1, 0.1, 0.1)).build(floating=True)
    grasp = on.grasp([body], (2.0, (0, 0, 0), (0.1, 0.1, 0.1)), bases=[(1.0, 0, 0)])
    q = body.neutral()
    result = grasp.simulate([q], None, [[0, 0, 0, 4.0, 0, 0]], 1.0, wrench=[0, 0, 0, 6.0, 0, 0])
    assert result.report.work == pytest.approx(10.0 * 0.5 * 2.0, rel=1e-9)  # 10 N push 5 kg for a second
    assert result.q[-1, 4] == pytest.approx(1.0, rel=1e-9)
    table = grasp.simulate([q], None, on.Table([0.0, 0.5, 1.0], [[0, 0, 0, 10.0, 0, 0]] * 3), 1.0)
    assert table.q[-1, 4] == pytest.approx(1.0, rel=1e-9)


def test_what_cannot_be_simulated() -> None:
    grasp = held_block()
    with pytest.raises(on.UnknownNameError, match="release"):
        run(grasp, "ignore")
    with pytest.raises(on.UnknownNameError, match="dormand-prince-8"):
        grasp.simulate(np.zeros(2), pose=np.eye(4), velocity=np.zeros(6), method="variational")
    with pytest.raises(on.ArgumentError, match=r"'radau'.*7 of 8 rows are independent.*explicit"):
        grasp.simulate(np.zeros(2), pose=np.eye(4), velocity=np.zeros(6), method="radau")
    with pytest.raises(on.ArgumentError, match="steps of a fixed length: give step="):
        grasp.simulate(np.zeros(2), pose=np.eye(4), velocity=np.zeros(6), method="rk4")
    with pytest.raises(on.ArgumentError, match="one state at a time"):
        grasp.simulate(np.zeros((3, 2)), pose=np.eye(4), velocity=np.zeros(6))
    with pytest.raises(on.ArgumentError, match="until"):
        grasp.simulate(np.zeros(2), pose=np.eye(4), velocity=np.zeros(6), until=-1.0)


def test_a_start_that_does_not_fit_is_an_error() -> None:
    grasp, still = held_block(), np.zeros(6)
    with pytest.raises(on.ArgumentError, match=r"contact 'finger-1' of arm 'finger-1'.*off.*0\.05.*grasp\.project"):
        grasp.simulate([0.05, 0.0], pose=np.eye(4), velocity=still)
    with pytest.raises(on.ArgumentError, match=r"contact 'finger-2' of arm 'finger-2'.*moves.*0\.3.*grasp\.project"):
        grasp.simulate([0.0, 0.0], [0.0, 0.3], pose=np.eye(4), velocity=still)
    with pytest.raises(on.ArgumentError, match="`q0` of arm 'finger-2' must be finite"):
        grasp.simulate([0.0, np.nan], pose=np.eye(4), velocity=still)
    fits = grasp.project([0.05, 0.0], pose=(0, 0, 0))
    close = [fits.q[0] + 1e-8, fits.q[1]]
    result = grasp.simulate(close, None, [PUSH, PUSH], 0.01, pose=fits.pose, velocity=still)
    assert result["residual"].max() < 1e-12


def test_poses_of_a_start_are_those_of_a_grasp() -> None:
    grasp, still = held_block(), np.zeros(6)
    wanted = grasp.simulate(np.zeros(2), None, [PUSH, PUSH], 0.01, pose=np.eye(4), velocity=still)
    for pose in ((0, 0, 0), ((0, 0, 0), (0, 0, 0))):
        result = grasp.simulate(np.zeros(2), None, [PUSH, PUSH], 0.01, pose=pose, velocity=still)
        assert np.array_equal(result.q, wanted.q)
    with pytest.raises(on.ArgumentError, match=r"`pose`.*position of 3 numbers"):
        grasp.simulate(np.zeros(2), pose=(0, 0), velocity=still)


def test_what_cannot_be_a_grasp_is_named() -> None:
    arm, block = on.load("puma560"), (2.0, (0, 0, 0), (0.1, 0.1, 0.1))
    with pytest.raises(on.ArgumentError, match=r"contacts must be .*; write Point\(\)"):
        on.grasp([arm], block, C.Point)
    for contacts in ("point", 3):
        with pytest.raises(on.ArgumentError, match=f"contacts must be .*, not {contacts!r}"):
            on.grasp([arm], block, contacts)
    with pytest.raises(on.ArgumentError, match=r"object must be a Body.*not 'box'"):
        on.grasp([arm], "box")
    with pytest.raises(on.ArgumentError, match="`q` of arm 'puma560' must be finite"):
        on.grasp([arm], block, q=[[np.nan] * 6])
