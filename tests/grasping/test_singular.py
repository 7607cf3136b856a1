"""Grasps that start at singular positions of their contacts, or pass them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ordern as on

C = on.contacts
BAR = {"mass": 0.5, "com": (0.2, 0, 0), "inertia": (0.001, 0.01, 0.01)}
Y = (0, 1, 0)
COM = (0.1, 0.0, 0.05)


def crank(**limits: float) -> on.Robot:
    builder = on.Builder("crank").body("ground")
    builder.body("bar", parent="ground", joint=on.Revolute(Y), **BAR, **limits)
    return builder.frame("tip", "bar", at=(0.4, 0, 0)).build()


def stretched() -> tuple[on.Grasp, np.ndarray]:
    """Two cranks that point at each other, and a rod of 0.4 m between them, all on one line of 1.2 m: it is locked."""
    bases = [(0, 0, 0), ((1.2, 0, 0), (0, 0, np.pi))]
    held = (2.0, (0, 0, 0), (0.1,) * 3)
    pose = on.Placement.xyz_rpy((0.6, 0, 0)).matrix
    grasp = on.grasp([(crank(), "tip")] * 2, held, C.Hinge(axis=Y), bases=bases, q=[[0.0], [0.0]], pose=pose)
    return grasp, pose


def parallelogram(angle: float, speed: float) -> tuple[on.Grasp, dict[str, Any]]:
    """Two cranks 1 m apart that carry a bar; where they are level, they and the bar are on one line."""
    c, s = np.cos(angle), np.sin(angle)
    pose = on.Placement.xyz_rpy((0.4 * c + 0.5, 0, -0.4 * s)).matrix
    q = [[angle], [angle]]
    held = (2.0, COM, (0.1,) * 3)
    grasp = on.grasp([(crank(), "tip")] * 2, held, C.Hinge(axis=Y), bases=[(0, 0, 0), (1, 0, 0)], q=q, pose=pose)
    v = np.array([0, 0, 0, -0.4 * s * speed, 0, -0.4 * c * speed])
    return grasp, {"q0": q, "v0": [[speed], [speed]], "pose": pose, "velocity": v}


def as_one_robot() -> on.Robot:
    builder = on.Builder("four-bar").body("ground").body("first", parent="ground", joint=on.Revolute(Y), **BAR)
    com = (0.5 + COM[0], COM[1], COM[2])
    builder.body("bar", parent="first", joint=on.Revolute(Y), at=(0.4, 0, 0), mass=2.0, com=com, inertia=(0.1,) * 3)
    builder.body("second", parent="ground", joint=on.Revolute(Y), at=(1, 0, 0), **BAR)
    return builder.loop("pin", on.Revolute(Y), "bar", "second", at=(1, 0, 0), child_at=(0.4, 0, 0)).build()


@pytest.mark.slow
def test_a_locked_start_is_told_at_once() -> None:
    grasp, pose = stretched()
    found = grasp.forward_dynamics([[0.0], [0.0]], None, np.zeros(2), pose=pose)
    assert found.singular
    assert np.isfinite(found.forces).all()
    with pytest.warns(on.SimulationWarning, match=r"contacts 'crank-1' and 'crank-2' lock the mechanism"):
        result = grasp.simulate([[0.0], [0.0]], until=0.4, pose=pose)
    assert result.report.stopped == "locked"
    assert not result.report.ok
    assert len(result.t) == 1
    (seen,) = result.report.loops.singular
    assert (seen.time, seen.rank, seen.usual) == (0.0, 6, 7)
    assert np.isfinite(result.a).all()


@pytest.mark.slow
def test_robots_with_loops_tell_it_too() -> None:
    builder = on.Builder("lock").body("ground").body("first", parent="ground", joint=on.Revolute(Y), **BAR)
    builder.body("rod", parent="first", joint=on.Revolute(Y), at=(0.4, 0, 0), **BAR)
    builder.body("second", parent="ground", joint=on.Revolute(Y), at=((1.2, 0, 0), (0, 0, np.pi)), **BAR)
    at = ((0.4, 0, 0), (0, 0, np.pi))
    robot = builder.loop("pin", on.Revolute(Y), "rod", "second", at=(0.4, 0, 0), child_at=at).build()
    with pytest.warns(on.SimulationWarning, match=r"loop 'pin' locks the mechanism .* of 2 constraints .* 1 are so"):
        assert robot.simulate(np.zeros(3), until=0.4).report.stopped == "locked"


@pytest.mark.slow
def test_contacts_pass_singular_positions_as_loops_do() -> None:
    """A bar on two cranks that turn: at each half turn another motion branches off, and is not taken."""
    grasp, start = parallelogram(1.2, 12.0)
    robot, t = as_one_robot(), np.linspace(0.0, 0.8, 17)
    result = grasp.simulate(**start, until=t)
    truth = robot.simulate([1.2, -1.2, 1.2], [12.0, -12.0, 12.0], until=t)
    assert np.abs(result.q[:, 0] - truth.q[:, 0]).max() < 1e-7
    assert np.abs(result.q[:, 1] - truth.q[:, 2]).max() < 1e-7
    ours, theirs = result.report.loops.singular, truth.report.loops.singular
    assert len(ours) == len(theirs) == 2
    assert [x.time for x in ours] == pytest.approx([x.time for x in theirs], abs=1e-6)
    assert result.report.energy_drift < 1e-9
    assert result.report.loops.violation < 1e-9
    assert "contacts" in str(result.report)


@pytest.mark.slow
def test_forces_of_contacts_go_on_through_a_singular_position() -> None:
    """Without gravity a bar that is held on both sides of its mass centre is carried by a force that only turns."""
    c, s = np.cos(1.2), np.sin(1.2)
    pose = on.Placement.xyz_rpy((0.4 * c + 0.5, 0, -0.4 * s)).matrix
    held, q, w = (2.0, (0, 0, 0), (0.1,) * 3), [[1.2], [1.2]], 12.0
    grasp = on.grasp(
        [(crank(), "tip")] * 2,
        held,
        C.Hinge(axis=Y),
        bases=[(0, 0, 0), (1, 0, 0)],
        q=q,
        pose=pose,
        gravity=(0, 0, 0),
    )
    v = np.array([0, 0, 0, -0.4 * s * w, 0, -0.4 * c * w])
    result = grasp.simulate(q, [[w], [w]], until=0.4, pose=pose, velocity=v)
    (passed,) = result.report.loops.singular
    assert passed.time == pytest.approx((np.pi - 1.2) / w, abs=1e-6)
    assert np.abs(result.t - passed.time).min() < 1e-3
    centripetal = 2.0 * 0.4 * w * w
    total = np.linalg.norm((result["force.crank-1"] + result["force.crank-2"])[:, 3:], axis=1)
    assert np.abs(total - centripetal).max() < 1e-6 * centripetal
    both = np.stack([result["force.crank-1"], result["force.crank-2"]])
    assert np.linalg.norm(both[..., 3:], axis=-1).max() < centripetal


@pytest.mark.slow
def test_a_run_goes_on_from_a_checkpoint_inside_of_a_singular_position(tmp_path: Any) -> None:
    grasp, start = parallelogram(1.2, 12.0)
    whole = grasp.simulate(**start, until=0.25)
    inside = int(np.searchsorted(whole.t, whole.report.loops.singular[0].time))
    for steps in (inside - 1, inside, inside + 1):
        file = tmp_path / f"{steps}.ckpt"
        with pytest.warns(on.SimulationWarning, match="max_steps"):
            grasp.simulate(**start, until=0.25, checkpoint=file, max_steps=steps)
        assert grasp.simulate(**start, until=0.25, checkpoint=file) == whole


@pytest.mark.slow
def test_a_start_from_which_two_motions_lead_is_no_lock() -> None:
    """The bar and both cranks on one line, at rest: they fall, and the run says where it started."""
    grasp, start = parallelogram(0.0, 0.0)
    result = grasp.simulate(**start, until=0.05)
    assert result.report.stopped == "end"
    assert result.report.loops.singular[0].time == 0.0
    assert result.report.energy_drift < 1e-5  # where it leaves the singular position, to first order in its width
