"""Controllers in closed loop: errors that are exponentials, decoupled frames, rest; integrated by SciPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern import rotations
from tests.control.moving import move
from tests.random_models import random_robot
from tests.robots import ROBOTS
from tests.tolerances import CLOSED_LOOP, FINITE_DIFFERENCE, ROUNDING, assert_close

Array = np.ndarray
tr, co = on.trajectories, on.controllers


@pytest.fixture(scope="module")
def puma() -> on.Robot:
    return on.load("puma560")


@pytest.fixture(scope="module")
def panda() -> on.Robot:
    return on.load(ROBOTS / "panda_description/urdf/panda.urdf").lock("panda_finger_joint1")


@pytest.fixture(scope="module")
def creature() -> on.Robot:
    """A floating robot, with thrusters at its base."""
    robot = random_robot(1, 5, (on.Spherical, on.Revolute, on.Planar, on.Prismatic), floating=True, passive=True)
    return robot.with_actuated([c.name for c in robot.joints])


def decayed(e: Array, rate: Array, w: float, t: float) -> Array:
    """The solution of e'' + 2 w e' + w^2 e = 0."""
    return (e + (rate + w * e) * t) * np.exp(-w * t)


def error_rate(robot: on.Robot, goal: Any, q: Array, v: Array) -> Array:
    """The rate of difference(q, goal) at the start, by a central difference."""
    h = 1e-5
    after, before = (robot.difference(robot.integrate(q, v, x), goal(x)) for x in (h, -h))
    return (after - before) / (2 * h)


@pytest.mark.needs("scipy")
@pytest.mark.slow
def test_computed_torque_makes_the_error_linear(puma: on.Robot) -> None:
    rng = np.random.default_rng(0)
    q0, q1 = puma.random(rng, 2)
    e, v = rng.normal(0, 0.3, 6), rng.normal(0, 0.3, 6)
    goal = tr.cycloidal(puma, q0, q1, 2.0)
    q, _ = move(puma, co.ComputedTorque(puma, goal, kp=9.0), q0 - e, v, 0.8)
    assert_close(puma.difference(q, goal(0.8).q), decayed(e, -v, 3.0, 0.8), CLOSED_LOOP)


@pytest.mark.needs("scipy")
@pytest.mark.slow
def test_also_where_bodies_turn(creature: on.Robot) -> None:
    """Rotation vectors and screws to a moving target decay as numbers do; damping and friction do not matter."""
    rng = np.random.default_rng(1)
    points, times = creature.random(rng, 3), np.array([0.0, 1.0, 1.6])
    goal = tr.spline(creature, times, points, ends="natural")
    q0, v = creature.integrate(points[0], rng.normal(0, 0.4, creature.nv)), rng.normal(0, 0.5, creature.nv)

    def ahead(t: float) -> Array:  # a natural spline goes on with constant velocity at its start
        return goal(t).q if t >= 0 else creature.integrate(points[0], goal(0.0).v, t)

    e, rate = creature.difference(q0, points[0]), error_rate(creature, ahead, q0, v)
    q, _ = move(creature, co.ComputedTorque(creature, goal, kp=16.0), q0, v, 0.5)
    expected = decayed(e, rate, 4.0, 0.5)
    assert np.abs(expected).max() > 0.05
    assert_close(creature.difference(q, goal(0.5).q), expected, 10 * FINITE_DIFFERENCE)


@pytest.mark.needs("scipy")
def test_gains_by_joint(puma: on.Robot) -> None:
    e = np.full(6, 0.1)
    control = co.ComputedTorque(puma, np.zeros(6), kp={"waist": 4.0, "elbow": 9.0}, kd={"waist": 4.0, "elbow": 6.0})
    q, v = move(puma, control, -e, np.zeros(6), 1.0)
    still = np.full(6, -0.1)
    still[0], still[2] = (-0.1 * (1 + w) * np.exp(-w) for w in (2.0, 3.0))
    assert_close(q, still, CLOSED_LOOP)
    assert np.abs(v[[1, 3, 4, 5]]).max() < CLOSED_LOOP


@pytest.mark.needs("scipy")
def test_gravity_compensation_rests(puma: on.Robot) -> None:
    q0 = puma.random(2)
    q, v = move(puma, co.GravityCompensation(puma, damping=1.0), q0, np.zeros(6), 2.0)
    assert_close(q, q0, CLOSED_LOOP)
    assert_close(v, np.zeros(6), CLOSED_LOOP)


@pytest.mark.needs("scipy")
def test_gravity_compensation_keeps_energy(puma: on.Robot) -> None:
    q0, v0 = puma.random(2), np.full(6, 0.5)
    q, v = move(puma, co.GravityCompensation(puma), q0, v0, 1.0)
    assert_close(puma.kinetic_energy(q, v), puma.kinetic_energy(q0, v0), CLOSED_LOOP)


@pytest.mark.needs("scipy")
@pytest.mark.slow
def test_pd_holds_where_springs_balance_gravity(puma: on.Robot) -> None:
    goal = np.array([0.3, 0.6, -0.8, 0.1, 0.4, 0.0])
    control = co.PD(puma, goal, kp=200.0, kd=20.0)
    q, v = move(puma, co.Sum(control, lambda t, q, v: -15.0 * np.asarray(v)), goal, np.zeros(6), 15.0)
    assert np.abs(v).max() < 1e-6
    assert_close(200.0 * (goal - q), puma.gravity_force(q), 1e-5)
    assert np.abs(goal - q).max() > 0.01
    q, _ = move(puma, co.PD(puma, goal, kp=200.0, kd=40.0, gravity=True), goal + 0.1, np.zeros(6), 15.0)
    assert_close(q, goal, 1e-5)


def test_pd_turns_a_floating_body_the_short_way(creature: on.Robot) -> None:
    """At rest, the force on a spherical joint is along the rotation vector to the goal, and damping only takes."""
    rng = np.random.default_rng(3)
    goal, q, v = creature.random(rng), creature.random(rng), rng.normal(size=creature.nv)
    tau = co.PD(creature, goal, kp=2.0, kd=0.0)(0.0, q, v)
    assert_close(tau, 2.0 * creature.difference(q, goal), ROUNDING)
    damped = co.PD(creature, goal, kp=0.0, kd=1.5)(0.0, q, v)
    assert_close(damped, -1.5 * v, ROUNDING)


@pytest.mark.needs("example_robot_data")
@pytest.mark.needs("scipy")
@pytest.mark.slow
def test_feed_forward_is_exact_on_the_trajectory(panda: on.Robot) -> None:
    q0 = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.7])
    goal = tr.cycloidal(panda, q0, q0 + np.array([0.8, 0.4, -0.6, 0.5, 0.3, -0.4, 1.0]), 1.5)
    gains = {"kp": [100.0] * 4 + [5.0] * 3, "kd": [10.0] * 4 + [0.3] * 3}
    q, v = move(panda, co.FeedForward(panda, goal, **gains), q0, np.zeros(7), 1.2)
    assert_close(q, goal(1.2).q, CLOSED_LOOP)
    assert_close(v, goal(1.2).v, CLOSED_LOOP)
    lag, _ = move(panda, co.PD(panda, goal, gravity=True, **gains), q0, np.zeros(7), 1.2)
    assert np.abs(lag - goal(1.2).q).max() > 1e-3


HOME = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.7])
FRAME = "panda_hand_tcp"


@pytest.mark.needs("example_robot_data")
@pytest.mark.needs("scipy")
@pytest.mark.slow
def test_operational_space_decouples_the_frame(panda: on.Robot) -> None:
    """Along each axis of the world the frame goes as a unit mass on its own spring, whatever the others do."""
    goal = panda.pose(HOME, FRAME)
    goal[:3, 3] += [0.05, 0.0, -0.03]
    w = np.array([5.0, 5.0, 5.0, 3.0, 4.0, 6.0])
    control = co.OperationalSpace(panda, FRAME, goal, kp=w**2)
    q, v = move(panda, control, HOME, np.zeros(7), 0.4)
    T = panda.pose(q, FRAME)
    e = np.array([0.05, 0.0, -0.03])
    expected = np.array([decayed(e[k], np.zeros(1)[0], w[3 + k], 0.4) for k in range(3)])
    assert_close(goal[:3, 3] - T[:3, 3], expected, CLOSED_LOOP)
    assert_close(T[:3, :3], goal[:3, :3], CLOSED_LOOP)
    assert np.abs(v).max() > 0.01


@pytest.mark.slow
@pytest.mark.needs("example_robot_data")
@pytest.mark.needs("scipy")
def test_operational_space_turns_by_a_linear_law(panda: on.Robot) -> None:
    turn = np.array([0.3, -0.2, 0.4])
    goal = panda.pose(HOME, FRAME)
    goal[:3, :3] = goal[:3, :3] @ rotations.exp(turn)
    control = co.OperationalSpace(panda, FRAME, goal, kp=16.0, task="orientation")
    q, _ = move(panda, control, HOME, np.zeros(7), 0.3)
    left = rotations.log(panda.pose(q, FRAME)[:3, :3].T @ goal[:3, :3])
    assert_close(left, decayed(turn, 0 * turn, 4.0, 0.3), CLOSED_LOOP)


@pytest.mark.needs("example_robot_data")
@pytest.mark.needs("scipy")
@pytest.mark.slow
def test_operational_space_follows_a_path_while_the_elbow_moves(panda: on.Robot) -> None:
    goal = panda.pose(HOME, FRAME)
    goal[:3, 3] += [0.1, 0.2, -0.1]
    path = tr.tip(panda, FRAME, goal, 1.0, q0=HOME)
    posture = HOME + np.array([0.5, 0.0, -0.5, 0.0, 0.0, 0.0, 0.0])
    control = co.OperationalSpace(panda, FRAME, path, kp=100.0, posture=posture, null_kp=20.0)
    q, v = move(panda, control, HOME, np.zeros(7), 0.6)
    T, V, _ = path.path(0.6)
    assert_close(panda.pose(q, FRAME), T, CLOSED_LOOP)
    assert_close(panda.velocity(q, v, FRAME, axes="world"), V, CLOSED_LOOP)
    assert np.linalg.norm(q - path(0.6).q) > 0.05  # the elbow went elsewhere


@pytest.mark.slow
@pytest.mark.needs("example_robot_data")
def test_operational_space_in_a_singular_position(panda: on.Robot) -> None:
    """Stretched out, the arm cannot move along itself: that direction is let go, and forces stay finite."""
    straight = np.zeros(7)
    assert np.linalg.svd(panda.jacobian(straight, FRAME), compute_uv=False)[-1] < 1e-10
    goal = panda.pose(straight, FRAME)
    goal[2, 3] += 0.1
    tau = co.OperationalSpace(panda, FRAME, goal, kp=10.0)(0.0, straight, np.zeros(7))
    assert np.abs(tau).max() < 1e3


@pytest.mark.needs("example_robot_data")
@pytest.mark.slow
def test_batches(puma: on.Robot, creature: on.Robot, panda: on.Robot) -> None:
    rng = np.random.default_rng(4)
    for robot, frame in ((puma, "flange"), (creature, "tool"), (panda, FRAME)):
        q, v = robot.random(rng, (3, 2)), rng.normal(size=(3, 2, robot.nv))
        goal = tr.cycloidal(robot, q[0, 0], q[1, 1], 1.0)
        for control in (
            co.PD(robot, goal, 3.0, 1.0, gravity=True),
            co.ComputedTorque(robot, goal, 4.0),
            co.FeedForward(robot, goal, 3.0, 1.0),
            co.GravityCompensation(robot, 1.0),
            co.OperationalSpace(robot, frame, robot.pose(q[0, 0], frame), 4.0, task="position"),
            co.Saturated(robot, co.PD(robot, goal, 3.0, 1.0), 2.0),
        ):
            many = control(0.3, q, v)
            assert many.shape == v.shape
            assert_close(many[2, 1], control(0.3, q[2, 1], v[2, 1]), 1e-9)


@pytest.mark.needs("example_robot_data")
def test_saturated_ends_at_the_limits_and_reports(panda: on.Robot) -> None:
    control = co.Saturated(panda, co.PD(panda, HOME + 0.5, kp=100.0, kd=0.0))
    limits = np.array([x for c in panda.joints for x in c.effort_limit])
    assert limits.tolist() == [87.0] * 4 + [12.0] * 3
    tau = control(0.25, HOME, np.zeros(7))
    assert tau.tolist() == [50.0] * 4 + [12.0] * 3
    assert str(control.report[0]) == "joint 'panda_joint5': 50 demanded at t = 0.25 s, limit 12"
    assert len(control.report) == 3
    control.start(panda)
    assert control.report == ()


def test_a_controller_of_ones_own(puma: on.Robot) -> None:
    class Brake(co.Controller):
        started = 0

        def start(self, robot: on.Robot) -> None:
            self.started += 1

        def __call__(self, t: float, q: Array, v: Array) -> Array:
            return -2.0 * np.asarray(v)

    brake = Brake()
    whole = co.Sampled(co.Sum(brake, co.GravityCompensation(puma)), 0.01)
    whole.start(puma)
    assert brake.started == 1 and brake.period is None and whole.period == 0.01
    q, v = puma.random(0), np.ones(6)
    assert_close(whole(0.0, q, v), puma.gravity_force(q) - 2.0 * v, ROUNDING)


@pytest.mark.needs("example_robot_data")
@pytest.mark.slow
def test_a_panda_follows_a_cycloid_in_simulation(panda: on.Robot) -> None:
    """The library's own simulation, with a load in the hand that the controller does not know."""
    goal = tr.sequence(tr.cycloidal(panda, HOME, HOME + 0.4, 1.0), tr.hold(panda, HOME + 0.4, 0.3))
    control = co.ComputedTorque(panda, goal, kp=400.0)
    assert control.breaks == (1.0, 1.3)
    result = panda.simulate(HOME, None, control, until=np.linspace(0.0, 1.2, 13))
    assert_close(result.q, goal(result.t).q, CLOSED_LOOP)
    builder = panda.builder().body("load", parent="panda_link7", at=(0, 0, 0.2), joint=on.Fixed(), mass=1.0)
    loaded = builder.build()
    result = loaded.simulate(HOME, None, control, until=np.linspace(0.0, 1.2, 13))
    off = np.abs(result.q - goal(result.t).q).max()
    assert 1e-3 < off < 0.2


@pytest.mark.slow
def test_sampled_in_simulation(puma: on.Robot) -> None:
    """A sampled controller lags by half a period: the error grows with the period."""
    q0 = np.array([0.0, 0.5, -0.5, 0.0, 0.3, 0.0])
    goal = tr.cycloidal(puma, q0, q0 + 0.6, 1.0)
    off = []
    for period in (0.02, 0.01):
        control = co.ComputedTorque(puma, goal, kp=100.0, period=period)
        result = puma.simulate(q0, None, control, until=[0.25, 0.5, 0.75])
        off.append(np.abs(result.q - goal(result.t).q).max())
    assert 1.5 < off[0] / off[1] < 3.0 and off[1] < 0.01


BAD: list[tuple[str, Callable[[on.Robot], Any]]] = [
    (r"the first argument is the robot, not ndarray", lambda r: co.PD(np.zeros(6), np.zeros(6), 1.0, 1.0)),
    (r"the first argument is the robot, not int", lambda r: co.GravityCompensation(3)),
    (r"target has shape \(5,\); expected \(6,\)", lambda r: co.PD(r, np.zeros(5), 1.0, 1.0)),
    (r"kp has shape \(2,\)", lambda r: co.PD(r, np.zeros(6), [1.0, 2.0], 1.0)),
    (r"kd must not be below zero", lambda r: co.PD(r, np.zeros(6), 1.0, -1.0)),
    (r"unknown joint 'wast'.*Did you mean 'waist'", lambda r: co.PD(r, np.zeros(6), {"wast": 1.0}, 1.0)),
    (r"kp must be finite", lambda r: co.ComputedTorque(r, np.zeros(6), np.nan)),
    (r"period must be a finite number above zero", lambda r: co.PD(r, np.zeros(6), 1.0, 1.0, period=0.0)),
    (r"another robot: one has nq", lambda r: co.PD(r, tr.hold(on.load("planar-3r"), np.zeros(3), 1.0), 1.0, 1.0)),
    (r"must return \(q, v, a\); at t = 0", lambda r: co.PD(r, lambda t: 3, 1.0, 1.0)(0.0, np.zeros(6), np.zeros(6))),
    (r"v of the target at t = 0 has shape", lambda r: _wrong(r)(0.0, np.zeros(6), np.zeros(6))),
    (r"PD was made for another robot", lambda r: co.PD(r, np.zeros(6), 1.0, 1.0).start(on.load("planar-3r"))),
    (r"unknown task", lambda r: co.OperationalSpace(r, "flange", np.eye(4), 1.0, task="x")),
    (r"target is not a pose", lambda r: co.OperationalSpace(r, "flange", np.ones((4, 4)), 1.0)),
    (r"null_kp needs a posture", lambda r: co.OperationalSpace(r, "flange", np.eye(4), 1.0, null_kp=1.0)),
    (r"kp has shape \(3,\); expected \(6,\)", lambda r: co.OperationalSpace(r, "flange", np.eye(4), [1, 2, 3])),
    (r"one or more controllers", lambda r: co.Sum()),
    (r"a controller is a function of \(t, q, v\)", lambda r: co.Sum(3)),
    (r"different periods", lambda r: co.Sum(co.Sampled(print, 0.1), co.Sampled(print, 0.2))),
    (r"some controllers of the Sum are sampled", lambda r: co.Sum(co.Sampled(print, 0.1), print)),
]


def _wrong(r: on.Robot) -> Any:
    return co.PD(r, lambda t: (np.zeros(6), np.zeros(3), np.zeros(6)), 1.0, 1.0)


@pytest.mark.parametrize(("words", "call"), BAD, ids=[w for w, _ in BAD])
def test_mistakes_are_named(puma: on.Robot, words: str, call: Callable[[on.Robot], Any]) -> None:
    with pytest.raises(on.OrdernError, match=words):
        call(puma)
