"""Forward dynamics by conjugate gradients: agreement, and what the iteration reports of itself."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

import ordern as on
from ordern.algorithms.forward_dynamics.conjugate_gradient import solve
from ordern.kernel import Kernels
from tests.random_models import random_robot, random_state
from tests.tolerances import INVERSION, ROUNDING, SINGLE, assert_close

METHODS = ("conjugate-gradient", "conjugate-gradient-preconditioned")
OPTIONAL = ("external", "base_velocity", "base_acceleration")
TREES = {
    "tree": random_robot(51, 6, armature=True),
    "chain": random_robot(52, 6, chain=True),
    "floating": random_robot(53, 4, floating=True, armature=True),
    "fixed joints kept": random_robot(54, 4, (on.Revolute, on.Fixed, on.Spherical), merge=False),
    "followers": random_robot(55, 7, (on.Revolute, on.Prismatic, on.Spherical), mimic=True),
}
both = pytest.mark.parametrize("precondition", [False, True])


def drawn(robot: on.Robot, *shape: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(5)
    q, v, tau = random_state(robot, 5, shape)
    return q, v, 10 * tau, rng.normal(size=(*shape, len(robot.bodies), 6)), *rng.normal(size=(2, *shape, 6))


def expected(robot: on.Robot, *arguments: Any) -> np.ndarray:
    present = OPTIONAL[: len(arguments) - 3]
    return robot.kernel("forward_dynamics", present=present, way="interpreted")(*arguments)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("robot", TREES.values(), ids=TREES)
def test_agrees_with_the_articulated_body_recursion(robot: on.Robot, method: str) -> None:
    arguments = drawn(robot, 4)
    found = robot.kernel("forward_dynamics", method, present=OPTIONAL)(*arguments)
    assert_close(found, expected(robot, *arguments), INVERSION)


@both
def test_reports_steps_and_residual_of_each_state(precondition: bool) -> None:
    robot = TREES["tree"]
    q, v, tau, *_ = drawn(robot, 6)
    tau[2] = robot.bias_force(q[2], v[2])  # nothing is left to accelerate
    found = solve(robot, q, v, tau, precondition=precondition, tolerance=1e-12)
    assert found.converged.all() and found.residual.shape == found.steps.shape == (6,)
    assert found.steps[2] == 0 and found.residual[2] == 0.0 and not found.acceleration[2].any()
    others = np.delete(found.steps, 2)
    assert others.min() > 2 and others.max() <= 3 * robot.nv
    first = np.linalg.norm(tau - robot.bias_force(q, v), axis=-1)
    now = np.linalg.norm(tau - robot.inverse_dynamics(q, v, found.acceleration), axis=-1)
    assert (now <= 1e-11 * np.maximum(first, 1.0)).all()


@both
def test_a_smaller_tolerance_takes_more_steps(precondition: bool) -> None:
    robot = TREES["chain"]
    arguments = drawn(robot)[:4]
    exact = expected(robot, *arguments)
    errors, steps = [], []
    for tolerance in (1e-2, 1e-6, 1e-12):
        found = solve(robot, *arguments, precondition=precondition, tolerance=tolerance)
        assert found.converged and found.residual <= tolerance
        errors.append(np.abs(found.acceleration - exact).max())
        steps.append(int(found.steps))
    assert errors == sorted(errors, reverse=True) and steps == sorted(steps)
    assert errors[-1] < 1e-6 * errors[0]


@pytest.mark.slow
@both
def test_what_has_not_converged_is_finite_and_says_so(precondition: bool) -> None:
    """In the norm of M the error falls with every step, whenever one stops."""
    robot = TREES["floating"]
    q, v, tau, *_ = drawn(robot)
    exact, M = expected(robot, q, v, tau), robot.mass_matrix(q)
    errors = []
    for most in range(8):
        found = solve(robot, q, v, tau, precondition=precondition, most=most)
        assert not found.converged and found.steps == most and found.residual > 1e-12
        error = found.acceleration - exact
        errors.append(error @ M @ error)
    assert np.isfinite(errors).all() and (np.diff(errors) < 0.0).all()


def test_states_do_not_disturb_each_other() -> None:
    robot = TREES["tree"]
    q, v, tau, *_ = drawn(robot, 2, 3)
    tau[0, 1] = np.nan
    v[1, 2] = np.inf
    found = solve(robot, q, v, tau)
    assert found.steps.shape == found.converged.shape == (2, 3)
    assert np.isnan(found.acceleration[[0, 1], [1, 2]]).all()
    assert (~found.converged).sum() == 2 and not found.converged[[0, 1], [1, 2]].any()
    alone = solve(robot, q[1, 0], v[1, 0], tau[1, 0])
    assert alone.steps == found.steps[1, 0] and alone.acceleration.shape == (robot.nv,)
    assert_close(found.acceleration[1, 0], alone.acceleration, INVERSION)
    assert_close(alone.acceleration, expected(robot, q[1, 0], v[1, 0], tau[1, 0]), INVERSION)


@pytest.mark.slow
def test_one_position_for_many_forces() -> None:
    robot = TREES["followers"]
    q, v, _, *_ = drawn(robot)
    _, _, tau, forces, *_ = drawn(robot, 3)
    for method in METHODS:
        found = robot.forward_dynamics(q, v, tau, forces, method=method)
        assert_close(found, robot.forward_dynamics(q, v, tau, forces), INVERSION)


@both
def test_as_many_steps_as_freedoms_without_rounding(precondition: bool) -> None:
    """With 60 digits the iteration ends in the N steps that Jain gives it, and no sooner."""
    robot = random_robot(56, 3, (on.Revolute, on.Universal, on.Prismatic), chain=True)
    with mpmath.workdps(60):
        q, v, tau = (np.vectorize(mpmath.mpf, otypes=[object])(x) for x in random_state(robot, 1))
        found = solve(robot, q, v, tau, precondition=precondition, tolerance=1e-30)
        assert found.converged and found.steps == robot.nv
        assert_close(found.acceleration.astype(float), expected(robot, q, v, tau).astype(float), 1e-14)


def test_gamma_as_printed_does_not_converge_in_as_many_steps() -> None:
    """Jain 1991, (30): z^T z / r^T r is right without preconditioning only; z^T r over its predecessor always is."""
    rng = np.random.default_rng(0)
    M = rng.normal(size=(8, 8))
    M = M @ M.T + np.diag(10.0 ** rng.uniform(-1, 2, 8))
    T = rng.normal(size=8)

    def error(L: np.ndarray, printed: bool) -> float:
        x, r, p, before = np.zeros(8), T.copy(), np.zeros(8), np.inf
        for _ in range(8):
            z = r / L
            p = z + (z @ z if printed else z @ r) / before * p
            before = r @ r if printed else z @ r
            s = (z @ r) / (p @ M @ p)
            x, r = x + s * p, r - s * (M @ p)
        return float(np.abs(x - np.linalg.solve(M, T)).max() / np.abs(x).max())

    assert error(np.ones(8), printed=True) < 1e-9 and error(np.diag(M), printed=False) < 1e-9
    assert error(np.diag(M), printed=True) > 1e-3


@pytest.mark.parametrize("method", METHODS)
def test_other_kinds_of_numbers(method: str) -> None:
    robot = TREES["tree"]
    arguments = drawn(robot, 3)[:4]
    exact = expected(robot, *arguments)
    kernel = robot.kernel("forward_dynamics", method, present=("external",))
    single = kernel(*(x.astype(np.float32) for x in arguments))
    assert single.dtype == np.float32
    assert_close(single, exact, SINGLE)
    long = kernel(*(x.astype(np.longdouble) for x in arguments))
    assert long.dtype == np.longdouble
    assert_close(long, exact, INVERSION)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_nothing_to_solve(method: str) -> None:
    block = on.Builder("block").body("base").build()
    assert block.forward_dynamics(*np.zeros((3, 2, 0)), method=method).shape == (2, 0)
    robot = TREES["tree"]
    none = np.zeros((0, robot.nq)), np.zeros((0, robot.nv)), np.zeros((0, robot.nv))
    assert robot.forward_dynamics(*none, method=method).shape == (0, robot.nv)
    state = random_state(robot, 1, (2,))
    loops, usual = (robot.kernel("forward_dynamics", m, way="rolled") for m in (method, None))
    assert_close(loops(*state), usual(*state), INVERSION)


def test_the_preconditioner_does_not_form_the_mass_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is asked for is of order n."""
    asked: list[str] = []
    ask = Kernels.ask

    def noted(self: Kernels, question: str, *arguments: Any, **options: Any) -> Any:
        asked.append(question)
        return ask(self, question, *arguments, **options)

    monkeypatch.setattr(Kernels, "ask", noted)
    robot = TREES["floating"]
    q, v, tau, *_ = drawn(robot, 2)
    robot.kernel("forward_dynamics", METHODS[1])(q, v, tau)
    assert set(asked) == {"bias_force", "mass_matrix_diagonal_product", "mass_matrix_product"}
    largest = max(c.nv for c in robot.joints)
    assert asked.count("mass_matrix_diagonal_product") == largest == 6
    rolled = on.load("yamane-serial-30").kernel("mass_matrix_diagonal_product", way="rolled").counts().total
    longer = on.chain(60).kernel("mass_matrix_diagonal_product", way="rolled").counts().total
    assert longer < 3 * rolled


@pytest.mark.slow
@pytest.mark.parametrize("way", ["interpreted", "unrolled", "rolled"])
@pytest.mark.parametrize("name", [name for name in TREES if name != "followers"])
def test_the_diagonal_of_the_mass_matrix_times_a_vector(name: str, way: str) -> None:
    robot = TREES[name]
    q, _, x, *_ = drawn(robot, 3)
    M, blocks = robot.mass_matrix(q), np.zeros((robot.nv, robot.nv))
    for c in robot.joints:
        blocks[c.v, c.v] = 1.0
    found = robot.kernel("mass_matrix_diagonal_product", way=way)(q, x)
    assert_close(found, ((M * blocks) @ x[..., None])[..., 0], ROUNDING)


def test_the_preconditioner_helps_a_robot_of_heavy_and_light_links() -> None:
    """Arms in turns a thousand times as heavy: the diagonal tells them apart."""
    b = on.Builder("star").body("ground")
    for k in range(12):
        m = 1000.0 ** (k % 3)
        b.body(f"b{k}", parent="ground", joint=on.Revolute((0, 1, 0)), mass=m, com=(0.1, 0.0, 0.2 + 0.1 * k))
        b.body(f"c{k}", parent=f"b{k}", joint=on.Spherical(), mass=m, com=(0.1, 0.0, 0.2), inertia=(m, m, m))
    robot = b.build()
    q, v, tau, *_ = drawn(robot)
    plain, helped = (solve(robot, q, v, tau, precondition=p, tolerance=1e-10) for p in (False, True))
    assert helped.converged
    assert helped.steps < 0.7 * plain.steps
