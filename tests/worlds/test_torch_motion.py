"""Tensors beyond single questions: robots with loops, products of derivatives, and matrices of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import ordern as on
from tests.tolerances import ROUNDING, assert_close
from tests.worlds.torch_cases import tensors

ARM = on.load("double-pendulum")


def _closed() -> tuple[on.Robot, list[torch.Tensor]]:
    robot = on.load("four-bar")
    q = robot.assemble(robot.neutral()).q
    v = robot.project_velocity(q, np.ones(robot.nv))
    return robot, [torch.tensor(x) for x in (q, v, np.ones(robot.nv))]


def test_loops_stay_closed_and_have_gradients() -> None:
    robot, given = _closed()
    q, v, tau = (x.numpy() for x in given)
    assert_close(robot.forward_dynamics(*given), robot.forward_dynamics(q, v, tau), ROUNDING)
    found, expected = robot.closed_dynamics(*given), robot.closed_dynamics(q, v, tau)
    assert_close(found.multipliers, expected.multipliers, ROUNDING)
    assert np.array_equal(robot.loop_jacobian(given[0]), robot.loop_jacobian(q))
    moving = [x.clone().requires_grad_() for x in given]
    gradient = torch.autograd.grad(robot.forward_dynamics(*moving).sum(), moving)
    for a, b in zip(gradient, robot.vjp("forward_dynamics", (q, v, tau), np.ones(robot.nv)), strict=True):
        assert_close(a, b, 1e-11)
    out = torch.empty_like(given[1])
    assert robot.forward_dynamics(*given, out=out) is out and not out.isnan().any()


def test_open_loops_give_nan_unless_they_are_not_checked() -> None:
    robot, (q, v, tau) = _closed()
    assert robot.forward_dynamics(q + 0.1, v, tau).isnan().all()
    assert robot.forward_dynamics(q + 0.1, v, tau, check=False).isfinite().all()
    assert robot.closed_dynamics(q + 0.1, v, tau, stabilise=True).a.isfinite().all()


@pytest.mark.slow
def test_second_derivatives_of_loops() -> None:
    robot, given = _closed()
    moving = [x.requires_grad_() for x in given]

    def accelerations(q: Any, v: Any, tau: Any) -> Any:
        return robot.forward_dynamics(q, v, tau, check=False)

    assert torch.autograd.gradcheck(accelerations, moving, check_forward_ad=True, atol=1e-5)
    assert torch.autograd.gradgradcheck(accelerations, moving, atol=1e-4)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"method": "kkt"}, "solved by 'multipliers', not by 'kkt'"),
        ({"rank": 1}, "without `rank`"),
    ],
)
def test_other_ways_to_close_loops_are_for_numpy(settings: dict[str, Any], words: str) -> None:
    robot, given = _closed()
    with pytest.raises(on.ArgumentError, match=words):
        robot.closed_dynamics(*given, **settings)


def test_derivatives_of_closed_functions_are_for_numpy() -> None:
    robot, given = _closed()
    with pytest.raises(on.ArgumentError, match="differentiate `forward_dynamics` and `closed_dynamics` themselves"):
        robot.vjp("forward_dynamics", given, given[1])


def test_products_and_matrices_of_derivatives() -> None:
    q, v, tau = given = tensors(ARM, ARM.kernel("forward_dynamics"))
    numbers = [x.numpy() for x in given]
    rate = ARM.jvp("forward_dynamics", (q, v, tau), (v, None, q))
    assert_close(rate, ARM.jvp("forward_dynamics", numbers, (numbers[1], None, numbers[0])), ROUNDING)
    gradient = ARM.vjp("forward_dynamics", given, v, wrt=("q", "tau"))
    assert gradient._fields == ("q", "tau") and isinstance(gradient.q, torch.Tensor)
    assert_close(gradient.q, ARM.vjp("forward_dynamics", numbers, numbers[1]).q, ROUNDING)
    matrices = ARM.derivatives.forward_dynamics(*given)
    assert_close(matrices.v, ARM.derivatives.forward_dynamics(*numbers).v, ROUNDING)
    assert_close(matrices.tau, ARM.mass_matrix_inverse(q), ROUNDING)
    assert torch.autograd.gradcheck(ARM.derivatives.mass_matrix, [q.requires_grad_()], fast_mode=True)


@pytest.mark.slow
def test_large_matrices_are_products_with_unit_tangents() -> None:
    arm = on.load("puma560")
    q = torch.linspace(0, 1, 6, dtype=torch.float64)
    assert_close(arm.derivatives.jacobians(q).q, arm.derivatives.jacobians(q.numpy()).q, ROUNDING)
    found = arm.vjp("inverse_dynamics", (q, q, q), q, wrt="inertia").inertia
    assert_close(found, arm.vjp("inverse_dynamics", (q.numpy(),) * 3, q.numpy(), wrt="inertia").inertia, ROUNDING)
