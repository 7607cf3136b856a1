"""Events in rollouts: first crossings per trajectory, with the order of the method; trajectories that end there."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.compile import program
from ordern.graph import where_less
from ordern.simulate import events as watched
from ordern.simulate import rollout
from ordern.simulate.integrators.tableaus import TABLEAUS
from tests.tolerances import ORDER, ROUNDING, SINGLE, assert_close

ARM = on.load("double-pendulum")
RNG = np.random.default_rng(5)
Q0, V0 = RNG.uniform(-2.5, 2.5, (13, 2)), RNG.normal(size=(13, 2))
TURN = on.Event(lambda t, q, v: v[0], name="turn")
LOW = on.Event.height("tip", -1.0)


def flipped(t: Any, q: Any, v: Any) -> Any:
    """How far the second link is over the top."""
    upper, lower = abs(q[0]), abs(q[0] + q[1])
    return where_less(upper, lower, lower, upper) - math.pi


FLIP = on.Event(flipped, terminal=True)


def same(a: on.simulate.rolled.Rollout, b: on.simulate.rolled.Rollout) -> bool:
    """Tell whether two rollouts and their events have the same bits."""
    pairs = [(a.q, b.q), (a.v, b.v)]
    pairs += [(getattr(a.events, x), getattr(b.events, x)) for x in ("time", "q", "v", "count", "stopped")]
    return all(np.ascontiguousarray(x).tobytes() == np.ascontiguousarray(y).tobytes() for x, y in pairs)


def first_times(q: Any, v: Any, events: list[on.Event], until: float) -> Any:
    """The times of the first events by `simulate`."""
    found = ARM.simulate(q, v, until=until, events=events, rtol=1e-12, atol=1e-12).events
    return [min((e.time for e in found if e.index == k), default=math.nan) for k in range(len(events))]


METHODS = [pytest.param(x, marks=[] if x == "rk4" else pytest.mark.slow) for x in TABLEAUS]


@pytest.mark.parametrize("name", METHODS)
def test_times_have_the_order_of_the_method(name: str) -> None:
    """Compare times and states with those of `simulate`, for two lengths of steps."""
    order = TABLEAUS[name].order
    steps = {1: 2000, 4: 150, 5: 100, 8: 10}[order]
    events, start = [TURN, LOW], ([1.3, 0.4], [0.2, -0.3])
    exact = np.array(first_times(*start, events, 1.0))
    assert np.isfinite(exact).all()
    errors = []
    for n in (steps, 2 * steps):
        run = ARM.rollout(*start, steps=n, dt=1.0 / n, method=name, every=n, events=events)
        assert run.events is not None
        errors.append(np.abs(run.events.time - exact).max())
        for k, e in enumerate(events):  # the function vanishes at the state of the event
            assert abs(e.bound(ARM)(run.events.time[k], run.events.q[k], run.events.v[k])) < 1e-10
    assert abs(math.log2(errors[0] / errors[1]) - order) < ORDER


def test_counts_and_directions_are_those_of_simulate() -> None:
    events = [
        TURN,
        on.Event(lambda t, q, v: v[0], name="up", direction=1),
        on.Event(lambda t, q, v: v[1] - t, "late", -1),
    ]
    run = ARM.rollout(Q0, V0, steps=400, dt=5e-3, method="rk4", events=events)
    assert run.events is not None
    for k in (0, 5, 12):
        found = ARM.simulate(Q0[k], V0[k], until=2.0, events=events).events
        assert run.events.count[k].tolist() == [sum(e.index == n for e in found) for n in range(3)]
    q, v, t = run
    assert (q.shape, v.shape, t.shape) == ((13, 401, 2), (13, 401, 2), (401,))
    assert_close(q, ARM.rollout(Q0, V0, steps=400, dt=5e-3, method="rk4").q, 0.0)
    assert (run.events["turn"].time == run.events.time[:, 0]).all()
    assert (run[3:5].events.count == run.events.count[3:5]).all()
    assert (run[7].events["up"].q == run.events["up"].q[7]).all()


def test_a_trajectory_does_not_depend_on_its_neighbours() -> None:
    events = [TURN, LOW, FLIP]
    settings: dict[str, Any] = {"steps": 600, "dt": 1e-2, "method": "rk4", "events": events}
    run = ARM.rollout(Q0, V0, **settings)
    assert run.events is not None
    ended = run.events.stopped >= 0
    assert 2 <= ended.sum() < 13
    assert same(run, ARM.rollout(Q0, V0, threads=3, **settings))
    order = np.array([12, 3, 7, 0, 0, 5])
    assert same(run[order], ARM.rollout(Q0[order], V0[order], **settings))
    plain = ARM.rollout(Q0, V0, steps=600, dt=1e-2, method="rk4")
    assert run.q[~ended].tobytes() == plain.q[~ended].tobytes()
    for k in np.flatnonzero(ended):
        time, state = run.events["flipped"].time[k], run.events["flipped"].q[k]
        rows = run.t > time
        assert (run.q[k, rows] == state).all()
        assert (run.q[k, ~rows] == plain.q[k, ~rows]).all()
        assert run.events.stopped[k] == 2
        assert run.events.count[k, 2] == 1
    thinned = ARM.rollout(Q0, V0, **settings | {"every": 7})
    assert thinned.q.tobytes() == run.q[:, ::7].tobytes()
    shorter = ARM.rollout(Q0, V0, **settings | {"steps": 595})
    assert thinned.events.time.tobytes() == shorter.events.time.tobytes()  # type: ignore[union-attr]


def test_calls_of_machine_code_go_on_with_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long rollout is many calls, of some rows each."""
    events, settings = [TURN, LOW, FLIP], {"steps": 400, "dt": 1e-2, "method": "rk4", "every": 5}
    at_once = ARM.rollout(Q0, V0, events=events, **settings)
    monkeypatch.setattr(rollout, "_PIECE_NS", 1.0)
    assert same(at_once, ARM.rollout(Q0, V0, events=events, **settings))


@pytest.mark.slow
def test_loops_over_bodies_have_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernels of long robots, and those of frames, are loops over tables."""
    events = [TURN, LOW, FLIP]
    straight = ARM.rollout(Q0, V0, steps=200, dt=1e-2, method="rk4", events=events)
    monkeypatch.setenv("ORDERN_CACHE", "off")
    monkeypatch.setattr(program, "UNROLL_LIMIT", 0)
    monkeypatch.setattr(watched, "_TRACED_BODIES", 0)
    robot = on.load("double-pendulum")
    rolled = robot.rollout(Q0, V0, steps=200, dt=1e-2, method="rk4", events=events)
    assert straight.events is not None
    assert rolled.events is not None
    assert_close(np.nan_to_num(rolled.events.time), np.nan_to_num(straight.events.time), 1e-9)
    assert (rolled.events.count == straight.events.count).all()


def test_policies_and_forces_see_the_same_events() -> None:
    """A policy is called between parts of the run; a table of its forces gives the same motion at once."""
    events = [TURN, FLIP]
    run = ARM.rollout(Q0, V0, steps=300, dt=1e-2, method="rk4", policy=lambda q, v: -0.3 * v, hold=7, events=events)
    table = ARM.rollout(Q0, V0, run.tau[:, :-1], steps=300, dt=1e-2, method="rk4", events=events)
    assert same(run, table)
    settings: dict[str, Any] = {"feedback": (3.0, 0.2, [0.5, 0.1]), "external": {"lower": [0, 0.1, 0, 0.5, 0, 0]}}
    pushed = ARM.rollout(Q0, V0, steps=100, dt=1e-2, method="rk4", events=TURN, **settings)
    assert pushed.q.tobytes() == ARM.rollout(Q0, V0, steps=100, dt=1e-2, method="rk4", **settings).q.tobytes()
    assert pushed.events.count[:, 0].any()  # type: ignore[union-attr]


@pytest.mark.slow
def test_varied_robots_and_single_precision() -> None:
    varied = ARM.vary(mass={"lower": np.linspace(0.5, 2.0, 13)})
    run = varied.rollout(Q0, V0, steps=200, dt=5e-3, method="rk4", events=[LOW, TURN])
    for k in (2, 9):
        one = ARM.vary(mass={"lower": float(np.linspace(0.5, 2.0, 13)[k])})
        alone = one.rollout(Q0[k], V0[k], steps=200, dt=5e-3, method="rk4", events=[LOW, TURN])
        assert_close(run.events.time[k], alone.events.time, ROUNDING)  # type: ignore[union-attr]
    single = ARM.rollout(
        *(x.astype(np.float32) for x in (Q0, V0)), steps=100, dt=5e-3, method="rk4", events=[LOW, TURN]
    )
    double = ARM.rollout(Q0, V0, steps=100, dt=5e-3, method="rk4", events=[LOW, TURN])
    assert single.events is not None
    assert double.events is not None
    assert single.events.q.dtype == np.float32
    assert (single.events.count == double.events.count).all()
    assert_close(np.nan_to_num(single.events.time), np.nan_to_num(double.events.time), SINGLE)
    with pytest.raises(on.ArgumentError, match="16,777,216 steps"):
        ARM.rollout(*(x.astype(np.float32) for x in (Q0, V0)), steps=2**24, dt=5e-3, every=2**24, events=TURN)


def test_events_within_one_step() -> None:
    """The first that ends a trajectory hides later ones of the same step; a zero at the start does not count."""
    rail = on.Builder("rail", gravity=(0, 0, 0)).body("world")
    rail.body("cart", parent="world", joint=on.Prismatic((1, 0, 0)), mass=1.0)
    cart = rail.build()

    def at(x: float, **more: Any) -> on.Event:
        return on.Event(lambda t, q, v: q[0] - x, f"at {x}", **more)

    events = [at(1.75), at(1.25), at(1.5, terminal=True), at(1.6, terminal=True), at(0.0), at(2.0, direction=-1)]
    run = cart.rollout([[0.0], [4.0]], [[1.0], [-1.0]], steps=5, dt=1.0, events=events)
    assert run.events is not None
    nan = math.nan
    np.testing.assert_allclose(run.events.time, [[nan, 1.25, 1.5, nan, nan, nan], [2.25, nan, nan, 2.4, nan, 2.0]])
    assert run.events.count.tolist() == [[0, 1, 1, 0, 0, 0], [1, 0, 0, 1, 0, 1]]
    assert run.events.stopped.tolist() == [2, 3]
    np.testing.assert_allclose(run.q[:, :, 0], [[0, 1, 1.5, 1.5, 1.5, 1.5], [4, 3, 2, 1.6, 1.6, 1.6]])
    time = cart.rollout([0.0], [1.0], steps=5, dt=1.0, events=on.Event(lambda t, q, v: t - 2.5, "bell"))
    assert time.events["bell"].time == 2.5  # type: ignore[index]
    assert "in 1 of 1 trajectories, the first at 2.5 s" in repr(time.events)


def test_functions_may_use_the_robot() -> None:
    own = on.Event(lambda t, q, v: ARM.pose(q, "tip")[2, 3] + 1.0, "own", direction=-1)
    energy = on.Event(lambda t, q, v: ARM.kinetic_energy(q, v) - 4.0, "fast", direction=1)
    run = ARM.rollout(Q0, V0, steps=200, dt=5e-3, method="rk4", events=[own, LOW, energy])
    assert run.events is not None
    assert_close(np.nan_to_num(run.events["own"].time), np.nan_to_num(run.events[LOW.name].time), ROUNDING)
    fast = run.events["fast"]
    some = fast.count > 0
    assert some.any()
    assert np.abs(ARM.kinetic_energy(fast.q[some], fast.v[some]) - 4.0).max() < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, {"drift": "project"}])
def test_loops(settings: dict[str, Any]) -> None:
    linkage = on.load("four-bar")
    q = linkage.assemble(linkage.neutral()).q
    v = linkage.project_velocity(q, np.ones(linkage.nv))
    event = on.Event(lambda t, q, v: q[0] - 0.3, "there")
    reference = linkage.simulate(q, v, until=1.0, events=[event]).events
    run = linkage.rollout(q, v, steps=500, dt=2e-3, method="rk4", events=event, **settings)
    assert run.events is not None
    assert run.events.count[0] == len(reference) > 0
    assert_close(run.events.time[0], reference[0].time, 1e-6)
    plain = linkage.rollout(q, v, steps=500, dt=2e-3, method="rk4", **settings)
    assert run.q.tobytes() == plain.q.tobytes()
    state = run.events["there"]
    assert np.abs(linkage.loop_residual(state.q)).max() < 1e-7


@pytest.mark.slow
def test_free_bodies_and_bounces() -> None:
    ball = on.Builder("ball").body("world")
    ball.body("ball", parent="world", joint=on.Free(), mass=1.0, inertia=np.diag([0.1, 0.2, 0.3]))
    thrown = ball.build()
    q = thrown.neutral()
    v = np.array([1.0, 2.0, 0.5, 0.0, 0.0, 3.0])
    run = thrown.rollout(q, v, steps=100, dt=1e-2, method="rk4", events=on.Event.height("ball", 0.0, terminal=True))
    assert run.events is not None
    assert_close(run.events.time[0], 2 * 3.0 / 9.81, 1e-6)
    assert_close(np.linalg.norm(run.q[-1, :4]), 1.0, ROUNDING)
    rail = on.Builder("rail", gravity=(0, 0, 0)).body("world")
    rail.body("cart", parent="world", joint=on.Prismatic((1, 0, 0)), mass=1.0, lower=0.0, upper=1.0)
    turn = on.Event(lambda t, q, v: v[0], "turn")
    struck = rail.build().rollout(
        [0.45], [1.0], steps=30, dt=0.1, limits="bounce", restitution=1.0, events=[turn, on.Event.limit("cart_joint")]
    )
    assert struck.events is not None
    assert struck.events["turn"].count == 3
    assert abs(struck.events["turn"].time - 0.55) < 0.06


@pytest.mark.slow
def test_derivatives_of_rollouts_with_events() -> None:
    settings: dict[str, Any] = {"steps": 50, "dt": 1e-2, "method": "rk4"}
    weights = np.ones((13, 51, 2))
    noted, plain = ARM.rollout(Q0, V0, **settings, events=TURN), ARM.rollout(Q0, V0, **settings)
    assert (noted.vjp(q=weights).q0 == plain.vjp(q=weights).q0).all()
    ended = ARM.rollout(Q0, V0, **settings, events=on.Event(lambda t, q, v: v[0], "turn", terminal=True))
    with pytest.raises(on.ArgumentError, match=r"an event has ended \d+ trajectories"):
        ended.vjp(q=weights)


def test_errors() -> None:
    start = [0.5, 0.1], [0.0, 0.0]

    def branch(t: float, q: Any, v: Any) -> Any:
        return q[0] if q[0] > 0 else q[1]

    cases = [
        (on.Event(branch), "where_less"),
        (on.Event(lambda t, q, v: math.cos(q[0]), "cosine"), "not a float"),
        (on.Event(lambda t, q, v: np.cos(q), "cosines"), "single numbers such as q\\[0\\]"),
        (on.Event(lambda t, q, v: 2.0 * q, "double"), "'double' returned an array of shape \\(2,\\); give one number"),
        (on.Event(lambda t, q, v: q[0], "kick", effect=lambda t, q, v: v), "'kick' has an effect"),
        ([TURN, TURN], "two events have the name 'turn'"),
        (on.Event(lambda q, v: q[0], "short"), "is called with \\(t, q, v\\)"),
        (on.Event.height("nowhere"), "nowhere"),
        (lambda t, q, v: q[0], "on.Event"),
    ]
    for events, message in cases:
        with pytest.raises(on.OrdernError, match=message):
            ARM.rollout(*start, steps=10, events=events)
    with pytest.raises(on.UnknownNameError, match="turn"):
        ARM.rollout(*start, steps=10, events=TURN).events["trun"]  # type: ignore[index]


@pytest.mark.slow
@pytest.mark.needs("jax")
def test_arrays_of_jax_are_refused() -> None:
    import jax.numpy as jnp

    with pytest.raises(on.ArgumentError, match="events= is for NumPy arrays"):
        ARM.rollout(jnp.zeros(2), jnp.zeros(2), steps=3, events=TURN)
