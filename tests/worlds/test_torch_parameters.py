"""Robots whose parameters are tensors: values, gradients by them, maps over them, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import ordern as on
from tests.tolerances import ROUNDING, assert_close
from tests.worlds.torch_cases import tensors

ARM = on.load("double-pendulum")
BODY = ARM.bodies[-1].name
STATE = tensors(ARM, ARM.kernel("forward_dynamics"))
MASS = torch.tensor([1.0, 2.0], dtype=torch.float64)
CHANGES = {
    "mass": torch.tensor(1.3, dtype=torch.float64),
    "com": torch.tensor([0.1, 0.2, -0.5], dtype=torch.float64),
    "inertia": torch.tensor([0.1, 0.12, 0.11, 0.0, 0.0, 0.0], dtype=torch.float64),
    "gravity": torch.tensor([0.0, 0.0, -9.0], dtype=torch.float64),
    "armature": torch.tensor(0.3, dtype=torch.float64),
}


def _varied(x: dict[str, Any]) -> on.Robot:
    of_body = {name: {BODY: x[name]} for name in ("mass", "com", "inertia")}
    return ARM.vary(**of_body, gravity=x["gravity"], armature=x["armature"])


def test_answers_are_those_of_the_same_numbers() -> None:
    robot, same = _varied(CHANGES), _varied({name: x.numpy() for name, x in CHANGES.items()})
    numbers = [x.numpy() for x in STATE]
    assert_close(robot.forward_dynamics(*STATE), same.forward_dynamics(*numbers), ROUNDING)
    assert_close(robot.forward_dynamics(*numbers), same.forward_dynamics(*numbers), ROUNDING)
    assert_close(robot.mass, same.mass, ROUNDING)
    again, other = robot.vary(damping=0.5), same.vary(damping=0.5)
    assert_close(again.passive_force(*STATE[:2]), other.passive_force(*numbers[:2]), ROUNDING)
    inertia = torch.tensor(ARM.parameters.inertia)
    assert_close(ARM.with_parameters(inertia=inertia).mass_matrix(STATE[0]), ARM.mass_matrix(STATE[0]), ROUNDING)


def test_gradients_by_parameters() -> None:
    given = [MASS.clone().requires_grad_(), STATE[0].clone().requires_grad_()]

    def answer(mass: torch.Tensor, q: torch.Tensor) -> Any:
        return ARM.vary(mass=mass).forward_dynamics(q, *STATE[1:])

    assert torch.autograd.gradcheck(answer, given, check_forward_ad=True, fast_mode=True)
    assert torch.autograd.gradgradcheck(answer, given, fast_mode=True)


@pytest.mark.slow
def test_gradients_by_all_kinds_of_parameters_of_questions_and_rollouts() -> None:
    given = [x.clone().requires_grad_() for x in CHANGES.values()]

    def answers(*values: torch.Tensor) -> Any:
        robot = _varied(dict(zip(CHANGES, values, strict=True)))
        run = robot.rollout(*STATE[:2], steps=4, dt=0.01)
        return robot.forward_dynamics(*STATE), run.q, robot.mass

    assert torch.autograd.gradcheck(answers, given, check_forward_ad=True, atol=1e-6)


def test_sets_of_parameters_and_maps_over_them() -> None:
    many = torch.stack([MASS, 2 * MASS])
    expected = ARM.vary(mass=many.numpy()).gravity_force(STATE[0].numpy())
    assert_close(ARM.vary(mass=many).gravity_force(STATE[0]), expected, ROUNDING)
    assert_close(torch.vmap(lambda m: ARM.vary(mass=m).gravity_force(STATE[0]))(many), expected, ROUNDING)
    one = torch.vmap(lambda m: ARM.vary(mass={BODY: m}).gravity_force(STATE[0]))(MASS)
    assert_close(one, ARM.vary(mass={BODY: MASS.numpy()}).gravity_force(STATE[0].numpy()), ROUNDING)


@pytest.mark.parametrize("turn", [[], [0.0, 0.0, 0.0], [0.1, -0.2, 0.3]])
def test_placements(turn: list[float]) -> None:
    place = torch.tensor([0.1, 0.2, 0.3, *turn], dtype=torch.float64, requires_grad=True)
    joint = ARM.joints[1].name

    def height(place: torch.Tensor) -> torch.Tensor:
        return ARM.vary(placement={joint: place}).potential_energy(STATE[0])

    expected = ARM.vary(placement={joint: place.detach().numpy()}).potential_energy(STATE[0].numpy())
    assert_close(height(place).detach(), expected, ROUNDING)
    assert torch.autograd.gradcheck(height, place)


def test_impossible_or_unsupported_parameters_are_named() -> None:
    with pytest.raises(on.ModelError, match="body 'upper' has mass -1"):
        ARM.vary(mass=-MASS)
    with pytest.raises(on.ArgumentError, match="fold=True makes numbers part of the code"):
        ARM.vary(mass=MASS, fold=True)
    with pytest.raises(on.ArgumentError, match=r"expected a position \(..., 3\)"):
        ARM.vary(placement={ARM.joints[1].name: torch.eye(4)})
    with pytest.raises(on.ArgumentError, match="'mass' is a tensor of float16"):
        ARM.vary(mass=MASS.half())
    with pytest.raises(on.ArgumentError, match="'mass of upper' is a tensor of int64"):
        ARM.vary(mass={"upper": torch.tensor(1)})
    with pytest.raises(on.ArgumentError, match=r"mass has shape \(3,\)"):
        ARM.vary(mass=torch.ones(3))
    with pytest.raises(on.ArgumentError, match=r"gravity has shape \(4,\); expected \(..., 3\)"):
        ARM.vary(gravity=torch.ones(4))
    with pytest.raises(on.ArgumentError, match=r"com of 'upper' has shape \(\); expected \(..., 3\)"):
        ARM.vary(com={"upper": torch.tensor(0.1)})
    with pytest.raises(on.ArgumentError, match=r"that vary is an array of torch.*x.detach\(\)"):
        _ = ARM.vary(mass=MASS.clone().requires_grad_()).parameters.theta


def test_functions_of_numpy_arrays_see_the_numbers() -> None:
    mass = torch.tensor(2.5, dtype=torch.float64)
    heavy, same = ARM.vary(mass={BODY: mass}), ARM.vary(mass={BODY: 2.5})
    assert heavy.to_mjcf() == same.to_mjcf()
    found, expected = (x.simulate(STATE[0].numpy(), until=0.01) for x in (heavy, same))
    assert_close(found.q, expected.q, ROUNDING)
    recorded = ARM.vary(mass={BODY: mass.clone().requires_grad_()})
    with pytest.raises(on.ArgumentError, match=r"simulate: the vector of parameters that vary is an array of torch"):
        recorded.simulate(STATE[0].numpy(), until=0.01)


def test_gradient_descent_finds_a_mass() -> None:
    tau = ARM.vary(mass=np.array([1.5, 0.7])).inverse_dynamics(*(x.numpy() for x in STATE))
    guess = torch.tensor([1.0, 1.0], dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS([guess], line_search_fn="strong_wolfe")

    def cost() -> torch.Tensor:
        optimiser.zero_grad()
        found = (ARM.vary(mass=guess).inverse_dynamics(*STATE) - torch.tensor(tau)).square().sum()
        found.backward()
        return found

    optimiser.step(cost)
    assert_close(guess.detach(), np.array([1.5, 0.7]), 1e-4)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The .grad attribute")  # the compiler looks at it
def test_compiled_functions_of_robots_with_parameters_that_are_tensors() -> None:
    mass = MASS.clone().requires_grad_()
    robot = ARM.vary(mass=mass)

    def total(q: torch.Tensor) -> torch.Tensor:
        return robot.gravity_force(q).sum()

    compiled = torch.compile(total, fullgraph=True, backend="aot_eager")
    (found,) = torch.autograd.grad(compiled(STATE[0]), mass, retain_graph=True)
    (expected,) = torch.autograd.grad(robot.gravity_force(STATE[0]).sum(), mass)
    assert_close(found, expected, ROUNDING)
