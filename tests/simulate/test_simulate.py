"""The driver of simulations: accuracy at default settings, reports, outcomes, checkpoints, both machines."""

from __future__ import annotations

import math
import os
import pickle
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern import robots
from ordern.errors import ArgumentError, ModelError, UnknownNameError
from ordern.simulate.events import Event
from ordern.simulate.forces import Table
from ordern.simulate.options import METHODS
from ordern.simulate.results.report import SimulationWarning
from ordern.simulate.run.fingerprint import fingerprint
from tests.tolerances import ORDER, REQUESTED, ROUNDING, STEP_LENGTHS, assert_close

FIXED = {"rk4": 4, "semi-implicit-euler": 1, "plain-euler": 1, "variational": 2}
ORDERS = {**FIXED, "dormand-prince": 5, "cash-karp": 5, "dormand-prince-8": 8, "radau": 5}
PENDULUM = on.load("double-pendulum")


def floating(gravity: tuple[float, float, float] = (0, 0, 0)) -> on.Robot:
    """A free base with a ball joint and a hinge."""
    link = {"mass": 1.0, "com": (0.1, 0.0, -0.3), "inertia": (0.05, 0.06, 0.03)}
    made = on.Builder("floating", gravity=gravity).body("base")
    made = made.body("hull", parent="base", joint=on.Free(), mass=3.0, com=(0.05, 0, 0.1), inertia=(0.3, 0.4, 0.5))
    made = made.body("ball", parent="hull", joint=on.Spherical(), at=(0.2, 0, 0.1), **link)
    return made.body("hinge", parent="ball", joint=on.Revolute((0, 1, 1)), at=(0, 0, -0.6), **link).build()


FLOATING = floating()
FLOATING_V = np.array([0.5, -0.3, 0.8, 0.2, 0.1, -0.4, 1.0, -0.8, 0.6, -1.5])


@pytest.mark.parametrize(
    ("name", "seconds"), [pytest.param("stanford-arm", 1.0, marks=pytest.mark.slow), ("planar-3r", 10.0)]
)
def test_energy_of_a_free_fall_at_default_settings(name: str, seconds: float) -> None:
    """The figures that the project has set itself."""
    result = on.load(name).simulate(robots.positions(name)["initial"], until=seconds)
    drift = np.abs(result.energy - result.energy[0]).max() / result.kinetic.max()
    assert drift < 1e-8
    assert result.report.energy_drift == pytest.approx(drift, rel=1e-3, abs=1e-15)
    assert result.report.ok and result.report.stopped == "end" and result.report.native


@pytest.mark.slow
def test_both_machines_agree() -> None:
    """The same steps, whose lengths differ by rounding in the estimates of tiny errors, and the same motion."""
    tau = np.array([0, 0, 0, 0, 0, 0, 0.3, -0.2, 0.1, 0.5])
    for method in ("dormand-prince-8", "dormand-prince", "cash-karp", "rk4", "semi-implicit-euler"):
        step = {"step": 0.02} if method in FIXED else {"rtol": 1e-8, "atol": 1e-8}
        runs = [
            FLOATING.simulate(v0=FLOATING_V, tau=tau, until=1.0, method=method, native=n, **step) for n in (True, False)
        ]
        one, two = runs
        assert one.report.native and not two.report.native
        assert one.report.steps == two.report.steps and one.report.rejected == two.report.rejected
        assert abs(one.report.evaluations - two.report.evaluations) <= 1  # a native chunk begins with one
        names = ("q", "v", "a", "work", "dissipated")
        if method in FIXED:
            assert np.array_equal(one.t, two.t)
        else:
            assert_close(one.t, two.t, STEP_LENGTHS)
            runs = [r.resample(np.linspace(0.0, 1.0, 23)) for r in runs]
            names = ("q", "v")
        for name in names:
            assert_close(*(getattr(r, name) for r in runs), ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_order_of_convergence(method: str) -> None:
    """With a free base and a ball joint, at the end and between the steps."""
    order = ORDERS[method]
    end = 0.8
    times = np.linspace(0.0, end, 41)
    exact = FLOATING.simulate(v0=FLOATING_V, until=times, rtol=1e-13, atol=1e-13)
    steps = {1: (0.01, 0.005), 2: (0.02, 0.01), 4: (0.1, 0.05), 5: (0.1, 0.05), 8: (0.2, 0.1)}[order]
    last, inside = [], []
    for h in steps:
        # a tolerance that anything meets leaves the longest step
        found = FLOATING.simulate(v0=FLOATING_V, until=end, method=method, step=h, rtol=1e6, atol=1e6)
        q, v = found.at(times)
        errors = np.abs(np.concatenate([q - exact.q, v - exact.v], axis=1)).max(axis=1)
        last.append(errors[-1])
        inside.append(errors.max())
    assert last[1] < last[0] and inside[1] < inside[0]
    assert math.log2(last[0] / last[1]) > order - ORDER
    if method != "radau":  # whose dense output is of order 3
        assert math.log2(inside[0] / inside[1]) > min(order, 7) - ORDER


@pytest.mark.slow
def test_momentum_is_kept() -> None:
    result = FLOATING.simulate(v0=FLOATING_V, tau=[0] * 6 + [0.3, -0.2, 0.1, 0.5], until=2.0)
    assert result.report.momentum_drift is not None and result.report.momentum_drift < 1e-9
    assert None not in result.report.momentum_error
    pushed = FLOATING.simulate(v0=FLOATING_V, tau=[1.0] + [0] * 9, until=0.1)
    assert pushed.report.momentum_drift is None
    falls = floating((0, 0, -9.81)).simulate(v0=FLOATING_V, until=0.5)
    angular, linear = falls.report.momentum_error[:3], falls.report.momentum_error[3:]
    assert angular[:2] == (None, None) and linear[2] is None
    assert max(x for x in (angular[2], linear[0], linear[1]) if x is not None) < 1e-9
    assert PENDULUM.simulate([1.0, 0.0], until=0.1).report.momentum_drift is None


def test_samples_at_given_times() -> None:
    times = np.array([0.0, 0.1, 0.33, 0.9, 1.2])
    given = PENDULUM.simulate([1.0, 0.5], tau=[0.2, 0.1], until=times)
    steps = PENDULUM.simulate([1.0, 0.5], tau=[0.2, 0.1], until=1.2)
    assert np.array_equal(given.t, times)
    q, v = steps.at(times)
    assert_close(given.q, q, ROUNDING)
    assert_close(given.v, v, ROUNDING)
    assert np.array_equal(given.q[-1], steps.q[-1])
    assert_close(given.a, PENDULUM.forward_dynamics(given.q, given.v, [0.2, 0.1]), ROUNDING)
    assert_close(given.work, given.energy - given.energy[0], REQUESTED)
    late = PENDULUM.simulate([1.0, 0.5], until=[0.5, 0.7])
    assert np.array_equal(late.t, [0.5, 0.7])
    thin = PENDULUM.simulate([1.0, 0.5], tau=[0.2, 0.1], until=times, dense=False)
    assert thin == given and thin.dense is None


def test_steps_held_to_the_tolerance_are_those_of_scipy() -> None:
    """The same method, the same meaning of rtol: as many steps, and the same errors."""
    from scipy.integrate import solve_ivp

    def rates(_: float, y: np.ndarray) -> np.ndarray:
        return np.concatenate([y[2:], PENDULUM.forward_dynamics(y[:2], y[2:], np.zeros(2))])

    y0 = [1.0, 0.5, 0.0, 0.0]
    theirs = solve_ivp(rates, (0, 3), y0, method="DOP853", rtol=1e-8, atol=1e-8)
    ours = PENDULUM.simulate(y0[:2], until=3.0, rtol=1e-8, atol=1e-8, tolerance="step", dense=False)
    assert abs(ours.report.steps - len(theirs.t) + 1) <= 1  # the first steps are chosen otherwise
    assert_close(np.concatenate([ours.q[-1], ours.v[-1]]), theirs.y[:, -1], 1e-6)
    assert PENDULUM.simulate(y0[:2], until=3.0, rtol=1e-8, atol=1e-8).report.steps > ours.report.steps


def test_nothing_between_steps_is_computed_if_nobody_asks() -> None:
    kept, ends = (PENDULUM.simulate([1.0, 0.5], until=1.0, dense=dense) for dense in (True, False))
    assert_close(ends.q, kept.q, ROUNDING)
    assert kept.report.evaluations - ends.report.evaluations == 3 * kept.report.steps
    sampled = PENDULUM.simulate([1.0, 0.5], until=[0.3, 1.0], dense=False)
    assert_close(sampled.q, kept.at([0.3, 1.0])[0], ROUNDING)


def test_start_is_neutral_at_rest() -> None:
    result = PENDULUM.simulate(until=0.0)
    assert np.array_equal(result.q, [PENDULUM.neutral()]) and not result.v.any() and len(result) == 1
    assert result.report.stopped == "end" and result.report.steps == 0


@pytest.mark.slow
def test_quaternions_stay_units() -> None:
    result = FLOATING.simulate([2.0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3.0, 0.0], FLOATING_V, until=2.0)
    assert_close(np.linalg.norm(result.q[:, :4], axis=1), np.ones(len(result)), ROUNDING)
    assert_close(np.linalg.norm(result.q[:, 7:11], axis=1), np.ones(len(result)), ROUNDING)


def blows_up(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """With v' = v^2 and v = 1 the velocity is 1 / (1 - t)."""
    return v * v


def cart() -> on.Robot:
    made = on.Builder("cart", gravity=(0, 0, 0)).body("base")
    return made.body("cart", parent="base", joint=on.Prismatic((1, 0, 0)), joint_name="rail", mass=1.0).build()


@pytest.mark.slow
@pytest.mark.parametrize("method", ["dormand-prince-8", "cash-karp"])
def test_a_motion_that_ends_in_infinity(method: str) -> None:
    with pytest.warns(SimulationWarning, match=r"rail.*kept|kept"):
        result = cart().simulate(v0=[1.0], tau=blows_up, until=2.0, method=method)
    assert result.report.stopped in ("step-too-small", "not-finite")
    assert "rail" in result.report.message and not result.report.ok
    assert 0.99 < result.t[-1] < 1.0 + 1e-6
    early = result.t < 0.9
    assert early.sum() > 3
    assert_close(result.v[early, 0], 1.0 / (1.0 - result.t[early]), 1e-8)
    assert np.isfinite(result.q).all() and np.isfinite(result.v).all()


@pytest.mark.slow
@pytest.mark.parametrize("native", [True, False])
def test_fixed_steps_that_run_away(native: bool) -> None:
    """A spring that is far too stiff for the step."""
    made = on.Builder("stiff").body("base")
    rail = {"joint": on.Prismatic((1, 0, 0)), "joint_name": "rail", "mass": 1.0, "stiffness": 1e12}
    robot = made.body("cart", parent="base", **rail).build()
    with pytest.warns(SimulationWarning, match="rail"), np.errstate(all="ignore"):
        result = robot.simulate([1.0], until=10.0, method="rk4", step=0.1, native=native)
    assert result.report.stopped == "not-finite" and "rail" in result.report.message
    assert np.isfinite(result.q).all() and 0.0 < result.t[-1] < 10.0


def test_too_many_steps() -> None:
    with pytest.warns(SimulationWarning, match="raise max_steps"):
        result = PENDULUM.simulate([1.0, 0.5], until=100.0, max_steps=20)
    assert result.report.stopped == "max-steps" and result.report.steps == 20 and len(result) == 21


class Stop:
    """Interrupts a run after so many calls."""

    def __init__(self, after: int) -> None:
        self.left, self.fractions = after, list[float]()

    def __call__(self, fraction: float) -> None:
        self.fractions.append(fraction)
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


def test_interrupted() -> None:
    stop = Stop(2)
    with pytest.warns(SimulationWarning, match="interrupted at t = "):
        result = PENDULUM.simulate([1.0, 0.5], until=50.0, progress=stop, native=False)
    assert result.report.stopped == "interrupted" and 0.0 < result.t[-1] < 50.0
    assert stop.fractions == sorted(stop.fractions)
    assert_close(result.t[-1] / 50.0, stop.fractions[-1], ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["dormand-prince-8", "radau"])
def test_interrupted_within_a_step(method: str, tmp_path: Path) -> None:
    """Also within the user's own function: the steps before are kept, and a checkpoint goes on from there."""
    left = [100]

    def push(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        return np.array([math.sin(t), 0.0])

    push.fingerprint = "a sine"  # its content differs after each call
    path, options = tmp_path / "run.ckpt", {"until": 1.0, "method": method, "rtol": 1e-7, "atol": 1e-7}
    with pytest.warns(SimulationWarning, match="interrupted at t = "):
        part = PENDULUM.simulate([1.0, 0.3], tau=push, checkpoint=path, **options)
    assert part.report.stopped == "interrupted" and 0.0 < part.t[-1] < 1.0
    whole = PENDULUM.simulate([1.0, 0.3], tau=push, **options)
    assert PENDULUM.simulate([1.0, 0.3], tau=push, checkpoint=path, **options) == whole
    assert part == whole[: len(part)]


class Sampled:
    period = 0.02

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return -2.0 * q - 0.5 * v


def limited() -> on.Robot:
    link = {"mass": 1.0, "com": (0, 0, -0.5), "inertia": (0.1, 0.1, 0.01)}
    made = on.Builder("limited").body("base")
    made = made.body("upper", parent="base", joint=on.Revolute((0, 1, 0)), lower=-0.5, upper=1.2, **link)
    return made.body("lower", parent="upper", joint=on.Revolute((0, 1, 0)), at=(0, 0, -1), lower=-1.0, **link).build()


CASES: dict[str, tuple[on.Robot, dict[str, Any]]] = {
    "native": (PENDULUM, {"until": 20.0, "events": [Event(lambda t, q, v: v[0], "turns")]}),
    "stepwise": (PENDULUM, {"until": 5.0, "native": False}),
    "table": (PENDULUM, {"until": 4.0, "tau": Table([0.0, 1.5, 3.0], np.eye(3, 2))}),
    "sampled": (PENDULUM, {"until": 2.0, "tau": Sampled()}),
    "radau": (PENDULUM, {"until": 3.0, "method": "radau", "rtol": 1e-7, "atol": 1e-7}),
    "variational": (PENDULUM, {"until": 1.0, "method": "variational", "step": 0.003}),
    "bounce": (limited(), {"until": 2.0, "limits": "bounce", "restitution": 0.4}),
    "times": (PENDULUM, {"until": np.linspace(0.1, 10.0, 77), "dense": False}),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_run_that_was_broken_off_goes_on(case: str, tmp_path: Path) -> None:
    """Interrupted several times and resumed: the result is that of an unbroken run, bit by bit."""
    robot, options = CASES[case]
    q0 = [1.0, 0.3]
    whole = robot.simulate(q0, **options)
    path = tmp_path / "run.ckpt"
    with pytest.warns(SimulationWarning, match="interrupted"):
        robot.simulate(q0, **options, checkpoint=path, progress=Stop(2))
    for after in (1, 3):
        result = _interrupted(robot, q0, options, path, after)
    result = robot.simulate(q0, **options, checkpoint=path)
    assert result == whole and len(result) > 5
    for name in ("steps", "rejected", "evaluations", "energy_error", "work", "dissipated", "impacts", "stopped"):
        assert getattr(result.report, name) == getattr(whole.report, name), name
    if whole.dense is not None:
        times = np.linspace(result.t[0], result.t[-1], 50)
        assert all(np.array_equal(x, y) for x, y in zip(result.at(times), whole.at(times), strict=True))
    again = robot.simulate(q0, **options, checkpoint=path)
    assert again == whole


def _interrupted(robot: on.Robot, q0: Any, options: dict[str, Any], path: Path, after: int) -> Any:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SimulationWarning)  # the run may be over before
        return robot.simulate(q0, **options, checkpoint=path, progress=Stop(after))


def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    PENDULUM.simulate([1.0, 0.3], until=0.5, checkpoint=path)
    for other in ({"until": 0.6}, {"until": 0.5, "rtol": 1e-9}, {"until": 0.5, "tau": [0.1, 0.0]}):
        with pytest.raises(ModelError, match="another run"):
            PENDULUM.simulate([1.0, 0.3], checkpoint=path, **other)


def drive(gain: float, shift: Any = 0.0, times: list[float] | None = None) -> Any:
    """A force with numbers, arrays and a list from outside, and a count of its own."""
    count = 0

    def push(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        nonlocal count
        count += 1
        if times is not None:
            times.append(t)
        return -gain * v + shift

    return push


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second", "part"),
    [
        ({"tau": drive(1.0)}, {"tau": drive(2.0)}, "tau"),
        ({"tau": drive(1.0, np.zeros(2))}, {"tau": drive(1.0, np.array([0.0, 1e-9]))}, "tau"),
        ({"tau": lambda t, q, v: -v}, {"tau": lambda t, q, v: -1.5 * v}, "tau"),
        (
            {"tau": on.controllers.PD(PENDULUM, [1.0, 0.0], kp=5.0, kd=1.0)},
            {"tau": on.controllers.PD(PENDULUM, [1.0, 0.0], kp=5.0, kd=1.1)},
            "tau",
        ),
        ({"external": lambda t, q, v: {}}, {"external": lambda t, q, v: {"tip": [0, 0, 0, t, 0, 0]}}, "external"),
        (
            {"events": [on.Event(lambda t, q, v: q[0], "e")]},
            {"events": [on.Event(lambda t, q, v: q[1], "e")]},
            "events",
        ),
        ({"q0": [1.0, 0.3], "rtol": 1e-9}, {"q0": [1.0, 0.4], "rtol": 1e-8}, "q0 and step-or-tolerances"),
    ],
)
def test_a_checkpoint_knows_functions(first: Any, second: Any, part: str, tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    whole = PENDULUM.simulate(**first, until=0.2, checkpoint=path)
    assert PENDULUM.simulate(**first, until=0.2, checkpoint=path) == whole
    with pytest.raises(ModelError, match=f"of another run: {part} differs?\\. Continue with"):
        PENDULUM.simulate(**second, until=0.2, checkpoint=path)


def test_what_a_function_remembers_does_not_make_it_another() -> None:
    times: list[float] = []
    one, two = drive(1.0, (1.0, 2.0), times), drive(1.0, (1.0, 2.0), [3.0])
    before = fingerprint(one)
    one(0.0, np.zeros(2), np.ones(2))
    assert times and fingerprint(one) == before == fingerprint(two)


@pytest.mark.slow
def test_a_function_is_the_same_in_another_process(tmp_path: Path) -> None:
    text = """
        import numpy as np, ordern as on
        from functools import partial
        from ordern.simulate.run.fingerprint import fingerprint
        robot, K = on.load("puma560"), np.eye(6)
        def push(t, q, v, *, names={"a", "b"}): return -K @ v if "x" in {"x", "y", "z"} else robot.gravity_force(q)
        goal = on.trajectories.cycloidal(robot, np.zeros(6), np.ones(6), duration=1.0)
        control = on.controllers.ComputedTorque(robot, goal, kp=1.0, kd=2.0)
        control(0.1, np.zeros(6), np.zeros(6))
        print(fingerprint(push), fingerprint(partial(push, t=1.0)), fingerprint(control), fingerprint(np.sin))
    """
    file = tmp_path / "force.py"
    file.write_text(textwrap.dedent(text))
    runs = [
        subprocess.run(
            [sys.executable, str(file)],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": k},
        ).stdout
        for k in ("1", "2")
    ]
    assert runs[0] == runs[1] and len(set(runs[0].split())) == 4


@pytest.mark.slow
def test_accelerations_by_any_method_move_the_robot_the_same_way() -> None:
    runs = [
        PENDULUM.simulate([1.0, 0.3], until=2.0, dynamics=d)
        for d in ("articulated-body", "denoc", "composite-body", "unit-acceleration")
    ]
    for other in runs[1:]:
        assert_close(other.q[-1], runs[0].q[-1], REQUESTED)
    assert {r.report.dynamics for r in runs} == {"articulated-body", "denoc", "composite-body", "unit-acceleration"}


def test_report_reads_well() -> None:
    result = PENDULUM.simulate([1.0, 0.3], until=0.5)
    text = str(result.report)
    for word in (
        "double-pendulum: dormand-prince-8",
        "reached the end, t = 0.5 s",
        "taken",
        "rejected",
        "energy drift",
    ):
        assert word in text
    timed = replace(result.report, wall=0.012, compiling=1.9)
    assert "time taken      12 ms, machine code, and 1.9 s to compile" in str(timed)
    assert "to compile" not in str(replace(timed, compiling=0.0))
    assert result.report.wall > 0.0 and result.report.compiling > 0.0
    assert result.report.to_dict()["energy_drift"] == result.report.energy_drift
    assert pickle.loads(pickle.dumps(result)) == result
    assert pickle.loads(pickle.dumps(result)).report == result.report


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"q0": [1.0]}, r"q0 of 'double-pendulum' \(positions: nq\) has shape \(1,\); expected \(2,\)"),
        ({"v0": [1.0, math.nan]}, "v0 of .* must be finite; entry 1 is nan"),
        ({"q0": "ab"}, r"q0 of .* must be numbers of shape \(2,\), not 'ab'"),
        ({"until": -1.0}, "until must be a time"),
        ({"until": "1.0"}, "until must be a time in seconds or a list of times, .* not '1.0'"),
        ({"until": ["1", "2"]}, "until must be a time"),
        ({"until": [0.0, 0.5, 0.5]}, "times must increase; after 0.5"),
        ({"until": math.inf}, "finite"),
        ({"method": "rk4"}, "give step="),
        ({"method": "rk4", "step": 0.0}, "step, in seconds, must be a finite number above zero, not 0"),
        ({"rtol": -1.0}, "rtol must be"),
        ({"rtol": 0.0, "atol": 0.0}, "both 0"),
        ({"smoothing": 0.0}, "smoothing, a velocity, must be"),
        ({"max_steps": 0}, "max_steps must be"),
        ({"progress": 3}, "progress must be"),
        ({"native": True, "tau": lambda t, q, v: q}, "native=True, but tau is a Python function"),
    ],
)
def test_mistakes_are_named(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        PENDULUM.simulate(**options)


def test_unknown_names_list_those_that_exist() -> None:
    with pytest.raises(UnknownNameError, match=r"dormand-prince-8.*radau.*variational"):
        PENDULUM.simulate(method="dopri")
    with pytest.raises(UnknownNameError, match="articulated-body"):
        PENDULUM.simulate(dynamics="artikulated-body")
    with pytest.raises(UnknownNameError, match="motion, step"):
        PENDULUM.simulate(tolerance="steps")
