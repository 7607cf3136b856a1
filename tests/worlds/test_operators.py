"""Questions as pure functions of arrays: their derivatives against differences, and against each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.worlds import library, library_of
from ordern.worlds.operators import Operator, operator_of
from tests.tolerances import FINITE_DIFFERENCE

H = 1e-6


def _inputs(op: Operator, robot: on.Robot, rng: np.random.Generator) -> list[Any]:
    found = []
    for x in op.inputs:
        if x.name == "q":
            found.append(robot.random(rng, 3))
        elif x.name == "numbers":
            A, b = op.numbers.map
            found.append(np.tile(robot.variation.values @ A + b, (3, 1)))
        else:
            found.append(rng.standard_normal((3, *x.shape)))
    return found


def _check(op: Operator, inputs: list[Any], wrt: tuple[str, ...], rng: np.random.Generator) -> list[Any]:
    """Compare a push with differences and with the pull; return both with their inputs."""
    answer = op(*inputs)
    rates = {x: rng.standard_normal(y.shape) for x, y in zip(op.names, inputs, strict=True) if x in wrt}
    push, pull = op.push(*wrt), op.pull(*wrt)
    moving = push.arguments(inputs, answer, [rates[x] for x in wrt])
    rate = push(*moving)

    def moved(step: float) -> Any:
        return op(*[y + step * rates.get(x, 0.0) for x, y in zip(op.names, inputs, strict=True)])

    differences = (moved(H) - moved(-H)) / (2 * H)
    assert np.abs(rate - differences).max() < FINITE_DIFFERENCE * np.abs(rate).max()
    weights = rng.standard_normal(answer.shape)
    weighed = pull.arguments(inputs, answer, [weights])
    gradient = dict(zip(wrt, pull.split(pull(*weighed)), strict=True))
    total = sum((gradient[x] * rates[x]).sum() for x in wrt)
    assert abs((weights * rate).sum() - total) < 1e-12 * np.abs(weights * rate).sum()
    return [(push, moving), (pull, weighed)]


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("forward_dynamics", "double-pendulum"),
        pytest.param("forward_dynamics", "puma560", marks=pytest.mark.slow),
        pytest.param("inverse_dynamics", "puma560", marks=pytest.mark.slow),
        pytest.param("mass_matrix", "puma560", marks=pytest.mark.slow),
    ],
)
def test_derivatives_of_first_and_second_order(question: str, name: str) -> None:
    robot, rng = on.load(name), np.random.default_rng(0)
    varied = robot.vary(mass=robot.parameters.mass, armature=0.1)
    op = operator_of(varied.kernel(question))
    for derivative, inputs in _check(op, _inputs(op, varied, rng), ("q", "numbers"), rng):
        _check(derivative, inputs, ("q", derivative.added[-1]), rng)


@pytest.mark.slow
def test_optional_arguments_and_frames() -> None:
    robot, rng = on.load("puma560"), np.random.default_rng(1)
    forces = operator_of(robot.kernel("inverse_dynamics", present=["external", "base_acceleration"]))
    _check(forces, _inputs(forces, robot, rng), ("q", "external", "base_acceleration"), rng)
    poses = operator_of(robot.kernel("poses", frames=("flange", "hand")))
    _check(poses, _inputs(poses, robot, rng), ("q",), rng)


@pytest.mark.slow
def test_loops_over_bodies_have_derivatives_of_second_order() -> None:
    robot, rng = on.chain(12), np.random.default_rng(2)
    op = operator_of(robot.kernel("forward_dynamics", way="rolled"))
    for derivative, inputs in _check(op, _inputs(op, robot, rng), ("q", "v", "tau"), rng):
        assert derivative.machine("float64").code.way == "rolled"
        _check(derivative, inputs, ("q", derivative.added[-1]), rng)


def test_robots_of_one_structure_share_operators() -> None:
    robot = on.load("puma560")
    one, other = (robot.vary(armature=x).kernel("gravity_force") for x in (0.1, 0.2))
    assert operator_of(one) is operator_of(other)


def test_libraries_are_known_by_the_names_of_their_types() -> None:
    Tracer = type("Tracer", (), {"__module__": "jax._src.core"})
    Tensor = type("Tensor", (), {"__module__": "torch"})
    Own = type("Own", (Tensor,), {"__module__": "mine"})
    assert library_of(Tracer()) == "JAX" and library_of([Tracer()]) == "JAX" and library_of({"a": Own()}) == "PyTorch"
    assert library_of(np.zeros(2)) is library_of(1.0) is library_of([1.0]) is library_of(None) is None
    assert library_of([0.0, Tracer()]) == library_of([[0.0, 1.0], [0.0, Tracer()]]) == "JAX"
    assert library("f", {"q": Tracer(), "v": np.zeros(2)}) == "JAX"
    with pytest.raises(on.ArgumentError, match=r"f: .*q of JAX, v of PyTorch"):
        library("f", {"q": Tracer(), "v": Own(), "tau": 1.0})
    with pytest.raises(on.ArgumentError, match=r"f: .*q of JAX and PyTorch\); give"):
        library("f", {"q": [0.0, Tracer(), Own()]})
