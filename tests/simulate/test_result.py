"""Results: series, energies and momenta of motions in closed form; parts, interpolation, joining, views."""

from __future__ import annotations

import pickle
import sys
from dataclasses import replace

import numpy as np
import pytest

import ordern as on
from ordern.errors import ArgumentError, OrdernError, UnknownNameError
from ordern.simulate.results.interpolation import monotone
from ordern.simulate.results.result import Result
from tests.random_models import random_robot
from tests.simulate.motions import (
    AMPLITUDE,
    GRAVITY,
    INERTIA,
    MASS,
    SPEED,
    SPIN,
    START,
    STIFFNESS,
    ball,
    eventful,
    falling,
    swinging,
)
from tests.tolerances import CLOSED_FORM, DRAWN, DRAWN_RATES, FINITE_DIFFERENCE, ROUNDING, assert_close

T = np.linspace(0.0, 1.2, 25)


def test_energies_of_a_ball() -> None:
    r = falling(T)
    speed = SPEED + GRAVITY * T[:, None]
    height = START[2] + SPEED[2] * T + 0.5 * GRAVITY[2] * T**2
    kinetic = 0.5 * MASS * (speed**2).sum(axis=1) + 0.5 * INERTIA * SPIN @ SPIN
    assert_close(r.kinetic, kinetic, CLOSED_FORM)
    assert_close(r.potential, -MASS * GRAVITY[2] * height, CLOSED_FORM)
    assert_close(r.energy, np.full_like(T, kinetic[0] - MASS * GRAVITY[2] * START[2]), CLOSED_FORM)
    assert not r.elastic.any()


@pytest.mark.slow
def test_momenta_of_a_ball() -> None:
    r = falling(T)
    p = MASS * (SPEED + GRAVITY * T[:, None])
    place = START + SPEED * T[:, None] + 0.5 * GRAVITY * T[:, None] ** 2
    own = np.broadcast_to(INERTIA * SPIN, p.shape)  # it turns about its own rate
    assert_close(r.mass_centre, place, CLOSED_FORM)
    assert_close(r.momentum, np.concatenate([np.cross(place, p) + own, p], axis=-1), CLOSED_FORM)
    assert_close(r.central_momentum, np.concatenate([own, p], axis=-1), CLOSED_FORM)
    assert_close(r.position("ball"), place, CLOSED_FORM)
    assert_close(r.velocity("ball")[:, 3:], SPEED + GRAVITY * T[:, None], CLOSED_FORM)


def test_energy_of_a_spring() -> None:
    r = swinging(T)
    assert_close(r.elastic, 0.5 * STIFFNESS * (r.q[:, 0] - 0.1) ** 2, CLOSED_FORM)
    assert_close(r.energy, np.full_like(T, 0.5 * STIFFNESS * AMPLITUDE**2), CLOSED_FORM)


def test_springs_that_follow_and_springs_that_turn() -> None:
    """The force of springs is minus the rate of their energy along any motion."""
    builder = on.Builder("springs").body("base")
    builder.body("a", mass=1.0).body("b", mass=1.0).body("c", mass=1.0, inertia=(1, 1, 1, 0, 0, 0))
    builder.joint("one", on.Revolute((0, 0, 1)), "base", "a", stiffness=3.0, rest=0.4)
    builder.joint("two", on.Prismatic((0, 0, 1)), "base", "b", stiffness=7.0, rest=-0.1, mimic=("one", -2.0, 0.3))
    builder.joint("three", on.Spherical(), "a", "c", stiffness=5.0)
    robot = builder.build()
    rng = np.random.default_rng(0)
    q, v, h = robot.random(rng, 8), rng.normal(size=(8, robot.nv)), 1e-5
    zero = np.zeros((8, robot.nv))
    ends = [Result(robot, np.arange(8.0), robot.integrate(q, v, s), v, zero, zero).elastic for s in (-h, h)]
    power = (robot.passive_force(q, zero) * v).sum(axis=1)
    assert_close((ends[1] - ends[0]) / (2 * h), -power, FINITE_DIFFERENCE)


@pytest.mark.slow
def test_the_mass_centre_is_that_of_the_bodies() -> None:
    robot = random_robot(5, 8, floating=True)
    q = robot.random(1, 4)
    zero = np.zeros((4, robot.nv))
    expected = np.zeros((4, 3))
    for b in robot.bodies:
        P = robot.pose(q, b.name)
        expected += b.mass * (P[:, :3, :3] @ b.com + P[:, :3, 3])
    assert_close(Result(robot, np.arange(4.0), q, zero, zero, zero).mass_centre, expected / robot.mass, ROUNDING)


@pytest.mark.slow
def test_series_have_names() -> None:
    r, s = falling(T), eventful(T)
    root = r.robot.joints[0].name
    np.testing.assert_array_equal(r[f"q.{root}.z"], r.q[:, 6])
    np.testing.assert_array_equal(r[f"v.{root}.wx"], r.v[:, 0])
    np.testing.assert_array_equal(r.series(f"q.{root}"), r.q)
    np.testing.assert_array_equal(s["q.slide"], s.q[:, 0])
    np.testing.assert_array_equal(s["slide"].a, s.a[:, 0])
    np.testing.assert_array_equal(s["position.eye"], np.stack([s.q[:, 0], 0 * T, 0.5 + 0 * T], axis=-1))
    np.testing.assert_array_equal(s["position.eye.z"], 0.5 + 0 * T)
    np.testing.assert_array_equal(s["velocity.eye.linear.x"], s.v[:, 0])
    np.testing.assert_array_equal(s["residual"], s.extra["residual"])
    np.testing.assert_array_equal(s["momentum.linear.x"], s.momentum[:, 3])
    assert {"t", "q.slide", "tau.slide", "work", "residual", "energy"} <= set(s.names)
    for name in s.names:
        assert len(s.series(name)) == len(T)


@pytest.mark.needs("pandas", "pyarrow", "xarray")
def test_names_that_could_be_two_things_are_told_apart() -> None:
    builder = on.Builder("odd").body("base").body("a", mass=1.0, inertia=(1, 1, 1, 0, 0, 0)).body("b", mass=1.0)
    builder.joint("arm", on.Spherical(), "base", "a").joint("arm.qx", on.Prismatic((1, 0, 0)), "a", "b")
    robot = builder.build()
    q = np.array([[1.0, 0.0, 0.0, 0.0, 0.25]])
    r = Result(robot, [0.0], q, *np.zeros((3, 1, 4)))
    frame = r.to_pandas()
    assert [c for c in frame.columns if c.startswith("q.")] == [
        "q.arm.qw",
        *(f"q.arm.q{x}" for x in "xyz"),
        "q.arm.qx_2",
    ]
    assert r["arm.qx"].q[0] == 0.25


def test_a_joint_that_follows_another() -> None:
    robot = random_robot(2, 10, mimic=True)
    follower = next(c for c in robot.joints if c.mimic)
    assert follower.mimic is not None
    rng = np.random.default_rng(0)
    v = rng.normal(size=(3, 3, robot.nv))
    r = Result(robot, [0.0, 1.0, 2.0], robot.random(rng, 3), *v)
    ratio, leader = follower.mimic.ratio, robot.joints[follower.mimic.joint]
    np.testing.assert_array_equal(r[follower.name].v, ratio * r[leader.name].v)
    np.testing.assert_array_equal(r[f"q.{follower.name}"], ratio * r[leader.name].q + follower.mimic.offset)
    with pytest.raises(ArgumentError, match="follows another"):
        r.series(f"tau.{follower.name}")


def test_names_that_do_not_exist() -> None:
    r = swinging(T)
    for name in ("q.slied", "velocities", "q.", "pose", "momentum.x", ""):
        with pytest.raises(UnknownNameError, match="series"):
            r.series(name)
    with pytest.raises(UnknownNameError, match=r"Did you mean 'q\.slide'"):
        r["q.slied"]
    with pytest.raises(UnknownNameError, match=r"unknown frame 'ear'.*eye"):
        r["position.ear"]
    with pytest.raises(ArgumentError, match="no work"):
        r.series("work")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"q": np.zeros((25, 2))}, r"q of this motion has shape \(25, 2\); expected \(25, 1\)"),
        ({"t": np.zeros((25, 1))}, "t of this motion"),
        ({"t": T[::-1]}, "never decrease"),
        ({"t": np.where(T > 1, np.nan, T)}, "finite"),
        ({"work": np.zeros(3)}, "work of this motion"),
        ({"tau": "none"}, r"tau of this motion must be numbers of shape \(25, 1\), not 'none'"),
        ({"extra": {"energy": T}}, "name of another series"),
        ({"extra": {"q.slide": T}}, "name of another series"),
        ({"extra": {"x": T[1:]}}, "x of this motion"),
    ],
)
def test_arrays_that_do_not_fit(change: dict[str, object], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        replace(swinging(T), **change)


def test_arrays_cannot_be_written_to() -> None:
    r = swinging(T)
    for x in (r.t, r.q, r.energy, r.momentum, r.pose("eye")):
        with pytest.raises(ValueError, match="read-only"):
            x[0] = 1.0
    with pytest.raises(TypeError):
        r.extra["x"] = T  # type: ignore[index]


def test_parts() -> None:
    r = eventful(T)
    assert len(r[3:8]) == 5
    np.testing.assert_array_equal(r[::5].q, r.q[::5])
    np.testing.assert_array_equal(r[T < 0.5].extra["residual"], r.extra["residual"][T < 0.5])
    np.testing.assert_array_equal(r[[1, 4, 9]].work, r.work[[1, 4, 9]])  # type: ignore[index]
    middle = r.between(0.2, 0.6)
    assert middle.t[0] >= 0.2
    assert middle.t[-1] <= 0.6
    assert [e.name for e in middle.events] == ["pass 0"]
    assert r[-1].t == T[-1]
    assert [s.t for s in r] == T.tolist()
    assert len(r[:0]) == 0
    assert repr(r[:0]) == "<Result of 'oscillator': 0 samples>"
    with pytest.raises(IndexError):
        r[25]
    for bad in (slice(None, None, -1), [3, 2], [1, 1], np.ones(3, bool), "0"[:0], (0, 1), None):
        with pytest.raises((ArgumentError, UnknownNameError)):
            r[bad]


def test_between_samples_the_error_is_of_fourth_order() -> None:
    """Also if some samples have the other quaternion of the same rotation."""
    fine = np.linspace(0.0, 1.2, 241)
    exact = falling(fine)
    errors = []
    for n in (9, 17, 33):
        r = falling(np.linspace(0.0, 1.2, n))
        q = r.q.copy()
        q[1::2, :4] *= -1.0
        for one in (r, replace(r, q=q)):
            found, v = one.at(fine)
            assert_close(np.linalg.norm(found[:, :4], axis=-1), np.ones(241), CLOSED_FORM)
            errors.append(max(np.abs(r.robot.difference(exact.q, found)).max(), np.abs(exact.v - v).max()))
    assert errors[0] == pytest.approx(errors[1], rel=1e-9)
    for one, other in ((errors[0], errors[2]), (errors[2], errors[4])):
        assert 14.0 < one / other < 18.0


def test_a_disc_that_rolls_in_a_circle() -> None:
    """Five positions and three velocities: what is drawn between samples follows the rates of all positions."""
    radius, turning, rolling = 0.5, 0.8, 2.0
    inertia = (0.1, 0.2, 0.1, 0.0, 0.0, 0.0)
    robot = (
        on.Builder("disc")
        .body("base")
        .body("d", parent="base", joint=on.RollingDisc(radius), mass=1.0, inertia=inertia)
    ).build()

    def motion(t: np.ndarray) -> Result:
        s, c = np.sin(rolling * t), np.cos(rolling * t)
        way = radius * rolling / turning
        q = [turning * t, 0 * t, rolling * t, way * np.sin(turning * t), way * (1 - np.cos(turning * t))]
        v, a = [-s * turning, rolling + 0 * t, c * turning], [-c * turning * rolling, 0 * t, -s * turning * rolling]
        return Result(robot, t, np.stack(q, -1), np.stack(v, -1), np.stack(a, -1), np.zeros((len(t), 3)))

    fine = np.linspace(0.0, 2.0, 101)
    errors = [np.abs(motion(np.linspace(0.0, 2.0, n)).at(fine)[0] - motion(fine).q).max() for n in (9, 17)]
    assert 13.0 < errors[0] / errors[1] < 19.0


def test_at_the_time_of_a_sample_it_is_that_sample() -> None:
    r = falling(T)
    q, v = r.at(T)
    np.testing.assert_array_equal(q, r.q)
    np.testing.assert_array_equal(v, r.v)
    q, v = r.at(float(T[3]))
    np.testing.assert_array_equal(q, r.q[3])
    assert r.at(0.333)[0].shape == (7,)
    assert r.at(np.full((2, 3), 0.333))[1].shape == (2, 3, 6)
    assert r.resample(T) == r
    for bad in (-0.1, 1.3, np.nan, [0.1, 5.0], "soon"):
        with pytest.raises(ArgumentError, match="time" if bad == "soon" else "the motion is known from t = 0 to 1.2"):
            r.at(bad)


def test_dense_output_is_used() -> None:
    exact = falling(T)
    r = replace(falling(T[::6]), dense=lambda times: falling(times).at(times))
    assert_close(r.at(T)[0], exact.q, CLOSED_FORM)
    assert_close(r[1:].at(T[10:11])[0], exact.q[10:11], CLOSED_FORM)
    with pytest.raises(ArgumentError):
        r[1:].at(0.0)


def test_resampling() -> None:
    r = falling(np.linspace(0.0, 1.0, 201)).resample(rate=30)
    exact = falling(np.arange(31) / 30.0)
    assert_close(r.t, exact.t, CLOSED_FORM)
    assert_close(r.q, exact.q, DRAWN)
    assert_close(r.a, exact.a, DRAWN_RATES)
    for bad in ({"rate": 0.0}, {"rate": np.nan}, {"rate": 1e15}, {}, {"times": [0.5, 0.2]}, {"times": [[0.1]]}):
        with pytest.raises(ArgumentError, match="resample"):
            falling(T).resample(**bad)


def test_a_jump_stays_a_jump() -> None:
    """A mass that bounces: two samples at one time, and what is drawn does not know of the other side."""
    r = swinging(np.array([0.0, 0.1, 0.1, 0.2]))
    v = np.array([[1.0], [1.0], [-1.0], [-1.0]])
    q, zero = np.array([[0.0], [0.1], [0.1], [0.0]]), np.zeros((4, 1))
    tau = np.array([[2.0], [2.0], [5.0], [5.0]])
    r = Result(r.robot, r.t, q, v, zero, tau)
    assert_close(r.at([0.05, 0.15])[0][:, 0], [0.05, 0.05], CLOSED_FORM)
    np.testing.assert_array_equal(r.at([0.05, 0.1, 0.15])[1][:, 0], [1.0, -1.0, -1.0])
    np.testing.assert_array_equal(r.resample([0.05, 0.15]).tau[:, 0], [2.0, 5.0])


def test_forces_are_drawn_without_overshooting() -> None:
    from scipy.interpolate import PchipInterpolator

    t = np.array([0.0, 0.1, 0.3, 0.4, 1.0, 1.1, 1.5])
    y = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 4.0], [1.0, 4.5], [1.0, 3.0], [1.0, -1.0], [0.0, 0.0]])
    fine = np.linspace(0.0, 1.5, 301)
    drawn = monotone(t, y, fine)
    assert drawn[:, 0].min() >= 0.0
    assert drawn[:, 0].max() <= 1.0
    inner = (fine >= t[1]) & (fine <= t[-2])  # at the ends SciPy looks one sample farther
    assert_close(drawn[inner], PchipInterpolator(t, y)(fine[inner]), ROUNDING)


def test_joining() -> None:
    r = eventful(T)
    assert r[:10].then(r[10:]) == r
    assert r[:10].then(r[9:]) == r
    assert r.then(r[:0]) is r
    twice = r.then(r, shift=True)
    assert twice.duration == pytest.approx(2.4)
    assert len(twice.events) == 4
    assert twice.work is not None
    assert r.work is not None
    assert twice.work[-1] == pytest.approx(2 * r.work[-1])
    assert_close(twice.at(1.2 + 0.37)[0], r.at(0.37)[0], ROUNDING)
    assert_close(twice.at(0.37)[0], r.at(0.37)[0], ROUNDING)
    assert_close(r[:10].then(r[10:]).at(T[9:10] + 0.02)[0], r.at(T[9:10] + 0.02)[0], ROUNDING)
    apart = replace(r[:10], dense=r.cubics).then(r[10:])  # one of them knows more than its samples
    assert_close(apart.at(T[:-1] + 0.02)[0], r.at(T[:-1] + 0.02)[0], ROUNDING)
    with pytest.raises(ArgumentError, match="shift=True"):
        r.then(r)
    with pytest.raises(ArgumentError, match="different robots"):
        r.then(falling(T))
    with pytest.raises(ArgumentError, match="only one of the motions has the series"):
        r.then(swinging(T), shift=True)


def test_equality_and_pickling() -> None:
    r = eventful(T)
    assert r == eventful(T)
    assert pickle.loads(pickle.dumps(r)) == r
    assert pickle.loads(pickle.dumps(r.then(r, shift=True))) == r.then(r, shift=True)
    assert r != r[1:]
    assert r != swinging(T)
    assert r != replace(r, events=r.events[:1])
    q = r.q.copy()
    q[7, 0] = np.nextafter(q[7, 0], 1.0)
    assert r != replace(r, q=q)
    assert r != "r"


def test_in_words() -> None:
    r = eventful(T)
    assert repr(r) == "<Result of 'oscillator': 25 samples, t = 0 ... 1.2 s, 2 events>"
    text = r.summary()
    for word in ("q.slide", "energy", "work", "pass 1", "largest"):
        assert word in text
    assert "more series" in falling(T).summary(most=8)


@pytest.mark.needs("pandas")
def test_pandas() -> None:
    r = eventful(T)
    frame = r.to_pandas()
    np.testing.assert_array_equal(frame.index, r.t)
    np.testing.assert_array_equal(frame["tau.slide"], r.tau[:, 0])
    np.testing.assert_array_equal(frame["residual.3"], r.extra["residual"][:, 1, 1])
    chosen = r.to_pandas("q.slide", "energy", "position.eye")
    assert list(chosen.columns) == ["q.slide", "energy", "position.eye.x", "position.eye.y", "position.eye.z"]


@pytest.mark.needs("xarray")
def test_xarray() -> None:
    r = eventful(T)
    data = r.to_xarray()
    assert data.q.dims == ("time", "joint")
    np.testing.assert_array_equal(data.v.sel(joint="slide"), r.v[:, 0])
    np.testing.assert_array_equal(data.time, r.t)
    free = falling(T).to_xarray()
    assert free.q.dims == ("time", "joint_q")
    assert free.tau.dims == ("time", "joint")
    name = falling(T).robot.joints[0].name
    np.testing.assert_array_equal(free.q.sel(joint_q=f"{name}.z"), falling(T).q[:, 6])


@pytest.mark.needs("pyarrow")
def test_arrow() -> None:
    r = eventful(T)
    table = r.to_arrow()
    np.testing.assert_array_equal(table.column("q.slide").to_numpy(), r.q[:, 0])
    assert table.column_names[0] == "t"
    assert b"ordern-result" in table.schema.metadata[b"ordern"]


@pytest.mark.parametrize(
    ("module", "view"), [("pandas", "to_pandas"), ("xarray", "to_xarray"), ("pyarrow", "to_arrow")]
)
def test_a_missing_library_is_named(module: str, view: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(OrdernError, match=rf"needs {module}: pip install 'ordern\[data\]'"):
        getattr(swinging(T), view)()


@pytest.mark.needs("pandas")
def test_a_robot_without_freedoms() -> None:
    robot = on.Builder("rock").body("base").build()
    r = Result(robot, T, *np.zeros((4, 25, 0)))
    assert not r.kinetic.any()
    assert r.to_pandas().shape == (25, 0)
    assert r.at(0.7)[0].shape == (0,)
    with pytest.raises(ArgumentError, match="has no mass"):
        _ = r.mass_centre


def test_ball_is_the_same_robot() -> None:
    assert ball() == falling(T).robot
