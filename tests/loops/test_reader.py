"""What a first reader of the page on loops stumbled over: messages, kinds of numbers, coordinates that are missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.io.loops import closure_of
from tests.joints.composites import P, R, S, X
from tests.tolerances import LOOP_CLOSED

Y = (0.0, 1.0, 0.0)
HINGE = on.Revolute(Y)
ROD = on.Composite((S(), S((0.0, 0.0, 0.1))))
"""Between two balls: it may spin, and so has no coordinates."""


def bar(length: float) -> dict[str, Any]:
    return {"mass": length, "com": (length / 2, 0, 0), "inertia": (1e-4, length**3 / 12, length**3 / 12)}


def bars(name: str = "linkage") -> on.Builder:
    builder = on.Builder(name).body("ground")
    builder.body("crank", parent="ground", joint=HINGE, joint_name="a", **bar(0.2))
    builder.body("coupler", parent="crank", joint=HINGE, joint_name="b", at=(0.2, 0, 0), **bar(0.5))
    return builder.body("rocker", parent="ground", joint=HINGE, joint_name="c", at=(0.6, 0, 0), **bar(0.4))


def linkage(closure: on.Closure = HINGE, **terms: Any) -> on.Robot:
    return bars().loop("pin", closure, "rocker", "coupler", at=(0.4, 0, 0), child_at=(0.5, 0, 0), **terms).build()


def held(closure: on.Closure, name: str = "e", **terms: Any) -> on.Robot:
    """A body that a loop alone holds."""
    builder = on.Builder("held").body("ground")
    builder.body("x", parent="ground", joint=on.Free(), mass=1.0, inertia=(1.0, 1.0, 1.0))
    return builder.loop(name, closure, "ground", "x", **terms).build()


LINKAGE, START = linkage(), [-1.0, 0.5, -1.5]
STILL = np.zeros(3)


@pytest.mark.parametrize("terms", [{"lower": -1, "upper": 1}, {"stiffness": 1.0}, {"damping": 0.1}, {"friction": 0.1}])
def test_a_loop_without_coordinates_has_no_springs_and_the_like(terms: dict[str, Any], tmp_path: Path) -> None:
    said = rf"loop 'pin' cannot have {', '.join(terms)}: a Composite of 2 joints.*a motion in common.*no springs"
    with pytest.raises(on.ModelError, match=said):
        linkage(ROD, **terms)
    words = {"name": "pin", "type": "composite", "parent": "rocker", "child": "coupler", **terms}
    words["parts"] = [{"type": "spherical"}, {"type": "spherical", "at": [0, 0, 0.1]}]
    tree, file = tmp_path / "tree.urdf", tmp_path / "loops.json"
    bars().build().save(tree, lossy=True)
    file.write_text(json.dumps([words]), encoding="utf-8")
    with pytest.raises(on.ModelError, match=rf"loops\.json: {said}"):
        on.load(tree, loops=file)
    graph = on.Builder("graph").body("ground").body("one", **bar(1.0))
    graph.connect("a", HINGE, "ground", "one").connect("pin", ROD, "ground", "one", closes=True, **terms)
    with pytest.raises(on.ModelError, match=r"joint 'pin' would close a loop, but has .*a motion in common"):
        graph.build()


def test_a_graph_keeps_springs_in_the_tree_that_have_no_coordinates_elsewhere() -> None:
    graph = on.Builder("graph").body("ground").body("one", **bar(1.0))
    graph.connect("a", HINGE, "ground", "one", damping=1.0).connect("rod", ROD, "ground", "one", damping=0.5)
    robot = graph.build()
    assert [c.name for c in robot.joints] == ["rod"] and [x.name for x in robot.loops] == ["a"]


@pytest.mark.slow
def test_a_loop_without_coordinates_does_not_hide_those_of_others() -> None:
    q = LINKAGE.assemble(START, keep="a").q
    rod = on.Composite((S((0.0, 0.0, -0.2)), S()))  # from the crank's hinge to its end
    builder = linkage(lower=0.0, upper=3.0).builder()
    robot = builder.loop("rod", rod, "ground", "coupler", at=(0, 0, 0.2), damping=0.0).build()
    assert np.abs(robot.loop_residual(q)).max() < LOOP_CLOSED
    assert (robot.loops[1].nq, robot.loops[1].nv, robot.loops[1].angles, robot.loop_table.nq) == (0, 0, (), 1)
    np.testing.assert_array_equal(robot.loop_coordinates(q), LINKAGE.loop_coordinates(q))
    with pytest.raises(on.ArgumentError, match="'rod' is closed by Composite, which no drive can move"):
        robot.loop_force(q, {"rod": [0.0] * 6})
    run = robot.simulate(q, until=0.01, limits="stop")
    assert run.report.ok and len(robot.loop_velocities(q, STILL)) == 1


@pytest.mark.slow
def test_coordinates_are_not_a_number_where_parts_do_not_reach() -> None:
    elbow = on.Composite((R(Y), R(Y, (0.2, 0, 0)), R(Y, (0.5, 0, 0))))
    robot = held(elbow, stiffness=1.0)
    far = np.array([1.0, 0, 0, 0, 5.0, 0, 0])
    assert np.abs(robot.loop_residual(far)).max() < LOOP_CLOSED
    assert np.isnan(robot.loop_coordinates(far)).all()
    for at in ([0.0, 0, 0], [-0.1, 0, 0.2], [-1.0, 0, 0]):  # stretched, bent, and stretched to the other side
        q = np.array([1.0, 0, 0, 0, *at])
        assert np.isfinite(robot.loop_coordinates(q)).all()
        assert np.isfinite(robot.loop_coordinates(q.astype(np.float32))).all()
    both = np.stack([far, [1.0, 0, 0, 0, -0.1, 0, 0.2]])
    out = np.empty((2, 3))
    assert robot.loop_coordinates(both, out=out) is out
    np.testing.assert_array_equal(np.isnan(out), [[True] * 3, [False] * 3])
    assert np.isfinite(robot.loop_passive_force(far, np.zeros(6))).all()  # as beside it
    run = robot.simulate([1.0, 0, 0, 0, -0.1, 0, 0.2], until=0.05)
    assert run.report.ok and np.isfinite(run["q.e"]).all()


@pytest.mark.slow
def test_a_reach_does_not_stand_in_the_way_of_closing() -> None:
    elbow = on.Composite((R(Y), R(Y, (0.2, 0, 0)), R(Y, (0.5, 0, 0))))
    robot = held(elbow, lower=(-3.0, 0.5, -3.0), upper=3.0)
    found = robot.assemble([1.0, 0.1, 0, 0, -0.01, 0.1, 0.01])  # out of its plane, and nearly stretched
    at = robot.loop_coordinates(found.q)
    assert at[1] >= 0.5 - 1e-9 and np.isfinite(at).all()


@pytest.mark.slow
@pytest.mark.parametrize("angle", [1e-6, -3e-7, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_hinges_that_are_parallel_but_for_rounding_are_parallel(angle: float, sign: float) -> None:
    near = (0.0, sign * np.cos(angle), sign * np.sin(angle))
    start = [1.0, 0.1, 0.2, 0.1, 0.3, 0.1, 0.2]
    chains = {
        4: lambda axis: (R(Y), R(axis, (0.2, 0, 0))),
        3: lambda axis: (R(Y), R(axis, (0.2, 0, 0)), R(X, (0.5, 0, 0.1))),
    }
    for rows, parts in chains.items():
        robot, exact = held(on.Composite(parts(near))), held(on.Composite(parts((0.0, sign, 0.0))))
        assert robot.nc == rows
        q, known = robot.assemble(start).q, exact.assemble(start).q
        np.testing.assert_allclose(q, known, atol=10.0 * abs(angle) + LOOP_CLOSED)
        np.testing.assert_allclose(
            robot.loop_coordinates(q), exact.loop_coordinates(known), atol=20.0 * abs(angle) + 1e-11
        )
    planar = held(on.Composite((R(Y), R(near, (0.2, 0, 0)), R(Y, (0.5, 0, 0.1)))))
    assert planar.nc == 3 and planar.loops[0].nq == 3
    assert held(on.Composite((R(Y), P(near)))).nc == 4  # a cylinder


@pytest.mark.slow
def test_limits_behind_a_ball_are_those_of_their_own_part() -> None:
    joint = on.Composite((S(), P(X)))
    free = -np.inf
    robot = held(joint, lower=(free, free, free, free, 0.2), upper=(np.inf, np.inf, np.inf, np.inf, 0.3))
    found = robot.assemble([1.0, 0.1, 0, 0, 0.5, 0.1, 0.1])
    assert 0.2 - 1e-9 <= robot.loop_coordinates(found.q)[4] <= 0.3 + 1e-9
    with pytest.raises(on.ModelError, match="loop 'e': lower must be one number or 5, not 2"):
        held(joint, lower=(0.0, 0.1))


def test_answers_are_of_single_precision_where_all_that_is_given_is() -> None:
    q = LINKAGE.assemble(START)
    single = LINKAGE.assemble(np.float32(START))
    assert q.q.dtype == np.float64 and single.q.dtype == np.float32
    np.testing.assert_array_equal(single.q, q.q.astype(np.float32))
    assert LINKAGE.assemble(np.float32(START), weights=np.ones(3)).q.dtype == np.float64
    closed, ok = LINKAGE.close(single.q)
    assert closed.dtype == np.float32 and ok
    v = np.ones(3, np.float32)
    rounded, exact = LINKAGE.project_velocity(single.q, v), LINKAGE.project_velocity(q.q, v)
    assert (rounded.dtype, exact.dtype) == (np.float32, np.float64)
    np.testing.assert_allclose(rounded, exact, rtol=1e-5)
    assert LINKAGE.opened().project_velocity(single.q, v).dtype == np.float32


@pytest.mark.slow
def test_a_joint_that_closes_a_loop_has_series_in_a_result() -> None:
    q = LINKAGE.assemble(START, keep="a").q
    motor = on.Driven(HINGE, coefficients=(float(q[0]), 40.0))
    robot = bars().loop("pin", HINGE, "rocker", "coupler", at=(0.4, 0, 0), child_at=(0.5, 0, 0))
    run = robot.loop("motor", motor, "ground", "crank").build().simulate(q, until=0.2)
    angle, rate = run["q.pin"], run["v.pin"]
    assert angle.shape == rate.shape == run.t.shape and {"q.pin", "v.pin"} < set(run.names)
    apart = angle - run.robot.loop_coordinates(run.q)[:, 0]
    np.testing.assert_allclose(np.remainder(apart + 1.0, 2.0 * np.pi), 1.0, atol=1e-12)
    assert np.abs(np.diff(angle)).max() < 1.0  # without jumps of full turns
    np.testing.assert_allclose(np.gradient(angle, run.t)[5:-5], rate[5:-5], atol=0.05 * np.abs(rate).max())
    with pytest.raises(on.UnknownNameError, match=r"'tau.pin'.*'pin' closes a loop: 'q.pin' and 'v.pin'"):
        run["tau.pin"]
    with pytest.raises(on.UnknownNameError, match=r"unknown series 'pin'.*loop_forces\('pin'\)"):
        run["pin"]
    with pytest.raises(on.UnknownNameError, match=r"'motor' has no coordinates.*loop_forces\('motor'\)"):
        run["q.motor"]


@pytest.mark.slow
def test_series_of_several_coordinates_have_names() -> None:
    robot = held(on.Composite((R(Y), S((0.2, 0, 0)))))
    run = robot.simulate(robot.assemble([1.0, 0, 0, 0, 0.1, 0, 0]).q, until=0.02)
    assert run["q.e"].shape == (len(run), 5) and run["v.e"].shape == (len(run), 4)
    np.testing.assert_array_equal(run["q.e.1.qw"], run["q.e"][:, 1])
    np.testing.assert_array_equal(run["v.e.0"], run["v.e"][:, 0])


def test_a_loop_where_a_joint_is_asked_for_is_told_apart() -> None:
    said = r"unknown joint 'pin' in linkage. 'pin' closes a loop.*`robot.loop_coordinates\(q\)`.*Known: a, b, c"
    with pytest.raises(on.UnknownNameError, match=said):
        LINKAGE.assemble(START, keep=["pin"])
    with pytest.raises(on.UnknownNameError, match=said):
        LINKAGE.joint("pin")
    coupled = bars().couple("gear", "a", "c", (0.0, 2.0)).build()
    with pytest.raises(on.UnknownNameError, match="'gear' is a coupling between joints"):
        coupled.joint("gear")


@pytest.mark.slow
def test_an_event_at_the_limit_of_a_loop() -> None:
    robot = linkage(lower=0.9, upper=3.0)
    q = robot.assemble(LINKAGE.assemble(START, keep="a").q).q
    run = robot.simulate(q, until=1.0, events=[on.Event.limit("pin", terminal=True)])
    assert run.report.stopped == "event"
    assert run["q.pin"][-1] == pytest.approx(0.9, abs=1e-9)
    with pytest.raises(on.ArgumentError, match="the joint of loop 'pin' has no limits"):
        LINKAGE.simulate(q, until=0.1, events=[on.Event.limit("pin")])


@pytest.mark.slow
def test_a_report_says_before_when_limits_were_left() -> None:
    robot = linkage(lower=0.9, upper=3.0)
    q = robot.assemble(LINKAGE.assemble(START, keep="a").q).q
    moment = robot.simulate(q, until=1.0, events=[on.Event.limit("pin", terminal=True)]).t[-1]
    run = robot.simulate(q, until=1.0)
    (left,) = run.report.violations
    assert f"pin left its limits before {left.time:.6g} s" in str(run.report)
    k = int(np.flatnonzero(run.t == left.time)[0])
    assert run.t[k - 1] <= moment <= left.time


@pytest.mark.slow
@pytest.mark.parametrize("method", [None, "kkt"])
def test_errors_of_forward_dynamics_say_so(method: str | None) -> None:
    q = LINKAGE.assemble(START, keep="a").q
    LINKAGE.forward_dynamics(q, STILL, STILL)
    wrong: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
        ((q[:2], STILL, STILL), {}, r"argument 'q' has shape \(2,\)"),
        ((q, "a", STILL), {}, "argument 'v' must be numbers"),
        ((q, np.zeros((2, 3)), np.zeros((4, 3))), {}, "do not broadcast"),
        ((q, STILL, STILL), {"external": np.zeros((2, 6))}, "argument 'external' has shape"),
        ((q, STILL, STILL), {"base_acceleration": np.zeros(5)}, "argument 'base_acceleration' has shape"),
    ]
    for arguments, more, said in wrong:
        with pytest.raises(on.ArgumentError, match=rf"^forward_dynamics.*{said}") as e:
            LINKAGE.forward_dynamics(*arguments, method=method, **more)
        assert "'linkage'" in str(e.value)
        with pytest.raises(on.ArgumentError, match=rf"^closed_dynamics.*{said}"):
            LINKAGE.closed_dynamics(*arguments, method=method, **more)
    with pytest.raises(on.UnknownNameError, match="unknown method 'none' in forward_dynamics of 'linkage'"):
        LINKAGE.forward_dynamics(q, STILL, STILL, method="none")


def test_forces_along_loops_may_have_names() -> None:
    q = LINKAGE.assemble(START, keep="a").q
    np.testing.assert_array_equal(LINKAGE.loop_force(q, {"pin": 0.3}), LINKAGE.loop_force(q, [0.3]))
    many = LINKAGE.loop_force(q, {"pin": [[0.3], [0.4]]})
    np.testing.assert_array_equal(many[0], LINKAGE.loop_force(q, [0.3]))
    with pytest.raises(on.UnknownNameError, match=r"unknown loop 'pen' in linkage. Did you mean 'pin'\?"):
        LINKAGE.loop_force(q, {"pen": 0.3})


def test_restarts_are_not_advised_where_they_were_tried() -> None:
    builder = on.Builder("short").body("ground")
    builder.body("upper", parent="ground", joint=HINGE, **bar(0.2))
    builder.body("lower", parent="upper", joint=HINGE, at=(0.2, 0, 0), **bar(0.3))
    short = builder.loop("rope", on.Distance(0.3), "ground", "lower", at=(1, 0, 0), child_at=(0.3, 0, 0)).build()
    with pytest.raises(on.LoopError, match=r"To go on, start from .* or set `restarts`"):
        short.assemble()
    with pytest.raises(on.LoopError, match=r"Nor does it from 2 random positions\. To go on, start from") as e:
        short.assemble(restarts=2, keep="upper_joint")
    assert "`restarts`" not in str(e.value) and "keep fewer joints" in str(e.value)


@pytest.mark.slow
def test_a_checkpoint_tells_limits_from_restitution(tmp_path: Path) -> None:
    robot = linkage(lower=1.0, upper=2.0)
    q = robot.assemble(LINKAGE.assemble(START, keep="a").q).q
    path = tmp_path / "run"
    robot.simulate(q, until=0.02, limits="bounce", restitution=0.5, checkpoint=path)
    with pytest.raises(on.ModelError, match="of another run: restitution differs"):
        robot.simulate(q, until=0.02, limits="bounce", restitution=0.6, checkpoint=path)
    with pytest.raises(on.ModelError, match="of another run: limits differs"):
        robot.simulate(q, until=0.02, limits="stop", restitution=0.5, checkpoint=path)


def test_couplings_are_counted_beside_loops() -> None:
    assert repr(LINKAGE).endswith("1.1 kg, 1 loop>")
    two = LINKAGE.builder().couple("gear", "a", "b", (0.0, 2.0)).couple("belt", "a", "c")
    assert repr(two.build()).endswith("1.1 kg, 1 loop, 2 couplings>")
    assert repr(bars().couple("gear", "a", "b").build()).endswith("1.1 kg, 1 coupling>")


def test_parts_of_a_composite_in_a_file_are_joints() -> None:
    def composite(*kinds: str) -> dict[str, Any]:
        return {"type": "composite", "parts": [{"type": kind} for kind in kinds]}

    with pytest.raises(on.ModelError, match=r"part 2. Did you mean 'revolute'\? Known: composite, .*") as e:
        closure_of(composite("revolute", "revolut"))
    for kind in ("distance", "driven", "knife_edge", "point_on_line", "rolling_ball", "rolling_disc"):
        assert kind not in str(e.value)
    with pytest.raises(on.ModelError, match="part 1: 'knife_edge' cannot be a part of a composite joint; a joint can"):
        closure_of(composite("knife-edge"))
    with pytest.raises(on.ModelError, match="'distance' cannot be driven; a joint can: composite"):
        closure_of({"type": "driven", "joint": {"type": "distance", "length": 1.0}})


@pytest.mark.slow
def test_limits_of_a_part_behind_a_ball_act_in_a_tree() -> None:
    """A weight that falls along a slide behind a ball: it bounces off the end, and `assemble` stops there."""
    joint = on.Composite((on.Spherical(), on.Prismatic((0, 0, -1))))
    limits = {"lower": [-np.inf] * 4 + [0.0], "upper": [np.inf] * 4 + [0.5]}
    builder = on.Builder("hanging").body("ground")
    builder.body("weight", parent="ground", joint=joint, mass=1.0, inertia=(0.1, 0.1, 0.1), **limits)
    result = builder.build().simulate([1, 0, 0, 0, 0.2], until=0.4, limits="bounce", restitution=0.5)
    fall = np.sqrt(2.0 * 0.3 / 9.81)
    assert result.events[0].time == pytest.approx(fall, abs=1e-9)
    assert result.v[-1, 3] == pytest.approx(-0.5 * 9.81 * fall + 9.81 * (0.4 - fall), abs=1e-9)
    builder.loop("wire", on.PointOnLine((1, 0, 0)), "ground", "weight", at=(0, 0, -0.9))
    with pytest.raises(on.LoopError, match=r"coordinate 4, at 0.9, 0.4 above its upper limit 0.5"):
        builder.build().assemble([1, 0, 0, 0, 0.2])
