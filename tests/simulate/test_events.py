"""Events and joint limits against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

import ordern as on
from ordern.errors import ArgumentError, UnknownNameError
from ordern.simulate.constraints.limits import complementary
from ordern.simulate.events import Event
from ordern.simulate.forces import Table
from tests.tolerances import EVENT_TIME, REQUESTED, ROUNDING, assert_close

G = 9.81


def slider(lower: float = -np.inf, upper: float = np.inf, mass: float = 2.0) -> on.Robot:
    """A weight that slides up and down."""
    made = on.Builder("slider").body("base")
    joint = {"joint": on.Prismatic((0, 0, 1)), "joint_name": "lift", "lower": lower, "upper": upper}
    return made.body("weight", parent="base", mass=mass, **joint).build()


FREE = slider()


@pytest.mark.slow
@pytest.mark.parametrize("native", [None, False])
@pytest.mark.parametrize("method", ["dormand-prince-8", "dormand-prince", "cash-karp", "rk4"])
def test_time_of_a_fall(method: str, native: bool | None) -> None:
    step = {"step": 0.05} if method == "rk4" else {}
    ground = Event.plane("weight", terminal=True)
    result = FREE.simulate([3.0], until=10.0, events=[ground], method=method, native=native, **step)
    expected = math.sqrt(2 * 3.0 / G)
    (event,) = result.events
    assert abs(event.time - expected) < EVENT_TIME
    assert abs(event.q[0]) < EVENT_TIME
    assert result.t[-1] == event.time and result.report.stopped == "event" and result.report.ok
    assert "weight at plane" in result.report.message
    assert_close(result.v[-1], [-G * expected], REQUESTED)


@pytest.mark.slow
def test_direction_and_order() -> None:
    """Up and down through two heights: each passage at its time, in the order of time, also within one step."""
    names = [("up", 1), ("down", -1), ("both", 0)]
    events = [Event(lambda t, q, v: q[0] - 1.0, name, direction) for name, direction in names]
    events.append(Event(lambda t, q, v: v[0], "top"))
    events.append(Event.height("weight", 1.1, direction=1))
    result = FREE.simulate([0.0], [6.0], until=1.2, events=events)
    up, down = ((6.0 - sign * math.sqrt(36.0 - 2 * G)) / G for sign in (1, -1))
    second = (6.0 - math.sqrt(36.0 - 2 * G * 1.1)) / G
    expected = [("both", up), ("up", up), ("weight at height 1.1", second), ("top", 6.0 / G)]
    expected += [("both", down), ("down", down)]
    found = [(e.name, e.time) for e in result.events]
    assert sorted(n for n, _ in found) == sorted(n for n, _ in expected)
    assert_close([t for _, t in found], [t for _, t in expected], EVENT_TIME)
    for e in result.events:
        assert events[e.index].name == e.name


@pytest.mark.slow
def test_a_start_on_the_event_is_no_event() -> None:
    event = Event(lambda t, q, v: q[0], "start", terminal=True)
    result = FREE.simulate([0.0], [1.0], until=0.1, events=[event])
    assert result.events == () and result.report.stopped == "end"
    result = FREE.simulate([0.0], [1.0], until=1.0, events=[event])
    assert abs(result.t[-1] - 2.0 / G) < EVENT_TIME


def test_only_the_first_terminal_event_counts() -> None:
    events = [Event(lambda t, q, v, h=h: q[0] - h, f"{h}", terminal=True) for h in (0.2, 0.6, 0.4)]
    result = FREE.simulate([1.0], until=2.0, events=events)
    assert [e.name for e in result.events] == ["0.6"]
    assert abs(result.q[-1, 0] - 0.6) < EVENT_TIME


def test_dense_output_ends_at_the_event() -> None:
    result = FREE.simulate([1.0], until=2.0, events=[Event.height("weight", 0.5, terminal=True)])
    t = np.linspace(0.0, result.t[-1], 9)
    assert_close(result.at(t)[0][:, 0], 1.0 - 0.5 * G * t**2, REQUESTED)


def test_limit_event() -> None:
    robot = slider(-1.0, 1.0)
    result = robot.simulate([0.0], [3.0], until=1.0, events=[Event.limit("lift")])
    (first,) = result.events
    assert first.name == "limit of lift"
    assert abs(first.time - (3.0 + math.sqrt(9.0 + 2 * G)) / G) < EVENT_TIME
    assert abs(first.q[0] + 1.0) < EVENT_TIME


def test_limits_that_are_ignored_are_reported() -> None:
    result = slider(-1.0, 0.1).simulate([0.0], [3.0], until=1.0)
    (found,) = result.report.violations
    assert found.joint == "lift" and found.time > 0.0
    lowest = -(0.0 + 3.0 - 0.5 * G) - 1.0
    highest = 9.0 / (2 * G) - 0.1
    assert 0.0 < found.most <= max(lowest, highest) + ROUNDING
    assert "lift left its limits" in str(result.report)


def test_limits_stop() -> None:
    result = slider(-1.0, 1.0).simulate([0.5], until=5.0, limits="stop")
    assert abs(result.t[-1] - math.sqrt(3.0 / G)) < EVENT_TIME
    assert result.report.stopped == "limit" and result.report.ok
    assert "lower limit of lift" in result.report.message
    assert result.events[0].index == -1
    assert slider(-1.0, 1.0).simulate([-1.0], until=1.0, limits="stop").t[-1] == 0.0


@pytest.mark.parametrize("native", [None, False])
@pytest.mark.parametrize("method", ["dormand-prince-8", "radau"])
def test_a_ball_bounces(method: str, native: bool | None) -> None:
    e, h = 0.6, 1.0
    native = None if method == "radau" else native
    result = slider(0.0).simulate([h], until=1.9, limits="bounce", restitution=e, method=method, native=native)
    first = math.sqrt(2 * h / G)
    speed = G * first
    expected, t = [first], first
    while True:
        speed *= e
        t += 2 * speed / G
        if t > 1.9 or speed < 1e-4:
            break
        expected.append(t)
    times = [x.time for x in result.events][: len(expected)]
    assert_close(times, expected, REQUESTED)
    assert result.report.impacts == len(result.events) >= len(expected)
    assert np.min(result.q) > -ROUNDING
    assert result.report.energy_drift < REQUESTED
    assert all(x.v[0] < 0.0 for x in result.events)


def test_a_ball_comes_to_rest_and_is_lifted() -> None:
    """Infinitely many bounces end; then a force that grows lifts it, from the moment at which it bears the weight."""
    m = 2.0
    robot = slider(0.0, mass=m)
    grows = Table([0.0, 2.0, 4.0], [[0.0], [0.0], [2 * m * G]])
    result = robot.simulate([0.2], tau=grows, until=4.0, limits="bounce", restitution=0.4)
    q, v = result.at(np.linspace(2.0, 2.99, 9))
    assert not q.any() and not v.any()
    s = result.t[result.t >= 3.0] - 3.0
    assert_close(result.q[result.t >= 3.0][:, 0], G * s**3 / 6.0, REQUESTED)
    assert_close(result.dissipated[-1], m * G * 0.2, REQUESTED)
    assert result.report.energy_drift < REQUESTED


def test_no_restitution_is_a_hard_stop() -> None:
    robot = slider(0.0)
    result = robot.simulate([0.3], until=1.0, limits="bounce")
    assert result.report.impacts == 1
    assert result.q[-1, 0] == 0.0 and result.v[-1, 0] == 0.0 and result.a[-1, 0] == 0.0


@pytest.mark.slow
def test_impact_goes_through_the_mass_matrix() -> None:
    """One joint of several strikes: v+ = v - (1 + e) M^-1 e_j v_j / (M^-1)_jj."""
    base = on.load("double-pendulum")
    robot = on.Builder("stopped").body("base")
    rod = {"mass": 1.0, "com": (0, 0, -0.5), "inertia": (0.1, 0.1, 0.01)}
    robot = robot.body("upper", parent="base", joint=on.Revolute((0, 1, 0)), joint_name="shoulder", **rod)
    elbow = {"joint": on.Revolute((0, 1, 0)), "joint_name": "elbow", "lower": -0.2, "upper": 2.0, "at": (0, 0, -1.0)}
    arm = robot.body("lower", parent="upper", **elbow, **rod).build()
    assert base.nv == arm.nv
    e = 0.5
    result = arm.simulate([0.5, 0.8], [0.0, -4.0], until=1.0, limits="bounce", restitution=e)
    strike = result.events[0]
    k = int(np.flatnonzero(np.diff(result.t) == 0.0)[0])
    inverse = np.linalg.inv(arm.mass_matrix(strike.q))
    expected = strike.v - (1 + e) * inverse[:, 1] * strike.v[1] / inverse[1, 1]
    assert strike.name == "lower limit of elbow" and result.q[k, 1] == pytest.approx(-0.2, abs=EVENT_TIME)
    assert_close(result.v[k + 1], expected, ROUNDING)
    assert result.report.energy_drift < REQUESTED
    assert result.q[:, 1].min() > -0.2 - EVENT_TIME


@pytest.mark.slow
def test_joints_at_rest_on_two_stops() -> None:
    """Two stacked sliders fall onto their stops, and both rest."""
    made = on.Builder("stack").body("base")
    one = {"joint": on.Prismatic((0, 0, 1)), "mass": 1.0, "lower": 0.0, "upper": 5.0}
    robot = made.body("a", parent="base", **one).body("b", parent="a", **one).build()
    result = robot.simulate([0.5, 0.2], [0.0, -1.0], until=2.0, limits="bounce", restitution=0.3)
    assert_close(result.q[-1], [0.0, 0.0], ROUNDING)
    assert not result.v[-1].any()
    assert result.report.energy_drift < REQUESTED


def three_stops() -> on.Robot:
    """Two pendulums and a slider, upright, all with stops: they fall, and come to rest one after the other."""
    made = on.Builder("stops").body("base")
    joints = [
        ("j1", on.Revolute((0, 1, 0)), 0.0, {"lower": -1.5, "upper": 1.5, "damping": 0.1, "friction": 0.2}, 2.0, 0.25),
        ("j2", on.Revolute((0, 1, 0)), 0.5, {"lower": -2.0, "upper": 2.0, "damping": 0.05, "friction": 0.1}, 1.0, 0.2),
        ("j3", on.Prismatic((0, 0, 1)), 0.4, {"lower": 0.0, "upper": 0.3, "damping": 2.0}, 0.5, 0.1),
    ]
    parent = "base"
    for name, joint, at, limits, mass, com in joints:
        inertia = (0.025 * mass, 0.025 * mass, 0.005 * mass)
        made = made.body(
            f"link {name}",
            parent=parent,
            joint=joint,
            joint_name=name,
            at=(0, 0, at),
            mass=mass,
            com=(0, 0, com),
            inertia=inertia,
            **limits,
        )
        parent = f"link {name}"
    return made.build()


@pytest.mark.slow
@pytest.mark.parametrize("method", ["dormand-prince-8", "cash-karp", "radau"])
def test_joints_that_rest_stay_when_another_strikes(method: str) -> None:
    """An impact leaves velocities of rounding size at joints on their stops: they must not get through."""
    robot = three_stops()
    rtol = {"rtol": 1e-7, "atol": 1e-7} if method == "radau" else {}
    result = robot.simulate([0.2, 0.1, 0.1], until=1.5, limits="bounce", method=method, **rtol)
    assert (result.q >= robot.lower - EVENT_TIME).all() and (result.q <= robot.upper + EVENT_TIME).all()
    strikes = [e.name for e in result.events]
    assert strikes == ["lower limit of j3", "upper limit of j1", "upper limit of j3", "upper limit of j2"]
    assert result.q[-1, 0] == 1.5 and result.q[-1, 2] == 0.3, "j1 and j3 rest when j2 strikes, and go on to"
    assert not result.v[-1, [0, 2]].any()
    assert result.report.violations == ()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_no_joint_gets_through_its_stop(seed: int, restitution: float) -> None:
    robot = three_stops()
    rng = np.random.default_rng(seed)
    q0 = robot.lower + rng.uniform(size=3) * (robot.upper - robot.lower)
    result = robot.simulate(q0, rng.normal(size=3), until=2.0, limits="bounce", restitution=restitution)
    assert result.report.ok and result.report.violations == ()
    assert result.report.energy_drift < 1e-8


@pytest.mark.slow
def test_two_joints_strike_at_once() -> None:
    """Two equal weights side by side: one impact of both, and neither is lost."""
    made = on.Builder("pair").body("base")
    one = {"joint": on.Prismatic((0, 0, 1)), "mass": 1.0, "lower": 0.0, "upper": 5.0}
    robot = made.body("a", parent="base", **one).body("b", parent="base", **one).build()
    result = robot.simulate([0.7, 0.7], until=3.0, limits="bounce", restitution=0.5)
    assert_close(result.q[:, 0], result.q[:, 1], EVENT_TIME)
    assert result.q.min() > -EVENT_TIME
    assert_close(result.q[-1], [0.0, 0.0], EVENT_TIME)


def test_violations_of_rounding_size_are_none() -> None:
    result = slider(0.0, 1.0).simulate([0.0], tau=[2.0 * G * (1.0 - 1e-14)], until=1.0)
    assert result.q.min() < 0.0 and result.report.violations == ()


def test_complementarity() -> None:
    rng = np.random.default_rng(0)
    for n in range(1, 6):
        for _ in range(20):
            B = rng.normal(size=(n, n))
            A, b = B @ B.T + 0.1 * np.eye(n), rng.normal(size=n)
            p = complementary(A, b)
            w = A @ p + b
            assert (p >= 0.0).all() and (w > -1e-10).all() and abs(p @ w) < 1e-10


def test_mistakes_are_named() -> None:
    with pytest.raises(ArgumentError, match="direction must be -1, 0 or 1"):
        Event(lambda t, q, v: 0.0, direction=2)
    with pytest.raises(ArgumentError, match="not all zero"):
        Event.plane("weight", (0, 0, 0))
    with pytest.raises(UnknownNameError, match="wieght"):
        FREE.simulate(events=[Event.plane("wieght")])
    with pytest.raises(UnknownNameError, match="lfit"):
        FREE.simulate(events=[Event.limit("lfit")])
    with pytest.raises(ArgumentError, match="'lift' has no limits"):
        FREE.simulate(events=[Event.limit("lift")])
    with pytest.raises(ArgumentError, match=r"events must be on\.Event objects, events=\[on\.Event\(function"):
        FREE.simulate(events=[lambda t, q, v: 0.0])
    for given in (lambda t, q, v: 0.0, "limit", 3):
        with pytest.raises(ArgumentError, match=r"events must be on\.Event objects, events=\[on\.Event\(function"):
            FREE.simulate(events=given)
    with pytest.raises(
        ArgumentError, match=r"event 'two': the function is called with \(t, q, v\), but takes \(t, q\)"
    ):
        FREE.simulate(events=[Event(lambda t, q: 0.0, "two")])
    with pytest.raises(ArgumentError, match=r"event 'odd' returned 'no' at t = "):
        FREE.simulate(events=[Event(lambda t, q, v: "no", "odd")])
    with pytest.raises(UnknownNameError, match="bounce"):
        FREE.simulate(limits="bonce")
    with pytest.raises(ArgumentError, match="restitution"):
        FREE.simulate(limits="bounce", restitution=1.5)
    with pytest.raises(ArgumentError, match="joint 'lift' starts at 2, beyond its upper limit 1"):
        slider(-1.0, 1.0).simulate([2.0], limits="stop")


# ---- effects of one's own


def ball() -> on.Robot:
    falls = {"parent": "ground", "joint": on.Prismatic((0, 0, 1)), "mass": 2.0}
    return on.Builder("ball").body("ground").body("ball", **falls).build()


def test_an_effect_is_an_impact_of_ones_own() -> None:
    """A ball falls from 1 m, and bounces off a floor that the library knows nothing of: closed form."""
    e = 0.8
    floor = Event(lambda t, q, v: q[0], name="floor", direction=-1, effect=lambda t, q, v: -e * v)
    result = ball().simulate([1.0], until=1.0, events=[floor])
    fall = np.sqrt(2.0 / 9.81)
    times = [fall, fall * (1.0 + 2.0 * e)]
    assert [x.time for x in result.events] == pytest.approx(times[:1] if times[1] > 1.0 else times, abs=1e-12)
    assert (result.report.impacts, result.report.stopped) == (1, "end")
    left = 1.0 - fall
    assert result.q[-1, 0] == pytest.approx(e * 9.81 * fall * left - 0.5 * 9.81 * left**2, abs=1e-10)
    assert result.report.dissipated == pytest.approx(2.0 * 9.81 * (1.0 - e**2), abs=1e-10)
    assert result.report.energy_error < 1e-10
    (k,) = np.flatnonzero(np.diff(result.t) == 0.0)  # a row before the impact, and one after it
    assert result.v[k + 1, 0] == pytest.approx(-e * result.v[k, 0])


@pytest.mark.slow
def test_loops_share_in_an_effect() -> None:
    """A point on a rod is kicked up at the lowest position: the rod takes all but the part along the circle."""
    builder = on.Builder("held point").body("ground")
    builder.body("x", parent="ground", joint=on.Prismatic((1, 0, 0)), mass=1e-9)
    builder.body("point", parent="x", joint=on.Prismatic((0, 0, 1)), mass=1.0)
    robot = builder.loop("rod", on.Distance(1.0), "ground", "point").build()
    kick = Event(lambda t, q, v: q[0], name="kick", effect=lambda t, q, v: 0.5 * v + np.array([0.0, 3.0]))
    result = robot.simulate([1.0, 0.0], until=0.7, events=[kick])
    (k,) = np.flatnonzero(np.diff(result.t) == 0.0)
    assert result.v[k + 1] == pytest.approx([0.5 * result.v[k, 0], 0.0], abs=1e-9)
    assert result.report.loops is not None and result.report.loops.violation < 1e-11
    assert result.report.energy_drift < 1e-9


def test_effects_that_end_the_run_or_change_nothing() -> None:
    seen = []
    look = Event(lambda t, q, v: q[0] - 0.5, name="half", effect=lambda t, q, v: seen.append(float(t)))
    land = Event(lambda t, q, v: q[0], name="lands", terminal=True, effect=lambda t, q, v: 0.0 * v)
    result = ball().simulate([1.0], until=1.0, events=[look, land])
    assert seen == pytest.approx([np.sqrt(1.0 / 9.81)], abs=1e-12)
    assert (result.report.stopped, result.report.impacts, result.v[-1, 0]) == ("event", 1, 0.0)
    few = Event(lambda t, q, v: q[0], name="few", effect=lambda v: -v)
    with pytest.raises(on.ArgumentError, match=r"event 'few': the effect is called with \(t, q, v\), but takes \(v\)"):
        ball().simulate([1.0], events=[few])
    with pytest.raises(on.ArgumentError, match=r"event 'bad': the effect returned .* give 1 finite velocities"):
        ball().simulate([1.0], events=[Event(lambda t, q, v: q[0], name="bad", effect=lambda t, q, v: [1.0, 2.0])])
    with pytest.raises(on.ArgumentError, match="effect must be a function"):
        Event(lambda t, q, v: q[0], effect=3.0)  # type: ignore[arg-type]


def test_a_checkpoint_knows_the_effect(tmp_path) -> None:
    def run(e: float) -> on.Result:
        floor = Event(lambda t, q, v: q[0], name="floor", direction=-1, effect=lambda t, q, v: -e * v)
        return ball().simulate([1.0], until=1.0, events=[floor], checkpoint=tmp_path / "ball.ckpt")

    first = run(0.8)
    assert run(0.8) == first
    with pytest.raises(on.ModelError, match="events"):
        run(0.7)
