"""Trajectories: closed forms, derivatives by differences, SciPy's splines, and clear errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import CubicSpline, make_interp_spline

import ordern as on
from ordern import rotations
from tests.control.moving import slopes
from tests.random_models import CUSTOM_JOINTS, Wrist, random_robot
from tests.tolerances import CLOSED_FORM, FINITE_DIFFERENCE, ROUNDING, SECOND_DIFFERENCE, assert_close

Array = np.ndarray
tr = on.trajectories
JOINTS = (on.Spherical, on.Planar, on.Revolute, on.Universal, on.Cylindrical, on.Helical, Wrist, *CUSTOM_JOINTS)


@pytest.fixture(scope="module", params=range(3))
def robot(request: pytest.FixtureRequest) -> on.Robot:
    return random_robot(request.param, 8, JOINTS[request.param :], floating=True)


@pytest.fixture(scope="module")
def arm() -> on.Robot:
    return on.load("stanford-arm")


def between(trajectory: Any, count: int = 17) -> Array:
    """Times within a trajectory, away from its breaks."""
    t = np.linspace(0.03, 0.97, count) * trajectory.duration
    return t[[all(abs(x - b) > 1e-3 for b in trajectory.breaks) for x in t]]


def assert_consistent(trajectory: Any) -> None:
    """v is the rate of q, and a that of v."""
    t = between(trajectory)
    v, a = slopes(trajectory.robot, trajectory, t)
    assert_close(trajectory(t).v, v, SECOND_DIFFERENCE)
    assert_close(trajectory(t).a, a, 10 * SECOND_DIFFERENCE)


def test_cycloidal_is_sahas(arm: on.Robot) -> None:
    """(39) in the reading of the errata: from theta(0) to theta(T), each joint by the same law."""
    q0 = np.array([0.0, np.pi / 2, 0.0, 0.0, 0.0, 0.0])
    q1 = np.array([np.pi / 3, np.pi / 3, 0.1, np.pi / 3, np.pi / 3, np.pi / 3])
    T, t = 10.0, np.linspace(0.0, 10.0, 21)
    x = 2 * np.pi * t[:, None] / T
    q, v, a = tr.cycloidal(arm, q0, q1, T)(t)
    assert_close(q, q0 + (q1 - q0) / (2 * np.pi) * (x - np.sin(x)), CLOSED_FORM)
    assert_close(v, (q1 - q0) / T * (1 - np.cos(x)), CLOSED_FORM)
    assert_close(a, (q1 - q0) * 2 * np.pi / T**2 * np.sin(x), CLOSED_FORM)


MAKERS: dict[str, Callable[..., Any]] = {
    "cycloidal": lambda r, q0, q1, rng: tr.cycloidal(r, q0, q1, 1.7),
    "minimum-jerk": lambda r, q0, q1, rng: tr.minimum_jerk(r, q0, q1, 1.7),
    "trapezoidal": lambda r, q0, q1, rng: tr.trapezoidal(r, q0, q1, velocity=1.5, acceleration=3.0),
    "trapezoidal, long": lambda r, q0, q1, rng: tr.trapezoidal(r, q0, q1, 9.0, velocity=1.5, acceleration=3.0),
    "quintic": lambda r, q0, q1, rng: tr.quintic(
        r, q0, q1, 1.7, **dict(zip(("v0", "v1", "a0", "a1"), rng.normal(size=(4, r.nv)), strict=True))
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKERS)
def test_motions_on_the_manifold(name: str, robot: on.Robot) -> None:
    rng = np.random.default_rng(5)
    q0, q1 = robot.random(rng, 2)
    trajectory = MAKERS[name](robot, q0, q1, rng)
    assert_consistent(trajectory)
    (start, end) = trajectory(np.array([0.0, trajectory.duration])).q
    for found, expected in ((start, q0), (end, q1)):
        assert_close(robot.difference(found, expected), np.zeros(robot.nv), ROUNDING)
    for before in (-1.0, trajectory.duration + 1.0):
        q, v, a = trajectory(before)
        assert not v.any() and not a.any()
        assert_close(q, start if before < 0 else end, ROUNDING)
    assert q.shape == (robot.nq,) and v.shape == a.shape == (robot.nv,)
    assert trajectory(np.zeros((2, 3))).q.shape == (2, 3, robot.nq)
    assert trajectory(np.zeros(0)).v.shape == (0, robot.nv)


@pytest.mark.slow
def test_quintic_has_the_ends_that_were_asked_for(robot: on.Robot) -> None:
    rng = np.random.default_rng(6)
    (q0, q1), (v0, v1, a0, a1) = robot.random(rng, 2), rng.normal(size=(4, robot.nv))
    _, v, a = tr.quintic(robot, q0, q1, 0.8, v0=v0, v1=v1, a0=a0, a1=a1)(np.array([0.0, 0.8]))
    assert_close(v, np.stack([v0, v1]), ROUNDING * 100)
    assert_close(a, np.stack([a0, a1]), ROUNDING * 1000)


def test_quintic_at_rest_is_minimum_jerk(arm: on.Robot) -> None:
    q0, q1 = arm.random(0, 2)
    t = np.linspace(0, 2.0, 9)
    one, other = (f(arm, q0, q1, 2.0)(t) for f in (tr.quintic, tr.minimum_jerk))
    for x, y in zip(one, other, strict=True):
        assert_close(x, y, ROUNDING)


def test_trapezoid_is_as_fast_as_the_limits_let_it(arm: on.Robot) -> None:
    q0, way = arm.random(0), np.array([0.4, -0.6, 0.1, 2.0, 0.0, 0.3])
    velocity, acceleration = np.array([1.0, 1.0, 1.0, 0.5, 1.0, 1.0]), np.array([9.0, 0.3, 9.0, 9.0, 9.0, 9.0])
    trajectory = tr.trapezoidal(arm, q0, q0 + way, velocity=velocity, acceleration=acceleration)
    # joint 4 is the slowest at its speed (4 s for its way), joint 2 at its acceleration (0.5 of the way per s^2)
    assert trajectory.duration == pytest.approx(4.0 + 0.25 / 0.5, rel=CLOSED_FORM)
    t = np.linspace(0.0, trajectory.duration, 1001)
    _, v, a = trajectory(t)
    assert_close(np.abs(v).max(axis=0) / velocity, np.abs(way) * 0.25 / velocity, CLOSED_FORM)
    assert_close(np.abs(a).max(axis=0), np.abs(way) * 0.5, CLOSED_FORM)
    assert np.all(np.abs(v) <= velocity * (1 + 1e-12)) and np.all(np.abs(a) <= acceleration * (1 + 1e-12))
    triangle = tr.trapezoidal(arm, q0, q0 + way, velocity=100.0, acceleration=2.0)
    assert triangle.duration == pytest.approx(2.0, rel=CLOSED_FORM)
    slow = tr.trapezoidal(arm, q0, q0 + way, 6.0, velocity=velocity, acceleration=acceleration)
    assert slow.duration == 6.0
    assert_close(np.abs(slow(slow.duration * 1e-3).a), np.abs(way) * 0.5, CLOSED_FORM)


@pytest.mark.parametrize("degree", [3, 5])
@pytest.mark.parametrize("ends", ["clamped", "natural", "periodic"])
def test_splines_are_scipys_where_joints_are_flat(arm: on.Robot, ends: str, degree: int) -> None:
    rng = np.random.default_rng(8)
    t, points = np.array([0.0, 0.4, 1.0, 1.1, 2.0, 2.5]), arm.random(rng, 6)
    v0, v1, a0, a1 = rng.normal(size=(4, arm.nv))
    given: dict[str, Any] = {}
    if ends == "periodic":
        points[-1] = points[0]
    if ends == "clamped":
        given = {"v0": v0, "v1": v1} if degree == 3 else {"v0": v0, "v1": v1, "a0": a0, "a1": a1}
    if degree == 3:
        expected = CubicSpline(t, points, bc_type=((1, v0), (1, v1)) if ends == "clamped" else ends)
    else:
        kinds = {"clamped": ([(1, v0), (2, a0)], [(1, v1), (2, a1)]), "periodic": "periodic"}
        zero = np.zeros(arm.nv)
        kinds["natural"] = ([(3, zero), (4, zero)], [(3, zero), (4, zero)])
        expected = make_interp_spline(t, points, k=5, bc_type=kinds[ends])
    s = np.linspace(0.0, 2.5, 41)
    for k, found in enumerate(tr.spline(arm, t, points, degree=degree, ends=ends, **given)(s)):
        assert_close(found, expected(s, k), FINITE_DIFFERENCE * 1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("degree", [3, 5])
@pytest.mark.parametrize("ends", ["clamped", "natural", "periodic"])
def test_splines_on_the_manifold(robot: on.Robot, ends: str, degree: int) -> None:
    t, points = np.array([0.0, 0.5, 1.2, 1.7, 3.0]), robot.random(9, 5)
    if ends == "periodic":
        points[-1] = points[0]
    trajectory = tr.spline(robot, t, points, degree=degree, ends=ends)
    assert trajectory.breaks == ()
    assert_consistent(trajectory)
    assert_close(robot.difference(trajectory(t).q, points), np.zeros((5, robot.nv)), ROUNDING)
    e = 1e-8
    for left, right in zip(trajectory(t[1:-1] - e)[1:], trajectory(t[1:-1] + e)[1:], strict=True):
        assert_close(left, right, SECOND_DIFFERENCE)
    first, last = trajectory(np.array([0.0]))[1:], trajectory(np.array([3.0]))[1:]
    if ends == "periodic":
        assert_close(np.stack(first), np.stack(last), ROUNDING * 1000)
    if ends == "clamped":
        assert_close(np.stack([first[0], last[0]]), np.zeros((2, 1, robot.nv)), ROUNDING * 100)


@pytest.mark.slow
def test_splines_do_not_depend_on_the_world() -> None:
    """Turning and moving all points of a floating body changes nothing in its own axes."""
    body = on.Builder("body").body("base").body("one", parent="base", joint=on.Free(), mass=1.0).build()
    t, points = np.array([0.0, 1.0, 1.5, 3.0]), body.random(2, 4)
    away = body.random(3)
    turned = []
    for q in points:
        T = body.pose(away, "one") @ body.pose(q, "one")
        found = body.integrate(body.neutral(), rotations.log_pose(T))
        assert_close(body.pose(found, "one"), T, ROUNDING)
        turned.append(found)
    s = np.linspace(0.0, 3.0, 20)
    one, other = (tr.spline(body, t, p, ends="natural")(s) for p in (points, np.array(turned)))
    assert_close(one.v, other.v, ROUNDING * 10)
    assert_close(one.a, other.a, ROUNDING * 100)


def test_a_sequence_is_one_after_the_other(arm: on.Robot) -> None:
    a, b, c = arm.random(0, 3)
    whole = tr.sequence(tr.cycloidal(arm, a, b, 1.0), tr.hold(arm, b, 0.5), [tr.minimum_jerk(arm, b, c, 2.0)])
    assert whole.duration == 3.5 and whole.breaks == (1.0, 1.5)
    assert_consistent(whole)
    t = np.array([0.3, 1.2, 2.2])
    pieces = (tr.cycloidal(arm, a, b, 1.0)(0.3), (b, 0 * b, 0 * b), tr.minimum_jerk(arm, b, c, 2.0)(t[2] - 1.5))
    for k, piece in enumerate(pieces):
        for found, expected in zip(whole(t), piece, strict=True):
            assert_close(found[k], expected, ROUNDING)
    rests = tr.through(arm, [a, b, c], [1.0, 2.0])
    assert_close(rests(1.0).q, b, ROUNDING)
    assert_close(rests(1.0).v, 0 * b, ROUNDING)
    assert rests.duration == 3.0


def test_samples(arm: on.Robot) -> None:
    a, b = arm.random(0, 2)
    trajectory = tr.cycloidal(arm, a, b, 1.05)
    t, q, v, _ = trajectory.sample(10.0)
    assert_close(t, np.array([*np.arange(11) / 10.0, 1.05]), ROUNDING)
    assert_close(q, trajectory(t).q, ROUNDING)
    assert v.shape == (12, arm.nv)
    assert len(tr.cycloidal(arm, a, b, 1.0).sample(10.0).t) == 11


def limited() -> on.Robot:
    """A vertical slider of 2 kg and a follower that goes twice as far the other way."""
    limits = {"lower": -1.0, "upper": 0.5, "velocity_limit": 2.0, "effort_limit": 25.0}
    return (
        on.Builder("slider")
        .body("base")
        .body("car", parent="base", joint=on.Prismatic((0, 0, 1)), joint_name="lift", mass=2.0, **limits)
        .body(
            "other",
            parent="base",
            joint=on.Prismatic((1, 0, 0)),
            joint_name="follower",
            mimic=("lift", -2.0, 0.0),
            **limits,
        )
        .build()
    )


@pytest.mark.slow
def test_check_names_joint_and_time() -> None:
    robot = limited()
    assert tr.cycloidal(robot, [0.0], [0.2], 4.0).check() == ()
    found = {(e.joint, e.kind): e for e in tr.cycloidal(robot, [0.0], [0.8], 1.0).check()}
    assert set(found) == {("lift", "position"), ("lift", "effort"), ("follower", "position"), ("follower", "velocity")}
    assert found["lift", "position"].time == 1.0 and found["lift", "position"].value == pytest.approx(0.8)
    assert found["follower", "position"].limit == -1.0
    assert found["follower", "velocity"].time == pytest.approx(0.5, abs=1e-3)
    assert found["follower", "velocity"].value == pytest.approx(-3.2, rel=1e-5)
    effort = found["lift", "effort"]
    assert effort.time == pytest.approx(0.25, abs=2e-3)
    assert effort.value == pytest.approx(2.0 * (9.81 + 0.8 * 2 * np.pi), rel=1e-4)
    assert re.search(r"joint 'lift' exceeds its effort limit at t = 0\.25", str(effort))


BAD: list[tuple[str, Callable[[on.Robot], Any]]] = [
    (r"the first argument is the robot, not ndarray", lambda r: tr.cycloidal(np.zeros(6), np.ones(6), 1.0, 1.0)),
    (r"points must be a sequence of points, not 5", lambda r: tr.spline(r, [0, 1], 5.0)),
    (r"point 1 has shape \(2,\)", lambda r: tr.spline(r, [0, 1], [np.zeros(6), [1.0, 2.0]])),
    (r"q1 has shape \(5,\); expected \(6,\)", lambda r: tr.cycloidal(r, np.zeros(6), np.zeros(5), 1.0)),
    (r"q0 must be finite; entry 0 is nan", lambda r: tr.cycloidal(r, np.full(6, np.nan), np.zeros(6), 1.0)),
    (r"q0 must be numbers", lambda r: tr.cycloidal(r, "home", np.zeros(6), 1.0)),
    (r"duration must be a finite number above zero, not 0", lambda r: tr.cycloidal(r, np.zeros(6), np.ones(6), 0)),
    (r"duration must be a finite number above zero, not -1", lambda r: tr.minimum_jerk(r, np.zeros(6), np.ones(6), -1)),
    (r"duration must be a finite number above zero, not 'x'", lambda r: tr.hold(r, np.zeros(6), "x")),
    (r"v0 has shape \(2,\)", lambda r: tr.quintic(r, np.zeros(6), np.ones(6), 1.0, v0=[1, 2])),
    (r"times must start at 0 and increase", lambda r: tr.spline(r, [0, 2, 1], np.eye(3, 6))),
    (r"times must start at 0 and increase", lambda r: tr.spline(r, [1, 2, 3], np.eye(3, 6))),
    (r"times has shape \(2,\); expected \(3,\)", lambda r: tr.spline(r, [0, 1], np.eye(3, 6))),
    (r"unknown kind of ends 'free'", lambda r: tr.spline(r, [0, 1, 2], np.eye(3, 6), ends="free")),
    (r"degree must be 3 or 5, not 4", lambda r: tr.spline(r, [0, 1, 2], np.eye(3, 6), degree=4)),
    (r"v1 has no place", lambda r: tr.spline(r, [0, 1, 2], np.eye(3, 6), ends="natural", v1=np.zeros(6))),
    (r"a0 has no place", lambda r: tr.spline(r, [0, 1, 2], np.eye(3, 6), a0=np.zeros(6))),
    (r"periodic spline ends where it starts", lambda r: tr.spline(r, [0, 1, 2], np.eye(3, 6), ends="periodic")),
    (r"needs three points", lambda r: tr.spline(r, [0, 1], np.eye(2, 6), ends="natural", degree=5)),
    (r"two or more points", lambda r: tr.spline(r, [0], np.eye(1, 6))),
    (r"point 1 must be finite", lambda r: tr.through(r, np.array([[0] * 6, [np.inf] * 6]), 1.0)),
    (r"unknown time law 'fast'", lambda r: tr.through(r, np.eye(2, 6), 1.0, law="fast")),
    (r"is too short: .* it takes 1\.4", lambda r: _trapezoid(r, 1.0)),
    (r"'theta3'|joint '.*' has to move", lambda r: tr.trapezoidal(r, 0 * np.ones(6), np.ones(6), acceleration=0.0)),
    (r"no shortest time", lambda r: tr.trapezoidal(r, np.ones(6), np.ones(6), acceleration=1.0)),
    (r"do not meet: the position", lambda r: tr.sequence(tr.hold(r, np.zeros(6), 1), tr.hold(r, np.ones(6), 1))),
    (r"one or more trajectories", lambda r: tr.sequence()),
    (r"t must be finite", lambda r: tr.hold(r, np.zeros(6), 1.0)(np.nan)),
    (r"rate must be", lambda r: tr.hold(r, np.zeros(6), 1.0).sample(0)),
    (r"another robot: one has nq 3", lambda r: tr.hold(r, np.zeros(6), 1.0).check(on.load("planar-3r"))),
]


def _trapezoid(r: on.Robot, duration: float) -> Any:
    return tr.trapezoidal(r, np.zeros(6), np.full(6, 0.5), duration, acceleration=1.0, velocity=9.0)


@pytest.mark.parametrize(("words", "call"), BAD, ids=[w for w, _ in BAD])
def test_mistakes_are_named(arm: on.Robot, words: str, call: Callable[[on.Robot], Any]) -> None:
    with pytest.raises(on.OrdernError, match=words):
        call(arm)


def test_velocities_must_fit_too(arm: on.Robot) -> None:
    go = tr.quintic(arm, np.zeros(6), np.ones(6), 1.0, v1=np.full(6, 0.5))
    with pytest.raises(on.ArgumentError, match="the velocity of joint"):
        tr.sequence(go, tr.hold(arm, np.ones(6), 1.0))


def test_a_quaternion_has_length_one(robot: on.Robot) -> None:
    q = robot.neutral()
    q[:4] *= 1.1
    with pytest.raises(on.ArgumentError, match="whose length is not one"):
        tr.cycloidal(robot, q, robot.neutral(), 1.0)


@pytest.mark.slow
def test_a_rolling_disc_cannot_be_led_anywhere() -> None:
    disc = on.Builder("disc").body("base").body("disc", parent="base", joint=on.RollingDisc(0.5), mass=1.0).build()
    with pytest.raises(on.ArgumentError, match=r"\(RollingDisc\) cannot be led"):
        tr.cycloidal(disc, np.zeros(5), np.array([0.0, 0.0, 0.0, 1.0, 0.0]), 1.0)
    with pytest.raises(on.ModelError, match="integrates in a way of its own"):
        tr.spline(disc, [0.0, 1.0], np.zeros((2, 5)))
