"""Forward dynamics of mechanisms with loops: redundant, singular, massless, driven, stabilised."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on
from ordern import robots
from ordern.errors import ArgumentError, LoopError, ModelError
from ordern.loops.dynamics import METHODS
from ordern.robots.mechanisms.bricard import assembled_position
from ordern.robots.mechanisms.four_bar import four_bar
from tests.loops.closed_systems import closed_robot, motion_state
from tests.tolerances import CLOSED_DYNAMICS, LEAST_NORM

ABOUT = (0.0, -1.0, 0.0)


def planar_four_bar(closure):
    """The bundled four-bar with another closure."""
    return on.Robot.of(four_bar(closure=closure).build())


def parallelogram(closure=None, bodies=("left", "top", "right")):
    """A parallelogram of unit bars, 0.5 m wide, which at q = 0 is flat: stretched along x, a singular position."""
    builder = on.Builder("parallelogram", gravity=(0.0, 0.0, -9.81)).body("ground")
    left, top, right = bodies
    bar = {"mass": 1.0, "com": (0.5, 0.0, 0.0), "inertia": (0.001, 1 / 12, 1 / 12)}
    link = {"mass": 0.5, "com": (0.25, 0.0, 0.0), "inertia": (0.001, 0.01, 0.01)}
    builder.body(left, parent="ground", joint=on.Revolute(ABOUT), joint_name="a", **bar)
    builder.body(top, parent=left, joint=on.Revolute(ABOUT), joint_name="b", at=(1.0, 0.0, 0.0), **link)
    builder.body(right, parent="ground", joint=on.Revolute(ABOUT), joint_name="c", at=(0.5, 0.0, 0.0), **bar)
    builder.loop("pin", closure or on.PointOnLine(ABOUT), right, top, at=(1.0, 0.0, 0.0), child_at=(0.5, 0.0, 0.0))
    return builder.build()


def parallelogram_acceleration(angle, rate):
    """On paper: bars of unit length turn alike, the top moves on a circle without turning."""
    inertia = 2 * (1 / 12 + 0.25) + 0.5
    return -9.81 * np.cos(angle) * (2 * 0.5 + 0.5) / inertia + 0.0 * rate


@pytest.mark.parametrize("method", METHODS)
def test_parallelogram_against_the_pendulum_that_it_is(method):
    robot = parallelogram()
    angle, rate = 0.7, 1.3
    q, v = np.array([angle, -angle, angle]), np.array([rate, -rate, rate])
    motion = robot.closed_dynamics(q, v, np.zeros(3), method=method)
    alpha = parallelogram_acceleration(angle, rate)
    np.testing.assert_allclose(motion.a, [alpha, -alpha, alpha], rtol=1e-11)
    np.testing.assert_allclose(robot.forward_dynamics(q, v, np.zeros(3), method=method), motion.a, rtol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_hinge_in_space_closes_a_flat_mechanism_with_three_redundant_rows(method):
    flat, spatial = planar_four_bar(None), planar_four_bar(on.Revolute(ABOUT))
    q = robots.positions("four-bar")["assembled"]
    v = flat.project_velocity(q, [1.0, 0.0, 0.0])
    tau = np.array([0.3, 0.0, 0.0])
    simple = flat.closed_dynamics(q, v, tau, method=method)
    motion = spatial.closed_dynamics(q, v, tau, method=method)
    assert (int(simple.rank), flat.nc) == (2, 2) and (int(motion.rank), spatial.nc) == (2, 5)
    np.testing.assert_allclose(motion.a, simple.a, rtol=1e-10)
    assert bool(motion.consistent) and not bool(motion.singular)
    shortest = np.linalg.lstsq(spatial.loop_jacobian(q).T, spatial.inverse_dynamics(q, v, motion.a) - tau, rcond=1e-8)
    np.testing.assert_allclose(motion.multipliers, shortest[0], atol=LEAST_NORM)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_door_with_two_hinges(method):
    door = on.load("door")
    free = door.opened()
    q, v, tau = [0.4], [0.7], [1.5]
    motion = door.closed_dynamics(q, v, tau, method=method)
    np.testing.assert_allclose(motion.a, free.forward_dynamics(q, v, tau), rtol=1e-12)
    assert int(motion.rank) == 0 and np.abs(motion.multipliers).max() < 1e-9 and not bool(motion.singular)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_bricard(method):
    robot = on.load("bricard")
    q = np.array(assembled_position(0.4))
    h = 1e-4
    # on paper: one freedom; its velocity and acceleration are those of the closed formula
    ahead, behind = (np.array(assembled_position(0.4 + s * h)) for s in (1, -1))
    slope, bend = (ahead - behind) / (2 * h), (ahead - 2 * q + behind) / h**2
    rate = 0.9
    motion = robot.closed_dynamics(q, rate * slope, np.zeros(5), method=method, tolerance=1e-6)
    # Lagrange's equation of the one freedom x: q' = slope x', q'' = slope x'' + bend x'^2
    M, C = robot.mass_matrix(q), robot.bias_force(q, rate * slope)
    x = slope @ (-C - M @ bend * rate**2) / (slope @ M @ slope)
    np.testing.assert_allclose(motion.a, slope * x + bend * rate**2, atol=1e-5)
    assert int(motion.rank) == 4 and robot.nc == 5 and not bool(motion.singular)


@pytest.mark.parametrize("method", METHODS)
def test_exactly_singular_positions_are_finite_and_told(method):
    robot = parallelogram()
    q = np.zeros(3)
    at_rest = robot.closed_dynamics(q, np.zeros(3), [1.0, 0.0, 0.0], method=method)
    assert np.isfinite(at_rest.a).all() and np.isfinite(at_rest.multipliers).all()
    assert int(at_rest.rank) == 1 and bool(at_rest.singular) and bool(at_rest.consistent)
    assert "singular" in str(at_rest)
    along = robot.closed_dynamics(q, [1.0, -1.0, 1.0], np.zeros(3), method=method)  # the parallelogram's own branch
    assert bool(along.consistent) and bool(along.singular)
    assert np.abs(along.violation).max() < 1e-9
    # a velocity that is on neither branch: no acceleration keeps the loop closed
    neither = robot.closed_dynamics(q, [1.0, 0.3, -1.6], np.zeros(3), method=method, check=False)
    assert np.isfinite(neither.a).all() and not bool(neither.consistent)
    assert "no acceleration" in str(neither)


def test_near_singular_positions_keep_the_constraint():
    """At a distance of 1e-3 to 1e-5 the second singular value is as small, and still counts."""
    robot = parallelogram()
    for angle in (1e-2, 1e-3, 1e-4, 1e-5):
        alpha = parallelogram_acceleration(angle, 1.0)
        for method in METHODS:
            q, v = np.array([1.0, -1.0, 1.0]) * angle, np.array([1.0, -1.0, 1.0])
            motion = robot.closed_dynamics(q, v, np.zeros(3), method=method)
            assert int(motion.rank) == 2, (method, angle)
            np.testing.assert_allclose(motion.a, [alpha, -alpha, alpha], rtol=1e-14 / angle**2 + 1e-11)


@pytest.mark.slow
def test_couplings_between_coordinates_are_rows_too():
    builder = parallelogram().builder()
    builder.body(
        "flywheel", parent="ground", joint=on.Revolute((0, 0, 1)), joint_name="wheel", mass=2.0, inertia=(0.3, 0.3, 0.3)
    )
    builder.couple("gear", "wheel", "a", (0.0, 3.0))
    robot = builder.build()
    assert robot.loop_rows == {"pin": slice(0, 2), "gear": slice(2, 3)}
    angle, rate = 0.7, 1.3
    names = [c.name for c in robot.independent]
    way = np.array([{"a": 1.0, "b": -1.0, "c": 1.0, "wheel": 3.0}[n] for n in names])
    place = np.array([{"a": angle, "b": -angle, "c": angle, "wheel": 3 * angle}[n] for n in names])
    for method in METHODS:
        motion = robot.closed_dynamics(place, rate * way, np.zeros(4), method=method)
        inertia = 2 * (1 / 12 + 0.25) + 0.5
        alpha = parallelogram_acceleration(angle, rate) * inertia / (inertia + 9 * 0.3)
        np.testing.assert_allclose(motion.a, alpha * way, rtol=1e-11)
        np.testing.assert_allclose(motion.coupling_forces["gear"], 0.3 * 3 * alpha, rtol=1e-9)


@pytest.mark.slow
def test_followers_and_loops_together():
    """Joints that follow others are no rows, and compiled multipliers leave them to the general code."""
    base, q = closed_robot(31, 6, ("spherical",))
    builder = base.builder()
    single = [c.name for c in base.joints if c.type.nv == 1]
    builder.body("extra", parent=base.bodies[-1].name, joint=on.Revolute((0, 1, 0)), joint_name="follower", mass=1.0,
                 com=(0.1, 0.2, 0.0), inertia=(0.05, 0.05, 0.05), mimic=(single[0], 0.5, 0.0))  # fmt: skip
    robot = builder.build()
    v, tau = motion_state(robot, q, 3)
    found = [robot.closed_dynamics(q, v, tau, method=m).a for m in METHODS]
    K, k = robot.loop_jacobian(q), robot.loop_bias(q, v)
    M = robot.mass_matrix(q)
    A = np.block([[M, K.T], [K, np.zeros((robot.nc, robot.nc))]])
    known = np.linalg.lstsq(A, np.r_[tau - robot.bias_force(q, v), -k], rcond=1e-12)[0][: robot.nv]
    for a in found:
        np.testing.assert_allclose(a, known, rtol=CLOSED_DYNAMICS, atol=CLOSED_DYNAMICS)


@pytest.mark.slow
def test_massless_coupler():
    """A rod without mass in a loop: trees cannot have it, null-space and kkt can; the usual method is one of them."""
    robot = parallelogram()
    builder = on.Builder("rod", gravity=(0.0, 0.0, -9.81)).body("ground")
    bar = {"mass": 1.0, "com": (0.5, 0.0, 0.0), "inertia": (0.001, 1 / 12, 1 / 12)}
    builder.body("left", parent="ground", joint=on.Revolute(ABOUT), joint_name="a", **bar)
    builder.body("top", parent="left", joint=on.Revolute(ABOUT), joint_name="b", at=(1.0, 0.0, 0.0))
    builder.body("right", parent="ground", joint=on.Revolute(ABOUT), joint_name="c", at=(0.5, 0.0, 0.0), **bar)
    builder.loop("pin", on.PointOnLine(ABOUT), "right", "top", at=(1.0, 0.0, 0.0), child_at=(0.5, 0.0, 0.0))
    light = builder.build()
    q, v = np.array([0.7, -0.7, 0.7]), np.array([1.0, -1.0, 1.0])
    alpha = -9.81 * np.cos(0.7) / (2 * (1 / 12 + 0.25))
    for method in ("kkt", "null-space", None):
        np.testing.assert_allclose(light.forward_dynamics(q, v, np.zeros(3), method=method), alpha * v, rtol=1e-11)
    np.testing.assert_allclose(light.project_velocity(q, v), v, atol=1e-12)
    assert robot.nv == light.nv


def test_stabilisation_is_baumgartes():
    robot = parallelogram()
    rng = np.random.default_rng(1)
    q, v, tau = rng.normal(size=(3, 3))
    assert np.abs(robot.loop_residual(q)).max() > 0.1
    for method in METHODS:
        motion = robot.closed_dynamics(q, v, tau, method=method, stabilise=(3.0, 5.0))
        second = robot.loop_jacobian(q) @ motion.a + robot.loop_bias(q, v)
        wanted = -2 * 3.0 * robot.loop_rate(q, v) - 25.0 * robot.loop_residual(q)
        np.testing.assert_allclose(second, wanted, rtol=1e-9)
        assert bool(motion.consistent)
    usual = robot.closed_dynamics(q, v, tau, stabilise=True).a
    np.testing.assert_allclose(usual, robot.closed_dynamics(q, v, tau, stabilise=(20.0, 20.0)).a)
    for bad in ((1.0,), (-1.0, 2.0), "much", (np.nan, 1.0)):
        with pytest.raises(on.ArgumentError, match="stabilise"):
            robot.closed_dynamics(q, v, tau, stabilise=bad)


@pytest.mark.slow
def test_drives_in_loops():
    """A motor in the pin, between top and right bar, and one of the opposite turning where it is a tree's joint."""
    robot = parallelogram(on.Revolute(ABOUT))
    q, v = np.array([0.7, -0.7, 0.7]), np.array([1.0, -1.0, 1.0])
    inertia = 2 * (1 / 12 + 0.25) + 0.5
    alpha = parallelogram_acceleration(0.7, 1.0) - 2.0 / inertia
    # a moment of 2 on the top, relative to the right bar, which turns against it
    motion = robot.closed_dynamics(q, v, np.zeros(3), loop_forces={"pin": [2.0]})
    assert np.array_equal(motion.a, robot.closed_dynamics(q, v, np.zeros(3), loop_forces={"pin": 2.0}).a)
    np.testing.assert_allclose(motion.a, alpha * v, rtol=1e-10)
    # tree joints have no drive: nothing is transmitted about their axes
    moments = motion.joint_wrenches[:, :3] @ np.array(ABOUT)
    assert np.abs(moments).max() < 1e-9
    with pytest.raises(on.UnknownNameError, match="pin"):
        robot.closed_dynamics(q, v, np.zeros(3), loop_forces={"pins": [2.0]})
    with pytest.raises(on.ArgumentError, match="no drive"):
        parallelogram().closed_dynamics(q, v, np.zeros(3), loop_forces={"pin": [2.0]})


@pytest.mark.slow
def test_ground_and_inner_loops_from_either_side():
    """The proximal method treats loops to the ground apart: with the base as parent or as child it is the same."""
    robot = parallelogram()
    q, v, tau = np.array([0.7, -0.7, 0.7]), np.array([1.0, -1.0, 1.0]), np.array([0.2, 0.1, -0.4])
    known = robot.closed_dynamics(q, v, tau, method="kkt").a
    for flipped in (False, True):
        builder = on.Builder("cut", gravity=(0.0, 0.0, -9.81)).body("ground")
        bar = {"mass": 1.0, "com": (0.5, 0.0, 0.0), "inertia": (0.001, 1 / 12, 1 / 12)}
        link = {"mass": 0.5, "com": (0.25, 0.0, 0.0), "inertia": (0.001, 0.01, 0.01)}
        builder.body("left", parent="ground", joint=on.Revolute(ABOUT), joint_name="a", **bar)
        builder.body("top", parent="left", joint=on.Revolute(ABOUT), joint_name="b", at=(1, 0, 0), **link)
        builder.body("right", parent="top", joint=on.Revolute(ABOUT), joint_name="c", at=(0.5, 0, 0),
                     mass=1.0, com=(-0.5, 0, 0), inertia=(0.001, 1 / 12, 1 / 12))  # fmt: skip
        ends = {"at": (0.5, 0, 0), "child_at": (-1.0, 0, 0)}
        if flipped:
            builder.loop("foot", on.Revolute(ABOUT), "right", "ground", at=(-1.0, 0, 0), child_at=(0.5, 0, 0))
        else:
            builder.loop("foot", on.Revolute(ABOUT), "ground", "right", **ends)
        cut = builder.build()
        place = np.array([0.7, -0.7, 0.7])
        assert np.abs(cut.loop_residual(place)).max() < 1e-12
        # the same mechanism with its tree cut elsewhere: the first joint's drive means the same
        for method in METHODS:
            motion = cut.closed_dynamics(place, v, [0.2, 0.0, 0.0], method=method)
            a = robot.closed_dynamics(q, v, [0.2, 0.0, 0.0]).a
            np.testing.assert_allclose(motion.a[0], a[0], rtol=1e-10)
            assert int(motion.rank) == 2
    assert known.shape == (3,)


def test_tree_methods_are_refused_by_robots_with_loops():
    robot = parallelogram()
    z = np.zeros(3)
    with pytest.raises(on.ArgumentError, match=r"articulated-body.*opened"):
        robot.forward_dynamics(z, z, z, method="articulated-body")
    with pytest.raises(on.UnknownNameError, match="multipliers, kkt, null-space, null-space-elimination, proximal"):
        robot.closed_dynamics(z, z, z, method="nonsense")
    with pytest.raises(on.ArgumentError, match="opened"):
        robot.joint_wrenches(z, z, z)
    opened = robot.opened()
    assert opened.forward_dynamics(z, z, z, method="articulated-body").shape == (3,)


def test_bad_arguments_are_named():
    robot = parallelogram()
    z = np.zeros(3)
    with pytest.raises(on.ArgumentError, match="tau"):
        robot.closed_dynamics(z, z, np.zeros(4))
    with pytest.raises(on.ArgumentError, match="broadcast"):
        robot.closed_dynamics(np.zeros((2, 3)), np.zeros((5, 3)), z)
    with pytest.raises(on.ArgumentError, match="q"):
        robot.project_velocity(np.zeros(2), z)


@pytest.mark.parametrize("method", METHODS)
def test_states_that_are_not_finite_do_no_harm(method):
    robot = parallelogram()
    q = np.array([[0.7, -0.7, 0.7], [np.nan, 0.0, 0.0]])
    v = np.array([1.0, -1.0, 1.0])
    a = robot.closed_dynamics(q, v, np.zeros(3), method=method).a
    alpha = parallelogram_acceleration(0.7, 1.0)
    np.testing.assert_allclose(a[0], alpha * v, rtol=1e-10)
    assert not np.isfinite(a[1]).all()


@pytest.mark.slow
def test_known_rank_keeps_motion_off_the_manifold():
    """A redundant mechanism that has drifted open by 1e-4 would lock; with its rank known it goes on."""
    robot = on.load("bricard")
    q = np.array(assembled_position(0.4))
    v = robot.project_velocity(q, np.ones(5))
    good = robot.closed_dynamics(q, v, np.zeros(5)).a
    off = q + 1e-5 * np.array([1.0, -2.0, 0.5, 1.0, 3.0])
    for method in ("multipliers", "kkt", "null-space", "proximal"):
        kept = robot.closed_dynamics(off, v, np.zeros(5), method=method, rank=4).a
        np.testing.assert_allclose(kept, good, atol=1e-2)
    coarse = robot.closed_dynamics(off, v, np.zeros(5), tolerance=1e-3).a
    np.testing.assert_allclose(coarse, good, atol=1e-2)


@pytest.mark.slow
def test_compiled_multipliers_in_every_way_of_running():
    """Interpreted in double and extended precision, unrolled, in float32; the last number is the smallest pivot."""
    robot = on.load("five-bar")
    q = np.asarray(robots.positions("five-bar")["assembled"], float)
    rng = np.random.default_rng(5)
    v = robot.project_velocity(q, rng.normal(size=(6, 4)))
    tau = rng.normal(size=(6, 4))
    known = robot.kernel("closed_dynamics", "kkt")(q, v, tau)
    for way in ("interpreted", "unrolled", None):
        found = robot.kernel("closed_dynamics", "multipliers", way=way)(q, v, tau)
        np.testing.assert_allclose(found[:, :-1], known[:, :-1], rtol=1e-10, atol=1e-10)
        assert ((found[:, -1] > 1e-3) & (found[:, -1] <= 1.0)).all()
    exact = robot.kernel("closed_dynamics", "multipliers")(*(np.asarray(x, np.longdouble) for x in (q, v, tau)))
    assert exact.dtype == np.longdouble
    np.testing.assert_allclose(exact[:, :-1].astype(float), known[:, :-1], rtol=1e-11, atol=1e-11)
    single = robot.kernel("closed_dynamics", "multipliers")(*(np.asarray(x, np.float32) for x in (q, v, tau)))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single[:, :4], known[:, :4], rtol=2e-3, atol=2e-3 * np.abs(known[:, :4]).max())


@pytest.mark.slow
def test_a_long_chain_of_loops_by_pieces():
    """Too many constraints for straight-line code: the same answers, from the multipliers by pieces."""
    robot = on.load("four-bar-chain-14")
    with pytest.raises(on.ArgumentError, match="straight-line"):
        robot.kernel("closed_dynamics", "multipliers")
    q = np.asarray(robots.positions("four-bar-chain-14")["assembled"], float)
    v = robot.project_velocity(q, np.ones(robot.nv))
    known = robot.closed_dynamics(q, v, np.zeros(robot.nv), method="null-space").a
    for method in ("multipliers", "kkt", "proximal"):
        a = robot.closed_dynamics(q, v, np.zeros(robot.nv), method=method).a
        np.testing.assert_allclose(a, known, atol=1e-9 * (1.0 + np.abs(known).max()))


def test_mistakes_in_arguments_are_named():
    robot, q, z = parallelogram(), np.array([0.7, -0.7, 0.7]), np.zeros(3)
    with pytest.raises(ArgumentError, match="loop_forces must be forces by names"):
        robot.closed_dynamics(q, z, z, loop_forces=[1, 2, 3])
    with pytest.raises(ArgumentError, match="tolerance must be a finite number above zero"):
        robot.mobility(q, tolerance=-1)
    with pytest.raises(ArgumentError, match="freedoms of the joints that close loops"):
        robot.loop_force(q, [1.0] * 7)
    with pytest.raises(ArgumentError, match=r"loop 'pin' is closed, True, or open, False; not 'off'"):
        robot.with_loops({"pin": "off"})


def test_drives_that_contradict_each_other_have_no_velocity():
    turn = on.Revolute((0, 1, 0))
    robot = on.Builder("crank").body("ground").body("bar", parent="ground", joint=turn, mass=1.0, inertia=(0.1,) * 3)
    for name, speed in (("slow", 1.0), ("fast", 2.0)):
        robot = robot.loop(name, on.Driven(turn, (0.0, speed)), "ground", "bar")
    with pytest.raises(LoopError, match="no velocities of 'crank' keep all loops closed"):
        robot.build().project_velocity([0.0], [0.0])


def test_loops_without_any_mass_are_told():
    turn = on.Revolute((0, 1, 0))
    robot = on.Builder("light").body("ground").body("one", parent="ground", joint=turn)
    robot = robot.body("two", parent="one", joint=turn, at=(1, 0, 0)).body("three", parent="ground", joint=turn)
    robot = robot.loop("pin", on.PointOnLine((0, 1, 0)), "three", "two", at=(1, 0, 0)).build()
    q, z = np.zeros(3), np.zeros(3)
    for method in ("null-space", "kkt", "multipliers", "proximal"):
        with pytest.raises(ModelError, match="moves no mass"):
            robot.closed_dynamics(q, z, z, method=method)


def test_answers_in_memory_of_the_callers() -> None:
    """As trees do: `out` is checked, and states in single precision have answers in single precision."""
    robot = on.load("four-bar")
    q = np.array(robots.positions("four-bar")["assembled"], float)
    zero = np.zeros(3)
    expected = robot.forward_dynamics(q, zero, zero)
    out = np.empty(3)
    assert robot.forward_dynamics(q, zero, zero, out=out) is out
    np.testing.assert_array_equal(out, expected)
    locked = np.empty(3)
    locked.flags.writeable = False
    for bad, message in (
        (np.zeros(3, int), "cannot cast"),
        (np.zeros(4), r"`out` has shape \(4,\)"),
        ([0.0, 0.0, 0.0], "must be a NumPy array"),
        (locked, "read-only"),
    ):
        with pytest.raises(on.ArgumentError, match=message):
            robot.forward_dynamics(q, zero, zero, out=bad)
    single = robot.forward_dynamics(*(x.astype(np.float32) for x in (q, zero, zero)))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, rtol=1e-3)
    with pytest.raises(on.ArgumentError, match="forward_dynamics of 'four-bar': argument 'tau' must be real numbers"):
        robot.forward_dynamics(q, zero, zero + 1j)
