"""Motions of robots with closed loops, against closed forms, references, and the same motion in minimal coordinates."""

from __future__ import annotations

import math

import numpy as np
import pytest

import ordern as on
from ordern import robots
from ordern.robots.mechanisms import four_bar, four_bar_chain
from tests import tolerances as tol


def pendulum(closure: object = None, **more: object) -> on.Robot:
    """A point of 1 kg that may move in the plane x-z, held at 1 m from the origin by a loop."""
    builder = on.Builder("held point").body("ground")
    builder.body("x", parent="ground", joint=on.Prismatic((1, 0, 0)), mass=1e-9)
    builder.body("point", parent="x", joint=on.Prismatic((0, 0, 1)), mass=1.0)
    builder.loop("rod", closure or on.Distance(1.0), "ground", "point", **more)
    return builder.build()


HELD = np.array([1.0, 0.0])


def swing(q: float, until: float) -> float:
    """The angle of a mathematical pendulum of 1 m that starts at rest at an angle from the lowest position: mpmath."""
    mp = pytest.importorskip("mpmath")
    k = mp.sin(mp.mpf(q) / 2)
    w = mp.sqrt(mp.mpf("9.81"))
    sn = mp.ellipfun("sn", mp.ellipk(k**2) - w * mp.mpf(until), k=k)
    return float(2 * mp.asin(k * sn))


@pytest.mark.slow
@pytest.mark.parametrize("drift", ["project", "baumgarte", "none", (5.0, 10.0)])
def test_a_held_point_swings_like_a_pendulum(drift: object) -> None:
    result = pendulum().simulate(HELD, until=2.0, drift=drift)
    angle = math.atan2(result.q[-1, 0], -result.q[-1, 1])
    assert angle == pytest.approx(swing(math.pi / 2, 2.0), abs=tol.LOOP_MOTION)
    assert result.report.energy_drift < tol.LOOP_ENERGY
    loops = result.report.loops
    assert loops is not None and loops.violation < (1e-11 if drift == "project" else 1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["dormand-prince", "cash-karp", "radau"])
def test_adaptive_methods_swing_alike(method: str) -> None:
    result = pendulum().simulate(HELD, until=1.0, method=method, rtol=1e-8, atol=1e-8)
    assert math.atan2(result.q[-1, 0], -result.q[-1, 1]) == pytest.approx(swing(math.pi / 2, 1.0), abs=1e-7)
    assert result.report.loops.violation < 1e-11


@pytest.mark.slow
@pytest.mark.parametrize(("method", "error"), [("rk4", 1e-8), ("semi-implicit-euler", 2e-2)])
def test_fixed_steps_stay_closed(method: str, error: float) -> None:
    result = pendulum().simulate(HELD, until=1.0, method=method, step=2e-3)
    assert math.atan2(result.q[-1, 0], -result.q[-1, 1]) == pytest.approx(swing(math.pi / 2, 1.0), abs=error)
    assert result.report.loops.violation < 1e-11


@pytest.mark.slow
@pytest.mark.parametrize("dynamics", ["multipliers", "kkt", "null-space", "null-space-elimination"])
def test_methods_of_dynamics_move_alike(dynamics: str) -> None:
    result = pendulum().simulate(HELD, until=0.5, dynamics=dynamics)
    assert math.atan2(result.q[-1, 0], -result.q[-1, 1]) == pytest.approx(swing(math.pi / 2, 0.5), abs=tol.LOOP_MOTION)
    assert result.report.dynamics == dynamics


@pytest.mark.slow
def test_samples_and_times_between_are_closed() -> None:
    robot = pendulum()
    result = robot.simulate(HELD, until=np.linspace(0.0, 2.0, 101), rtol=1e-6, atol=1e-6)
    assert np.abs(robot.loop_residual(result.q)).max() < 1e-11
    q, v = result.at(np.linspace(0.0, 2.0, 777))
    assert np.abs(robot.loop_residual(q)).max() < 1e-11
    assert np.abs(robot.loop_rate(q, v)).max() < 1e-11
    assert np.abs(result.loop_residuals["rod"]).max() < 1e-11


@pytest.mark.slow
def test_force_of_a_loop_is_the_tension() -> None:
    result = pendulum().simulate(HELD, until=1.0)
    height = -result.q[:, 1]
    tension = 3.0 * 9.81 * height  # m g cos + m v^2 / l, with v^2 = 2 g h
    force = np.linalg.norm(result.loop_forces("rod")[:, 3:], axis=1)
    assert np.abs(force - tension).max() < tol.LOOP_FORCE
    with pytest.raises(on.UnknownNameError, match="rods"):
        result.loop_forces("rods")


@pytest.mark.slow
def test_springs_and_dampers_of_loops_are_in_the_books() -> None:
    builder = on.Builder("sprung").body("ground")
    builder.body("mass", parent="ground", joint=on.Prismatic((0, 0, 1)), mass=1.0)
    builder.loop("slide", on.Prismatic((0, 0, 1)), "ground", "mass", stiffness=(100.0,), damping=(0.5,))
    robot = builder.build()
    result = robot.simulate([0.1], until=1.0)
    d, w2 = 0.25, 100.0
    w, rest = math.sqrt(w2 - d**2), -9.81 / 100.0
    x = rest + (0.1 - rest) * np.exp(-d * result.t) * (np.cos(w * result.t) + d / w * np.sin(w * result.t))
    assert np.abs(result.q[:, 0] - x).max() < tol.LOOP_MOTION
    assert result.elastic[-1] == pytest.approx(50.0 * result.q[-1, 0] ** 2)
    assert result.report.energy_drift < tol.LOOP_ENERGY
    total = result.energy[0] - result.energy[-1]
    assert result.report.dissipated == pytest.approx(total, abs=1e-9) and total > 0.0


@pytest.mark.slow
def test_driven_loops_do_work() -> None:
    builder = on.Builder("driven").body("ground")
    builder.body("mass", parent="ground", joint=on.Prismatic((0, 0, 1)), mass=2.0)
    builder.loop("drive", on.Driven(on.Prismatic((0, 0, 1)), coefficients=(0.0, 0.0, 0.5)), "ground", "mass")
    result = builder.build().simulate(until=2.0)
    assert result.q[-1, 0] == pytest.approx(2.0, abs=1e-11)  # t^2 / 2
    assert result.report.work == pytest.approx(2.0 * (9.81 + 1.0) * 2.0)
    assert result.report.energy_error < 1e-8
    stiff = builder.build().simulate(until=2.0, method="radau", rtol=1e-8, atol=1e-8)
    assert stiff.report.work == pytest.approx(2.0 * (9.81 + 1.0) * 2.0)


@pytest.mark.slow
def test_redundant_constraints_do_not_lock() -> None:
    robot = on.load("bricard")
    q = np.asarray(robots.positions("bricard")["assembled"], float)
    result = robot.simulate(q, until=2.0)
    loops = result.report.loops
    assert (loops.rank, loops.constraints) == (4, 5)
    assert result.report.ok and result.report.kinetic > 1.0
    assert result.report.energy_drift < tol.LOOP_ENERGY and loops.violation < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 3])
def test_chain_of_four_bars_passes_its_singular_position(n: int) -> None:
    """It stays a chain of parallelograms: all posts turn alike, as the physical pendulum that they are."""
    robot = on.load(f"four-bar-chain-{n}")
    result = robot.simulate(four_bar_chain.assembled_position(n), four_bar_chain.initial_velocity(n), until=1.5)
    assert np.ptp(result.q[-1, 2::2]) < 1e-8 and result.q[-1, 0] == pytest.approx(result.q[-1, 2])
    # of one freedom: (n + 1) posts about their feet, n beams along a circle
    inertia, moment = (n + 1) / 3 + n, 9.81 * ((n + 1) / 2 + n)
    energy = 0.5 * inertia + moment
    speed = np.sqrt(2.0 * (energy - moment * np.sin(result.q[:, 0])) / inertia)
    assert np.abs(np.abs(result.v[:, 0]) - speed).max() < tol.LOOP_SINGULAR
    loops = result.report.loops
    assert loops.violation < 1e-9 and loops.singular
    assert {(x.rank, x.usual) for x in loops.singular} == {(n, 2 * n)}
    assert result.report.energy_drift < tol.LOOP_SINGULAR


@pytest.mark.slow
def test_start_at_a_singular_position_is_finite_and_told() -> None:
    robot = on.load("four-bar-chain-1")
    result = robot.simulate(four_bar_chain.assembled_position(1, 0.0), until=0.1)
    assert np.isfinite(result.q).all() and np.isfinite(result.a).all()
    assert result.report.loops.singular[0].time == 0.0
    assert "singular" in str(result.report)


def test_starts_that_are_open_are_refused_by_name() -> None:
    robot = on.load("four-bar")
    q = np.asarray(robots.positions("four-bar")["assembled"], float)
    with pytest.raises(on.ArgumentError, match=r"q0: loop 'pin' .* open by 0\.0.*robot\.assemble\(q0\)\.q"):
        robot.simulate(q + np.array([0.1, 0.0, 0.0]))
    with pytest.raises(on.ArgumentError, match=r"v0: loop 'pin' .*robot\.project_velocity\(q0, v0\)"):
        robot.simulate(q, [1.0, 0.0, 0.0])
    result = robot.simulate(q + 1e-8, until=0.01)
    assert np.abs(robot.loop_residual(result.q)).max() < 1e-11
    assembled = robot.simulate(until=0.01)
    assert np.abs(robot.loop_residual(assembled.q)).max() < 1e-11


def test_what_cannot_be_is_refused() -> None:
    robot = pendulum()
    with pytest.raises(on.ArgumentError, match=r"articulated-body.*opened\(\)"):
        robot.simulate(HELD, dynamics="articulated-body")
    with pytest.raises(on.ArgumentError, match=r"variational.*trees"):
        robot.simulate(HELD, method="variational", step=1e-3)
    with pytest.raises(on.ArgumentError, match="drift must be"):
        robot.simulate(HELD, drift="much")
    switch = on.Switch(at=0.1, open=robot.loops[0].name)
    with pytest.raises(on.ArgumentError, match="native=True, but loops that open and close are stepped from Python"):
        robot.simulate(HELD, native=True, switches=[switch])
    with pytest.raises(on.ArgumentError, match="native=True, but the method of the closed dynamics is not compiled"):
        robot.simulate(HELD, native=True, dynamics="null-space")


@pytest.mark.slow
def test_four_bar_as_one_freedom() -> None:
    """Against the same linkage in its crank's angle alone: energy gives the speed at each angle."""
    robot = on.load("four-bar")
    q = np.asarray(four_bar.assembled_position(1.0), float)
    result = robot.simulate(q, until=3.0)
    energy = float(robot.potential_energy(q))
    for k in range(0, len(result), 20):
        at = result.q[k]
        (N,) = robot.mobility(at).motions.T
        speed2 = 2.0 * (energy - float(robot.potential_energy(at))) / float(N @ robot.mass_matrix(at) @ N)
        along = float(N @ result.v[k])
        assert along**2 == pytest.approx(speed2, abs=tol.LOOP_ENERGY * 100)
    assert result.report.native and result.report.loops.violation < 1e-9


@pytest.mark.slow
def test_couplings_are_kept() -> None:
    builder = on.Builder("geared").body("ground")
    for name in ("one", "two"):
        builder.body(name, parent="ground", joint=on.Revolute((0, 1, 0)), joint_name=name, mass=1.0, com=(0, 0, -0.5))
    robot = builder.couple("gear", "two", "one", (0.0, 2.0)).build()
    result = robot.simulate([0.3, 0.6], until=1.0)
    assert np.abs(result.loop_residuals["gear"]).max() < 1e-11
    assert result.loop_forces("gear").shape == (len(result),)
    assert result.report.energy_drift < tol.LOOP_ENERGY
