"""Derivatives of second order: against jets in 50 digits, between each other, and known symmetries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.algorithms.derivatives.derived import derived_name
from ordern.derivatives.second_dynamics import _on_one_path
from ordern.errors import ArgumentError
from tests.precise import arguments, precise_rate, settings_of
from tests.random_models import ALL_JOINTS, random_robot
from tests.tolerances import assert_close

CLOSE = 1e-9
JOINTS = {"arm": [on.Revolute, on.Prismatic], "ball": [on.Spherical, on.Revolute, on.Universal], "all": ALL_JOINTS}
QUESTIONS = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "kinetic_energy", "pose", "integrate")


def _state(robot: on.Robot, question: str, seed: int = 0) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arguments and tangents: those that are required, and external forces."""
    given, along = arguments(robot, question, np.random.default_rng(seed))
    names = [x for x in given if not x.startswith("base_")]
    return {x: given[x] for x in names}, {x: along[x] for x in names}


def _along(found: Any, names: tuple[str, ...], along: dict[str, Any], first: str) -> Any:
    """The rate of the derivatives by the first argument, from those of second order; v and tau commute with all."""
    total: Any = 0.0
    for y in names:
        if f"{first}_{y}" in found._fields:
            total = total + np.tensordot(getattr(found, f"{first}_{y}"), along[y], np.ndim(along[y]))
        else:
            turned = np.moveaxis(getattr(found, f"{y}_{first}"), -2, -1)
            total = total + turned @ along[y]
    return total


@pytest.mark.parametrize("joints", [pytest.param(x, marks=() if x == "arm" else pytest.mark.slow) for x in JOINTS])
@pytest.mark.parametrize("question", ["inverse_dynamics", "forward_dynamics"])
def test_second_derivatives_of_dynamics(question: str, joints: str) -> None:
    kinds: dict[str, Any] = {"floating": joints == "all", "armature": True, "mimic": joints == "arm"}
    robot = random_robot(2, 3, JOINTS[joints], **kinds)
    given, along = _state(robot, question)
    names = tuple(x for x in given if x != "external")
    found = getattr(robot.second_derivatives, question)(**given, wrt=names)
    pairs = [(x, y) for k, y in enumerate(names) for x in names[: k + 1]]
    assert found._fields == tuple(f"{x}_{y}" for x, y in pairs)
    for first in names:
        derivative = derived_name("jacobian", question, (first,))
        rate = precise_rate(robot, derivative, given, {x: along[x] for x in names})
        assert_close(_along(found, names, along, first), rate.reshape(robot.nv, robot.nv), CLOSE)


@pytest.mark.parametrize("seed", [0, 1, 3, 4])
def test_mass_matrices_vary_with_freedoms_on_one_path_only(seed: int) -> None:
    """Products of second derivatives leave out all other numbers, which must be zero."""
    robot = random_robot(seed, 5, [on.Revolute, on.Prismatic], mimic=seed % 2 == 0, floating=seed % 3 == 1)
    by_q = robot.derivatives.mass_matrix(robot.random(seed)).q
    assert not by_q[:, ~_on_one_path(robot)].any()
    assert by_q.any()


@pytest.mark.parametrize("question", [pytest.param(x, marks=pytest.mark.slow) for x in QUESTIONS])
def test_products_with_hessians_are_rates_of_gradients(question: str) -> None:
    robot = random_robot(2, 3, JOINTS["ball"], floating=True)
    given, along = _state(robot, question)
    settings = settings_of(robot, question)
    weights = np.random.default_rng(1).normal(size=robot.jvp(question, given, along, **settings).shape)
    found = robot.hvp(question, given, weights, along, **settings)
    assert found._fields == tuple(given)
    name = derived_name("vjp", question, tuple(given))
    rate = precise_rate(robot, name, {**given, "cotangent": weights}, along, **settings)
    assert_close(np.concatenate([np.ravel(x) for x in found]), rate, CLOSE)


def _column(robot: on.Robot, q: np.ndarray, y: np.ndarray, t: np.ndarray) -> np.ndarray:
    """A product with the Hessian of the weighted sum of gravity forces."""
    return np.asarray(robot.hvp("gravity_force", (q,), y, (t,)).q[..., None])


@pytest.mark.slow
def test_hessians_of_weighted_sums() -> None:
    robot = random_robot(2, 3, JOINTS["ball"], floating=True)
    given, along = _state(robot, "forward_dynamics")
    weights = np.random.default_rng(1).normal(size=robot.nv)
    found = robot.hessian("forward_dynamics", given, weights)
    second = robot.second_derivatives.forward_dynamics(**given, wrt=("q", "v", "tau"))
    for name in second._fields:
        assert_close(getattr(found, name), np.einsum("k,kij->ij", weights, getattr(second, name)), CLOSE)
    product = robot.hvp("forward_dynamics", given, weights, {"external": along["external"]}, wrt="q")
    assert_close(np.tensordot(found.q_external, along["external"], 2), product.q, CLOSE)


def test_hessians_of_functions_of_answers() -> None:
    """Half of the square of an answer y: its Hessian is J^T J plus y times the second derivatives of y."""
    robot = random_robot(0, 3, [on.Revolute])
    q, t = robot.random(np.random.default_rng(0), 5), np.random.default_rng(1).normal(size=(5, robot.nv))
    y, Jt = robot.gravity_force(q), robot.jvp("gravity_force", (q,), (t,))
    product = robot.hvp("gravity_force", (q,), y, (t,), cotangent_tangent=Jt).q
    assert_close(robot.hessian("gravity_force", (q,), y).q_q @ t[..., None], _column(robot, q, y, t), CLOSE)
    J, second = robot.derivatives.gravity_force(q).q, robot.second_derivatives.gravity_force(q).q_q
    hessian = np.einsum("bki,bkj->bij", J, J) + np.einsum("bk,bkij->bij", y, second)
    assert_close(product, np.einsum("bij,bj->bi", hessian, t), CLOSE)
    assert_close(second, np.swapaxes(second, -1, -2), CLOSE)
    assert_close(robot.hvp("potential_energy", (q,), np.ones(5), (t,)).q, Jt, CLOSE)


@pytest.mark.slow
def test_quaternions_commute_up_to_their_commutator() -> None:
    """Of turns along body axes, x then y less y then x is the derivative along z."""
    robot = random_robot(2, 1, [on.Spherical])
    q = robot.random(np.random.default_rng(0))
    first, second = robot.derivatives.gravity_force(q).q, robot.second_derivatives.gravity_force(q).q_q
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        assert_close(second[:, j, i] - second[:, i, j], first[:, k], CLOSE)


@pytest.mark.slow
def test_long_answers_take_products_with_two_tangents(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = random_robot(2, 3, JOINTS["ball"])
    given, _ = _state(robot, "inverse_dynamics")
    q, v, a = (np.stack([given[x]] * 3) for x in ("q", "v", "a"))
    usual = robot.second_derivatives.inverse_dynamics(q, v, a[0])
    monkeypatch.setattr("ordern.derivatives.second._MOST_AT_ONCE", 0)
    for x, y in zip(usual, robot.second_derivatives.inverse_dynamics(q, v, a[0]), strict=True):
        assert x.shape == (3, robot.nv, robot.nv, robot.nv)
        assert_close(x, y, 1e-12)
    single = robot.second_derivatives.forward_dynamics(*(x.astype(np.float32) for x in (q, v, a)))
    double = robot.second_derivatives.forward_dynamics(q, v, a)
    for x, y in zip(single, double, strict=True):
        assert x.dtype == np.float32
        assert_close(x, y, 1e-3)


def _by_differences(f: Any, h: float = 1e-3) -> Any:
    """The rates of all parts of f at 0, by differences of fourth order."""
    y = [f(k * h) for k in (-2, -1, 1, 2)]
    return [(a - 8 * b + 8 * c - d) / (12 * h) for a, b, c, d in zip(*y, strict=True)]


def test_products_with_hessians_by_parameters() -> None:
    """Inverse dynamics is linear in inertias: the rate of its gradient along one is the gradient at that inertia."""
    robot = random_robot(3, 2, [on.Spherical, on.Revolute], armature=True)
    given = {x: y for x, y in _state(robot, "inverse_dynamics")[0].items() if x in ("q", "v", "a")}
    w, along = np.random.default_rng(1).normal(size=robot.nv), robot.randomise(1, mass=0.3, com=0.1).parameters.inertia
    found = robot.hvp("inverse_dynamics", given, w, {"inertia": along}, wrt=("q", "inertia", "gravity"))
    expected = robot.with_parameters(inertia=along).vjp("inverse_dynamics", given, w, wrt=("q", "gravity"))
    assert_close(found.q, expected.q, CLOSE)
    assert_close(found.gravity, expected.gravity, CLOSE)
    assert not found.inertia.any()


@pytest.mark.slow
def test_products_with_hessians_of_forward_dynamics_by_parameters() -> None:
    """Against differences of gradients at other inertias and velocities."""
    robot = random_robot(3, 2, [on.Spherical, on.Revolute], armature=True)
    state = {x: y for x, y in _state(robot, "forward_dynamics")[0].items() if x in ("q", "v", "tau")}
    w, along = np.random.default_rng(1).normal(size=robot.nv), robot.randomise(1, mass=0.3, com=0.1).parameters.inertia

    def moved(s: float) -> Any:
        there = robot.with_parameters(inertia=robot.parameters.inertia + s * along)
        return there.vjp("forward_dynamics", {**state, "v": state["v"] + s * w}, w, wrt=("q", "tau", "inertia"))

    found = robot.hvp("forward_dynamics", state, w, {"v": w, "inertia": along}, wrt=("q", "tau", "inertia"))
    for x, y in zip(found, _by_differences(moved), strict=True):
        assert_close(x, y, 1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("most", [5000, 0], ids=["hessians", "two tangents"])
@pytest.mark.parametrize("question", ["forward_dynamics", "mass_matrix"])
def test_hessians_by_parameters_fit_their_products(question: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one robot, and of robots with sets of masses."""
    monkeypatch.setattr("ordern.derivatives.second._MOST_AT_ONCE", most)
    one = random_robot(3, 2, [on.Spherical, on.Revolute], armature=True)
    rng = np.random.default_rng(1)
    for robot in (one, one.vary(mass={one.bodies[1].name: np.array([1.0, 2.0])})):
        given = {x: y for x, y in _state(one, question)[0].items() if x in ("q", "v", "tau")}
        along = {"q": rng.normal(size=one.nv), "inertia": rng.normal(size=one.parameters.inertia.shape)}
        names, batch = ("q", "inertia"), robot.batch_shape
        w = rng.normal(size=getattr(one, question)(**given).shape)
        product = robot.hvp(question, given, w, along, wrt=names)
        H = robot.hessian(question, given, w, wrt=names)
        for x in names:
            total = 0.0
            for y, t in along.items():
                straight = f"{x}_{y}" in H._fields
                block = np.asarray(getattr(H, f"{x}_{y}" if straight else f"{y}_{x}"))
                core = block.reshape(*batch, *((-1, t.size) if straight else (t.size, -1)))
                total = total + (core @ t.ravel() if straight else t.ravel() @ core)
            assert_close(total.reshape(getattr(product, x).shape), getattr(product, x), CLOSE)
        whole = getattr(robot.second_derivatives, question)(**given, wrt=names)
        for x in H._fields:
            blocks = getattr(whole, x).reshape(*batch, w.size, -1)
            assert_close((w.ravel() @ blocks).reshape(getattr(H, x).shape), getattr(H, x), CLOSE)


def test_wrong_calls_of_second_order_are_named() -> None:
    robot = random_robot(0, 2, [on.Revolute])
    q = robot.neutral()
    with pytest.raises(ArgumentError, match="give a tangent of at least one argument"):
        robot.hvp("gravity_force", (q,), q, ())
    with pytest.raises(ArgumentError, match="'base_velocity' has a tangent, but is not given"):
        robot.hvp("kinetic_energy", {"q": q, "v": q}, 1.0, {"base_velocity": np.ones(6)})
    loop, rest = on.load("four-bar"), np.zeros(3)
    state = (loop.assemble().q, rest, rest)
    for ask in (
        lambda: loop.hessian("forward_dynamics", state, rest, wrt=("q", "inertia")),
        lambda: loop.hvp("forward_dynamics", state, rest, {"inertia": loop.parameters.inertia}),
        lambda: loop.second_derivatives.forward_dynamics(*state, wrt="inertia"),
    ):
        with pytest.raises(ArgumentError, match="of a robot with loops are by its arguments, not by 'inertia'"):
            ask()
    with pytest.raises(ArgumentError, match="takes 1 arguments, not 2"):
        robot.second_derivatives.gravity_force(q, q)


@pytest.mark.parametrize("batch", [(0,), (3, 0)])
def test_batches_without_states(batch: tuple[int, ...]) -> None:
    robot = random_robot(0, 2, [on.Revolute])
    q, w = np.zeros((*batch, 2)), np.zeros(2)
    assert robot.second_derivatives.forward_dynamics(q, w, w).q_v.shape == (*batch, 2, 2, 2)
    assert robot.hessian("forward_dynamics", (q, w, w), w).q_v.shape == (*batch, 2, 2)
    assert robot.hvp("forward_dynamics", (q, w, w), w, (w,)).q.shape == (*batch, 2)


@pytest.mark.slow
def test_robots_that_differ_in_their_numbers() -> None:
    robot = random_robot(0, 2, [on.Revolute])
    body = robot.bodies[-1].name
    rng = np.random.default_rng(0)
    q, v, tau = robot.random(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
    found = robot.vary(mass={body: np.array([1.0, 2.0])}).second_derivatives.forward_dynamics(q, v, tau)
    for k, mass in enumerate((1.0, 2.0)):
        one = robot.vary(mass={body: mass}).second_derivatives.forward_dynamics(q, v, tau)
        for many, single in zip(found, one, strict=True):
            assert_close(many[k], single, CLOSE)
