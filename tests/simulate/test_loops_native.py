"""Robots with loops whose steps are machine code: the same motions as those of steps from Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.robots.mechanisms import MECHANISMS
from tests.tolerances import REQUESTED, ROUNDING, assert_close

TIMES = np.linspace(0.0, 0.2, 5)


def agree(robot: on.Robot, until: Any = TIMES, **given: Any) -> on.Result:
    """Compare a run of compiled steps with one from Python; return the first."""
    ours = robot.simulate(until=until, native=True, **given)
    theirs = robot.simulate(until=until, native=False, **given)
    assert ours.report.native and not theirs.report.native
    assert ours.report.stopped == theirs.report.stopped
    for name in ("q", "v", "work", "dissipated"):
        assert_close(getattr(ours, name), getattr(theirs, name), REQUESTED)
    assert abs(ours.report.steps - theirs.report.steps) <= 2, "steps are the same, but for roundings of their lengths"
    mine, expected = ours.report.loops, theirs.report.loops
    assert mine is not None and expected is not None
    assert mine.violation < 1e-9 and mine.rank == expected.rank
    assert len(mine.singular) == len(expected.singular)
    assert_close(mine.projected, expected.projected, REQUESTED)
    return ours


SLOW = pytest.mark.slow


@pytest.mark.parametrize("name", ["four-bar", *(pytest.param(x, marks=SLOW) for x in ("slider-crank", "door"))])
def test_small_mechanisms(name: str) -> None:
    agree(on.load(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*MECHANISMS, "four-bar-chain-3"])
def test_mechanisms(name: str) -> None:
    agree(on.load(name))


@pytest.mark.slow
@pytest.mark.parametrize(
    "given",
    [
        {"method": "dormand-prince"},
        {"method": "rk4", "step": 1e-3},
        {"method": "semi-implicit-euler", "step": 1e-3},
        {"tau": [0.1, -0.2, 0.05]},
        {"tau": ([0.0, 0.1, 0.3], np.array([[0.0, 0.1, 0.0], [0.3, 0.0, -0.1], [0.0, 0.0, 0.2]]))},
        {"external": np.full((3, 6), 0.1)},
        {"limits": "bounce"},
    ],
    ids=lambda x: "-".join(map(str, x)),
)
def test_methods_and_forces(given: dict[str, Any]) -> None:
    agree(on.load("four-bar"), **given)


def driven() -> on.Robot:
    """A rod on a crank that time turns, against gravity and a damper."""
    link = {"mass": 1.0, "com": (0.2, 0, 0), "inertia": (0.01,) * 3, "joint": on.Revolute((0, 1, 0))}
    builder = on.Builder("crank").body("ground").body("crank", parent="ground", **link)
    builder.body("rod", parent="crank", at=(0.4, 0, 0), damping=0.1, **link)
    return builder.loop("motor", on.Driven(on.Revolute((0, 1, 0)), (0.0, 2.0, 1.0)), "ground", "crank").build()


@pytest.mark.slow
@pytest.mark.parametrize("given", [{}, {"method": "rk4", "step": 1e-3}], ids=["adaptive", "fixed"])
def test_loops_that_time_moves(given: dict[str, Any]) -> None:
    """The drive does work, which is in the balance of the energy."""
    found = agree(driven(), v0=[2.0, 0.0], **given)
    assert_close(found.q[:, 0], 2.0 * TIMES + TIMES**2, REQUESTED)
    assert abs(found.report.work) > 0.1
    assert found.report.energy_error < 1e-8


@pytest.mark.slow
@pytest.mark.parametrize("drift", ["none", "baumgarte", (4.0, 8.0)], ids=str)
def test_loops_that_are_not_projected(drift: Any) -> None:
    """Residuals are the same too: they depend on the stabilisation."""
    robot = on.load("four-bar")
    options = {"until": 0.2, "method": "rk4", "step": 5e-3, "drift": drift}
    ours, theirs = (robot.simulate(native=native, **options) for native in (True, False))
    assert ours.report.native and not theirs.report.native
    assert_close(ours.q, theirs.q, REQUESTED)
    assert_close(ours.v, theirs.v, REQUESTED)
    open_by = robot.loop_residual(theirs.q)
    assert np.abs(open_by).max() > 1e-12
    assert_close(robot.loop_residual(ours.q) / np.abs(open_by).max(), open_by / np.abs(open_by).max(), 1e-3)


def test_the_motion_within_steps() -> None:
    ours, theirs = (on.load("four-bar").simulate(until=0.3, native=native) for native in (True, False))
    t = np.linspace(0.0, 0.3, 40)
    for one, other in zip(ours.at(t), theirs.at(t), strict=True):
        assert_close(one, other, REQUESTED)


def test_sampled_controller_of_a_mechanism() -> None:
    robot = on.load("four-bar")
    control = on.controllers.Sampled(lambda t, q, v: -0.1 * v, 0.01)
    agree(robot, tau=control)


class _Counted:
    """A sampled controller that notes when it is called."""

    period = 0.004

    def __init__(self) -> None:
        self.times: list[float] = []

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        self.times.append(t)
        return -0.02 * v


@pytest.mark.parametrize("name", ["four-bar", pytest.param("double-parallelogram", marks=pytest.mark.slow)])
def test_samples_do_not_depend_on_chunks_of_steps(name: str) -> None:
    """Steps go on through many samples, but near singular positions, which the second mechanism passes."""
    robot = on.load(name)
    once, apart = _Counted(), _Counted()
    never = on.Event(lambda t, q, v: 1.0)
    whole = robot.simulate(tau=once, until=0.4, native=True)
    parts = robot.simulate(tau=apart, until=0.4, native=True, events=[never])
    assert len(whole) > 100
    for series in ("t", "q", "v", "a", "tau", "work"):
        assert_close(getattr(whole, series), getattr(parts, series), ROUNDING)
    assert once.times == apart.times == sorted(set(once.times))
    assert whole.report.loops.singular == parts.report.loops.singular


@pytest.mark.slow
def test_a_singular_position_is_passed() -> None:
    """Parallelograms lie flat twice in each turn; steps there come from Python, all others are compiled.

    They lie flat at 0.499 s. Samples are 0.05 s away from it at least: velocities have errors up to 4e-8 next to it.
    """
    robot = on.load("double-parallelogram")
    found = agree(robot, until=[0.0, 0.15, 0.3, 0.45, 0.55, 0.6])
    assert found.report.ok
    assert found.report.loops is not None and len(found.report.loops.singular) == 3


def test_a_checkpoint_continues_bit_for_bit(tmp_path: Path) -> None:
    robot, path = on.load("four-bar"), tmp_path / "run.ckpt"
    whole = robot.simulate(until=0.5)
    with pytest.warns(on.SimulationWarning, match="max_steps"):
        robot.simulate(until=0.5, max_steps=20, checkpoint=path)
    again = robot.simulate(until=0.5, checkpoint=path)
    for name in ("t", "q", "v", "a"):
        np.testing.assert_array_equal(getattr(again, name), getattr(whole, name))
    assert_close(again.report.loops.projected, whole.report.loops.projected, ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize("steps", [2, 4, 6])
def test_a_checkpoint_beyond_a_singular_position(tmp_path: Path, steps: int) -> None:
    """From there on, roundings are those of other code; a run that is continued knows."""
    robot, path, way = on.load("four-bar-chain-1"), tmp_path / "run.ckpt", np.array([1.0, -1.0, 1.0])
    given = {"q0": -0.1 * way, "v0": 4.0 * way, "until": 0.3}
    whole = robot.simulate(**given)
    assert whole.report.loops is not None and whole.report.loops.singular
    assert whole.report.steps > steps
    with pytest.warns(on.SimulationWarning, match="max_steps"):
        robot.simulate(**given, max_steps=steps, checkpoint=path)
    again = robot.simulate(**given, checkpoint=path)
    for name in ("t", "q", "v", "a"):
        np.testing.assert_array_equal(getattr(again, name), getattr(whole, name))


def test_samples_alone() -> None:
    """Without dense output, a run of a mechanism has the same samples."""
    robot = on.load("four-bar")
    whole, samples = (robot.simulate(until=0.2, dense=dense, native=True) for dense in (True, False))
    assert samples == whole and samples.dense is None and whole.dense is not None
