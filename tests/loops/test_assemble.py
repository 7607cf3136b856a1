"""Closing loops: where it leads, what is kept, what is said when it cannot be."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on
from ordern import robots
from ordern.errors import ArgumentError, LoopError
from ordern.loops.assemble import _Solver
from tests.loops.closed_systems import LOOP_TYPES, closed_robot
from tests.loops.test_solvers import parallelogram

MECHANISMS = (
    *("four-bar", "slider-crank", "spatial-slider-crank", "five-bar", "stewart-platform", "delta-robot"),
    *("bricard", "andrews-squeezer", "double-parallelogram", "door"),
)


@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS)
def test_mechanisms_close_again_after_a_push(name):
    robot = on.load(name)
    q = np.asarray(robots.positions(name)["assembled"], float)
    assert float(robot.assemble(q).residual) < 1e-12
    rng = np.random.default_rng(3)
    off = robot.integrate(q, 0.03 * rng.normal(size=(5, robot.nv)))
    found = robot.assemble(off, limits=False)
    assert found.ok.all() and np.abs(robot.loop_residual(found.q)).max() < 1e-12
    assert np.abs(robot.difference(q, found.q)).max() < 0.5  # not far from where it was
    near, ok = robot.close(robot.integrate(q, 1e-6 * rng.normal(size=(5, robot.nv))))
    assert ok.all() and np.abs(robot.loop_residual(near)).max() < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("kind", LOOP_TYPES)
def test_every_kind_of_loop_closes(kind):
    robot, q = closed_robot(7, 7, (kind,), floating=True)
    off = robot.integrate(q, 0.1 * np.random.default_rng(1).normal(size=robot.nv))
    found = robot.assemble(off, limits=False)
    assert np.abs(robot.loop_residual(found.q)).max() < 1e-12
    assert bool(found.ok) and found.worst == "loop0"


def test_kept_joints_stay_and_the_four_bar_is_freudensteins():
    robot = on.load("five-bar")
    start = np.asarray(robots.positions("five-bar")["assembled"], float)
    names = [c.name for c in robot.joints]
    moved = start.copy()
    moved[robot.joint(names[0]).q_start] += 0.1
    found = robot.assemble(moved, keep=[names[0]])
    assert found.q[robot.joint(names[0]).q_start] == moved[robot.joint(names[0]).q_start]
    assert np.abs(robot.loop_residual(found.q)).max() < 1e-12


def test_weights_say_who_moves():
    robot = parallelogram()
    q = np.array([0.7, -0.7, 0.8])  # the right bar is ahead by 0.1
    left = robot.assemble(q, weights={"c": 1e6}).q
    right = robot.assemble(q, weights={"a": 1e6}).q
    assert abs(left[2] - 0.8) < 1e-4 and abs(right[0] - 0.7) < 1e-4
    with pytest.raises(on.ArgumentError, match="weights"):
        robot.assemble(q, weights=[1.0, -1.0, 1.0])


def test_a_stretched_start_is_left():
    """At the neutral position of the four-bar, all bars are in line, and no small motion brings its ends together."""
    robot = on.load("four-bar")
    assert np.abs(robot.loop_residual(robot.neutral())).max() > 0.1
    assert np.abs(robot.loop_residual(robot.assemble().q)).max() < 1e-12


def test_limits_are_respected_and_blamed():
    builder = on.Builder("limited").body("ground")
    bar = {"mass": 1.0, "com": (0.5, 0.0, 0.0), "inertia": (0.001, 0.1, 0.1)}
    builder.body(
        "one", parent="ground", joint=on.Revolute((0, 0, 1)), joint_name="shoulder", lower=-0.1, upper=0.1, **bar
    )
    builder.body("two", parent="one", joint=on.Revolute((0, 0, 1)), joint_name="elbow", at=(1, 0, 0), **bar)
    builder.loop("tip", on.PointOnLine((0, 0, 1)), "ground", "two", at=(0.2, 1.2, 0), child_at=(1, 0, 0))
    robot = builder.build()
    with pytest.raises(LoopError, match=r"'tip' of 'limited' cannot be closed.*limits stop: shoulder"):
        robot.assemble([0.0, 1.0])
    free = robot.assemble([0.0, 1.0], limits=False)
    assert bool(free.ok) and free.q[0] != np.clip(free.q[0], -0.1, 0.1)
    told = robot.assemble([0.0, 1.0], check=False)
    assert not bool(told.ok) and -0.1 <= told.q[0] <= 0.1 and float(told.loops["tip"]) > 0.1
    assert "tip" in str(told)


def test_what_cannot_close_is_named():
    builder = on.Builder("apart").body("ground")
    bar = {"mass": 1.0, "com": (0.5, 0.0, 0.0), "inertia": (0.001, 0.1, 0.1)}
    builder.body("one", parent="ground", joint=on.Revolute((0, 0, 1)), joint_name="a", **bar)
    builder.loop("near", on.PointOnPlane((0, 1, 0)), "ground", "one", at=(0, 0.5, 0), child_at=(1, 0, 0))
    builder.loop("far", on.Spherical(), "ground", "one", at=(5.0, 0, 0), child_at=(1, 0, 0))
    robot = builder.build()
    with pytest.raises(LoopError, match="loop 'far' of 'apart'") as e:
        robot.assemble([0.3])
    assert isinstance(e.value, on.ModelError)
    with pytest.raises(LoopError, match="were kept: a"):
        robot.assemble([0.3], keep="a")


def test_a_batch_is_closed_one_by_one():
    robot = parallelogram()
    q = np.array([[0.7, -0.7, 0.75], [0.2, -0.2, 0.2], [1.2, -1.1, 1.25]])
    many = robot.assemble(q)
    for k in range(3):
        np.testing.assert_allclose(many.q[k], robot.assemble(q[k]).q, atol=1e-12)
    assert many.steps[1] == 0 and many.ok.all() and many.q.shape == (3, 3)


@pytest.mark.slow
def test_driven_loops_follow_time():
    builder = on.Builder("driven").body("ground")
    bar = {"mass": 1.0, "com": (0.5, 0.0, 0.0), "inertia": (0.001, 0.1, 0.1)}
    builder.body("arm", parent="ground", joint=on.Revolute((0, 0, 1)), joint_name="a", **bar)
    builder.loop("motor", on.Driven(on.Revolute((0, 0, 1)), coefficients=(0.3, 2.0, 0.5)), "ground", "arm")
    robot = builder.build()
    t = 0.4
    q = robot.assemble([0.0], t=t).q
    np.testing.assert_allclose(q, 0.3 + 2.0 * t + 0.5 * t * t, atol=1e-12)
    v = robot.project_velocity(q, [0.0], t)
    np.testing.assert_allclose(v, 2.0 + 2 * 0.5 * t, atol=1e-11)
    for method in ("multipliers", "kkt", "null-space", "proximal"):
        np.testing.assert_allclose(robot.closed_dynamics(q, v, [7.0], method=method, t=t).a, 1.0, atol=1e-10)


@pytest.mark.parametrize("name", ["four-bar", pytest.param("stewart-platform", marks=pytest.mark.slow)])
def test_projection_of_velocities_is_nearest_in_kinetic_energy(name: str) -> None:
    robot = on.load(name)
    q = np.asarray(robots.positions(name)["assembled"], float)
    rng = np.random.default_rng(2)
    v = rng.normal(size=(4, robot.nv))
    new = robot.project_velocity(q, v)
    assert np.abs(robot.loop_rate(q, new)).max() < 1e-12
    M, N = robot.mass_matrix(q), robot.mobility(q).motions
    assert np.abs(N.T @ M @ (new - v).T).max() < 1e-11  # the change is M-orthogonal to all that loops allow
    np.testing.assert_allclose(robot.project_velocity(q, new), new, atol=1e-12)


def test_the_result_is_near_the_start():
    """Not turns away: the four-bar from its flat neutral position, and from near closed positions."""
    robot = on.load("four-bar")
    assert np.abs(robot.assemble().q).max() < 2.0
    near = robots.positions("four-bar")["assembled"] + 0.1 * np.random.default_rng(0).normal(size=(20, 3))
    assert np.abs(robot.assemble(near).q - near).max() < 0.4


@pytest.mark.parametrize(
    ("options", "words"), [({"restarts": 1.5}, "restarts must be"), ({"keep": 0}, "keep must be names")]
)
def test_mistakes_are_named(options, words):
    with pytest.raises(ArgumentError, match=words):
        on.load("four-bar").assemble(**options)


def hinged(**limits):
    """A four-bar whose pin, a hinge with limits, closes the loop: it turns between 0.896 and 2.183 rad."""
    builder = on.Builder("linkage").body("ground")
    for name, x in (("crank", 0.2), ("coupler", 0.5), ("rocker", 0.4)):
        builder.body(name, mass=1.0, com=(0.5 * x, 0, 0), inertia=(1e-3, x * x / 12, x * x / 12))
    hinge = on.Revolute((0, 1, 0))
    builder.connect("a", hinge, "ground", "crank").connect("b", hinge, "crank", "coupler", at=(0.2, 0, 0))
    builder.connect("c", hinge, "ground", "rocker", at=(0.6, 0, 0))
    builder.connect("pin", hinge, "rocker", "coupler", at=(0.4, 0, 0), child_at=(0.5, 0, 0), closes=True, **limits)
    return builder.build()


START = np.array([-1.0, 0.5, -1.5])


def pin_angle(crank):
    """The angle between rocker and coupler by the law of cosines, from the crank's."""
    d = np.hypot(0.6 - 0.2 * np.cos(crank), 0.2 * np.sin(crank))
    return np.arccos((0.4**2 + 0.5**2 - d**2) / (2 * 0.4 * 0.5))


@pytest.mark.parametrize(
    ("limits", "at"), [({"upper": 1.0}, 1.0), ({"lower": 1.5}, 1.5), ({"lower": 1.3, "upper": 1.4}, 1.3)]
)
def test_limits_of_joints_that_close_loops_are_respected(limits, at):
    """Free, it would close at 1.2 rad; now next to the limit that is in the way, on the same side of the linkage."""
    robot = hinged(**limits)
    found = robot.assemble(START)
    (angle,) = robot.loop_coordinates(found.q)
    assert bool(found.ok) and float(found.beyond["pin"]) <= 1e-11
    assert angle == pytest.approx(at, abs=1e-4) and angle == pytest.approx(pin_angle(found.q[0]), abs=1e-11)
    assert limits.get("lower", -9.0) - 1e-11 <= angle <= limits.get("upper", 9.0) + 1e-11
    free = robot.assemble(START, limits=False)
    assert robot.loop_coordinates(free.q)[0] == pytest.approx(1.198, abs=1e-2) and not free.beyond
    many = robot.assemble(START + 0.05 * np.random.default_rng(1).normal(size=(8, 3)))
    turns = robot.loop_coordinates(many.q)[:, 0]
    assert many.ok.all() and (turns >= limits.get("lower", -9.0) - 1e-11).all()
    assert (turns <= limits.get("upper", 9.0) + 1e-11).all()


def test_limits_may_ask_for_the_other_way_to_close():
    """With the crank kept, the linkage closes in two ways, with the pin's angle and its opposite."""
    robot = hinged(lower=-2.0, upper=-1.0)
    found = robot.assemble(START, keep="a")
    assert found.q[0] == START[0]
    assert robot.loop_coordinates(found.q)[0] == pytest.approx(-pin_angle(-1.0), abs=1e-11)


@pytest.mark.slow
def test_a_loop_that_closes_only_beyond_a_limit_is_told():
    robot, angle = hinged(lower=1.5), float(pin_angle(-1.0))
    words = (
        r"loop 'pin' of 'linkage' cannot be closed.*closes only beyond limits.*joint of loop 'pin', coordinate 0, at "
        rf"{angle:.4f}\d*, {1.5 - angle:.3g} below its lower limit 1\.5.*were kept: a"
    )
    with pytest.raises(LoopError, match=words):
        robot.assemble(START, keep="a")
    told = robot.assemble(START, keep="a", check=False)
    assert not bool(told.ok) and told.worst == "pin" and (told.loops["pin"] > 1e-3 or told.beyond["pin"] > 1e-3)
    result = hinged(lower=1.5).simulate(until=0.01, limits="stop")  # a start that is assembled is within limits
    assert hinged().loop_coordinates(result.q[0])[0] >= 1.5 - 1e-11


@pytest.mark.parametrize("limits", [True, False])
def test_full_turns_are_taken_back_only_within_limits(limits: bool) -> None:
    """A hinge that went round from 4.1 to 10.1 rad would be at 3.8 rad, which is below its limit of 4 rad."""
    builder = on.Builder("bars").body("ground")
    inertia = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}
    builder.body("one", parent="ground", joint=on.Revolute((0, 0, 1)), joint_name="a", lower=4.0, upper=11.0, **inertia)
    builder.body("two", parent="one", joint=on.Revolute((0, 0, 1)), joint_name="b", at=(1, 0, 0), **inertia)
    builder.loop("pin", on.Revolute((0, 0, 1)), "two", "ground", at=(1, 0, 0), child_at=(1.2, 0.5, 0))
    solver = _Solver(builder.build(), np.zeros(2, bool), np.ones(2), None, limits, 1e-9)
    found = solver.unturned(np.array([[10.1, 0.5]]), np.array([[4.1, 0.5]]))
    assert np.allclose(found, [[10.1 if limits else 10.1 - 2.0 * np.pi, 0.5]])
