"""Forces of drives and of the world during a simulation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.errors import ArgumentError
from ordern.simulate.forces import Table
from ordern.simulate.results.report import SimulationWarning
from tests.tolerances import REQUESTED, ROUNDING, assert_close

G = 9.81
MASS = 2.0


def slider(**options: Any) -> on.Robot:
    made = on.Builder("slider", gravity=(0, 0, 0)).body("base")
    return made.body("cart", parent="base", joint=on.Prismatic((1, 0, 0)), joint_name="x", mass=MASS, **options).build()


CART = slider()


def test_table_by_itself() -> None:
    table = Table([0.0, 1.0, 3.0], [[0.0], [2.0], [4.0]])
    assert [float(table(t)[0]) for t in (-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 9.0)] == [0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 4.0]
    held = Table([0.0, 1.0], [[1.0], [2.0]], hold=True)
    assert [float(held(t)[0]) for t in (-1.0, 0.0, 0.999, 1.0, 5.0)] == [1.0, 1.0, 1.0, 2.0, 2.0]


@pytest.mark.slow
@pytest.mark.parametrize("native", [None, False])
@pytest.mark.parametrize("method", ["dormand-prince-8", "dormand-prince", "rk4", "radau"])
def test_linear_table(method: str, native: bool | None) -> None:
    """A force that grows to 2 N in 1 s, and falls to -2 N in the next two."""
    native = None if method == "radau" else native
    step = {"step": 0.01} if method == "rk4" else {}
    tau = ([0.0, 1.0, 3.0], [[0.0], [2.0], [-2.0]])
    result = CART.simulate(tau=tau, until=3.0, method=method, native=native, **step)
    first = result.t <= 1.0
    s = result.t[~first] - 1.0
    assert_close(result.q[first, 0], result.t[first] ** 3 / (3 * MASS), REQUESTED)
    v1, x1 = 1.0 / MASS, 1.0 / (3 * MASS)
    assert_close(result.q[~first, 0], x1 + v1 * s + (s**2 - s**3 / 3) / MASS, REQUESTED)
    assert 1.0 in result.t, "a step ends where the force has a kink"
    assert_close(result.work, 0.5 * MASS * result.v[:, 0] ** 2, REQUESTED)


@pytest.mark.slow
@pytest.mark.parametrize("native", [None, False])
def test_held_table(native: bool | None) -> None:
    tau = Table([0.0, 0.5, 1.0], [[4.0], [-4.0], [0.0]], hold=True)
    result = CART.simulate(tau=tau, until=2.0, native=native)
    at = CART.simulate(tau=tau, until=[0.0, 0.5, 1.0, 2.0], native=native)
    a = 4.0 / MASS
    assert_close(at.q[:, 0], [0.0, a / 8, a / 4, a / 4], REQUESTED)
    assert_close(result.v[-1], [0.0], ROUNDING)
    assert_close(np.abs(result.tau[result.t <= 1.0, 0]), np.full((result.t <= 1.0).sum(), 4.0), ROUNDING)


def test_function_constant_and_table_agree() -> None:
    robot, tau = on.load("double-pendulum"), np.array([3.0, -1.0])
    times = np.linspace(0.0, 1.0, 11)
    runs = [
        robot.simulate([0.5, 0.2], tau=given, until=times)
        for given in (tau, lambda t, q, v: tau, Table([0.0, 9.0], [tau, tau]))
    ]
    for other in runs[1:]:
        assert_close(other.q, runs[0].q, REQUESTED)
        assert_close(other.work, runs[0].work, REQUESTED)
        assert_close(other.a, runs[0].a, REQUESTED)
        assert_close(other.tau, runs[0].tau, ROUNDING)
    assert not runs[1].report.native and runs[0].report.native and runs[2].report.native


class Sampled:
    """A regulator that measures once in each period."""

    def __init__(self, period: float) -> None:
        self.period = period
        self.times: list[float] = []
        self.robot: on.Robot | None = None

    def start(self, robot: on.Robot) -> None:
        self.robot = robot

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        self.times.append(t)
        return -3.0 * q - 2.0 * v


@pytest.mark.parametrize("native", [None, False])
def test_sampled_controller(native: bool | None) -> None:
    """Between samples the force is constant, so each period is one step of a linear recursion."""
    T, n = 0.1, 20
    control = Sampled(T)
    times = np.arange(n + 1) * T
    result = CART.simulate([1.0], tau=control, until=times, native=native)
    x, v = 1.0, 0.0
    expected = [x]
    for _ in range(n):
        a = (-3.0 * x - 2.0 * v) / MASS
        x, v = x + T * v + 0.5 * T * T * a, v + T * a
        expected.append(x)
    assert_close(result.q[:, 0], expected, REQUESTED)
    assert control.robot is CART
    assert_close(control.times, times[: len(control.times)], ROUNDING)
    assert result.report.energy_drift < REQUESTED


class Switched:
    """A force that begins at a known time."""

    breaks = (0.1,)

    def __call__(self, t: float, q: Any, v: Any) -> Any:
        return np.array([10.0 if t >= 0.1 else 0.0])


@pytest.mark.parametrize("method", ["rk4", "dormand-prince"])
def test_a_force_that_jumps_does_not_act_before(method: str) -> None:
    """The last stage of the step that ends at the jump has the force before it, and so does the result there."""
    options = {"step": 0.05} if method == "rk4" else {"rtol": 1e-6}
    result = CART.simulate([0.0], tau=Switched(), until=0.2, method=method, **options)
    before = result.t <= 0.1
    assert not result.v[before].any() and not result.tau[before].any() and result.t[before][-1] == 0.1
    assert_close(result.v[:, 0], np.maximum(0.0, result.t - 0.1) * 10.0 / MASS, ROUNDING)
    assert result.report.rejected == 0


@pytest.mark.parametrize("until", [0.5, np.linspace(0.0, 0.5, 33)], ids=["steps", "times"])
@pytest.mark.parametrize("given", [{}, {"method": "semi-implicit-euler", "step": 0.004}], ids=["adaptive", "fixed"])
def test_samples_do_not_depend_on_chunks_of_steps(until: Any, given: dict[str, Any]) -> None:
    """Without events, compiled steps go on through many samples; with one that never takes place, each by itself."""
    robot = on.load("double-pendulum")
    never = on.Event(lambda t, q, v: 1.0)
    one, other = Sampled(0.01), Sampled(0.01)
    whole = robot.simulate([0.5, 0.2], tau=one, until=until, native=True, **given)
    parts = robot.simulate([0.5, 0.2], tau=other, until=until, events=[never], native=True, **given)
    for name in ("t", "q", "v", "a", "tau", "work", "dissipated"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(parts, name))
    assert one.times == other.times
    assert (whole.report.steps, whole.report.evaluations) == (parts.report.steps, parts.report.evaluations)


class _Fails(Sampled):
    """Fails at the 31st sample."""

    def __init__(self, how: Any) -> None:
        super().__init__(0.01)
        self.how = how

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        if t > 0.295:
            if isinstance(self.how, BaseException):
                raise self.how
            return np.full(1, self.how)
        return super().__call__(t, q, v)


@pytest.mark.parametrize(("how", "ending"), [(math.nan, "bad-force"), (KeyboardInterrupt(), "interrupted")])
def test_steps_before_a_failing_sample_are_kept(how: Any, ending: str) -> None:
    with pytest.warns(SimulationWarning):
        result = CART.simulate([1.0], tau=_Fails(how), until=1.0, native=True)
    assert result.report.stopped == ending
    assert_close(result.t[-1], 0.3, ROUNDING)
    assert_close(result.q, CART.simulate([1.0], tau=Sampled(0.01), until=0.3).q, REQUESTED)


def test_no_sample_is_taken_after_an_event() -> None:
    control = Sampled(0.01)
    result = CART.simulate([1.0], tau=control, until=3.0, events=[on.Event(lambda t, q, v: q[0] - 0.9, terminal=True)])
    assert result.report.stopped == "event" and max(control.times) <= result.t[-1]


def test_function_of_time_and_state() -> None:
    """A spring and a drive in resonance: x'' + x = cos t has x = t sin t / 2."""
    result = CART.simulate(tau=lambda t, q, v: MASS * (math.cos(t) - q), until=6.0)
    assert_close(result.q[:, 0], 0.5 * result.t * np.sin(result.t), REQUESTED)
    assert result.report.energy_drift < REQUESTED and not result.report.native


@pytest.mark.slow
def test_external_forces() -> None:
    """A push in the world's axes on a floating ball that spins: given in its own axes, by a function."""
    made = on.Builder("ball", gravity=(0, 0, 0)).body("base")
    ball = made.body("ball", parent="base", joint=on.Free(), mass=MASS, inertia=(0.2, 0.2, 0.2)).build()
    push = np.array([1.0, -2.0, 0.5])

    def force(t: float, q: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
        R = ball.pose(q, "ball")[:3, :3]
        return {"ball": np.concatenate([np.zeros(3), R.T @ push])}

    times = np.linspace(0.0, 1.0, 6)
    result = ball.simulate(v0=[1, 2, 3, 0, 0, 0], external=force, until=times)
    assert_close(result.q[:, 4:], 0.5 * push / MASS * times[:, None] ** 2, REQUESTED)
    assert_close(result.work, 0.5 * push @ push / MASS * times**2, REQUESTED)
    assert result.report.energy_drift < REQUESTED
    assert result.report.momentum_drift is None

    constant = np.zeros((1, 6))
    constant[0, 2] = 0.4
    result = ball.simulate(external=constant, until=times)
    assert_close(result.v[:, 2], 2.0 * times, REQUESTED)


@pytest.mark.slow
def test_energy_balance_with_everything() -> None:
    """Dampers, springs, friction and a drive: what goes in is kept or lost, to the tolerance."""
    made = on.Builder("all").body("base")
    passive = {"damping": 0.3, "stiffness": 4.0, "friction": 0.2, "rest": 0.3}
    link = {"mass": 1.0, "com": (0, 0, -0.4), "inertia": (0.1, 0.1, 0.02)}
    made = made.body("upper", parent="base", joint=on.Revolute((0, 1, 0)), **link, **passive)
    ball = {"damping": (0.1, 0.2, 0.3), "stiffness": 2.0}
    robot = made.body("lower", parent="upper", joint=on.Spherical(), at=(0, 0, -0.8), **link, **ball).build()
    v0, tau = [1.0, 2.0, -1.0, 0.5], lambda t, q, v: np.array([2.0 * math.sin(3 * t), 0.3, 0.0, -0.2])
    result = robot.simulate(v0=v0, tau=tau, until=3.0, smoothing=0.3)
    balance = result.energy - result.energy[0] - result.work + result.dissipated
    assert np.abs(balance).max() < 1e-8 * result.kinetic.max()
    assert result.report.energy_drift < 1e-8
    assert (np.diff(result.dissipated) > 0.0).all(), "losses only grow"


def test_a_function_that_is_wrong_says_when() -> None:
    with pytest.raises(ArgumentError, match=r"tau: at t = 0 s the function returned an array of shape \(2,\)"):
        CART.simulate(tau=lambda t, q, v: np.zeros(2))
    with pytest.raises(ArgumentError, match="returned None"):
        CART.simulate(tau=lambda t, q, v: None)

    def breaks(t: float, q: np.ndarray, v: np.ndarray) -> list[float]:
        return [math.nan if t > 0.5 else 1.0]

    with pytest.warns(SimulationWarning, match=r"returned nan at t = .* \(joint 'x'\)"):
        result = CART.simulate(tau=breaks, until=1.0, step=0.01)
    assert result.report.stopped == "bad-force" and not result.report.ok
    assert 0.4 < result.t[-1] <= 0.51
    assert_close(result.q[-1, 0], 0.25 * result.t[-1] ** 2, REQUESTED)


@pytest.mark.parametrize("method", ["dormand-prince-8", "dormand-prince", "cash-karp", "radau"])
def test_forces_that_overflow_in_a_trial_only_shorten_the_step(method: str) -> None:
    """A drive that has no force where only too long steps lead: x'' = -x, whose speed never exceeds 1."""

    def drive(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.where(np.abs(q) + np.abs(v) > 1.5, math.inf, -MASS * q)

    result = CART.simulate([1.0], tau=drive, until=3.0, method=method, rtol=1e-6, atol=1e-6)
    assert result.report.ok
    assert_close(result.q[-1], [math.cos(3.0)], 2e-6)


@pytest.mark.parametrize("method", ["dormand-prince-8", "radau"])
def test_forces_are_asked_for_no_time_beyond_the_end(method: str) -> None:
    asked: list[float] = []

    def drive(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        asked.append(t)
        return 1e-13 * np.ones(1)

    result = CART.simulate([5.0], tau=drive, until=0.3, method=method)
    assert result.report.ok and min(asked) >= 0.0 and max(asked) <= 0.3
    assert len(result.t) > 2


@pytest.mark.parametrize(
    ("tau", "words"),
    [
        ([1.0, 2.0], r"tau has shape \(2,\); for 'slider' give \(1,\)"),
        ([math.nan], "tau must be finite; entry 0 is nan"),
        (([0.0, 0.0], [[1.0], [2.0]]), "times must increase; after 0"),
        (([0.0, 1.0], [[1.0, 1.0], [2.0, 2.0]]), "each row has 1 numbers"),
        ("text", "tau must be an array of numbers, not 'text'"),
        (lambda t, q: q, r"tau: the function is called with \(t, q, v\), but takes \(t, q\)"),
        (Sampled, r"tau is the class Sampled; make an object of it first: tau=Sampled\(\.\.\.\)"),
        (
            on.trajectories.cycloidal(CART, [0.0], [1.0], 1.0),
            r"tau is a trajectory.*tau=on\.controllers\.PD\(robot, trajectory",
        ),
    ],
)
def test_forces_that_are_none(tau: Any, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        CART.simulate(tau=tau)


def test_external_forces_that_are_none() -> None:
    with pytest.raises(ArgumentError, match=r"give \(1, 6\)"):
        CART.simulate(external=np.zeros((2, 6)))
    with pytest.raises(ArgumentError, match=r"external: the function is called with \(t, q, v\), but takes \(t\)"):
        CART.simulate(external=lambda t: {})
    with pytest.raises(ArgumentError, match="the force on body 'cart' is"):
        CART.simulate(external={"cart": [0, 0, 0, math.inf, 0, 0]})


@pytest.mark.slow
@pytest.mark.parametrize("method", ["dormand-prince", "radau"])
def test_a_sample_is_taken_once(method: str) -> None:
    """Also the first one, and those at which a piece begins for another reason."""
    robot, control = on.load("double-pendulum"), Sampled(0.1)
    kinked = on.Table([0.0, 0.2, 0.4], [np.zeros(6), np.ones(6), np.zeros(6)])
    robot.simulate([0.3, 0.2], tau=control, external={robot.bodies[1].name: kinked}, until=0.45, method=method)
    assert_close(control.times, 0.1 * np.arange(5), ROUNDING)


def test_a_period_that_is_none() -> None:
    with pytest.raises(ArgumentError, match="period of Sampled must be a finite number above zero"):
        CART.simulate(tau=Sampled(0.0))


def _writes(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    q[0] = 7.0
    return np.zeros(1)


def _speeds_up(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    v += 1.0
    return np.zeros(1)


class _Keeper:
    """A controller with a period, that would set the state back."""

    period = 0.1

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        q[:] = 0.0
        return np.zeros(1)


@pytest.mark.parametrize(
    "given",
    [
        {"tau": _writes},
        {"tau": _speeds_up},
        {"tau": _Keeper()},
        {"tau": on.controllers.Sum(_writes)},
        {"external": lambda t, q, v: np.zeros((1, 6)) * _writes(t, q, v)[0]},
        {"events": [on.Event(lambda t, q, v: float(_writes(t, q, v)[0]))]},
        {"tau": _writes, "method": "radau"},
        {"tau": _writes, "method": "variational", "step": 0.01},
        {"tau": _writes, "method": "semi-implicit-euler", "step": 0.01},
    ],
    ids=lambda x: "-".join(map(str, x)),
)
def test_a_function_cannot_write_into_the_state(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="read-only"):
        CART.simulate([0.3], [1.0], until=0.5, **given)


def test_states_that_functions_read_are_the_runs() -> None:
    """They are views, and they and what is made of them are used as before."""
    result = CART.simulate([0.3], [1.0], lambda t, q, v: -4.0 * MASS * q, until=1.0)
    assert_close(result.q[:, 0], 0.3 * np.cos(2.0 * result.t) + 0.5 * np.sin(2.0 * result.t), REQUESTED)


class _Complex:
    """A controller with a period."""

    period = 0.1

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.array([1.0 + 2.0j])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: {"tau": lambda t, q, v: np.array([1.0 + 2.0j])},
            r"^tau: the result .* at t = 0 s must be real numbers, not complex",
        ),
        (
            lambda: {"tau": lambda t, q, v: [1.0 + 0.0j]},
            r"^tau: the result .* at t = 0 s must be real numbers, not complex",
        ),
        (lambda: {"tau": _Complex()}, r"^tau: the result .* at t = 0 s must be real numbers, not complex"),
        (lambda: {"tau": np.array([1.0 + 2.0j])}, r"^tau must be real numbers, not complex"),
        (lambda: {"tau": np.complex64(2.0)}, r"^tau must be real numbers, not complex"),
        (
            lambda: {"tau": Table([0.0, 1.0], np.array([[1.0], [2.0j]]))},
            r"^Table: the values must be real numbers, not complex",
        ),
        (
            lambda: {"tau": ([0.0, 1.0], np.array([[1.0], [2.0j]]))},
            r"^Table: the values must be real numbers, not complex",
        ),
        (
            lambda: {"tau": Table(np.array([0.0, 1.0 + 1.0j]), [[1.0], [2.0]])},
            r"^Table: the times must be real numbers, not complex",
        ),
        (lambda: {"external": np.full((1, 6), 1.0j)}, r"^external: the forces must be real numbers, not complex"),
        (lambda: {"external": {"cart": np.full(6, 1.0j)}}, r"^external: .*'cart'.*complex128"),
        (
            lambda: {"external": lambda t, q, v: np.full((1, 6), 1.0j)},
            r"^external: at t = 0 s: the forces must be real numbers, not complex",
        ),
        (lambda: {"tau": on.controllers.Sum(_Complex())}, r"^Sum: the forces of _Complex must be real"),
        (
            lambda: {"tau": on.controllers.Saturated(CART, lambda t, q, v: np.array([1.0j]))},
            r"^Saturated: the forces of <lambda> must be real",
        ),
        (lambda: {"q0": np.array([1.0j])}, r"^q0 of .* must be real numbers, not complex"),
        (lambda: {"v0": np.array([1.0j])}, r"^v0 of .* must be real numbers, not complex"),
        (lambda: {"events": [on.Event(lambda t, q, v: np.complex128(1.0j), "odd")]}, "event 'odd' .*one real number"),
    ],
)
def test_complex_numbers_are_refused(make: Any, words: str) -> None:
    """Their imaginary part would be lost without a word."""
    with pytest.raises(ArgumentError, match=words):
        CART.simulate(until=0.5, **make())
