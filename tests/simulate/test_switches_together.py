"""Switches that are due at the same moment, also with events, stops and the end of the run: all of them act."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

import ordern as on
from tests import tolerances as tol
from tests.robots import ROBOTS

G = 9.81
FALL = 0.2
LANDING = math.sqrt(2.0 * FALL / G)
BALLS = ("a", "b", "c")


def balls(lower: float = -math.inf) -> on.Robot:
    """Three balls that fall side by side, each with a table under it that may hold it; and one with a limit."""
    builder = on.Builder("balls").body("ground")
    for name in BALLS:
        builder.body(name, parent="ground", joint=on.Prismatic((0, 0, 1)), joint_name=f"height {name}", mass=1.0)
        builder.loop(f"table {name}", on.Fixed(), "ground", name, active=False)
    return builder.body("d", parent="ground", joint=on.Prismatic((0, 0, 1)), mass=1.0, lower=lower).build()


def lands(k: int, *, terminal: bool = False) -> on.Event:
    return on.Event(lambda t, q, v: float(q[k]), name=f"ball {k} lands", direction=-1, terminal=terminal)


def tables(names: Sequence[str] = BALLS) -> list[on.Switch]:
    """Each table holds its ball as it comes down to it."""
    return [on.Switch(lands(BALLS.index(name)), close=[f"table {name}"]) for name in names]


def start(*below: float) -> np.ndarray:
    """Balls above their tables; some of them lower than the others."""
    q = np.full(4, FALL)
    q[: len(below)] -= below
    return q


def assert_held(result: on.Result, names: Sequence[str] = BALLS) -> None:
    """These balls, and no others of the three, were caught as they came down, and rest on their tables."""
    at = [BALLS.index(name) for name in names]
    assert result.report.loops is not None
    assert result.report.loops.switches == len(names)
    assert result.extra["loops_closed"][-1].tolist() == [float(name in names) for name in BALLS]
    assert np.abs(result.q[-1, at]).max() < tol.LOOP_MOTION
    assert np.abs(result.v[-1, at]).max() < tol.LOOP_MOTION
    lost = len(names) * G * FALL
    assert result.report.loops.lost == pytest.approx(lost, rel=tol.LOOP_MOTION)


@pytest.mark.slow
@pytest.mark.parametrize("below", [(), (0.0, 3e-17, -3e-17), (2e-11, 0.0, -1e-11)])
def test_all_balls_are_held(below: tuple[float, ...]) -> None:
    """They land at one moment, to rounding or within the tolerance of a moment."""
    result = balls().simulate(start(*below), until=0.4, switches=tables())
    assert_held(result)
    assert sorted(e.name for e in result.events) == ["ball 0 lands", "ball 1 lands", "ball 2 lands"]
    assert [e.time for e in result.events] == pytest.approx([LANDING] * 3, abs=tol.LOOP_MOTION)
    assert result.report.impacts == 1
    assert result.q[-1, 3] == pytest.approx(FALL - 0.5 * G * 0.4**2, abs=tol.LOOP_MOTION)


@pytest.mark.slow
def test_one_after_the_other() -> None:
    """Balls that land at different moments, though next to each other, are held each at its own."""
    result = balls().simulate(start(0.0, 1e-8, 1e-9), until=0.4, switches=tables())
    assert [e.name for e in result.events] == ["ball 1 lands", "ball 2 lands", "ball 0 lands"]
    assert result.report.impacts == 3
    assert_held(result)


@pytest.mark.slow
@pytest.mark.parametrize("terminal", [True, False])
def test_an_event_does_not_hide_them(terminal: bool) -> None:
    """Nor do switches hide an event; one that ends the run ends it after them."""
    events = [lands(3, terminal=terminal), lands(1)]
    result = balls().simulate(start(), until=0.4, switches=tables(), events=events)
    assert_held(result)
    assert sorted(e.index for e in result.events) == [-1, -1, -1, 0, 1]
    assert result.report.stopped == ("event" if terminal else "end")
    assert result.t[-1] == pytest.approx(LANDING if terminal else 0.4, abs=tol.LOOP_MOTION)


@pytest.mark.slow
@pytest.mark.parametrize("limits", ["stop", "bounce"])
def test_a_stop_does_not_hide_them(limits: str) -> None:
    """A joint meets its stop as balls land."""
    for below in ((), (1e-16, -1e-16, 0.0)):
        result = balls(lower=0.0).simulate(start(*below), until=0.4, switches=tables(), limits=limits, restitution=0.5)
        assert_held(result)
        assert sum(e.name == "lower limit of d_joint" for e in result.events) == 1
        speed = 0.5 * G * LANDING
        if limits == "stop":
            assert result.report.stopped == "limit"
            assert result.t[-1] == pytest.approx(LANDING, abs=tol.LOOP_MOTION)
        else:
            left = 0.4 - LANDING
            assert result.q[-1, 3] == pytest.approx(speed * left - 0.5 * G * left**2, abs=tol.LOOP_MOTION)


@pytest.mark.slow
@pytest.mark.parametrize("later", [0.0, 5e-17, -5e-17, 5e-11, -5e-11])
def test_at_a_time_and_by_an_event(later: float) -> None:
    """The moment of a switch at a time is that of a landing."""
    switches = [on.Switch(at=LANDING + later, close=["table c"]), *tables("ab")]
    for last in (0.4, LANDING + later):
        assert_held(balls().simulate(start(), until=last, switches=switches))


@pytest.mark.slow
@pytest.mark.parametrize("before", [1e-12, 1e-14, 0.0, -1e-16])
def test_after_a_step_that_is_shorter_than_a_moment(before: float) -> None:
    """The step that ends with the landing begins at the kink of a force just before."""
    kink = on.Table([0.0, LANDING - before, 1.0], np.zeros((3, 4)))
    switches = [on.Switch(at=LANDING, close=["table c"]), *tables("ab")]
    assert_held(balls().simulate(start(), tau=kink, until=0.4, switches=switches))
    assert_held(balls().simulate(start(), tau=kink, until=0.4, switches=tables()))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["dormand-prince-8", "radau"])
def test_next_to_a_sample_of_a_controller(method: str) -> None:
    """Its third sample is at 0.1 * 3 = 0.30000000000000004, which leaves next to no time for a step."""
    held = on.controllers.Sampled(lambda t, q, v: np.zeros(4), 0.1)
    result = balls().simulate(
        np.zeros(4),
        np.zeros(4),
        held,
        until=0.4,
        method=method,
        switches=[on.Switch(at=0.3, close=["table b"], tolerance=1.0)],
    )
    assert result.report.stopped == "end"
    assert result.report.loops.switches == 1


def test_at_the_end_of_the_run() -> None:
    """A switch at the time at which the run ends acts before it does."""
    result = balls().simulate(start(), until=LANDING, switches=[on.Switch(at=LANDING, close=["table b"])])
    assert_held(result, "b")
    assert result.report.stopped == "end"


@pytest.mark.slow
def test_the_later_one_counts() -> None:
    """Those at times come first, then those of events, in the order in which they are given."""
    robot = balls().with_loops({"table a": True})
    q = start(FALL)  # the first ball is held, and the others fall
    opens, closes = on.Switch(lands(1), open=["table a"]), on.Switch(lands(1), close=["table a", "table b"])
    for switches, held in (([opens, closes], 1.0), ([closes, opens], 0.0)):
        result = robot.simulate(q, until=0.4, switches=switches)
        assert result.extra["loops_closed"][-1].tolist() == [held, 1.0, 0.0]
        assert result.report.loops.switches == 2
        assert result.report.loops.lost == pytest.approx(G * FALL, rel=tol.LOOP_MOTION)
    timed = on.Switch(at=LANDING, close=["table a", "table b"])
    result = robot.simulate(q, until=0.4, switches=[opens, timed])
    assert result.extra["loops_closed"][-1].tolist() == [0.0, 1.0, 0.0]


def test_the_loop_that_is_too_far_open_is_named() -> None:
    switches = [*tables("ab"), on.Switch(at=LANDING, close=["table c"], tolerance=1e-3)]
    with pytest.warns(on.SimulationWarning, match=r"loop 'table c' was to be closed .* open by 0\.1; at most 0\.001"):
        result = balls().simulate(start(0.0, 0.0, -0.1), until=0.4, switches=switches)
    assert result.report.stopped == "not-closed"


def test_a_checkpoint_goes_on_after_them(tmp_path) -> None:
    robot, path = balls(), tmp_path / "run.ckpt"
    switches = [on.Switch(at=LANDING, close=["table c"]), *tables("ab")]
    whole = robot.simulate(start(), until=0.4, switches=switches)
    for steps in range(1, whole.report.steps):
        with pytest.warns(on.SimulationWarning, match="max_steps"):
            robot.simulate(start(), until=0.4, switches=switches, checkpoint=path, max_steps=steps)
    again = robot.simulate(start(), until=0.4, switches=switches, checkpoint=path)
    assert np.array_equal(again.t, whole.t)
    assert np.array_equal(again.q, whole.q)


@pytest.mark.slow
def test_a_quadruped_lands_on_four_feet() -> None:
    """Solo12, dropped flat: its feet stay on the floor, and the impact is that of all four at once."""
    solo = on.load(ROBOTS / "solo_description/robots/solo12.urdf", floating=True)
    feet = [f"{leg}_FOOT" for leg in ("FL", "FR", "HL", "HR")]
    builder = solo.builder()
    for foot in feet:
        frame = solo.frame(foot)
        body = solo.bodies[frame.body].name
        builder.loop(f"floor {foot}", on.PointOnPlane(), "world", body, child_at=frame.placement, active=False)
    robot = builder.build()
    q = robot.neutral()
    for c in robot.joints[1:]:
        bend = {"HAA": 0.0, "HFE": 0.7, "KFE": -1.4}[c.name[3:]]
        q[c.q] = bend if c.name.startswith("F") else -bend
    q[6] += 0.1 - robot.pose(q, feet[0])[2, 3]
    switches = [on.Switch(on.Event.height(foot), close=[f"floor {foot}"]) for foot in feet]
    result = robot.simulate(q, until=0.25, switches=switches)
    assert result.report.loops is not None
    assert result.report.loops.switches == 4
    (k,) = np.flatnonzero(np.diff(result.t) == 0.0)
    assert result.t[k] == pytest.approx(math.sqrt(0.2 / G), abs=tol.LOOP_MOTION)
    heights = np.array([[robot.pose(x, foot)[2, 3] for foot in feet] for x in result.q[k:]])
    assert np.abs(heights).max() < tol.LOOP_MOTION
    J = np.array([robot.jacobian(result.q[k], foot, axes="world")[5] for foot in feet])
    M = robot.mass_matrix(result.q[k])
    inverse = np.linalg.solve(M, J.T)
    after = result.v[k] - inverse @ np.linalg.solve(J @ inverse, J @ result.v[k])
    tol.assert_close(result.v[k + 1], after, tol.LOOP_MOTION)
    assert result.report.energy_drift < tol.LOOP_ENERGY
