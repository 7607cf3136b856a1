"""Controllers of the library run inside compiled time loops: as the same controllers do from Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern import rotations
from ordern.algorithms.operational.task_force import task_force
from ordern.control.controllers import recorded_law
from ordern.control.pieces import goal_pieces
from tests.random_models import random_robot
from tests.tolerances import CLOSED_LOOP, ROUNDING, assert_close

Array = np.ndarray
co, tr = on.controllers, on.trajectories

ARM = on.load("planar-3r")
KP, KD = np.array([3.0, 0.5, 0.15]), np.array([0.3, 0.04, 0.01])
START, END = np.array([0.1, -0.4, 0.3]), np.array([0.6, 0.2, -0.5])
DAMPED = random_robot(3, 4, (on.Revolute, on.Prismatic), passive=True)
TURNING = random_robot(2, 4, (on.Spherical, on.Revolute), floating=True)


def along(robot: on.Robot = ARM) -> on.trajectories.Trajectory:
    return tr.minimum_jerk(robot, np.zeros(robot.nq), np.linspace(0.2, 0.6, robot.nq), 0.5)


def limited(**keywords: Any) -> co.Controller:
    return co.Saturated(ARM, co.PD(ARM, END, KP, KD, gravity=True, **keywords), limits=[4.0, 2.0, 0.2])


CONTROLLERS: dict[str, Callable[..., Any]] = {
    "PD": lambda **k: co.PD(ARM, END, KP, KD, **k),
    "PD along a trajectory": lambda **k: co.PD(ARM, along(), KP, KD, gravity=True, **k),
    "gravity": lambda **k: co.GravityCompensation(ARM, 0.3, **k),
    "computed torque": lambda **k: co.ComputedTorque(ARM, along(), 25.0, **k),
    "computed torque to a point": lambda **k: co.ComputedTorque(ARM, END, 25.0, 4.0, passive=False, **k),
    "feed-forward": lambda **k: co.FeedForward(ARM, along(), KP, KD, **k),
    "saturated": limited,
    "sum": lambda **k: co.Sum(co.GravityCompensation(ARM, **k), co.PD(ARM, along(), 0.5 * KP, KD, **k), limited(**k)),
}


def both(robot: on.Robot, tau: Callable[[], Any], q0: Array, **keywords: Any) -> tuple[Any, Any]:
    """Return the same run in compiled code, and from Python."""
    native, python = (robot.simulate(q0, tau=tau(), native=n, **keywords) for n in (True, False))
    assert native.report.native and not python.report.native
    return native, python


def assert_same(native: Any, python: Any, tolerance: float = ROUNDING) -> None:
    """Compare two runs with the same steps."""
    for name in ("t", "q", "v", "a", "tau", "work", "dissipated"):
        assert_close(getattr(native, name), getattr(python, name), tolerance)


@pytest.mark.parametrize("period", [None, 0.03])
@pytest.mark.parametrize("name", CONTROLLERS)
def test_fixed_steps_are_those_of_python(name: str, period: float | None) -> None:
    """Samples are between steps, at multiples of the period; the goal ends within the run."""
    make = CONTROLLERS[name]
    native, python = both(
        ARM, lambda: make(period=period), START, until=0.6, method="semi-implicit-euler", step=0.02, dense=False
    )
    assert_same(native, python, 10 * ROUNDING)
    assert recorded_law(make(period=period), ARM) is not None


@pytest.mark.slow
@pytest.mark.parametrize("method", ["rk4", "dormand-prince", "dormand-prince-8"])
@pytest.mark.parametrize("period", [None, 0.03])
def test_methods(method: str, period: float | None) -> None:
    options = {"step": 0.01} if method == "rk4" else {"rtol": 1e-9, "atol": 1e-9}
    native, python = both(
        ARM, lambda: CONTROLLERS["sum"](period=period), START, until=np.linspace(0.0, 0.6, 41), method=method, **options
    )
    assert_same(native, python, CLOSED_LOOP if "rtol" in options else 100 * ROUNDING)
    q, v = native.at(0.333)
    assert_close(q, python.at(0.333)[0], CLOSED_LOOP)
    assert_close(v, python.at(0.333)[1], CLOSED_LOOP)


TRAJECTORIES: dict[str, Callable[[], Any]] = {
    "minimum jerk": along,
    "cycloidal": lambda: tr.cycloidal(ARM, START, END, 0.4),
    "trapezoidal": lambda: tr.trapezoidal(ARM, START, END, velocity=3.0, acceleration=20.0),
    "a triangle": lambda: tr.trapezoidal(ARM, START, END, velocity=100.0, acceleration=20.0),
    "quintic": lambda: tr.quintic(ARM, START, END, 0.4, v0=[0.1, 0.2, 0.3], a1=[1.0, 0.0, 0.0], v1=[0.5, 0.0, 0.1]),
    "spline": lambda: tr.spline(ARM, [0.0, 0.1, 0.3, 0.4], [START, 0.5 * END, END, START]),
    "through": lambda: tr.through(ARM, [START, END, START], [0.2, 0.25]),
    "hold": lambda: tr.hold(ARM, START, 0.3),
}


@pytest.mark.parametrize("name", TRAJECTORIES)
def test_pieces_are_the_trajectory(name: str) -> None:
    """Evaluated by the rule of the table: the last piece that begins by a time holds, also after the end."""
    goal = TRAJECTORIES[name]()
    found = goal_pieces(goal)
    assert found is not None
    rows = found[0][1:].reshape(-1, 3 + 7 * 3)
    for t in [0.0, *goal.breaks, goal.duration, goal.duration + 0.1, *np.linspace(0.0, goal.duration, 23)]:
        row = rows[np.flatnonzero(rows[:, 0] <= t)[-1]]
        s, w, c = t - row[1], row[2], row[3:].reshape(7, 3)
        powers = np.polynomial.Polynomial
        for order, expected in enumerate(goal(t)):
            value = np.array([powers(x).deriv(order)(s) if order else powers(x)(s) for x in c[:6].T])
            wave = (np.sin(w * s), w * np.cos(w * s), -w * w * np.sin(w * s))[order]
            assert_close(value + c[6] * wave, expected, 100 * ROUNDING)


@pytest.mark.parametrize("name", ["trapezoidal", "through", "spline"])
def test_goals_with_breaks(name: str) -> None:
    """Where the goal's acceleration jumps a piece of the run ends, and the forces there are those before the jump."""
    goal = TRAJECTORIES[name]()
    native, python = both(
        ARM, lambda: co.ComputedTorque(ARM, goal, 25.0), START, until=0.6, method="semi-implicit-euler", step=0.007
    )
    assert_same(native, python, 100 * ROUNDING)
    for t in goal.breaks:
        assert t in native.t


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_robots_and_wrong_models(seed: int) -> None:
    """Friction and springs act, and the model of the controller may differ from the robot."""
    robot = random_robot(seed, 4, (on.Revolute, on.Prismatic, on.Universal), passive=True, mimic=seed == 2)
    model = replace(robot, gravity=(0.5, 0.0, -5.0))
    q0 = robot.random(seed)
    native, python = both(
        robot,
        lambda: co.Sum(co.ComputedTorque(robot, along(robot), 9.0, smoothing=0.1), co.GravityCompensation(model)),
        q0,
        until=0.1,
        method="semi-implicit-euler",
        step=0.01,
    )
    assert_same(native, python, 100 * ROUNDING)


def test_joints_without_motors_get_no_force() -> None:
    robot = ARM.with_actuated([ARM.joints[0].name, ARM.joints[2].name])
    native, python = both(
        robot,
        lambda: co.PD(robot, END, KP, KD, gravity=True),
        START,
        until=0.2,
        method="semi-implicit-euler",
        step=0.02,
    )
    assert_same(native, python)
    assert not native.tau[:, 1].any() and native.tau[:, 0].any()


@pytest.mark.slow
def test_bodies_that_turn_go_to_a_fixed_goal() -> None:
    robot = TURNING.with_actuated([c.name for c in TURNING.joints])
    q0, goal = robot.random(0), robot.random(1)
    native, python = both(
        robot,
        lambda: co.PD(robot, goal, 3.0, 1.0, gravity=True),
        q0,
        until=0.1,
        method="semi-implicit-euler",
        step=0.01,
    )
    assert_same(native, python, 10 * ROUNDING)


ROTATING = random_robot(5, 3, (on.Spherical, on.Planar, on.Revolute), floating=True)
ROTATING = ROTATING.with_actuated([c.name for c in ROTATING.joints])


def rotating(kind: str) -> on.trajectories.Trajectory:
    """Return a motion of bodies that rotate, of half a second."""
    points = [ROTATING.random(k) for k in range(3)]
    if kind == "straight":
        return tr.trapezoidal(ROTATING, points[0], points[1], 0.5, velocity=1e3, acceleration=1e4)
    if kind == "spline":
        return tr.spline(ROTATING, [0.0, 0.2, 0.5], points)
    return tr.through(ROTATING, points, 0.25)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "make"),
    [
        ("straight", lambda move: co.PD(ROTATING, move, 3.0, 1.0)),
        ("through", lambda move: co.FeedForward(ROTATING, move, 3.0, 1.0)),
        ("spline", lambda move: co.PD(ROTATING, move, 3.0, 1.0, period=0.03)),
        ("spline", lambda move: co.ComputedTorque(ROTATING, move, 100.0)),
    ],
)
def test_bodies_that_rotate_follow_a_moving_goal(kind: str, make: Callable[..., Any]) -> None:
    """Goals of ball, free and planar joints; the run goes on after their end."""
    move = rotating(kind)
    q0 = ROTATING.integrate(move(0.0).q, np.full(ROTATING.nv, 0.05))
    native, python = both(ROTATING, lambda: make(move), q0, until=0.6, method="rk4", step=0.02, dense=False)
    scale = max(1.0, np.abs(python.tau).max())
    assert_close(native.q, python.q, 100 * ROUNDING)
    assert_close(native.tau / scale, python.tau / scale, 1000 * ROUNDING)


def test_goals_of_bodies_that_rotate_are_recorded() -> None:
    move = rotating("spline")
    for control in (co.PD(ROTATING, move, 1.0, 1.0), co.ComputedTorque(ROTATING, move, 1.0)):
        assert recorded_law(control, ROTATING) is not None


@pytest.mark.slow
def test_computed_torque_of_bodies_that_rotate_is_exact_in_compiled_code() -> None:
    """The rotation vector to the goal obeys e'' + kd e' + kp e = 0."""
    move, e0, w = rotating("spline"), np.full(ROTATING.nv, 0.1), 20.0
    q0, v0, _ = move(0.0)
    start = ROTATING.integrate(q0, -e0)
    control = co.ComputedTorque(ROTATING, move, w**2)
    t = np.linspace(0.0, 0.1, 6)
    at_rest = ROTATING.simulate(start, tau=control, until=t, native=True)
    assert at_rest.report.native and not np.abs(v0).max()
    e = at_rest["q_error"]
    single = [c.v_start for c in ROTATING.joints if isinstance(c.type, (on.Revolute, on.Spherical))]
    wanted = (1.0 + w * t) * np.exp(-w * t)
    assert_close(e[:, single] / e[0, single], np.tile(wanted[:, None], (1, len(single))), 1e-6)


PUMA = on.load("puma560")
HOME = np.array([0.1, -0.5, 0.7, 0.2, 0.6, 0.1])
TIP = PUMA.bodies[-1].name
LEVEL = [0, 0, 0, 0.05, 0.1, -0.08]


def reached(turn: Any = (0.5, -0.4, 0.9)) -> Array:
    """Return a pose beside that of the tip at home."""
    T = PUMA.pose(HOME, TIP)
    T[:3, :3] = T[:3, :3] @ rotations.exp(turn)
    T[:3, 3] += [0.1, 0.05, -0.08]
    return T


def test_the_force_on_a_frame_is_one_law_in_two_texts() -> None:
    """By NumPy with eigenvalues, and as compiled code computes it; angles up to half a turn, and very small ones."""
    rng = np.random.default_rng(0)
    n = 40
    q, v, bent = PUMA.random(rng, n), rng.normal(size=(n, 6)), rng.normal(size=(n, 6))
    for task, rows in (("pose", range(6)), ("position", range(3, 6)), ("orientation", range(3))):
        for scale in (1e-9, 1e-2, 0.15, 1.0):
            T = PUMA.pose(q, TIP)
            base = T[0] @ rotations.pose(rotations.exp(scale * rng.normal(size=3)), rng.normal(size=3))
            control = co.OperationalSpace(PUMA, TIP, base, kp=rng.uniform(1, 30, 6), task=task, heaviest=1e9)
            expected = control._task_force(0.0, q, v, bent)
            goal = [[0.0] * 3 + base[:3, 3].tolist(), [0.0] * 6, [0.0] * 6, base[:3, :3].ravel().tolist()]
            gains = [control.kp.tolist(), control.kd.tolist(), [control.heaviest]]
            state = (T, PUMA.velocity(q, v, TIP, axes="world"), bent)
            soft = PUMA.operational_inertia_inverse(q, TIP, axes="world")
            for k in range(n):
                numbers = [x[k].ravel().tolist() for x in (*state, soft)]
                *force, clear = task_force(rows, [*numbers, *goal, *gains])
                assert clear == 1.0
                assert_close(force, expected[k], 1e4 * ROUNDING * np.linalg.cond(soft[k]))
    light = [0.1 * np.eye(6).ravel(), np.diag([0.1, 0.1, 0.1, 0.1, 0.1, 1e-3]).ravel(), -np.eye(6).ravel()]
    for soft, clear in zip(light, (1.0, 0.0, 0.0), strict=True):
        numbers[3], gains[2] = soft.tolist(), [100.0]
        assert task_force(range(6), [*numbers, *goal, *gains])[-1] == clear


@pytest.mark.slow
@pytest.mark.parametrize("task", ["pose", "position", "orientation"])
@pytest.mark.parametrize("period", [None, 0.02])
def test_operational_space(task: str, period: float | None) -> None:
    """To a pose, and along a line to it that ends within the run."""
    for target in (reached(), tr.tip(PUMA, TIP, [PUMA.pose(HOME, TIP), reached()], 0.15, q0=HOME)):
        native, python = both(
            PUMA,
            lambda target=target: co.OperationalSpace(
                PUMA, TIP, target, kp=30.0, task=task, posture=HOME + LEVEL, null_kp=4.0, period=period
            ),
            HOME,
            v0=np.full(6, 0.3),
            until=0.2,
            method="semi-implicit-euler",
            step=0.005,
        )
        assert_same(native, python, 100 * ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize("period", [None, 0.02])
def test_operational_space_where_directions_are_heavy(period: float | None) -> None:
    """A planar arm cannot move its tip off the plane: forces are computed from Python wherever that shows."""
    native, python = both(
        ARM,
        lambda: co.OperationalSpace(ARM, ARM.bodies[-1].name, np.eye(4), kp=5.0, task="position", period=period),
        START,
        until=0.1,
        method="semi-implicit-euler",
        step=0.01,
    )
    assert_same(native, python)


@pytest.mark.slow
@pytest.mark.parametrize("period", [None, 0.02])
def test_operational_space_that_becomes_heavy(period: float | None) -> None:
    """Python computes the forces in one part of a run, where inertias may be near the largest, compiled code else."""

    def run(heaviest: float) -> tuple[Any, Any]:
        return both(
            PUMA,
            lambda: co.OperationalSpace(
                PUMA, TIP, reached((0.5, 0.3, -0.9)), kp=60.0, heaviest=heaviest, period=period
            ),
            HOME,
            until=0.3,
            method="semi-implicit-euler",
            step=0.005,
        )

    light = np.linalg.eigvalsh(PUMA.operational_inertia_inverse(run(1e6)[0].q, TIP, axes="world"))
    assert_same(*run(float(np.median((1.0 / light).sum(axis=1)))), 100 * ROUNDING)
    assert light[0, 0] < 0.99 * light[-1, 0]
    assert_same(*run(1.0 / light[len(light) // 2, 0]), 100 * ROUNDING)


def test_what_compiled_code_cannot_follow_is_called() -> None:
    """Functions, subclasses, wrapped controllers, goals that are functions, and robots with loops."""

    class Mine(co.PD):
        def __call__(self, t: float, q: Array, v: Array) -> Array:
            return np.zeros(3)

    class Bent(tr.Trajectory):
        space, duration = along().space, 1.0

        def _motion(self, t: Array, left: bool) -> Any:
            return along()._motion(t, left)

    delta = on.load("delta-robot")
    home = delta.assemble().q
    pd = co.PD(ARM, END, KP, KD)
    others: list[tuple[on.Robot, Any]] = [
        (ARM, lambda t, q, v: pd(t, q, 2.0 * v)),
        (ARM, Mine(ARM, END, 1.0, 1.0)),
        (ARM, co.Saturated(ARM, Mine(ARM, END, 1.0, 1.0))),
        (ARM, co.Sum(pd, lambda t, q, v: np.zeros(3))),
        (ARM, co.PD(ARM, lambda t: (END, 0.0 * END, 0.0 * END), 1.0, 1.0)),
        (ARM, co.PD(ARM, Bent(), 1.0, 1.0)),
        *((delta, x) for x in (co.GravityCompensation(delta), co.ComputedTorque(delta, home, 1.0))),
    ]
    for of, controller in others:
        assert recorded_law(controller, of) is None
    assert not ARM.simulate(START, tau=Mine(ARM, END, 1.0, 1.0), until=0.1).tau.any()


def test_largest_demands() -> None:
    """Saturated controllers report what they would have needed, also if compiled code computed it."""
    controller, again = limited(period=0.05), limited(period=0.05)
    result = ARM.simulate(START, tau=controller, until=0.6, dense=False)
    for k in range(13):
        row = int(np.argmin(np.abs(result.t - 0.05 * k)))
        again(0.05 * k, result.q[row], result.v[row])
    assert result.report.native and [x.joint for x in controller.report] == ["joint1", "joint3"]
    for one, other in zip(again.report, controller.report, strict=True):
        assert one.joint == other.joint
        assert_close([one.time, one.demand, one.limit], [other.time, other.demand, other.limit], 100 * ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize("period", [None, 0.03])
def test_an_event_within_compiled_samples(period: float | None) -> None:
    """An event turns the velocities round in the middle of a chunk; the forces after it are those of that moment."""
    hit = on.Event(lambda t, q, v: q[0] - 0.3, effect=lambda t, q, v: -0.5 * v, direction=1)
    native, python = both(
        ARM,
        lambda: CONTROLLERS["computed torque to a point"](period=period),
        START,
        until=0.6,
        events=[hit],
        rtol=1e-10,
        atol=1e-10,
    )
    assert len(native.events) == len(python.events) > 0
    assert_close([x.time for x in native.events], [x.time for x in python.events], CLOSED_LOOP)
    assert_close(native.q[-1], python.q[-1], CLOSED_LOOP)
    assert_close(native.tau[-1], python.tau[-1], 100 * CLOSED_LOOP)


@pytest.mark.slow
@pytest.mark.parametrize("period", [None, 0.03])
def test_a_joint_that_a_controller_presses_onto_its_stop(period: float | None) -> None:
    """The joint strikes the stop, rests on it, and leaves it when the goal comes back; fixed steps to rounding."""
    link = {"mass": 1.0, "com": (0.5, 0, 0), "inertia": (0.05, 0.05, 0.05), "joint": on.Revolute((0, 1, 0))}
    builder = on.Builder("arm").body("ground").body("upper", parent="ground", upper=0.2, **link)
    arm = builder.body("lower", parent="upper", at=(1.0, 0, 0), **link).build()
    goal = tr.through(arm, [[0.0, 0.3], [0.6, 0.5], [0.0, 0.3]], [0.4, 0.4])
    native, python = both(
        arm,
        lambda: co.PD(arm, goal, [60.0, 20.0], [9.0, 2.0], gravity=True, period=period),
        np.array([0.0, 0.3]),
        until=1.0,
        method="rk4",
        step=0.005,
        limits="bounce",
        restitution=0.0,
    )
    rests = native.q[:, 0] == 0.2
    assert 10 < rests.sum() < 150 and native.report.impacts == python.report.impacts > 0
    assert len(native.t) == len(python.t)
    for name in ("t", "q", "v", "tau", "work"):
        assert_close(getattr(native, name), getattr(python, name), CLOSED_LOOP)


@pytest.mark.slow
def test_gains_that_an_event_changes() -> None:
    controller = co.PD(ARM, END, KP, KD)

    def softer(t: float, q: Array, v: Array) -> Array:
        controller.kp = 0.2 * KP
        return v

    ends = []
    for native in (True, False):
        controller.kp = KP
        event = on.Event(lambda t, q, v: t - 0.2, effect=softer)
        ends.append(ARM.simulate(START, tau=controller, until=0.5, events=[event], native=native).q[-1])
    assert_close(ends[0], ends[1], CLOSED_LOOP)
    soft = ARM.simulate(START, tau=controller, until=0.5).q[-1]
    assert np.abs(ends[0] - soft).max() > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("period", [None, 0.03])
def test_a_run_that_goes_on_from_a_checkpoint(tmp_path: Path, period: float | None) -> None:
    """The same numbers, bit by bit, whether a run was interrupted or not."""

    def run(file: Path, **keywords: Any) -> Any:
        return ARM.simulate(START, tau=limited(period=period), until=3.0, checkpoint=file, dense=False, **keywords)

    whole = run(tmp_path / "whole")
    parted = tmp_path / "parted"
    with pytest.warns(UserWarning, match="max_steps"):
        run(parted, max_steps=whole.report.steps // 2)
    resumed = run(parted)
    assert whole.report.native and resumed.report.native
    for name in ("t", "q", "v", "tau"):
        assert np.array_equal(getattr(whole, name), getattr(resumed, name))
    assert_close(whole.work, resumed.work, ROUNDING)


def test_the_work_of_a_controller_is_the_energy_gained() -> None:
    result = ARM.simulate(START, tau=CONTROLLERS["computed torque"](period=0.05), until=0.5, rtol=1e-10, atol=1e-10)
    assert result.report.native
    energy = ARM.kinetic_energy(result.q, result.v) + ARM.potential_energy(result.q)
    assert_close(result.work, energy - energy[0], 1e-7)
