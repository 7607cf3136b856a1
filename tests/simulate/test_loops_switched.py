"""Loops that open and close, limits of mechanisms with loops, checkpoints and files of their motions."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import ordern as on
from tests import tolerances as tol

G = 9.81


def point(*, lower: float = -math.inf, **loop: object) -> on.Robot:
    """A point of 1 kg that may move in the plane x-z, held at 1 m from the origin by a loop."""
    builder = on.Builder("held point").body("ground")
    builder.body("x", parent="ground", joint=on.Prismatic((1, 0, 0)), mass=1e-9)
    builder.body("point", parent="x", joint=on.Prismatic((0, 0, 1)), joint_name="height", mass=1.0, lower=lower)
    builder.loop("rod", on.Distance(1.0), "ground", "point", **loop)
    return builder.build()


def test_an_opened_loop_lets_go() -> None:
    """Half a swing to the lowest position, then a throw."""
    lowest = on.Event(lambda t, q, v: q[0], name="lowest", direction=-1)
    result = point().simulate([1.0, 0.0], until=1.0, switches=[on.Switch(lowest, open=["rod"])])
    (k,) = np.flatnonzero(np.diff(result.t) == 0.0)
    assert result.v[k, 0] == pytest.approx(-math.sqrt(2.0 * G), abs=1e-8)
    t = result.t[-1] - result.t[k]
    assert result.q[-1] == pytest.approx([-math.sqrt(2.0 * G) * t, -1.0 - 0.5 * G * t**2], abs=tol.LOOP_MOTION)
    assert result.report.loops.switches == 1 and result.report.loops.lost == 0.0
    assert result.report.energy_drift < tol.LOOP_ENERGY
    assert np.abs(result.loop_forces("rod")[k + 1 :]).max() == 0.0
    assert np.linalg.norm(result.loop_forces("rod")[k, 3:]) == pytest.approx(3.0 * G, abs=tol.LOOP_FORCE)
    assert set(result.extra["loops_closed"][:, 0]) == {0.0, 1.0}
    assert abs(result.loop_residuals["rod"][-1, 0]) > 1.0


def test_a_loop_that_closes_takes_the_velocity_along_it() -> None:
    """Free fall from (0.6, 0), until the rope of 1 m is tight; then a swing with what is left of the velocity."""
    robot = point().with_loops({"rod": False})
    tight = on.Event(lambda t, q, v: q @ q - 1.0, name="tight", direction=1)
    result = robot.simulate([0.6, 0.0], until=1.0, switches=[on.Switch(tight, close=["rod"])])
    (k,) = np.flatnonzero(np.diff(result.t) == 0.0)
    assert result.t[k] == pytest.approx(math.sqrt(2.0 * 0.8 / G), abs=1e-9)
    along = np.array([0.6, -0.8])
    before, after = result.v[k], result.v[k + 1]
    assert after == pytest.approx(before - (before @ along) * along, abs=1e-7)
    lost = 0.5 * (before @ along) ** 2
    assert result.report.loops.lost == pytest.approx(lost, rel=1e-7)
    assert result.report.dissipated == pytest.approx(lost, rel=1e-7) and result.report.impacts == 1
    assert result.report.energy_drift < tol.LOOP_ENERGY
    q, _ = result.at(np.linspace(result.t[k] + 1e-6, 1.0, 50))
    assert np.abs(np.linalg.norm(q, axis=1) - 1.0).max() < 1e-11


@pytest.mark.slow
def test_couplings_are_switched_too() -> None:
    """Two wheels and a gear, which lets go: closed forms, as the axes are upright."""
    builder = on.Builder("geared").body("base")
    for k in (0, 1):
        builder.body(f"wheel{k}", mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1))
        builder.joint(f"axle{k}", on.Revolute((0, 0, 1)), "base", f"wheel{k}", at=(k, 0, 0))
    robot = builder.couple("gear", "axle1", "axle0", [0.0, -2.0]).build()
    inertia, tau, v0 = 0.11, np.array([0.2, 0.3]), np.array([1.0, -2.0])
    switches = [on.Switch(at=0.5, open=["gear"])]
    result = robot.simulate(np.zeros(2), v0, tau, until=[0.5, 1.0], switches=switches)
    together = (tau[0] - 2.0 * tau[1]) / (inertia * 5.0)  # the acceleration of the first: one freedom, 1 + 2^2 wheels
    v1 = (1.0 + 0.5 * together) * np.array([1.0, -2.0])
    np.testing.assert_allclose(result.v[0], v1, rtol=tol.LOOP_MOTION)
    np.testing.assert_allclose(result.v[1], v1 + 0.5 * tau / inertia, rtol=tol.LOOP_MOTION)
    force = result.loop_multipliers["gear"]
    assert force.shape == (2, 1)
    assert force[1, 0] == 0.0
    assert result.extra["loops_closed"].tolist() == [[1.0], [0.0]]
    again = robot.with_loops({"gear": False})
    caught = again.simulate(np.zeros(2), until=0.2, switches=[on.Switch(at=0.1, close=["gear"])])
    assert caught.report.loops is not None
    assert caught.report.loops.switches == 1


@pytest.mark.slow
def test_switches_act_once_or_each_time() -> None:
    """A ball on a table at 0.2 m height is held each time that it comes down to it, and let go 0.1 s later."""
    builder = on.Builder("ball").body("ground")
    builder.body("ball", parent="ground", joint=on.Prismatic((0, 0, 1)), joint_name="height", mass=1.0)
    robot = builder.loop("table", on.Fixed(), "ground", "ball", at=(0, 0, -0.2)).build().with_loops({"table": False})
    lands = on.Event(lambda t, q, v: q[0] + 0.2, name="lands", direction=-1)
    for once, count in ((True, 2), (False, 4)):
        switches = [
            on.Switch(lands, close="table", once=once),
            on.Switch(at=0.5, open="table"),
            on.Switch(at=0.9, open="table"),
        ]
        force = on.Table([0.0, 0.5, 0.6, 0.61, 2.0], np.array([[0.0], [0.0], [30.0], [0.0], [0.0]]))
        result = robot.simulate([0.0], tau=force, until=1.0, switches=switches)
        assert result.report.loops.switches == count
        assert [e.name for e in result.events] == ["lands"] * (count // 2)


def test_a_loop_that_is_open_is_not_closed() -> None:
    robot = point().with_loops({"rod": False})
    with pytest.warns(on.SimulationWarning, match=r"loop 'rod' was to be closed at t = 0.1 s, .* open by 0\.3"):
        result = robot.simulate([0.6, 0.0], until=1.0, switches=on.Switch(at=0.1, close="rod"))
    assert result.report.stopped == "not-closed" and result.t[-1] == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: on.Switch(open=["a"]), "either a time"),
        (lambda: on.Switch(at=-1.0, open=["a"]), "not below zero"),
        (lambda: on.Switch(at=1.0), "open="),
        (lambda: on.Switch(at=1.0, open=["a"], close=["a"]), "at once"),
        (lambda: on.Switch(3.0, open=["a"]), "at=3.0"),
        (lambda: on.Switch(at=1.0, open=["a"], tolerance=0.0), "tolerance"),
        (lambda: point().simulate([1.0, 0.0], switches=[3]), "on.Switch"),
    ],
)
def test_bad_switches_are_refused(make: object, words: str) -> None:
    with pytest.raises(on.ArgumentError, match=words):
        make()  # type: ignore[operator]


def test_unknown_loops_are_named() -> None:
    with pytest.raises(on.UnknownNameError, match="rope"):
        point().simulate([1.0, 0.0], switches=on.Switch(at=0.1, open="rope"))


@pytest.mark.slow
@pytest.mark.parametrize("part", [0.1, 0.6, 0.95])
def test_a_checkpoint_has_the_switches(part: float, tmp_path: Path) -> None:
    robot, path = point().with_loops({"rod": False}), tmp_path / "run.ckpt"
    switches = [on.Switch(on.Event(_tight, direction=1), close=["rod"]), on.Switch(at=0.8, open=["rod"])]
    whole = robot.simulate([0.6, 0.0], until=1.0, switches=switches)
    some = max(1, int(part * whole.report.steps))
    with pytest.warns(on.SimulationWarning, match="max_steps"):
        robot.simulate([0.6, 0.0], until=1.0, switches=switches, checkpoint=path, max_steps=some)
    again = robot.simulate([0.6, 0.0], until=1.0, switches=switches, checkpoint=path)
    assert np.array_equal(again.t, whole.t) and np.array_equal(again.q, whole.q)
    assert again.report.loops == whole.report.loops and whole.report.loops.switches == 2
    with pytest.raises(on.ModelError, match="loops"):
        robot.simulate([0.6, 0.0], until=1.0, checkpoint=path)


def _tight(t: float, q: np.ndarray, v: np.ndarray) -> float:
    return float(q @ q - 1.0)


def test_files_keep_what_loops_did(tmp_path: Path) -> None:
    result = point().simulate([1.0, 0.0], until=0.5, switches=on.Switch(at=0.2, open="rod"))
    for suffix in (".npz", ".csv"):
        result.save(tmp_path / f"motion{suffix}")
        again = on.load_result(tmp_path / f"motion{suffix}")
        assert again.report == result.report
        assert np.array_equal(again.loop_forces("rod"), result.loop_forces("rod"))
    times = np.linspace(0.0, 0.5, 77)
    assert np.array_equal(on.load_result(tmp_path / "motion.npz").at(times)[0], result.at(times)[0])


@pytest.mark.slow
def test_joints_bounce_with_their_loops() -> None:
    """The point strikes a floor 0.5 m below the pivot: the rod lets it move along the circle only, and so back."""
    result = point(lower=-0.5).simulate([1.0, 0.0], until=0.6, limits="bounce", restitution=1.0)
    (k,) = np.flatnonzero(np.diff(result.t) == 0.0)[:1]
    assert result.v[k + 1] == pytest.approx(-result.v[k], abs=1e-7)
    assert result.report.energy_drift < tol.LOOP_ENERGY and result.report.impacts == 1
    rest = point(lower=-0.5).simulate([1.0, 0.0], until=0.6, limits="bounce")
    assert rest.q[-1] == pytest.approx([math.sqrt(0.75), -0.5], abs=1e-9) and np.abs(rest.v[-1]).max() < 1e-9
    assert rest.report.dissipated == pytest.approx(0.5 * G, rel=1e-6)
    ended = point(lower=-0.5).simulate([1.0, 0.0], until=0.6, limits="stop")
    assert ended.report.stopped == "limit" and ended.q[-1, 1] == pytest.approx(-0.5)


@pytest.mark.slow
def test_limits_of_joints_that_close_loops() -> None:
    builder = on.Builder("bead").body("ground")
    builder.body("mass", parent="ground", joint=on.Prismatic((0, 0, 1)), mass=1.0)
    builder.loop("slide", on.Prismatic((0, 0, 1)), "ground", "mass", lower=(-1.0,))
    robot = builder.build()
    ended = robot.simulate(until=1.0, limits="stop")
    assert ended.report.stopped == "limit" and ended.q[-1, 0] == pytest.approx(-1.0)
    (found,) = robot.simulate(until=1.0).report.violations
    assert found.joint == "slide" and found.most == pytest.approx(0.5 * G - 1.0)
    rest = robot.simulate(until=1.0, limits="bounce")
    assert rest.q[-1, 0] == pytest.approx(-1.0, abs=1e-11) and rest.report.dissipated == pytest.approx(G)
