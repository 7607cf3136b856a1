"""Controllers of robots of which not every joint has a motor: forces at the motors only, and exactly what they promise.

What forces do is told by forward dynamics, which knows nothing of motors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.robots.mechanisms import four_bar
from tests.control.mechanisms import FRAMES, NAMES, ends, floating_four_bar
from tests.control.moving import move
from tests.robots import ROBOTS
from tests.tolerances import CLOSED_LOOP, MOTORS, ROUNDING, assert_close

Array = np.ndarray
tr, co = on.trajectories, on.controllers


def motors(robot: on.Robot) -> Array:
    found = np.zeros(robot.nv, bool)
    for name in robot.actuated:
        found[robot.joint(name).v] = True
    return found


def state(robot: on.Robot, near: Array, seed: int = 0) -> tuple[Array, Array]:
    """A closed position near one, and a velocity that keeps it closed."""
    rng = np.random.default_rng(seed)
    q = robot.assemble(robot.integrate(near, 0.02 * rng.normal(size=robot.nv))).q
    return q, robot.project_velocity(q, rng.normal(size=robot.nv))


@pytest.fixture(scope="module")
def legged() -> on.Robot:
    return on.load(ROBOTS / "solo_description/robots/solo12.urdf", floating=True)


LARGE = ("delta-robot", "spatial-slider-crank", "stewart-platform")
"""Those that take seconds to compile."""


@pytest.mark.parametrize("name", [pytest.param(x, marks=[pytest.mark.slow] * (x in LARGE)) for x in NAMES])
def test_mechanisms(name: str) -> None:
    """Computed torque, gravity, feed-forward and PD: nothing at passive joints, and the wanted acceleration."""
    robot, (q0, q1) = on.load(name), ends(name)
    at, goal = motors(robot), tr.minimum_jerk(robot, q0, q1, 1.0)
    assert 0 < at.sum() < robot.nv
    wanted = goal(0.3)
    q, v = state(robot, wanted.q)

    tau = co.ComputedTorque(robot, goal, kp=100.0, kd=15.0)(0.3, q, v)
    a = robot.forward_dynamics(q, v, tau)
    expected = wanted.a + 15.0 * (wanted.v - v) + 100.0 * robot.difference(q, wanted.q)
    assert not tau[~at].any()
    assert_close(a[at], expected[at], MOTORS)

    tau = co.FeedForward(robot, goal, 5.0, 2.0)(0.3, wanted.q, wanted.v)
    assert not tau[~at].any()
    assert_close(robot.forward_dynamics(wanted.q, wanted.v, tau), wanted.a, MOTORS)

    tau = co.GravityCompensation(robot)(0.0, q, np.zeros(robot.nv))
    assert not tau[~at].any() and np.abs(tau).max() > 1e-3
    assert_close(robot.forward_dynamics(q, np.zeros(robot.nv), tau), np.zeros(robot.nv), MOTORS)
    assert_close(co.PD(robot, q, 7.0, 3.0, gravity=True)(0.0, q, 0.0 * v), tau, ROUNDING)

    pulled = co.PD(robot, goal, 7.0, 3.0)(0.3, q, v)
    assert_close(pulled, np.where(at, 7.0 * robot.difference(q, wanted.q) + 3.0 * (wanted.v - v), 0.0), 1e-9)
    assert not co.GravityCompensation(robot, damping=1.0)(0.0, q, v)[~at].any()


@pytest.mark.slow
@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_of_a_mechanism(name: str) -> None:
    robot, frame, (q0, q1) = on.load(name), FRAMES[name], ends(name)
    at = motors(robot)
    q, v = state(robot, q0)
    task, rows = ("position", slice(3, 6)) if name != "stewart-platform" else ("pose", slice(0, 6))
    control = co.OperationalSpace(robot, frame, robot.pose(q1, frame), kp=36.0, task=task)
    tau = control(0.0, q, v)
    a = robot.forward_dynamics(q, v, tau)
    assert not tau[~at].any()
    assert_close(robot.acceleration(q, v, a, frame, axes="world")[rows], control.wanted(0.0, q, v)[rows], 10 * MOTORS)


@pytest.mark.slow
def test_the_null_space_of_a_mechanism() -> None:
    """Of all accelerations that move the frame so, it has the one nearest to the posture's in kinetic energy."""
    robot, (q0, q1) = on.load("stewart-platform"), ends("stewart-platform")
    q, v = state(robot, q0)
    control = co.OperationalSpace(
        robot, "platform", robot.pose(q1, "platform"), kp=36.0, task="position", posture=q1, null_kp=9.0
    )
    a = robot.forward_dynamics(q, v, control(0.0, q, v))
    J = robot.jacobian(q, "platform", axes="world")[3:]
    N = robot.mobility(q).motions
    left = N @ np.linalg.svd(J @ N)[2][3:].T  # motions that loops allow and that leave the frame's origin in place
    u = 9.0 * robot.difference(q, q1) - 6.0 * v
    assert left.shape[1] == 3
    assert_close(left.T @ robot.mass_matrix(q) @ (a - u), np.zeros(3), 1e-8)


@pytest.mark.slow
def test_errors_decay_in_a_simulation() -> None:
    robot, (q0, _) = on.load("five-bar"), ends("five-bar")
    at = [robot.joint(name).q_start for name in robot.actuated]
    moved = q0.copy()
    moved[at] += [0.1, -0.05]
    start = robot.assemble(moved, keep=robot.actuated).q
    result = robot.simulate(start, None, co.ComputedTorque(robot, q0, kp=25.0), until=0.4)
    e = (q0 - start)[at] * (1.0 + 5.0 * 0.4) * np.exp(-5.0 * 0.4)
    assert_close((q0 - result.q[-1])[at], e, CLOSED_LOOP)


def test_more_motors_than_freedoms() -> None:
    robot, (q0, q1) = on.load("four-bar").with_actuated(["drive", "pivot"]), ends("four-bar")
    goal = tr.minimum_jerk(robot, q0, q1, 1.0)
    q, v, a = goal(0.3)
    tau = co.ComputedTorque(robot, goal, kp=100.0)(0.3, q, v)
    assert tau[1] == 0.0 and tau[0] and tau[2]
    assert_close(robot.forward_dynamics(q, v, tau), a, MOTORS)
    one = robot.with_actuated(["drive"]).actuation(q, v, a).tau
    assert np.linalg.norm(tau) < np.linalg.norm(one)  # shared


@pytest.mark.slow
def test_dampers_and_springs_in_loops_are_compensated() -> None:
    builder = on.Builder.of(four_bar.four_bar(closure=on.Revolute((0, -1, 0))).build())
    loop, one, other = builder._loops["pin"]
    terms = {"damping": 0.3, "stiffness": 0.2}
    ends_at = {"at": loop.parent_placement, "child_at": loop.child_placement}
    del builder._loops["pin"]
    robot = builder.loop("pin", loop.type, one, other, **ends_at, **terms).build()
    q0, q1 = ends("four-bar")
    goal = tr.minimum_jerk(robot, q0, q1, 1.0)
    q, v, a = goal(0.4)
    passive = robot.passive_force(q, v) + robot.loop_passive_force(q, v)
    assert np.abs(passive).max() > 0.01
    tau = co.ComputedTorque(robot, goal, kp=10.0)(0.4, q, v)
    assert_close(robot.forward_dynamics(q, v, tau + passive), a, MOTORS)


@pytest.mark.slow
def test_a_floating_base_is_not_pushed(legged: on.Robot) -> None:
    rng = np.random.default_rng(0)
    q, v = legged.random(rng), rng.normal(size=legged.nv)
    at = motors(legged)
    assert at.tolist() == [False] * 6 + [True] * 12
    for control in (
        co.PD(legged, legged.neutral(), 10.0, 1.0, gravity=True),
        co.GravityCompensation(legged, damping=0.5),
        co.Saturated(legged, lambda t, q, v: np.ones(legged.nv), 5.0),
    ):
        tau = control(0.0, q, v)
        assert not tau[:6].any() and tau[6:].all()
    tau = co.GravityCompensation(legged)(0.0, q, v)
    assert_close(tau[6:], legged.gravity_force(q)[6:], ROUNDING)
    report = co.Saturated(legged, lambda t, q, v: np.ones(legged.nv), 5.0)
    report(0.0, q, v)
    assert {x.joint for x in report.report} == {"root_joint"}


@pytest.mark.slow
def test_what_needs_more_motors_is_refused(legged: on.Robot) -> None:
    words = r"needs a motor at every joint, but 'root_joint' of 'solo' has none.*PD\(.*gravity=True\).*with_actuated"
    with pytest.raises(on.ArgumentError, match=rf"ComputedTorque {words}"):
        co.ComputedTorque(legged, legged.neutral(), 4.0)
    frame = legged.bodies[-1].name
    with pytest.raises(on.ArgumentError, match=rf"OperationalSpace {words}"):
        co.OperationalSpace(legged, frame, np.eye(4), 4.0)
    with pytest.raises(on.LoopError, match=r"their forces cannot cause this motion.*the motion root_joint"):
        co.FeedForward(legged, legged.neutral(), 1.0, 1.0)
    arm = on.load("planar-3r").with_actuated(["joint1"])
    with pytest.raises(on.ArgumentError, match="but 'joint2', 'joint3' of 'planar-3r' has none"):
        co.ComputedTorque(arm, np.zeros(3), 4.0)
    robot, (q0, _) = on.load("five-bar").with_actuated(["left_drive"]), ends("five-bar")
    with pytest.raises(on.ArgumentError, match=r"all 2 freedoms of 'five-bar'.*\(left_drive\) drive 1; the motion"):
        co.ComputedTorque(robot, q0, 4.0)
    with pytest.raises(on.LoopError, match="their forces cannot cause"):
        co.GravityCompensation(robot)(0.0, q0, np.zeros(4))
    thrust = legged.with_actuated([c.name for c in legged.joints])
    co.ComputedTorque(thrust, thrust.neutral(), 4.0)


@pytest.mark.slow
def test_feed_forward_of_a_motion_that_few_motors_can_cause() -> None:
    arm = on.load("double-pendulum").with_actuated(["shoulder"])
    q, v = np.array([0.3, -0.4]), np.array([1.0, 0.5])
    a = arm.forward_dynamics(q, v, [2.0, 0.0])
    tau = co.FeedForward(arm, lambda t: (q, v, a), 0.0, 0.0, passive=False)(0.0, q, v)
    assert_close(tau, [2.0, 0.0], 1e-9)
    with pytest.raises(on.LoopError, match=r"\(shoulder\) drive 1"):
        co.FeedForward(arm, lambda t: (q, v, a + 1.0), 0.0, 0.0, passive=False)


def test_a_floating_base_with_loops() -> None:
    """Gravity is held as if something held the base; what would push the base is refused."""
    robot, held = floating_four_bar(True), floating_four_bar(False)
    q = np.array(four_bar.assembled_position(0.7))
    expected = co.GravityCompensation(held)(0.0, q, np.zeros(3))
    assert expected[0] and not expected[1:].any()
    whole = np.concatenate([robot.neutral()[:7], q])
    tau = co.GravityCompensation(robot)(0.0, whole, np.zeros(9))
    assert_close(tau, [0.0] * 6 + expected.tolist(), 1e-12)
    tau = co.PD(robot, whole, 5.0, 1.0, gravity=True)(0.0, whole, np.zeros(9))
    assert_close(tau, [0.0] * 6 + expected.tolist(), 1e-12)
    with pytest.raises(
        on.ArgumentError, match="ComputedTorque needs motors for all freedoms, but 'root_joint' of 'walk"
    ):
        co.ComputedTorque(robot, whole, 4.0)
    with pytest.raises(on.ArgumentError, match="OperationalSpace needs motors for all freedoms"):
        co.OperationalSpace(robot, "coupler", np.eye(4), 4.0)


@pytest.mark.slow
def test_batches() -> None:
    robot, (q0, q1) = on.load("delta-robot"), ends("delta-robot")
    goal = tr.minimum_jerk(robot, q0, q1, 1.0)
    (one, v1), (other, v2) = state(robot, q0, 1), state(robot, q1, 2)
    q, v = np.stack([[one, other]] * 3), np.stack([[v1, v2]] * 3)
    controls: tuple[Any, ...] = (
        co.PD(robot, goal, 3.0, 1.0, gravity=True),
        co.ComputedTorque(robot, goal, 4.0),
        co.FeedForward(robot, goal, 3.0, 1.0),
        co.GravityCompensation(robot, 1.0),
        co.OperationalSpace(robot, "platform", robot.pose(q1, "platform"), 4.0, task="position"),
    )
    for control in controls:
        many = control(0.3, q, v)
        assert many.shape == v.shape
        assert_close(many[2, 1], control(0.3, other, v2), 1e-9)


@pytest.mark.needs("scipy")
@pytest.mark.slow
def test_a_passive_joint_is_not_pushed() -> None:
    """A pendulum on a cart with a motor: it swings as one does whose pivot the motor moves."""
    builder = on.Builder("cart", actuated=["rail"]).body("ground")
    builder.body("cart", parent="ground", joint=on.Prismatic((1, 0, 0)), joint_name="rail", mass=1.0)
    builder.body("bob", parent="cart", joint=on.Revolute((0, 1, 0)), joint_name="swing", mass=0.5, com=(0, 0, -0.4))
    cart = builder.build()
    q0 = np.array([0.1, 0.3])
    control = co.PD(cart, np.zeros(2), 50.0, 0.0, gravity=True)
    assert control(0.0, q0, np.zeros(2)).tolist() == [-5.0, 0.0]
    q, v = move(cart, control, q0, np.zeros(2), 0.5)
    stored = [cart.potential_energy(x) + 25.0 * x[0] ** 2 for x in (q0, q)]  # the spring's is 50 x^2 / 2
    assert_close(stored[1] + cart.kinetic_energy(q, v), stored[0], CLOSED_LOOP)
