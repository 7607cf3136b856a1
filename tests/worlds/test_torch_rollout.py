"""Rollouts of tensors: states, gradients by all arguments, policies that are networks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import ordern as on
from tests.tolerances import ROUNDING, assert_close
from tests.worlds.torch_cases import ROBOTS

CHECK = {"check_forward_ad": True, "atol": 1e-6, "fast_mode": True}
DT = 0.01


def _start(robot: on.Robot, *batch: int, seed: int = 0) -> list[torch.Tensor]:
    rng = np.random.default_rng(seed)
    q, v = robot.random(rng, batch), rng.normal(size=(*batch, robot.nv))
    return [torch.tensor(q), torch.tensor(v)]


def _moving(*tensors: torch.Tensor) -> list[torch.Tensor]:
    return [x.clone().requires_grad_() for x in tensors]


@pytest.mark.parametrize("name", ["double-pendulum", pytest.param("rotating", marks=pytest.mark.slow)])
def test_states_and_gradients(name: str) -> None:
    robot = ROBOTS[name]()
    q, v = _start(robot, 3)
    tau = torch.linspace(-1, 1, 12 * robot.nv, dtype=torch.float64).reshape(3, 4, robot.nv)
    run, expected = robot.rollout(q, v, tau, dt=DT), robot.rollout(q.numpy(), v.numpy(), tau.numpy(), dt=DT)
    for found, numbers in zip(run, expected, strict=True):
        assert np.array_equal(found, numbers)
    assert not run.diverged.any()

    def states(q: torch.Tensor, v: torch.Tensor, tau: torch.Tensor) -> Any:
        return robot.rollout(robot.project(q), v, tau, dt=DT)[:2]  # off the unit sphere there is no position

    assert torch.autograd.gradcheck(states, _moving(q, v, tau), **CHECK)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["double-pendulum", "rotating"])
def test_gradients_by_gains_targets_forces_and_the_step(name: str) -> None:
    robot = ROBOTS[name]()
    q, v = _start(robot, 2)
    (target, _), body = _start(robot, 2, seed=1), robot.bodies[-1].name
    kp, dt = torch.tensor(2.0, dtype=torch.float64), torch.tensor(DT, dtype=torch.float64)
    force = torch.ones(6, dtype=torch.float64)

    def states(q: Any, v: Any, kp: Any, target: Any, force: Any, dt: Any) -> Any:
        fed = (kp, 0.5, robot.project(target))
        return robot.rollout(
            robot.project(q), v, None, 6, dt, feedback=fed, external={body: force}, every=2, method="rk4"
        )[:2]

    assert torch.autograd.gradcheck(states, _moving(q, v, kp, target, force, dt), **CHECK)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["double-pendulum", "rotating"])
def test_second_derivatives(name: str) -> None:
    robot = ROBOTS[name]()
    q, v = _start(robot, 2)
    tau = torch.linspace(-1, 1, 6 * robot.nv, dtype=torch.float64).reshape(2, 3, robot.nv)

    def speeds(q: torch.Tensor, v: torch.Tensor, tau: torch.Tensor) -> torch.Tensor:
        return robot.rollout(robot.project(q), v, tau, dt=DT).v

    assert torch.autograd.gradgradcheck(speeds, _moving(q, v, tau), atol=1e-5, fast_mode=True)

    def cost(v: torch.Tensor) -> torch.Tensor:
        return robot.rollout(q[0], v, steps=3, dt=DT).q.square().sum()

    jacrev, jacfwd = torch.func.jacrev, torch.func.jacfwd
    assert_close(jacrev(jacrev(cost))(v[0]), jacrev(jacfwd(cost))(v[0]), ROUNDING)


def test_policies_pass_gradients() -> None:
    robot = on.load("double-pendulum")
    q, v = _start(robot, 3)
    gain = torch.tensor([[-1.0, 0.2], [0.3, -2.0]], dtype=torch.float64)

    def run(gain: torch.Tensor, v: torch.Tensor) -> Any:
        return robot.rollout(q, v, steps=7, dt=DT, policy=lambda q, v: q @ gain + v, hold=2)

    numbers = gain.numpy()
    expected = robot.rollout(q.numpy(), v.numpy(), steps=7, dt=DT, policy=lambda q, v: q @ numbers + v, hold=2)
    assert_close(run(gain, v).q, expected.q, ROUNDING)
    assert torch.autograd.gradcheck(lambda *x: run(*x)[:2], _moving(gain, v), **CHECK)
    with pytest.raises(on.ArgumentError, match=r"the policy returned \(3, 1\).*shape \(3, 2\)"):
        robot.rollout(q, v, steps=2, policy=lambda q, v: q[:, :1])


def test_a_constant_force_is_one_row_and_single_precision_stays() -> None:
    robot = on.load("double-pendulum")
    q, v = (x.float() for x in _start(robot, 4))
    tau = torch.ones(4, 2)
    run = robot.rollout(q, v, tau, 5)
    assert run.q.dtype == torch.float32
    assert_close(run.q, robot.rollout(q.numpy(), v.numpy(), tau.numpy(), 5).q, 1e-6)
    mapped = torch.vmap(lambda q, v: robot.rollout(q, v, tau[0], 5).v)(q, v)
    assert torch.equal(mapped, run.v)
    with pytest.raises(on.ArgumentError, match="both the batch and the steps have this length"):
        robot.rollout(q, v, tau, 4)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"noise": {"tau": 0.1}, "steps": 2}, r"noise= is for NumPy arrays.*torch.randn"),
        ({}, "give `steps`"),
        ({"device": "cpu", "steps": 2}, r"device= is for NumPy arrays.*x.to\(device\) moves them"),
        ({"tau": torch.zeros(3, 5, 2, dtype=torch.float64), "steps": 4}, "tau has 5 rows over time, but there are 4"),
        ({"tau": torch.zeros(3, 4, dtype=torch.float64), "steps": 4}, r"tau has shape \(3, 4\).*must be 2"),
        ({"steps": 2, "feedback": 3.0}, "`feedback` must be three things"),
        ({"steps": 2, "feedback": (1.0, [1.0, 2.0, 3.0], [0.0, 0.0])}, r"kd has shape \(3,\); give a number, or 2"),
        ({"steps": 2, "tau": lambda q, v: -v}, "rollout takes arrays, not function.*policy=function"),
        ({"steps": 2, "external": np.zeros((5, 6))}, r"external has shape \(5, 6\).*give \(..., 2, 6\)"),
    ],
)
def test_wrong_arguments_are_named(settings: dict[str, Any], words: str) -> None:
    robot = on.load("double-pendulum")
    q, v = _start(robot, 3)
    with pytest.raises(on.ArgumentError, match=words):
        robot.rollout(q, v, **settings)


def test_a_policy_with_gradients_starts_from_tensors() -> None:
    gain = torch.tensor(2.0, requires_grad=True)
    with pytest.raises(on.ArgumentError, match="for a policy of PyTorch, start from q0 and v0 of PyTorch"):
        on.load("double-pendulum").rollout(
            np.zeros(2), np.ones(2), steps=2, policy=lambda q, v: -gain * torch.tensor(v)
        )


def test_rollouts_without_derivatives_say_so() -> None:
    robot = on.load("double-pendulum")
    q, v = _start(robot)
    run = robot.rollout(*_moving(q, v), steps=3, limits="bounce")
    with pytest.raises(on.ArgumentError, match="joints strike their stops"):
        run.v.sum().backward()
    with pytest.raises(on.ArgumentError, match="by reverse mode"):
        torch.func.hessian(lambda v: robot.rollout(q, v, steps=2).v.sum())(v)


@pytest.mark.slow
def test_compiled_rollouts() -> None:
    robot = on.load("double-pendulum")
    given = _moving(*_start(robot, 3))

    def cost(q: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return robot.rollout(q, v, steps=5, dt=DT).v.square().sum()

    compiled = torch.compile(cost, fullgraph=True, backend="aot_eager")
    for found, expected in zip(*(torch.autograd.grad(f(*given), given) for f in (compiled, cost)), strict=True):
        assert_close(found, expected, ROUNDING)
