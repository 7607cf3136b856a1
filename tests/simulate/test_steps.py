"""The numbers of explicit methods, the law of their step size, and the machine that runs them on arrays."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import ordern as on
from ordern.simulate.integrators.numpy_machine import NumpyMachine
from ordern.simulate.integrators.rk_step import Point, attempt, dense_coefficients, finish, fixed_step
from ordern.simulate.integrators.step_control import GROWTH, SHRINKAGE, combined_error, step_factor
from ordern.simulate.integrators.tableaus import TABLEAUS, tableau
from tests.random_models import random_robot, random_state
from tests.tolerances import EXACT, ORDER, ROUNDING, TABLEAU, assert_close

RUNGE_KUTTA = [t for t in TABLEAUS.values() if not t.exponential]
ADAPTIVE = [t for t in RUNGE_KUTTA if t.adaptive]
every_tableau = pytest.mark.parametrize("method", RUNGE_KUTTA, ids=lambda t: t.name)
every_adaptive = pytest.mark.parametrize("method", ADAPTIVE, ids=lambda t: t.name)


def square(rows, size: int) -> np.ndarray:
    return np.array([[*row, *[0.0] * (size - len(row))] for row in rows])


@every_tableau
def test_rows_add_up(method) -> None:
    assert_close([sum(row) for row in (*method.a, *method.extra_a)], [*method.c, *method.extra_c], TABLEAU)
    assert abs(sum(method.b) - 1.0) < TABLEAU
    for row in method.errors:
        assert abs(sum(row)) < TABLEAU


@every_tableau
def test_order_conditions(method) -> None:
    """Butcher's conditions for all trees of up to four vertices, and for quadratures up to the order."""
    n = method.stages
    A, b, c = square(method.a, n), np.array(method.b), np.array(method.c)
    for k in range(1, method.order + 1):
        assert abs(b @ c ** (k - 1) - 1.0 / k) < TABLEAU
    trees = {1 / 6: b @ A @ c, 1 / 8: (b * c) @ A @ c, 1 / 12: b @ A @ c**2, 1 / 24: b @ A @ A @ c}
    if method.order >= 5:
        trees |= {
            1 / 10: (b * c**2) @ A @ c,
            1 / 20: b @ (A @ c) ** 2,
            1 / 15: (b * c) @ A @ c**2,
            1 / 30: (b * c) @ A @ A @ c,
            1 / 60: b @ A @ A @ c**2,
            1 / 120: b @ A @ A @ A @ c,
        }
    for wanted, found in trees.items():
        assert abs(found - wanted) < TABLEAU


@every_tableau
def test_dense_output_ends_where_the_step_does(method) -> None:
    ends = [sum(row) for row in method.dense]
    assert_close(ends[: method.stages], method.b, TABLEAU)
    assert_close(ends[method.stages :], np.zeros(len(ends) - method.stages), TABLEAU)
    assert_close([row[0] for row in method.dense], np.eye(len(method.dense))[0], TABLEAU)  # it leaves at the first rate


class Swing:
    """A driven pendulum as equations of motion, by hand: nothing of the robot but its steps of positions is used."""

    robot = on.load("double-pendulum")

    def rates(self, t, q, v):
        tau = np.array([0.3 * math.cos(2.0 * t), 0.1 * t])
        a = -np.sin(q) + 0.2 * np.sin(q[::-1]) + tau - 0.1 * v
        return a, float(tau @ v), float(0.1 * v @ v)


def truth(t: np.ndarray) -> np.ndarray:
    from scipy.integrate import solve_ivp

    def f(t, y):
        a, power, taken = Swing().rates(t, y[:2], y[2:4])
        return [*y[2:4], *a, power, taken]

    done = solve_ivp(f, (0.0, 2.0), [1.0, -0.4, 0.3, 0.2, 0.0, 0.0], "DOP853", t, rtol=1e-13, atol=1e-15)
    return done.y.T


def errors(method, steps: int) -> tuple[float, float]:
    """Of the end, and of dense output, which is looked at three times in each step."""
    y, h, inside, times = Point(np.array([1.0, -0.4]), np.array([0.3, 0.2]), np.zeros(2)), 2.0 / steps, [], []
    slope = NumpyMachine(Swing(), 0.0, h).slope(0.0, y.q, y.v)
    for k in range(steps):
        m = NumpyMachine(Swing(), k * h, h)
        tried = attempt(m, method, y, slope)
        slopes = finish(m, method, tried)
        coefficients = [np.concatenate(list(p)) for p in (y, *dense_coefficients(m, method, y, slopes))]
        for s in (0.15, 0.5, 0.8):
            times.append((k + s) * h)
            inside.append(sum(c * s**n for n, c in enumerate(coefficients)))
        y, slope = tried.end, slopes[method.stages]
    wanted = truth(np.array([*times, 2.0]))
    return float(np.abs(np.concatenate(list(y)) - wanted[-1]).max()), float(np.abs(inside - wanted[:-1]).max())


@every_tableau
@pytest.mark.needs("scipy")
def test_observed_order(method) -> None:
    """Of states and works, at the ends of steps and within them."""
    coarse, fine = {4: (16, 32), 5: (12, 24), 8: (4, 8)}[method.order]
    (end0, dense0), (end1, dense1) = errors(method, coarse), errors(method, fine)
    assert abs(math.log2(end0 / end1) - method.order) < ORDER
    least = {"rk4": 4, "dormand-prince": 4, "cash-karp": 5, "dormand-prince-8": 7}[method.name]
    assert math.log2(dense0 / dense1) > least - ORDER


@every_adaptive
@pytest.mark.needs("scipy")
def test_the_estimate_is_of_its_order(method) -> None:
    """The error's estimate shrinks with its power of the step, and is larger than the error."""
    y = Point(np.array([1.0, -0.4]), np.array([0.3, 0.2]), np.zeros(2))
    found = []
    for h in (0.2, 0.1):
        m = NumpyMachine(Swing(), 0.0, h)
        tried = attempt(m, method, y, m.slope(0.0, y.q, y.v))
        found.append(combined_error(tried.squares))
        true = np.concatenate([tried.end.q, tried.end.v]) - truth(np.array([h]))[0, :4]
        assert found[-1] > float(np.sqrt(np.mean(true**2)))
    assert abs(math.log2(found[0] / found[1]) - method.error_order) < 2 * ORDER


@every_adaptive
def test_the_law_of_the_step(method) -> None:
    p = method.error_order
    for error in (1e-12, 1e-5, 1e-3, 0.3, 0.99, 1.0, 1.01, 3.0, 1e2, 1e9, math.inf):
        wanted = min(GROWTH, max(SHRINKAGE, 0.9 * error ** (-1.0 / p)))
        assert abs(step_factor(error, p, GROWTH) / wanted - 1.0) < 1e-6
        assert abs(step_factor(error, p, 1.0) - min(1.0, wanted)) < 1e-6
    assert abs(step_factor(math.nan, p, GROWTH) - SHRINKAGE) < 1e-6
    assert abs(step_factor(0.0, p, GROWTH) - GROWTH) < 1e-5


def test_two_estimates_are_combined_as_in_dop853() -> None:
    for fine, coarse in itertools.product((0.0, 1e-8, 2.0), (1e-6, 3.0)):
        e5, e3 = math.sqrt(fine), math.sqrt(coarse)
        wanted = e5 * e5 / math.hypot(e5, 0.1 * e3)
        assert abs(combined_error((fine, coarse)) - wanted) <= EXACT * wanted
    assert combined_error((0.0, 0.0)) == 0.0


def test_an_unknown_method_lists_those_that_exist() -> None:
    with pytest.raises(on.errors.UnknownNameError, match=r"unknown explicit method 'rk5'.*rk4.*cash-karp"):
        tableau("rk5")


BOX = np.diag([0.02, 0.04, 0.03])


class Free:
    """A robot on which nothing acts but gravity and its joints."""

    def __init__(self, robot: on.Robot) -> None:
        self.robot = robot

    def rates(self, t, q, v):
        passive = self.robot.passive_force(q, v)
        return self.robot.forward_dynamics(q, v, passive), 0.0, -float(passive @ v)


@pytest.mark.slow
def test_a_step_over_h_is_two_texts_alike() -> None:
    """`fixed_step` and `attempt` are the same step."""
    robot = random_robot(4, n=5, joints=(on.Spherical, on.Planar, on.Revolute), floating=True, passive=True)
    q, v, _ = random_state(robot, 0)
    for method in TABLEAUS.values():
        m = NumpyMachine(Free(robot), 0.0, 1e-2)
        end = attempt(m, method, Point(q, v, np.zeros(2)), m.slope(0.0, q, v)).end
        q1, v1 = fixed_step(m, method, q, v)
        assert_close(end.q, q1, ROUNDING)
        assert_close(end.v, v1, ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize("method", TABLEAUS.values(), ids=lambda t: t.name)
def test_order_on_the_manifold(method) -> None:
    """Quaternions, planes, screws and rolling keep the order, and their constraints."""
    robot = (
        on.Builder("mixed", gravity=(0.0, 0.0, -9.81))
        .body("base")
        .body("disc", parent="base", joint=on.RollingDisc(0.3), mass=1.0, inertia=BOX)
        .body(
            "ball", parent="disc", joint=on.Spherical(), at=(0.1, 0.0, 0.2), mass=0.7, com=(0.1, 0, -0.2), inertia=BOX
        )
        .body("plate", parent="ball", joint=on.Planar((0.0, 1.0, 0.0)), mass=0.4, com=(0, 0.1, 0.1), inertia=BOX)
        .body("floating", parent="base", joint=on.Free(), mass=1.2, com=(0.05, 0.1, 0), inertia=BOX)
        .build()
    )
    rng = np.random.default_rng(0)
    q, v = robot.random(rng), 0.5 * rng.normal(size=robot.nv)

    def end(method: str, steps: int) -> np.ndarray:
        found = robot.rollout(q, v, steps=steps, dt=0.2 / steps, method=method, every=steps)
        for c in robot.joints:
            if c.nq > c.nv and c.nq != 5:
                assert abs(np.linalg.norm(found.q[-1, c.q][:4]) - 1.0) < 4 * EXACT
        return np.concatenate([found.q[-1], found.v[-1]])

    wanted = end("dormand-prince-8", 128)
    steps = {1: 256, 4: 16, 5: 8, 8: 4}[method.order]
    rough, fine = (float(np.abs(end(method.name, n) - wanted).max()) for n in (steps, 2 * steps))
    assert abs(math.log2(rough / fine) - method.order) < 1.5 * ORDER
