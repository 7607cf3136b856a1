"""Trajectories of robots with loops: closed at every time, with velocities and accelerations that are derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern import robots
from ordern.control.closing import Closing
from ordern.control.trajectory import Motion
from ordern.robots.mechanisms import five_bar, four_bar
from tests.control.mechanisms import FRAMES, NAMES, ends, floating_four_bar
from tests.control.moving import slopes
from tests.tolerances import LOOPS_KEPT, ROUNDING, SECOND_DIFFERENCE, assert_close

Array = np.ndarray
tr = on.trajectories


def assert_moves(robot: on.Robot, trajectory: Any) -> None:
    """Loops are closed, v is the rate of q and a that of v, and both keep the loops closed."""
    t = np.linspace(0.0, trajectory.duration, 101)
    q, v, a = trajectory(t)
    assert np.abs(robot.loop_residual(q)).max() < LOOPS_KEPT
    assert np.abs(robot.loop_rate(q, v)).max() < LOOPS_KEPT * (1.0 + np.abs(v).max())
    K, k = robot.loop_jacobian(q), robot.loop_bias(q, v)
    assert np.abs((K @ a[..., None])[..., 0] + k).max() < 10 * LOOPS_KEPT * (1.0 + np.abs(a).max() + np.abs(k).max())
    inside = np.linspace(0.03, 0.97, 23) * trajectory.duration
    inside = inside[[all(abs(x - b) > 1e-3 for b in trajectory.breaks) for x in inside]]
    slope = slopes(robot, trajectory, inside)
    size = 1.0 + np.abs(a).max()  # differences are relative to how fast it is
    assert_close(trajectory(inside).v / size, slope[0] / size, SECOND_DIFFERENCE)
    assert_close(trajectory(inside).a / size, slope[1] / size, 10 * SECOND_DIFFERENCE)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("law", ["cycloidal", "minimum_jerk"])
def test_from_one_closed_position_to_another(name: str, law: str) -> None:
    robot, (q0, q1) = on.load(name), ends(name)
    trajectory = getattr(tr, law)(robot, q0, q1, 1.5)
    assert_moves(robot, trajectory)
    start, middle, end = trajectory(np.array([0.0, 0.75, 1.5]))[0]
    assert_close(robot.difference(start, q0), np.zeros(robot.nv), ROUNDING)
    assert_close(robot.difference(end, q1), np.zeros(robot.nv), 1e3 * ROUNDING)
    for joint in robot.actuated:  # motors lead: they are halfway
        at = robot.joint(joint).q
        assert_close(middle[at], 0.5 * (q0 + q1)[at], 100 * ROUNDING)
    assert trajectory.check(samples=50) == ()
    assert not trajectory(2.0).v.any() and not trajectory(-1.0).a.any()


@pytest.mark.slow
def test_other_motions() -> None:
    robot = on.load("five-bar")
    points = np.array([five_bar.inverse_kinematics(p) for p in ((0.05, 0.35), (-0.05, 0.3), (0.0, 0.25), (0.05, 0.35))])
    v = robot.project_velocity(points[0], [1.0, 0.0, -0.5, 0.0])
    for trajectory in (
        tr.trapezoidal(robot, points[0], points[1], velocity=1.0, acceleration=3.0),
        tr.quintic(robot, points[0], points[1], 1.0, v0=v),
        tr.spline(robot, [0.0, 0.5, 1.2, 2.0], points, ends="periodic"),
        tr.spline(robot, [0.0, 0.5, 1.2, 2.0], points, degree=5),
        tr.through(robot, points, 0.7, law="minimum-jerk"),
        tr.sequence(tr.hold(robot, points[0], 0.2), tr.minimum_jerk(robot, points[0], points[1], 0.5)),
    ):
        assert_moves(robot, trajectory)
        assert trajectory.check(samples=40) == ()
    assert_close(tr.quintic(robot, points[0], points[1], 1.0, v0=v)(0.0).v, v, 1e-12)
    passed = tr.spline(robot, [0.0, 0.5, 1.2, 2.0], points, degree=5)([0.5, 1.2]).q
    assert_close(passed, points[1:3], 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["door", "bricard", "double-parallelogram", "four-bar-chain-3"])
def test_constraints_that_depend_on_each_other(name: str) -> None:
    robot = on.load(name)
    q0 = np.array(robots.positions(name)["assembled"])
    first = robot.joints[0].name
    moved = q0.copy()
    moved[robot.joint(first).q] += 0.1
    q1 = robot.assemble(moved, keep=[first]).q
    trajectory = tr.minimum_jerk(robot, q0, q1, 1.0)
    assert_moves(robot, trajectory)
    assert_close(robot.difference(trajectory(1.0).q, q1), np.zeros(robot.nv), 1e-9)


def test_without_motors_a_joint_that_can_lead_is_found() -> None:
    """The rocker goes to and fro while the crank turns: only the crank or the coupler can lead a whole turn."""
    robot = on.load("four-bar").with_actuated(None)
    assert len(robot.actuated) == 3
    assert_moves(robot, tr.cycloidal(robot, *ends("four-bar"), 2.0))


@pytest.mark.slow
def test_a_floating_base_leads_as_well() -> None:
    robot = floating_four_bar(True)
    q0, q1, q2 = (
        np.concatenate([robot.random(k)[:7], four_bar.assembled_position(x)]) for k, x in enumerate((0.3, 1.9, 1.0))
    )
    assert_moves(robot, tr.minimum_jerk(robot, q0, q1, 1.0))
    trajectory = tr.spline(robot, [0.0, 1.0, 2.0], [q0, q1, q2])
    assert_moves(robot, trajectory)
    assert_close(robot.difference(trajectory(1.0).q, q1), np.zeros(robot.nv), 1e-12)


@pytest.mark.slow
def test_a_loop_that_time_drives() -> None:
    """A crank that is driven by time, and a slider that leads nothing: the motion follows the loop."""
    bar = {"mass": 1.0, "com": (0.25, 0, 0), "inertia": (0.01, 0.1, 0.1)}
    hinge = on.Revolute((0.0, -1.0, 0.0))
    builder = on.Builder("driven").body("ground")
    builder.body("a", parent="ground", joint=hinge, joint_name="a", **bar)
    builder.body("b", parent="a", joint=hinge, joint_name="b", at=(0.5, 0, 0), **bar)
    robot = builder.loop("clock", on.Driven(hinge, (0.2, 0.5)), "ground", "a").build()
    trajectory = tr.cycloidal(robot, [0.2, 0.0], [0.7, 1.0], 1.0)
    t = np.linspace(0.0, 1.0, 11)
    q, v, _ = trajectory(t)
    assert_close(q[:, 0], 0.2 + 0.5 * t, 1e-12)
    assert_close(v[:, 0], np.full(11, 0.5), 1e-12)
    with pytest.raises(on.ArgumentError, match="loop 'clock' of 'driven' is driven by time"):
        tr.tip(robot, "b", np.eye(4), 1.0, q0=[0.2, 0.0])


SHIFTS = {"five-bar": (-0.1, 0.0, -0.05), "delta-robot": (0.08, 0.05, 0.06), "stewart-platform": (0.03, 0.02, 0.05)}


@pytest.mark.slow
@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_on_a_line(name: str) -> None:
    robot, frame, (q0, _) = on.load(name), FRAMES[name], ends(name)
    goal = robot.pose(q0, frame)
    goal[:3, 3] += SHIFTS[name]
    task = "position" if name == "five-bar" else "pose"
    trajectory = tr.tip(robot, frame, goal, 1.2, q0=q0, task=task)
    assert_moves(robot, trajectory)
    assert max(trajectory.error) < 1e-6
    t = np.linspace(0.0, 1.2, 37)
    q, v, a = trajectory(t)
    T, V, A = trajectory.path(t)
    assert_close(robot.pose(q, frame)[:, :3, 3], T[:, :3, 3], 1e-6)
    rows = slice(3, 6) if task == "position" else slice(0, 6)
    assert_close(robot.velocity(q, v, frame, axes="world")[:, rows], V[:, rows], 1e-4)
    assert_close(robot.acceleration(q, v, a, frame, axes="world")[:, rows], A[:, rows], 3e-3)
    assert_close(robot.pose(trajectory(1.2).q, frame)[:3, 3], goal[:3, 3], 1e-8)
    for joint in robot.actuated:
        assert np.abs(v[:, robot.joint(joint).v]).max() > 0.01
    assert trajectory.check(samples=50) == ()


@pytest.mark.slow
def test_tips_error_covers_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """An elbow that is off between the knots does not move the platform, which has its own joint: the loop tells."""

    def opened(self: Closing, guess: Array, wanted: Motion, t: Array) -> Motion:
        q = wanted.q.copy()
        q[:, -1] += 1e-5
        return Motion(q, wanted.v, wanted.a)

    monkeypatch.setattr(Closing, "motion", opened)
    robot, (q0, _) = on.load("delta-robot"), ends("delta-robot")
    goal = robot.pose(q0, "platform")
    goal[:3, 3] += SHIFTS["delta-robot"]
    rough = tr.tip(robot, "platform", goal, 1.2, q0=q0, accuracy=1e-4)
    off = np.abs(robot.loop_residual(rough(0.5 * (rough.t[1:] + rough.t[:-1])).q)).max()
    assert off > 1e-6 and rough.error[1] >= off
    assert any(x.kind == "loop" for x in rough.check(samples=20))


@pytest.mark.slow
def test_check_tells_of_loops_that_open() -> None:
    robot = on.load("delta-robot")
    tree = robot.opened()
    trajectory = tr.minimum_jerk(tree, *ends("delta-robot"), 1.0)
    kinds = {x.kind: x for x in trajectory.check(robot, samples=50)}
    assert {"loop", "loop velocity", "loop acceleration"} <= kinds.keys()
    open_by = np.abs(robot.loop_residual(trajectory(kinds["loop"].time).q)).max()
    assert kinds["loop"].value == pytest.approx(open_by) and kinds["loop"].joint in robot.loop_rows
    assert "is open by" in str(kinds["loop"]) and "the velocities open loop" in str(kinds["loop velocity"])
    assert trajectory.check(samples=50) == ()


def test_check_tells_of_velocities_that_are_none() -> None:
    class Still(on.trajectories.Trajectory):
        """A motion that says that it stands still."""

        def __init__(self, inner: Any) -> None:
            self.inner, self.space, self.duration = inner, inner.space, inner.duration

        def _motion(self, t: Array, left: bool) -> Motion:
            q, v, a = self.inner._motion(t, left)
            return Motion(q, 0.0 * v, 0.0 * a)

    arm = on.load("planar-3r")
    (found,) = Still(tr.cycloidal(arm, [0, 0, 0], [1, 0.5, 0], 1.0)).check()
    assert (found.joint, found.kind, found.value) == ("joint1", "rate", 0.0) and found.limit == pytest.approx(
        2.0, rel=1e-2
    )
    assert "the velocity of joint 'joint1' is 0 at t" in str(found)


@pytest.mark.slow
def test_check_tells_of_motors_that_are_too_few_and_of_their_limits() -> None:
    robot, (q0, q1) = on.load("five-bar"), ends("five-bar")
    motors = robot.with_actuated(["left_drive"])
    found = tr.minimum_jerk(motors, q0, q1, 0.5).check(samples=20)
    assert [x.kind for x in found] == ["motor"] and "no forces of the motors (left_drive)" in str(found[0])
    builder = robot.builder()
    carrier = builder._joints["left_drive"]
    carrier.limits["effort_limit"] = (0.01,)
    weak = builder.build()
    (found,) = tr.minimum_jerk(weak, q0, q1, 0.5).check(samples=20)
    q, v, a = tr.minimum_jerk(weak, q0, q1, 0.5)(found.time)
    needed = weak.actuation(q, v, a).forces["left_drive"]
    assert (found.joint, found.kind) == ("left_drive", "effort") and abs(found.value) == pytest.approx(abs(needed[0]))


@pytest.mark.slow
def test_mistakes_are_named() -> None:
    robot, (q0, _) = on.load("four-bar"), ends("four-bar")
    crossed = np.array(four_bar.assembled_position(1.0, crossed=True))
    with pytest.raises(on.LoopError, match=r"does not arrive at q1: joint 'pivot' would be off by .* another way to"):
        tr.minimum_jerk(robot, q0, crossed, 1.0)
    turned = np.array(four_bar.assembled_position(1.0))
    turned[1] += 2.0 * np.pi
    with pytest.raises(on.LoopError, match=r"joint 'elbow' would be off by 6\.28, by full turns \(\+1\)"):
        tr.minimum_jerk(robot, q0, turned, 1.0)
    with pytest.raises(on.LoopError, match=r"q1: loop 'pin' of 'four-bar' is open by .*robot\.assemble"):
        tr.cycloidal(robot, q0, q0 + 0.1, 1.0)
    with pytest.raises(on.LoopError, match="q: loop 'pin'"):
        tr.hold(robot, q0 + 0.1, 1.0)
    with pytest.raises(on.LoopError, match="point 1: loop 'pin'"):
        tr.through(robot, [q0, q0 + 0.1], 1.0)
    with pytest.raises(on.ArgumentError, match="v0 would open loop 'pin' of 'four-bar'"):
        tr.quintic(robot, q0, q0, 1.0, v0=[1.0, 0.0, 0.0])
    with pytest.raises(on.ArgumentError, match="a1 would open loop 'pin' of 'four-bar'"):
        tr.quintic(robot, q0, q0, 1.0, a1=[1.0, 0.0, 0.0])
    sleigh = on.Builder("sleigh").body("ice").body("s", parent="ice", joint=on.Planar(), mass=1, inertia=(1, 1, 1))
    blade = sleigh.loop("blade", on.KnifeEdge((0, 1, 0)), "ice", "s").build()
    with pytest.raises(on.ArgumentError, match="'blade' of 'sleigh' binds velocities only"):
        tr.cycloidal(blade, np.zeros(3), np.ones(3), 1.0)


@pytest.mark.slow
def test_a_mechanism_that_ends_on_the_way() -> None:
    """A crank that is too long to pass its inner dead point: between these two positions there is no closed one."""
    sizes = {"crank": 0.32, "coupler": 0.2}
    robot = on.Robot.of(four_bar.four_bar(**sizes).build())
    q0, q1 = (np.array(four_bar.assembled_position(x, **sizes)) for x in (-0.7, 0.7))
    with pytest.raises(on.LoopError, match=r"at t = 0\.\d+ s .*four-bar.*singular position"):
        tr.minimum_jerk(robot, q0, q1, 1.0)


@pytest.mark.slow
def test_loops_do_not_let_a_frame_turn() -> None:
    robot, (q0, _) = on.load("delta-robot"), ends("delta-robot")
    goal = robot.pose(q0, "platform")
    goal[:2, :2] = [[np.cos(0.2), -np.sin(0.2)], [np.sin(0.2), np.cos(0.2)]]
    with pytest.raises(on.ArgumentError, match=r"not followed beyond t = 0 s|do not let frame 'platform' move"):
        tr.tip(robot, "platform", goal, 1.0, q0=q0)
