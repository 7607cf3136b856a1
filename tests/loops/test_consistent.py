"""States that are none of the closed mechanism are errors that name the loop, how much, the state, and what to do."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern import InconsistentStateError, robots
from ordern.algorithms.closed_loop.misfit import MISFIT, Sizes, gap_and_slip
from ordern.loops.consistent import SINGLE

Y = (0.0, 1.0, 0.0)
HINGE = on.Revolute(Y)
METHODS = ("multipliers", "kkt", "null-space", "proximal")


def bar(length: float) -> dict[str, Any]:
    return {"mass": length, "com": (length / 2, 0, 0), "inertia": (1e-2 * length**3, length**3 / 12, length**3 / 12)}


def linkage(size: float = 1.0, closure: on.Closure = HINGE) -> on.Robot:
    """A four-bar whose bars are 0.2, 0.5 and 0.4, on a ground of 0.6, times a size; around it is 1.7."""
    b = on.Builder("linkage").body("ground")
    b.body("crank", parent="ground", joint=HINGE, joint_name="a", **bar(0.2 * size))
    b.body("coupler", parent="crank", joint=HINGE, joint_name="b", at=(0.2 * size, 0, 0), **bar(0.5 * size))
    b.body("rocker", parent="ground", joint=HINGE, joint_name="c", at=(0.6 * size, 0, 0), **bar(0.4 * size))
    return b.loop("pin", closure, "rocker", "coupler", at=(0.4 * size, 0, 0), child_at=(0.5 * size, 0, 0)).build()


def geared() -> on.Robot:
    b = on.Builder("geared").body("ground")
    b.body("in", parent="ground", joint=HINGE, joint_name="in", **bar(0.3))
    b.body("out", parent="ground", joint=HINGE, joint_name="out", at=(0.4, 0, 0), **bar(0.2))
    return b.couple("gear", "out", "in", (0.0, -2.5)).build()


def rodded() -> on.Robot:
    """Two pendulums whose ends a rod without mass joins."""
    b = on.Builder("rodded").body("ground")
    b.body("left", parent="ground", joint=HINGE, joint_name="left", **bar(0.3))
    b.body("right", parent="ground", joint=HINGE, joint_name="right", at=(0.5, 0, 0), **bar(0.3))
    return b.loop("rod", on.Distance(0.5), "left", "right", at=(0.3, 0, 0), child_at=(0.3, 0, 0)).build()


BUNDLED = ("four-bar", "slider-crank", "five-bar", "delta-robot", "stewart-platform")
ALL = [
    *BUNDLED[:3],
    pytest.param("delta-robot", marks=pytest.mark.slow),
    pytest.param("stewart-platform", marks=pytest.mark.slow),
]
BUILT = {"linkage": linkage, "geared": geared, "rodded": rodded}


@cache
def closed(name: str) -> tuple[on.Robot, np.ndarray, np.ndarray]:
    """A robot, and a closed state of it that moves."""
    if name in BUNDLED:
        robot, q = on.load(name), np.array(robots.positions(name)["assembled"], float)
    else:
        robot = BUILT[name]()
        q = robot.assemble([-1.0, 0.5, -1.5][: robot.nq] if name == "linkage" else [1.0, 1.2]).q
    return robot, q, robot.project_velocity(q, np.random.default_rng(1).normal(size=robot.nv))


def opened(name: str, by: float = 0.05) -> np.ndarray:
    """A position of it with open loops."""
    robot, q, _ = closed(name)
    return np.asarray(robot.integrate(q, by * np.random.default_rng(2).normal(size=robot.nv)))


@pytest.mark.parametrize("name", [*ALL, *BUILT])
def test_open_positions_and_velocities_that_open_loops_are_errors(name):
    robot, q, v = closed(name)
    tau = np.zeros(robot.nv)
    loops = "|".join(repr(x) for x in robot.loop_rows)
    wrong = v + np.random.default_rng(3).normal(size=robot.nv)
    for _ in range(2):  # the second call may be one of machine code
        assert np.isfinite(robot.forward_dynamics(q, v, tau)).all()
        with pytest.raises(InconsistentStateError, match=rf"({loops}).*by .*\d (m|rad).*tolerance is 0.001.*assemble"):
            robot.forward_dynamics(opened(name), 0 * v, tau)
        with pytest.raises(InconsistentStateError, match=rf"velocities.*({loops}).*opens at .*/s.*project_velocity"):
            robot.forward_dynamics(q, wrong, tau)


@pytest.mark.parametrize("name", ["four-bar", ALL[3], "geared"])
def test_the_first_state_of_a_batch_that_does_not_fit_is_named(name):
    robot, q, v = closed(name)
    tau = np.zeros(robot.nv)
    Q, V = np.tile(q, (2, 3, 1)), np.tile(v, (2, 3, 1))
    Q[1, 1] = Q[1, 2] = opened(name)
    with pytest.raises(InconsistentStateError, match=r"in state \(1, 1\) of the batch, the first of 2 such states"):
        robot.forward_dynamics(Q, 0 * V, tau)
    with pytest.raises(InconsistentStateError, match=r"in state 4 of the batch\."):
        robot.forward_dynamics(Q.reshape(6, -1)[:5], 0 * V.reshape(6, -1)[:5], tau)
    V[0, 2] += 1.0
    with pytest.raises(InconsistentStateError, match=r"opens at .* in state 2 of the batch\."):
        robot.forward_dynamics(q, V[0], tau)
    with pytest.raises(InconsistentStateError) as told:  # one state, many forces: there is no state to name
        robot.forward_dynamics(opened(name), v, np.zeros((4, robot.nv)))
    assert "batch" not in str(told.value)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_and_question_asks_for_states_that_fit(method):
    robot, q, v = closed("five-bar")
    bad, tau = opened("five-bar"), np.zeros(robot.nv)
    for call in (
        lambda: robot.forward_dynamics(bad, v, tau, method=method),
        lambda: robot.closed_dynamics(bad, v, tau, method=method),
        lambda: robot.joint_wrenches(bad, v, tau=tau),
        lambda: robot.actuation(bad, v, tau),
        lambda: robot.project_velocity(bad, v),
        lambda: robot.mobility(bad),
    ):
        with pytest.raises(InconsistentStateError, match=r"loop 'tool_pin' of 'five-bar' is open by"):
            call()
    with pytest.raises(InconsistentStateError, match=r"^actuation: velocities do not keep loop 'tool_pin'"):
        robot.actuation(q, v + 1.0, tau)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_without_the_check_the_formulas_answer(method):
    """K a + k = 0, in a state that no mechanism has."""
    robot, _, v = closed("four-bar")
    bad = opened("four-bar")
    motion = robot.closed_dynamics(bad, v, np.ones(3), method=method, check=False)
    assert np.abs(robot.loop_jacobian(bad) @ motion.a + robot.loop_bias(bad, v)).max() < 1e-8
    np.testing.assert_array_equal(robot.forward_dynamics(bad, v, np.ones(3), method=method, check=False), motion.a)
    assert robot.mobility(bad, check=False).freedoms == 1
    assert np.isfinite(robot.project_velocity(bad, v, check=False)).all()
    assert np.isfinite(robot.joint_wrenches(bad, v, tau=np.ones(3), check=False)).all()
    assert np.isfinite(robot.actuation(bad, 0 * v, 0 * v, check=False).u).all()


@pytest.mark.parametrize("name", [*ALL, *BUILT])
def test_the_check_changes_no_answer(name):
    robot, q, v = closed(name)
    rng = np.random.default_rng(4)
    tau = rng.normal(size=(64, robot.nv))
    found = robot.forward_dynamics(q, v, tau)
    np.testing.assert_array_equal(found, robot.forward_dynamics(q, v, tau, check=False))
    for _ in range(2):
        np.testing.assert_array_equal(robot.forward_dynamics(q, v, tau[0]), found[0])


@pytest.mark.slow
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_the_tolerance_is_a_part_of_the_way_around_the_loop(size):
    """By hand: 0.2 + 0.6 of the joints' places, 0.4 + 0.5 of the loop's."""
    robot, (_, q, _) = linkage(size), closed("linkage")
    assert robot.loop_sizes[0].length == pytest.approx(1.7 * size, rel=1e-12)
    for part, fits in ((0.9, True), (1.1, False)):
        off = np.array([0.0, 0.0, part * MISFIT * 1.7 / 0.4])  # the rocker's end is 0.4 away from its hinge
        assert np.linalg.norm(robot.loop_residual(q + off)) == pytest.approx(part * MISFIT * 1.7 * size, rel=1e-2)
        for _ in range(2):
            if fits:
                robot.forward_dynamics(q + off, np.zeros(3), np.zeros(3))
            else:
                with pytest.raises(InconsistentStateError, match="is open by"):
                    robot.forward_dynamics(q + off, np.zeros(3), np.zeros(3))


def test_where_the_ground_has_its_origin_does_not_count():
    b = on.Builder("far").body("ground")
    b.body("crank", parent="ground", joint=HINGE, joint_name="a", at=(100.0, 0, 0), **bar(0.2))
    b.body("coupler", parent="crank", joint=HINGE, joint_name="b", at=(0.2, 0, 0), **bar(0.5))
    b.body("rocker", parent="ground", joint=HINGE, joint_name="c", at=(100.6, 0, 0), **bar(0.4))
    far = b.loop("pin", HINGE, "rocker", "coupler", at=(0.4, 0, 0), child_at=(0.5, 0, 0)).build()
    assert far.loop_sizes[0].length == pytest.approx(1.7, rel=1e-12)
    assert rodded().loop_sizes[0].length == pytest.approx(0.3 + 0.5 + 0.3 + 0.5, rel=1e-12)


@pytest.mark.slow
def test_long_chains_of_loops_are_looked_at_loop_by_loop():
    """Robots that are too long for straight-line code."""
    robot = on.load("four-bar-chain-40")
    q, rest = robot.assemble().q, np.zeros(robot.nv)
    assert robot.nv > 60 and np.isfinite(robot.forward_dynamics(q, rest, rest)).all()
    bad = q.copy()
    bad[robot.joint(robot.joints[-1].name).q] += 0.1
    with pytest.raises(InconsistentStateError, match=r"loop 'pin40' of 'four-bar-chain-40' is open by 0\.\d+ m\."):
        robot.forward_dynamics(bad, rest, rest)
    turning = rest.copy()
    turning[robot.joints[-1].v] = 0.1
    with pytest.raises(InconsistentStateError, match=r"velocities do not keep loop 'pin40' .* in state 1 of the batch"):
        robot.forward_dynamics(q, [rest, turning], rest)


@pytest.mark.parametrize("speed", [0.0, 1.0, 100.0])
def test_the_tolerance_of_velocities_is_a_part_of_how_fast_joints_move(speed):
    robot, q, v = closed("linkage")
    v = speed * v / np.linalg.norm(v)
    for part, fits in ((0.9, True), (1.1, False)):
        slip = part * MISFIT * 1.7 * np.sqrt(1.0 + speed**2)
        off = np.array([0.0, 0.0, slip / 0.4])
        if fits:
            robot.forward_dynamics(q, v + off, np.zeros(3))
        else:
            with pytest.raises(InconsistentStateError, match="opens at"):
                robot.forward_dynamics(q, v + off, np.zeros(3))


def test_another_tolerance_may_be_given():
    robot, q, v = closed("linkage")
    little, much = q + np.array([0.0, 0.0, 1e-5]), q + np.array([0.0, 0.0, 0.02])
    robot.forward_dynamics(little, 0 * v, 0 * v)
    with pytest.raises(InconsistentStateError, match="tolerance is 1e-06"):
        robot.forward_dynamics(little, 0 * v, 0 * v, check=1e-6)
    with pytest.raises(InconsistentStateError, match=r"tolerance is 0\.001"):
        robot.forward_dynamics(much, 0 * v, 0 * v)
    assert np.isfinite(robot.forward_dynamics(much, 0 * v, 0 * v, check=0.1)).all()
    for wrong in (0.0, -1.0, np.nan, "no", None):
        with pytest.raises(on.ArgumentError, match="check must be True, False, or a positive tolerance"):
            robot.forward_dynamics(q, v, 0 * v, check=wrong)


@pytest.mark.slow
def test_angles_are_told_in_radians():
    robot = linkage(closure=on.Fixed())
    q = np.zeros(3)
    with pytest.raises(InconsistentStateError, match=r"'pin' of 'linkage' is open by .* m and .* rad"):
        robot.forward_dynamics(q + 0.4, q, q)
    driver = on.Builder("driver").body("ground").body("wheel", parent="ground", joint=HINGE, **bar(0.2))
    driver = driver.loop("motor", on.Driven(HINGE, (0.5, 2.0)), "ground", "wheel").build()
    with pytest.raises(InconsistentStateError, match=r"'motor' of 'driver' is open by 0.5 rad"):
        driver.forward_dynamics([0.0], [2.0], [0.0])
    with pytest.raises(InconsistentStateError, match=r"'motor' of 'driver' closed: it opens at 2 rad/s"):
        driver.forward_dynamics([0.5], [0.0], [0.0])
    assert abs(driver.forward_dynamics([2.5], [2.0], [0.0], t=1.0)[0]) < 1e-9


@pytest.mark.parametrize("name", ["four-bar", ALL[3]])
def test_single_precision_has_a_tolerance_of_its_own(name):
    robot, q, v = closed(name)
    q4, v4 = q.astype(np.float32), v.astype(np.float32)
    tau = np.zeros(robot.nv, np.float32)
    assert robot.forward_dynamics(q4, v4, tau).dtype == np.float32
    robot.forward_dynamics(q4, v, tau)
    with pytest.raises(InconsistentStateError, match=f"tolerance is {SINGLE:g}"):
        robot.forward_dynamics(opened(name).astype(np.float32), v4, tau)
    between = 0.5 * (MISFIT + SINGLE)
    step = np.random.default_rng(5).normal(size=robot.nv)
    sizes, by = Sizes.of(robot.loop_sizes), 1e-3
    for _ in range(20):  # to a position whose misfit is between both tolerances
        x = np.asarray(robot.integrate(q, by * step))
        by *= between / gap_and_slip(sizes, robot.loop_residual(x), None, None)[0].max()
    assert np.isfinite(robot.forward_dynamics(x.astype(np.float32), 0 * v4, tau)).all()
    with pytest.raises(InconsistentStateError, match=f"tolerance is {MISFIT:g}"):
        robot.forward_dynamics(x, 0 * v, 0 * v)


@pytest.mark.parametrize("name", [*ALL, "geared"])
def test_what_is_not_a_number_gives_what_is_none(name):
    robot, q, v = closed(name)
    tau = np.zeros(robot.nv)
    for _ in range(2):
        assert np.isnan(robot.forward_dynamics(q * np.nan, v, tau)).any()
        as_before = robot.forward_dynamics(q, v * np.nan, tau, check=False)
        np.testing.assert_array_equal(robot.forward_dynamics(q, v * np.nan, tau), as_before)
    Q = np.stack([q, q * np.nan, q])
    found = robot.forward_dynamics(Q, v, tau)
    assert np.isnan(found[1]).any()
    np.testing.assert_array_equal(found[[0, 2]], np.stack([robot.forward_dynamics(q, v, tau)] * 2))
    Q[2] = opened(name)
    with pytest.raises(InconsistentStateError, match="state 2 of the batch"):
        robot.forward_dynamics(Q, v, tau)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_states_of_files_and_of_rollouts_fit(name):
    robot, q, v = closed(name)
    tau = np.zeros(robot.nv)
    six = [np.array([float(f"{x:.6g}") for x in y]) for y in (q, v)]
    assert np.isfinite(robot.forward_dynamics(*six, tau)).all()
    run = robot.rollout(q, v, steps=60, dt=1e-3, method="rk4")
    assert np.isfinite(robot.forward_dynamics(run.q, run.v, tau)).all()
    rough = robot.rollout(q, 0.2 * v, steps=60, dt=1e-3)  # semi-implicit Euler
    assert np.isfinite(robot.forward_dynamics(rough.q, rough.v, tau)).all()


def test_what_pulls_open_loops_together_takes_them_open():
    robot, _, v = closed("four-bar")
    assert np.isfinite(robot.closed_dynamics(opened("four-bar"), v, np.zeros(3), stabilise=True).a).all()


def test_runs_start_from_states_that_fit():
    robot, q, v = closed("four-bar")
    bad = opened("four-bar")
    with pytest.raises(InconsistentStateError, match=r"loop 'pin' .* is open by .*tolerance is 1e-06.*assemble"):
        robot.simulate(bad, until=0.1)
    with pytest.raises(
        InconsistentStateError, match=r"loop 'pin' .* would open with .*tolerance is .*project_velocity"
    ):
        robot.simulate(q, v + 1.0, until=0.1)
    with pytest.raises(
        InconsistentStateError, match=r"'pin' open by .*state 1 of the batch.*tolerance is 1e-06.*assemble"
    ):
        robot.rollout([q, bad], np.zeros((2, 3)), steps=2)


def test_a_joint_that_is_in_no_loop_does_not_count():
    """A rotor at 3,000 rad/s beside a four-bar that opens at 0.1 rad/s."""
    b = linkage().builder()
    b.body("rotor", parent="ground", joint=HINGE, joint_name="rotor", mass=1.0, inertia=(0.1, 0.1, 0.1))
    robot, (_, q, _) = b.build(), closed("linkage")
    q, v = np.append(q, 0.0), np.zeros(4)
    v[robot.joint("rotor").v] = 3000.0
    robot.forward_dynamics(q, v, np.zeros(4))
    v[robot.joint("c").v] = 0.1
    with pytest.raises(InconsistentStateError, match=r"opens at 0\.04 m/s"):
        robot.forward_dynamics(q, v, np.zeros(4))


def test_bodies_that_loops_alone_hold_have_a_size():
    """A ball that rolls: nothing but its radius is long."""
    b = on.Builder("ball").body("ground")
    b.body("ball", parent="ground", joint=on.Free(), mass=1.0, inertia=(0.01, 0.01, 0.01))
    robot = b.loop("floor", on.RollingBall(0.05), "ground", "ball").build()
    assert robot.loop_sizes[0].length == 0.05
    q, v = np.array([1.0, 0, 0, 0, 0, 0, 0.05]), np.array([0, 1.0, 0, 0.05, 0, 0])
    robot.forward_dynamics(q, v, np.zeros(6))
    with pytest.raises(InconsistentStateError, match=r"'floor' of 'ball' is open by 0\.001 m"):
        robot.forward_dynamics(q + np.eye(7)[6] * 0.001, v, np.zeros(6))
    with pytest.raises(InconsistentStateError, match=r"opens at 0\.1 m/s"):
        robot.forward_dynamics(q, v * [1, 1, 1, -1, 1, 1], np.zeros(6))
