"""Saltation matrices: against differences of simulations through the event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ordern as on
from ordern.errors import ArgumentError, SingularError
from tests.random_models import random_robot
from tests.tolerances import assert_close

Array = NDArray[np.float64]
CLOSE = 1e-6
"""Relative. Differences of fourth order with steps of 1e-4, of runs with errors of 1e-13."""
TIGHT: dict[str, Any] = {"rtol": 1e-13, "atol": 1e-13}


def _differences(robot: on.Robot, q: Array, v: Array, end: Callable[[Array, Array], tuple[Array, Array]]) -> Array:
    """The derivatives of the state at an end by that at a start, in tangents."""
    nv, h = robot.nv, 1e-4
    there = end(q, v)[0]

    def state(x: Array) -> Array:
        q1, v1 = end(robot.integrate(q, x[:nv], 1.0), v + x[nv:])
        return np.concatenate([robot.difference(there, q1), v1])

    columns = []
    for unit in np.eye(2 * nv):
        ends = [state(s * h * unit) for s in (1, -1, 2, -2)]
        columns.append((8.0 * (ends[0] - ends[1]) - (ends[2] - ends[3])) / (12.0 * h))
    return np.stack(columns, axis=-1)


def _check(
    robot: on.Robot, q: Array, v: Array, until: float, run: dict[str, Any], after: on.Robot | None = None
) -> Array:
    """Compare the derivatives through one event with (after) S (before); return S."""

    def last(until: float, **more: Any) -> Callable[[Array, Array], tuple[Array, Array]]:
        def end(q: Array, v: Array) -> tuple[Array, Array]:
            result = robot.simulate(q, v, until=until, **TIGHT, **more)
            return result.q[-1], result.v[-1]

        return end

    result = robot.simulate(q, v, until=until, **TIGHT, **run)
    (k,) = range(len(result.events))
    S, happened = result.saltation(k), result.events[k]
    assert_close(result.saltation(happened), S, 1e-15)
    behind = np.flatnonzero(result.t == happened.time)[-1]
    first = _differences(robot, q, v, last(happened.time))
    second = _differences(robot, result.q[behind], result.v[behind], last(until - happened.time))
    through = _differences(robot, q, v, last(until, **run))
    assert_close(second @ S @ first, through, CLOSE)
    return S


def test_a_bouncing_ball() -> None:
    """By hand: g = q, v' = -e v; and the fall between."""
    builder = on.Builder("ball").body("ground")
    builder.body("ball", parent="ground", joint=on.Prismatic((0, 0, 1)), lower=0.0, upper=9.0, mass=1.0)
    ball = builder.build()
    result = ball.simulate([1.0], until=0.6, limits="bounce", restitution=0.7)
    v = float(result.events[0].v[0])
    by_hand = np.array([[-0.7, 0.0], [(-9.81 - 0.7 * 9.81) / v, -0.7]])
    assert_close(result.saltation(0), by_hand, 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("floating", [False, True])
def test_joints_that_strike_their_stops(floating: bool) -> None:
    """The impact depends on the position, by the mass matrix; a free base takes part in it."""
    robot = random_robot(3, 3, [on.Revolute, on.Prismatic], floating=floating, chain=True, passive=True)
    rng = np.random.default_rng(0)
    q, v = robot.neutral(), 0.3 * rng.normal(size=robot.nv)
    struck = robot.joints[-1]
    v[struck.v] = 8.0
    _check(robot, q, v, 0.35 if floating else 0.25, {"limits": "bounce", "restitution": 0.6})


@pytest.mark.slow
def test_kicks_and_planes() -> None:
    """Effects of the user's events: of the position, the velocity and the time; guards with and without gradients."""
    robot = random_robot(2, 3, [on.Revolute], chain=True)
    q, v = np.array([0.3, -0.2, 0.4]), np.array([1.0, -0.5, 0.7])
    there = robot.simulate(q, v, until=0.2, **TIGHT).at(0.11)[0]
    falls, height = float(there[1]), float(robot.pose(there, "tool")[2, 3])
    kick = on.Event(
        lambda t, q, v: q[1] - falls + 0.05 * np.sin(t - 0.11) * v[0],
        effect=lambda t, q, v: v * (1.1 + 0.3 * t) + np.sin(q),
        name="kick",
    )
    _check(robot, q, v, 0.25, {"events": [kick]})
    plane = on.Event.height("tool", height, direction=0)
    plane = on.Event(plane.function, "plane", 0, effect=lambda t, q, v: -0.5 * v)
    S = _check(robot, q, v, 0.25, {"events": [plane]})
    assert np.abs(S - np.eye(6)).max() > 0.1
    watched = robot.simulate(q, v, until=0.25, events=[on.Event.height("tool", height, direction=0)])
    assert_close(watched.saltation(0), np.eye(6), 1e-15)


def _along(ends: Callable[[float, Array], Array], directions: Array, h: float = 1e-4) -> Array:
    """The derivatives of an end along directions (columns)."""
    columns = [
        (8.0 * (ends(h, x) - ends(-h, x)) - (ends(2 * h, x) - ends(-2 * h, x))) / (12.0 * h) for x in directions.T
    ]
    return np.stack(columns, axis=-1)


@pytest.mark.slow
def test_joints_that_come_to_rest() -> None:
    """An impact without restitution: the joint stays at its stop, and changes of it are lost."""
    robot = random_robot(3, 3, [on.Revolute], chain=True)
    stop = robot.joints[-1].v.start
    q, v, until = robot.neutral(), np.zeros(robot.nv), 0.2
    v[stop] = 12.0
    run: dict[str, Any] = {"limits": "bounce", "restitution": 0.0, "tau": 50.0 * np.eye(robot.nv)[stop], **TIGHT}
    result = robot.simulate(q, v, until=until, **run)
    (happened,) = result.events
    S, n = result.saltation(0), robot.nv
    assert_close(S[[stop, n + stop]], np.zeros((2, 2 * n)), 1e-9)
    behind = np.flatnonzero(result.t == happened.time)[-1]
    free = {x: y for x, y in run.items() if x not in ("limits", "restitution")}

    def last(of: dict[str, Any], until: float, start: tuple[Array, Array]) -> Callable[[float, Array], Array]:
        def end(s: float, x: Array) -> Array:
            found = robot.simulate(start[0] + s * x[:n], start[1] + s * x[n:], until=until, **of)
            return np.concatenate([found.q[-1], found.v[-1]])

        return end

    first = _along(last(free, happened.time, (q, v)), np.eye(2 * n))
    directions = S @ first
    directions[[stop, n + stop]] = 0.0  # up to rounding
    second = _along(last(run, until - happened.time, (result.q[behind], result.v[behind])), directions)
    assert_close(second, _along(last(run, until, (q, v)), np.eye(2 * n)), CLOSE)


@pytest.mark.slow
def test_a_rod_that_catches() -> None:
    """A loop that closes where its distance is right: an impact that depends on the position of both links."""
    tree = on.load("double-pendulum")
    q, v, n = np.array([0.5, 0.3]), np.array([0.4, -0.2]), 2
    ahead = tree.pose(tree.simulate(q, v, until=0.3, **TIGHT).q[-1], tree.bodies[-1].name)[:3, 3]
    length = float(np.linalg.norm(ahead - np.array([0.4, 0.0, -0.2])))
    ends = {"at": (0.4, 0.0, -0.2), "active": False}
    robot = tree.builder().loop("rod", on.Distance(length), tree.base, tree.bodies[-1].name, **ends).build()  # type: ignore[arg-type]
    closed = robot.with_loops(["rod"])
    until = 0.5
    catch = on.Switch(on.Event(lambda t, q, v: float(closed.loop_residual(q)[0]), name="catch"), close=["rod"])
    result = robot.simulate(q, v, until=until, switches=[catch], **TIGHT)
    S, happened = result.saltation(0), result.events[0]
    behind = np.flatnonzero(result.t == happened.time)[-1]
    state = result.q[behind], result.v[behind]

    def before(s: float, x: Array, until: float = happened.time, **more: Any) -> Array:
        found = robot.simulate(q + s * x[:n], v + s * x[n:], until=until, **TIGHT, **more)
        return np.concatenate([found.q[-1], found.v[-1]])

    def after(s: float, x: Array) -> Array:
        there = closed.assemble(state[0] + s * x[:n], tolerance=1e-14).q
        start = closed.project_velocity(there, state[1] + s * x[n:])
        found = closed.simulate(there, start, until=until - happened.time, **TIGHT)
        return np.concatenate([found.q[-1], found.v[-1]])

    directions = S @ _along(before, np.eye(2 * n))
    assert_close(closed.loop_jacobian(state[0]) @ directions[:n], np.zeros((1, 2 * n)), CLOSE)
    through = _along(lambda s, x: before(s, x, until, switches=[catch]), np.eye(2 * n))
    assert_close(_along(after, directions), through, CLOSE)


class _FourBar:
    """A mechanism with one freedom, whose changes keep its loop closed."""

    def __init__(self) -> None:
        self.robot = on.load("four-bar")
        self.q = self.robot.assemble().q
        self.v = self.robot.project_velocity(self.q, [3.0, 0.0, 0.0], keep="drive")
        self.at = float(self.robot.simulate(self.q, self.v, until=0.1, **TIGHT).at(0.06)[0][0])

    def slope(self, start: tuple[Array, Array], until: float, **run: Any) -> Array:
        """The derivatives of the end of a run by the angle and rate of the drive, (2 nv, 2)."""
        robot, h = self.robot, 1e-4
        lift = robot.linearise(*start, independent=["drive"]).lift

        def end(x: Array) -> Array:
            dq, dv = (lift @ x).reshape(2, -1)
            there = robot.assemble(start[0] + dq, tolerance=1e-14).q
            found = robot.simulate(there, robot.project_velocity(there, start[1] + dv), until=until, **TIGHT, **run)
            return np.concatenate([found.q[-1], found.v[-1]])

        columns = [
            (8.0 * (end(h * e) - end(-h * e)) - (end(2 * h * e) - end(-2 * h * e))) / (12.0 * h) for e in np.eye(2)
        ]
        return np.stack(columns, axis=-1)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["kick", "opens"])
def test_loops_take_part_in_the_impact(what: str) -> None:
    """Along changes that keep the loop closed: a kick, and a loop that opens."""
    bar = _FourBar()
    robot, until = bar.robot, 0.12
    event = on.Event(lambda t, q, v: q[0] - bar.at, name="passes")
    kick = on.Event(event.function, effect=lambda t, q, v: v * np.array([1.3, 1.0, 0.8]), name="kick")
    run: dict[str, Any] = {"events": [kick]} if what == "kick" else {"switches": [on.Switch(event, open=["pin"])]}
    result = robot.simulate(bar.q, bar.v, until=until, **TIGHT, **run)
    S, time = result.saltation(0), result.events[0].time
    behind = np.flatnonzero(result.t == time)[-1]
    state = result.q[behind], result.v[behind]
    after = S @ bar.slope((bar.q, bar.v), time)
    through = bar.slope((bar.q, bar.v), until, **run)
    if what == "kick":  # in the freedom of the mechanism
        assert_close(robot.linearise(*state, independent=["drive"]).lift @ after[[0, 3]], after, CLOSE)
        assert_close(bar.slope(state, until - time) @ after[[0, 3]], through, CLOSE)
        return
    free = robot.opened()

    def end(q: Array, v: Array) -> tuple[Array, Array]:
        found = free.simulate(q, v, until=until - time, **TIGHT)
        return found.q[-1], found.v[-1]

    assert_close(_differences(free, *state, end) @ after, through, CLOSE)


@pytest.mark.slow
def test_events_without_matrices_are_named() -> None:
    robot = on.load("double-pendulum")
    zero = on.Event(lambda t, q, v: q[0], name="zero", effect=lambda t, q, v: -v)
    same = on.Event(lambda t, q, v: q[0], name="same", effect=lambda t, q, v: 0.5 * v)
    end = on.Event(lambda t, q, v: q[0], name="end", terminal=True)
    start = {"q0": [0.5, 0.0], "until": 1.0}
    with pytest.raises(ArgumentError, match="several take place at one moment"):
        robot.simulate(**start, events=[zero, same]).saltation(0)
    with pytest.raises(ArgumentError, match="the run ends there"):
        robot.simulate(**start, events=[end]).saltation(0)
    result = robot.simulate(**start, events=[zero])
    with pytest.raises(ArgumentError, match=f"the run has {len(result.events)} events, so there is no event 99"):
        result.saltation(99)
    with pytest.raises(ArgumentError, match="give one of the run's `events`"):
        result.saltation("zero")
    with pytest.raises(ArgumentError, match=r"only the result that robot\.simulate returned"):
        result.between(0.0, 0.5).saltation(0)
    slowly = on.Event(lambda t, q, v: (t - 0.3) ** 3, name="slowly", effect=lambda t, q, v: 2.0 * v)
    with pytest.raises(SingularError, match="only touches"):
        robot.simulate(**start, events=[slowly]).saltation(0)
