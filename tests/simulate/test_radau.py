"""The implicit method: stiff springs and dampers, its order, its Jacobian, and against other integrators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import ordern as on
from ordern.simulate.forces import Table
from ordern.simulate.integrators.dense import evaluate
from ordern.simulate.integrators.radau import Radau, _method
from ordern.simulate.integrators.stiff import Field, Jacobian
from tests.random_models import random_robot, random_state
from tests.simulate.stepping import apart, energy, run, started
from tests.tolerances import CLOSED_FORM, INVERSION, JACOBIAN_DIFFERENCE, assert_close

Array = np.ndarray

FLOATING = random_robot(71, 3, (on.Spherical, on.Revolute, on.Universal), floating=True)


def stiff_arm(stiffness: float = 1e6, damping: float = 1e4) -> on.Robot:
    """A pendulum whose second joint is all but fixed by a spring and a damper."""
    link: dict[str, Any] = {"joint": on.Revolute((0, 1, 0)), "com": (0, 0, -0.4), "inertia": 0.02 * np.eye(3)}
    builder = on.Builder("stiff").body("base")
    builder.body("upper", parent="base", joint_name="swing", mass=1.0, **link)
    builder.body(
        "lower",
        parent="upper",
        joint_name="stiff",
        at=(0, 0, -0.8),
        mass=0.5,
        stiffness=stiffness,
        damping=damping,
        **link,
    )
    return builder.build()


def spring_pendulum() -> on.Robot:
    """A bob on a rod that is a very stiff, damped spring: it swings slowly and stretches fast."""
    builder = on.Builder("spring pendulum").body("base")
    builder.body("rod", parent="base", joint=on.Revolute((0, 1, 0)), mass=0.01, inertia=0.001 * np.eye(3))
    builder.body(
        "bob", parent="rod", joint=on.Prismatic((0, 0, -1)), at=(0, 0, -1.0), mass=1.0, stiffness=1e6, damping=5e3
    )
    return builder.build()


def rates(robot: on.Robot) -> Any:
    """The equations of motion for SciPy, for joints with as many positions as velocities."""
    n = robot.nv

    def f(t: float, y: Array) -> Array:
        q, v = np.ascontiguousarray(y[:n]), np.ascontiguousarray(y[n:])
        return np.concatenate([v, robot.forward_dynamics(q, v, robot.passive_force(q, v))])

    return f


def by_scipy(robot: on.Robot, q: Any, v: Any, end: float, method: str, tolerance: float) -> Any:
    return solve_ivp(rates(robot), (0.0, end), [*q, *v], method=method, rtol=tolerance, atol=tolerance)


def test_coefficients() -> None:
    """The quadrature is exact up to the fourth power, and the two systems together are A^-1."""
    M = _method()
    for k in range(5):
        assert_close(M.b @ M.c**k, 1.0 / (k + 1), CLOSED_FORM)
    inverse = M.back[:, :1] * M.real @ M.to[:1] + 2.0 * (M.back[:, 1:] * M.complex @ M.to[1:]).real
    r = np.sqrt(6.0)  # Hairer and Wanner II, table IV.5.6
    A = np.array(
        [
            [(88 - 7 * r) / 360, (296 - 169 * r) / 1800, (-2 + 3 * r) / 225],
            [(296 + 169 * r) / 1800, (88 + 7 * r) / 360, (-2 - 3 * r) / 225],
            [(16 - r) / 36, (16 + r) / 36, 1 / 9],
        ]
    )
    assert_close(inverse.real @ A, np.eye(3), CLOSED_FORM)


@pytest.mark.slow
@pytest.mark.parametrize("damping", [0.0, 3.0, 1e4])
@pytest.mark.parametrize("tolerance", [1e-5, 1e-8, 1e-10])
def test_damped_oscillator(damping: float, tolerance: float) -> None:
    """x = exp(-d t) (cos, or both exponentials): within some times the tolerance."""
    mass, stiffness, end = 2.0, 50.0, 2.0
    builder = on.Builder("oscillator", gravity=(0.0, 0.0, 0.0)).body("base")
    joint = on.Prismatic((1, 0, 0))
    robot = builder.body("m", parent="base", joint=joint, mass=mass, stiffness=stiffness, damping=damping).build()
    steps = run(started(Radau, robot, [0.3], [1.0], rtol=tolerance, atol=tolerance), end)
    root = np.sqrt(complex(damping**2 - 4.0 * mass * stiffness))
    product = stiffness / mass
    fast = (-damping - root) / (2.0 * mass)
    slow = product / fast  # the difference of the two would lose digits
    b = (1.0 - slow * 0.3) / (fast - slow)
    a = 0.3 - b
    x = (a * np.exp(slow * end) + b * np.exp(fast * end)).real
    v = (a * slow * np.exp(slow * end) + b * fast * np.exp(fast * end)).real
    assert abs(steps[-1].q1[0] - x) < 20.0 * tolerance
    assert abs(steps[-1].v1[0] - v) < 100.0 * tolerance
    balance = 0.5 * mass * (1.0 - v**2) - sum(s.dissipated for s in steps)  # with what is in the spring
    if damping < 100.0:
        assert abs(balance) < 1e3 * tolerance


@pytest.mark.slow
def test_stiff_joint_takes_few_steps() -> None:
    robot, q, v, end = stiff_arm(), np.array([0.8, 0.0]), np.zeros(2), 1.0
    steps = run(started(Radau, robot, q, v, rtol=1e-6, atol=1e-6), end)
    exact = by_scipy(robot, q, v, end, "Radau", 1e-10).y[:, -1]
    assert apart(robot, steps[-1], exact[:2], exact[2:]) < 1e-5
    assert len(steps) < 1.5 * len(by_scipy(robot, q, v, end, "Radau", 1e-6).t)
    short = robot.simulate(q, v, until=0.005, method="dormand-prince", rtol=1e-6, atol=1e-6)
    explicit = short.report.steps / 0.005
    assert explicit > 500.0 * len(steps)


@pytest.mark.slow
def test_stiff_joint_against_an_explicit_run() -> None:
    """Softer, so that the explicit one ends: both with their own tolerances."""
    robot, q, v, end = stiff_arm(1e4, 1e2), np.array([0.8, 0.1]), np.zeros(2), 0.5
    exact = robot.simulate(q, v, until=end, rtol=1e-11, atol=1e-11)
    for tolerance in (1e-6, 1e-9):
        last = run(started(Radau, robot, q, v, rtol=tolerance, atol=tolerance), end)[-1]
        assert apart(robot, last, exact.q[-1], exact.v[-1]) < 100.0 * tolerance


@pytest.mark.slow
def test_pendulum_on_a_stiff_spring() -> None:
    robot, q, v, end = spring_pendulum(), np.array([1.0, 0.0]), np.zeros(2), 1.5
    steps = run(started(Radau, robot, q, v, rtol=1e-7, atol=1e-7), end)
    exact = by_scipy(robot, q, v, end, "Radau", 1e-11).y[:, -1]
    assert apart(robot, steps[-1], exact[:2], exact[2:]) < 1e-5
    assert len(steps) < 400


@pytest.mark.slow
def test_observed_order() -> None:
    """With steps of one length: nothing is rejected, and the error falls with the fifth power."""
    q, v, _ = random_state(FLOATING, 1)
    q = FLOATING.project(q)
    exact = FLOATING.simulate(q, v, until=0.4, rtol=1e-13, atol=1e-13)
    errors = []
    for h in (0.04, 0.02):
        integrator = started(Radau, FLOATING, q, v, rtol=1e-2, atol=1e-2, step=h)
        integrator._newton_tolerance = 1e-10
        integrator.h = h
        steps = run(integrator, 0.4)
        assert not any(s.rejected for s in steps)
        errors.append(apart(FLOATING, steps[-1], exact.q[-1], exact.v[-1]))
    assert errors[0] < 1e-3
    assert 4.5 < np.log2(errors[0] / errors[1]) < 5.5


@pytest.mark.slow
def test_quaternions_stay_units_and_the_tolerance_holds() -> None:
    q, v, _ = random_state(FLOATING, 2)
    q = FLOATING.project(q)
    exact = FLOATING.simulate(q, v, until=1.0, rtol=1e-12, atol=1e-12)
    steps = run(started(Radau, FLOATING, q, v, rtol=1e-7, atol=1e-7), 1.0)
    assert apart(FLOATING, steps[-1], exact.q[-1], exact.v[-1]) < 1e-5
    assert_close(FLOATING.project(steps[-1].q1), steps[-1].q1, CLOSED_FORM)
    change = energy(FLOATING, steps[-1].q1, steps[-1].v1) - energy(FLOATING, q, v)
    assert abs(change) < 1e-4


@pytest.mark.slow
def test_between_the_steps() -> None:
    """The polynomial of a step, half-way, against a run that ends there."""
    q, v, _ = random_state(FLOATING, 3)
    steps = run(started(Radau, FLOATING, q, v, rtol=1e-8, atol=1e-8), 0.2)
    for step in steps[:: len(steps) // 4]:
        assert step.dense is not None
        half = 0.5 * (step.t1 - step.t0)
        exact = FLOATING.simulate(step.q0, step.v0, until=half, rtol=1e-12, atol=1e-12)
        y = evaluate(step.dense, np.float64(0.5))
        assert_close(FLOATING.project(y[: FLOATING.nq]), exact.q[-1], 1e-6)
        assert_close(y[FLOATING.nq :], exact.v[-1], 1e-6)
        ends = np.concatenate([step.q1, step.v1])
        assert_close(evaluate(step.dense, np.float64(1.0)), ends, 1e-6)


@pytest.mark.slow
def test_forces() -> None:
    """A table, a function, external forces: as the explicit method has them."""
    robot = on.load("planar-3r")
    q, v = np.array([0.3, 0.4, -0.2]), np.zeros(3)
    table = Table([0.0, 0.2, 0.5], [[0.0, 0.0, 0.0], [3.0, 1.0, 0.0], [0.0, 0.0, 0.5]])
    forces = {robot.bodies[-1].name: [0.0, 0.0, 0.3, 1.0, 0.0, 2.0]}

    def pull(t: float, q: Array, v: Array) -> Array:
        return np.array([np.sin(5.0 * t), 0.5, 0.0]) - 3.0 * v - 100.0 * q

    def wind(t: float, q: Array, v: Array) -> dict[str, list[float]]:
        return {robot.bodies[-1].name: [0.0, 0.0, 0.0, v[0], 0.0, t]}

    for tau, given in ((table, None), (pull, forces), (None, wind)):
        exact = robot.simulate(q, v, tau, 0.3, external=given, rtol=1e-9, atol=1e-9)
        found = robot.simulate(q, v, tau, 0.3, external=given, method="radau", rtol=1e-7, atol=1e-7)
        assert_close(found.q[-1], exact.q[-1], 1e-6)
        assert_close(found.v[-1], exact.v[-1], 1e-5)
        assert_close(found.work[-1], exact.work[-1], 1e-5)


def test_jacobian_and_its_elimination() -> None:
    q, v, _ = random_state(FLOATING, 5)
    integrator = started(Radau, FLOATING, q, v)
    field, y = Field(integrator.problem), np.concatenate([FLOATING.project(q), v])
    f = field.rates(np.zeros(1), y[None])[0]
    J = field.jacobian(0.0, y, f)
    n = FLOATING.nq
    one = np.eye(len(y)) * 1e-4
    central = np.array(
        [(field.rates(np.zeros(2), np.stack([y + e, y - e])) * [[1.0], [-1.0]]).sum(0) / 2e-4 for e in one]
    ).T
    assert_close(J.matrix, central, JACOBIAN_DIFFERENCE)
    for c in (30.0, 20.0 - 15.0j):
        r = np.random.default_rng(0).normal(size=len(y)) + 0.0 * c
        assert_close(J.eliminate(c).solve(r), np.linalg.solve(c * np.eye(len(y)) - J.matrix, r), INVERSION)
    flat = Jacobian(np.block([[np.zeros((2, 2)), np.eye(2)], [np.array([[-3.0, 1.0], [1.0, -2.0]]), -np.eye(2)]]), 2)
    r = np.arange(4.0)
    assert_close(flat.eliminate(7.0).solve(r), np.linalg.solve(7.0 * np.eye(4) - flat.matrix, r), CLOSED_FORM)
    assert n == FLOATING.nv + 2  # two quaternions


@pytest.mark.slow
def test_continues_to_the_bit() -> None:
    robot = stiff_arm(1e4, 1e2)
    one = started(Radau, robot, [0.8, 0.1], [0.0, 0.0], rtol=1e-7, atol=1e-7)
    for _ in range(10):
        one.step(0.5)
    other = Radau(one.problem, one.settings)
    other.restore(one.state())
    a, b = run(one, 0.5), run(other, 0.5)
    assert all(
        np.array_equal(x.q1, y.q1) and np.array_equal(x.v1, y.v1) and x.t1 == y.t1 for x, y in zip(a, b, strict=True)
    )


def test_an_end_in_the_way_does_not_shorten_later_steps() -> None:
    robot = on.load("double-pendulum")
    integrator = started(Radau, robot, [0.5, 0.2], [0.0, 0.0], rtol=1e-6, atol=1e-6)
    run(integrator, 0.5)
    planned = integrator.h
    step = integrator.step(0.5 + 1e-5 * planned)
    assert step.t1 == 0.5 + 1e-5 * planned
    assert integrator.h >= 0.5 * planned
