"""The native loop with controlled error: against SciPy, against the same text on arrays, and in pieces."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import ordern as on
from ordern.compile import program
from ordern.simulate.integrators.native import Native
from ordern.simulate.integrators.numpy_machine import NumpyMachine
from ordern.simulate.integrators.rk_step import Point, attempt, dense_coefficients, finish
from ordern.simulate.integrators.step_control import GROWTH, NEARLY, combined_error, step_factor
from ordern.simulate.integrators.tableaus import TABLEAUS
from ordern.simulate.run.chunk import Runner
from ordern.simulate.run.log import Log
from ordern.simulate.run.run import Run
from tests.random_models import ALL_JOINTS, random_robot, random_state
from tests.tolerances import METHODS, ROUNDING, SAME_STEPS, assert_close

ARM = on.load("puma560")
MIXED = random_robot(
    21, n=7, joints=(on.Revolute, on.Spherical, on.Planar, on.Helical, on.Universal), floating=True, passive=True
)
ADAPTIVE = [name for name, t in TABLEAUS.items() if t.adaptive]
SCIPY = {"dormand-prince": "RK45", "dormand-prince-8": "DOP853"}
TOLERANCE = 1e-8


class Equations:
    """A robot under forces that grow with time."""

    def __init__(self, robot: on.Robot, tau: np.ndarray, slant: np.ndarray) -> None:
        self.robot, self.tau, self.slant = robot, tau, slant
        self.count = 0

    def rates(self, t, q, v):
        self.count += 1
        force, passive = self.tau + t * self.slant, self.robot.passive_force(q, v)
        return self.robot.forward_dynamics(q, v, force + passive), float(force @ v), -float(passive @ v)


def problem(robot: on.Robot) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(1)
    q, v, _ = random_state(robot, 2)
    return q, 0.5 * v, rng.normal(size=robot.nv), rng.normal(size=robot.nv)


def on_arrays(method, equations, q, v, h, end):
    """What the native loop does, step by step in Python."""
    y, t, steps, rejected, most = Point(q, v, np.zeros(2)), 0.0, [], 0, GROWTH
    slope = NumpyMachine(equations, 0.0, 0.0).slope(0.0, q, v)
    while t < end:
        last = t + (NEARLY if method.adaptive else 1.0 + 1e-6) * h >= end
        tried_h = end - t if last else h
        m = NumpyMachine(equations, t, tried_h, TOLERANCE, TOLERANCE)
        tried = attempt(m, method, y, slope)
        error = combined_error(tried.squares) if method.adaptive else 0.0
        factor = step_factor(error, method.error_order, most) if method.adaptive else 1.0
        if error > 1.0:
            h, most, rejected = tried_h * factor, 1.0, rejected + 1
            continue
        slopes = finish(m, method, tried)
        dense = [np.concatenate(list(p)) for p in dense_coefficients(m, method, y, slopes)]
        y, slope, t, most = tried.end, slopes[method.stages], end if last else t + tried_h, GROWTH
        h = max(h, tried_h * factor) if tried_h < h else tried_h * factor
        steps.append((t, y, slope.v, dense))
    return steps, rejected


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLEAUS)
@pytest.mark.parametrize("robot", [ARM, MIXED], ids=["arm", "mixed"])
def test_both_machines_agree(robot, name) -> None:
    method, (q, v, tau, slant) = TABLEAUS[name], problem(robot)
    equations = Equations(robot, tau, slant)
    wanted, rejected = on_arrays(method, equations, q, v, 4e-3, 0.1)
    found = Native(robot, name, rtol=TOLERANCE, atol=TOLERANCE).advance(0.0, q, v, 4e-3, 0.1, tau, slant)
    assert found.status == "end"
    assert len(found.t) == len(wanted)
    assert found.rejected.sum() == rejected
    assert found.evaluations == equations.count
    assert found.t[-1] == 0.1
    assert_close(found.t, [t for t, *_ in wanted], SAME_STEPS)
    assert_close(found.q[-1], wanted[-1][1].q, METHODS)
    assert_close(found.v[-1], wanted[-1][1].v, METHODS)
    assert_close(found.a[-1], wanted[-1][2], METHODS)
    assert_close([found.work[-1], found.dissipated[-1]], wanted[-1][1].w, METHODS)
    if found.dense is None:
        assert method.exponential
        return
    assert_close(found.dense[0, 1:], wanted[0][3], SAME_STEPS)
    ends = found.dense.sum(axis=1)
    assert_close(robot.normalize(ends[:, : robot.nq]), found.q, TOLERANCE)
    assert_close(ends[:, robot.nq : -2], found.v, ROUNDING)
    assert_close(ends[:, -2], np.diff(found.work, prepend=0.0), ROUNDING)
    starts = found.dense[:, 0]
    assert_close(starts[1:, : robot.nq], found.q[:-1], 0.0)
    assert_close(starts[0, : robot.nq], q, 0.0)


@pytest.mark.parametrize("name", SCIPY)
def test_as_scipy(name) -> None:
    """The same methods, the same law: the same steps, but for the last, which is not cut to pieces."""
    q, v, tau, slant = problem(ARM)

    def rates(t, y):
        a = ARM.forward_dynamics(y[:6], y[6:], tau + t * slant + ARM.passive_force(y[:6], y[6:]))
        return np.concatenate([y[6:], a])

    theirs = solve_ivp(
        rates, (0.0, 0.5), np.concatenate([q, v]), SCIPY[name], rtol=TOLERANCE, atol=TOLERANCE, first_step=1e-3
    )
    ours = Native(ARM, name, rtol=TOLERANCE, atol=TOLERANCE).advance(0.0, q, v, 1e-3, 0.5, tau, slant)
    common = min(len(ours.t), len(theirs.t) - 1) - 2
    assert common > 2
    assert abs(len(ours.t) - len(theirs.t) + 1) <= 1
    assert_close(ours.t[:common], theirs.t[1 : common + 1], SAME_STEPS)
    assert_close(ours.q[:common], theirs.y[:6, 1 : common + 1].T, SAME_STEPS)
    best = solve_ivp(rates, (0.0, 0.5), np.concatenate([q, v]), "DOP853", rtol=1e-12, atol=1e-13)
    assert_close(ours.v[-1], best.y[6:, -1], 100 * TOLERANCE)


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLEAUS)
def test_in_pieces_as_in_one(name) -> None:
    """However many steps a call may take: the same steps, to the last bit."""
    q, v, tau, slant = problem(MIXED)
    native = Native(MIXED, name, rtol=TOLERANCE, atol=TOLERANCE)
    whole = native.advance(0.0, q, v, 3e-3, 0.05, tau, slant)
    t, h, count = 0.0, 3e-3, 0
    while True:
        part = native.advance(t, q, v, h, 0.05, tau, slant, capacity=2, dense=False)
        assert part.dense is None
        for k in range(len(part.t)):
            assert part.t[k] == whole.t[count]
            assert np.array_equal(part.q[k], whole.q[count])
            assert np.array_equal(part.a[k], whole.a[count])
            count += 1
        t, q, v, h = float(part.t[-1]), part.q[-1], part.v[-1], part.h
        if part.status == "end":
            break
        assert part.status == "full"
        assert len(part.t) == 2
    assert count == len(whole.t)
    assert h == whole.h


@pytest.mark.slow
def test_energy_balance() -> None:
    """Work done by the drives, less what dampers took, is what the robot has gained: springs are left out here."""
    robot = (
        on.Builder("damped")
        .body("base")
        .body("one", parent="base", joint=on.Spherical(), mass=1.0, com=(0, 0, -0.4), inertia=(0.1, 0.1, 0.05),
              damping=(0.2, 0.1, 0.3), friction=(0.01, 0.0, 0.02))
        .body("two", parent="one", joint=on.Revolute((0, 1, 0)), at=(0, 0, -0.8), mass=0.5, com=(0, 0, -0.3),
              inertia=(0.05, 0.05, 0.01), damping=(0.1,))
        .build()
    )  # fmt: skip
    rng = np.random.default_rng(0)
    q, v, tau, slant = robot.random(rng), rng.normal(size=4), rng.normal(size=4), rng.normal(size=4)
    energy = lambda q, v: robot.kinetic_energy(q, v) + robot.potential_energy(q)  # noqa: E731
    for name in ADAPTIVE:
        found = Native(robot, name, rtol=1e-10, atol=1e-10).advance(0.0, q, v, 1e-3, 1.0, tau, slant, capacity=3000)
        assert found.status == "end"
        balance = energy(found.q, found.v) - energy(q, v) - found.work + found.dissipated
        assert_close(balance, np.zeros(len(found.t)), 1e-8)
        assert found.dissipated[-1] > 0.1


@pytest.mark.slow
def test_dense_output() -> None:
    """Within steps, as near to the truth as at their ends."""
    q, v, tau, slant = problem(MIXED)
    best = Native(MIXED, "dormand-prince-8", rtol=1e-13, atol=1e-13)
    for name in ("rk4", *ADAPTIVE):
        found = Native(MIXED, name, rtol=1e-7, atol=1e-7, max_step=0.02).advance(0.0, q, v, 4e-3, 0.05, tau, slant)
        edges = np.concatenate([[0.0], found.t])
        for k in (0, len(found.t) // 2):
            for s in (0.2, 0.7):
                t = edges[k] + s * (edges[k + 1] - edges[k])
                y = sum(c * s**n for n, c in enumerate(found.dense[k]))
                wanted = best.advance(0.0, q, v, 1e-3, t, tau, slant)
                assert_close(y[: MIXED.nq], wanted.q[-1], 1e-5)
                assert_close(y[MIXED.nq : -2], wanted.v[-1], 1e-4)


class TestTrouble:
    def test_no_step_is_short_enough(self) -> None:
        """A spring beyond all measure: accelerations near the largest number that there is."""
        native = Native(ARM, "dormand-prince", rtol=1e-10, atol=1e-10)
        found = native.advance(1.0, np.zeros(6), np.full(6, 1e160), 1e-3, 2.0)
        assert found.status == "not-finite"
        assert found.index is not None
        assert len(found.t) == 0
        assert found.failed > 5

    def test_the_longest_step(self) -> None:
        found = Native(ARM, "dormand-prince", rtol=1e-3, atol=1e-3, max_step=0.01).advance(
            0.0, np.zeros(6), np.zeros(6), 1.0, 0.1
        )
        assert np.diff(found.t, prepend=0.0).max() <= 0.01 * NEARLY

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({"q": np.zeros(5)}, r"q has shape \(5,\), not \(6,\)"),
            ({"tau": np.zeros(7)}, r"tau has shape \(7,\)"),
            ({"h": 0.0}, "the step h must be positive"),
            ({"t_end": np.inf}, "t_end must be finite"),
            ({"capacity": 0}, "capacity must be"),
        ],
    )
    def test_bad_arguments(self, arguments, words) -> None:
        given = {"t": 0.0, "q": np.zeros(6), "v": np.zeros(6), "h": 1e-3, "t_end": 1.0} | arguments
        with pytest.raises(on.errors.ArgumentError, match=words):
            Native(ARM, "dormand-prince").advance(**given)

    def test_nothing_that_moves(self) -> None:
        statue = on.Builder("statue").body("base", mass=1.0).build()
        with pytest.raises(on.errors.ArgumentError, match="'statue' has no freedom"):
            Native(statue, "dormand-prince")

    def test_two_of_one_robot_do_not_disturb_each_other(self) -> None:
        one, other = Native(ARM, "dormand-prince", rtol=1e-6, atol=1e-6), Native(ARM, "dormand-prince")
        q, v, tau, slant = problem(ARM)
        before = one.advance(0.0, q, v, 1e-3, 0.1, tau, slant)
        other.advance(0.0, 2 * q, v, 1e-3, 0.1)
        again = one.advance(0.0, q, v, 1e-3, 0.1, tau, slant)
        assert np.array_equal(before.v, again.v)
        assert len(before.t) < len(other.advance(0.0, q, v, 1e-3, 0.1, tau, slant).t)


@pytest.mark.slow
def test_rolled(monkeypatch) -> None:
    """Long robots run as loops; here all are long."""
    robot = random_robot(13, n=13, joints=ALL_JOINTS, floating=True, passive=True)
    q, v, _ = random_state(robot, 0)
    monkeypatch.setenv("ORDERN_CACHE", "off")
    monkeypatch.setattr(program, "UNROLL_LIMIT", 0)
    zero = np.zeros(robot.nv)
    native = Native(robot, "dormand-prince", rtol=TOLERANCE, atol=TOLERANCE)
    assert "dynamics" in native.rolled
    found = native.advance(0.0, q, v, 1e-4, 2e-3)
    wanted, _ = on_arrays(TABLEAUS["dormand-prince"], Equations(robot, zero, zero), q, v, 1e-4, 2e-3)
    assert len(found.t) == len(wanted)
    assert_close(found.v[-1], wanted[-1][1].v, TOLERANCE)


@pytest.mark.parametrize("limits", ["ignore", "bounce"])
@pytest.mark.parametrize("name", ["double-pendulum", "four-bar"])
def test_a_run_frees_its_arrays_without_the_garbage_collector(name: str, limits: str) -> None:
    robot = on.load(name)
    q0 = robot.assemble().q if name == "four-bar" else robot.neutral()

    def alive() -> int:
        return sum(issubclass(type(x), Run | Log | Runner) for x in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        before = alive()
        robot.simulate(q0, until=0.1, limits=limits)
        after = alive()
    finally:
        gc.enable()
    assert after == before
