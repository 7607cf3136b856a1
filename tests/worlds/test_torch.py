"""Functions of robots on tensors: values, kinds, errors, transforms of `torch.func`, memory and threads."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import numpy as np
import pytest
import torch
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

import ordern as on
from ordern.gpu.device import device_number
from ordern.worlds.torch import table
from tests.tolerances import ROUNDING, assert_close
from tests.worlds.torch_cases import kernel_of, tensors

ARM = on.load("double-pendulum")
"""Small, so that everything compiles quickly."""


def _state(*batch: int, seed: int = 0, **kind: Any) -> list[torch.Tensor]:
    return tensors(ARM, ARM.kernel("forward_dynamics"), seed, batch, **kind)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_answers_are_those_of_numpy_in_the_same_precision(dtype: torch.dtype) -> None:
    q, v, tau = _state(5, dtype=dtype)
    for function, given in (
        (ARM.forward_dynamics, (q, v, tau)),
        (ARM.mass_matrix, (q,)),
        (ARM.kinetic_energy, (q[0], v[0])),
        (ARM.poses, (q,)),
    ):
        found, expected = function(*given), function(*(x.numpy() for x in given))
        assert type(found) is torch.Tensor and found.dtype == dtype and found.device.type == "cpu"
        assert np.array_equal(found.numpy(), expected)


def test_strides_broadcasts_and_empty_batches() -> None:
    q, v, tau = _state(4, 3)
    expected = ARM.forward_dynamics(*(x.numpy() for x in (q, v, tau)))
    turned = [x.transpose(0, 1).contiguous().transpose(0, 1) for x in (q, v, tau)]
    assert not turned[0].is_contiguous() and np.array_equal(ARM.forward_dynamics(*turned), expected)
    one = q[0, 0].expand(4, 3, -1)
    assert np.array_equal(ARM.gravity_force(one)[2, 1], ARM.gravity_force(q[0, 0]))
    assert ARM.forward_dynamics(q, v[0, 0], tau[:1]).shape == (4, 3, 2)
    assert ARM.forward_dynamics(q[:0], v[:0], tau[:0]).shape == (0, 3, 2)
    x = q[:0].requires_grad_()
    assert torch.autograd.grad(ARM.gravity_force(x).sum(), x)[0].shape == (0, 3, 2)


def test_numbers_arrays_lists_and_tensors_go_together() -> None:
    q, v, tau = _state()
    expected = ARM.forward_dynamics(q.numpy(), v.numpy(), tau.numpy())
    assert np.array_equal(ARM.forward_dynamics(q, v.numpy(), tau.tolist()), expected)
    assert np.array_equal(ARM.forward_dynamics([q[0], q[1]], v, tau), expected)
    assert ARM.forward_dynamics(q.float(), v.numpy(), tau.numpy()).dtype == torch.float32
    assert ARM.forward_dynamics(q.float(), v, tau).dtype == torch.float64
    assert np.array_equal(ARM.integrate(q, v, 0.1), ARM.integrate(q.numpy(), v.numpy(), 0.1))
    assert ARM.static_torque(q.float()).dtype == torch.float32
    pushed = {ARM.bodies[-1].name: np.ones(6)}
    expected = ARM.forward_dynamics(q.numpy(), v.numpy(), tau.numpy(), external=pushed)
    assert_close(ARM.forward_dynamics(q, v, tau, external=pushed), expected, ROUNDING)


def test_gradients_of_arguments_that_broadcast_are_summed() -> None:
    q, v, tau = _state(4)
    one = v[0].clone().requires_grad_()
    ARM.forward_dynamics(q, one, tau).square().sum().backward()
    many = v[:1].expand(4, 2).clone().requires_grad_()
    ARM.forward_dynamics(q, many, tau).square().sum().backward()
    assert_close(one.grad, many.grad.sum(0), ROUNDING)


def test_external_forces_by_name_have_gradients() -> None:
    q, v, tau = _state()
    force = torch.arange(6.0, dtype=torch.float64).requires_grad_()
    body = ARM.bodies[-1].name
    found = ARM.forward_dynamics(q, v, tau, external={body: force})
    expected = ARM.forward_dynamics(q.numpy(), v.numpy(), tau.numpy(), external={body: np.arange(6.0)})
    assert_close(found.detach(), expected, ROUNDING)
    assert torch.autograd.gradcheck(lambda f: ARM.forward_dynamics(q, v, tau, external={body: f}), [force])


def test_first_and_second_derivatives() -> None:
    given = [x.requires_grad_() for x in _state()]
    how = {"fast_mode": True}
    assert torch.autograd.gradcheck(ARM.forward_dynamics, given, check_forward_ad=True, **how)
    assert torch.autograd.gradgradcheck(ARM.forward_dynamics, given, **how)
    assert torch.autograd.gradcheck(lambda q: ARM.pose(q, ARM.bodies[-1].name), given[:1], check_forward_ad=True, **how)


def test_transforms_of_torch_func_agree() -> None:
    q, v, tau = _state()
    f = ARM.forward_dynamics
    expected = ARM.derivatives.forward_dynamics(*(x.numpy() for x in (q, v, tau)))
    for jacobian in (jacrev(f, (0, 1, 2)), jacfwd(f, (0, 1, 2))):
        for found, matrix in zip(jacobian(q, v, tau), expected, strict=True):
            assert_close(found, matrix, ROUNDING)
    rate = sum(a @ b.numpy() for a, b in zip(expected, (v, tau, q), strict=True))
    assert_close(jvp(f, (q, v, tau), (v, tau, q))[1], rate, ROUNDING)
    assert_close(vjp(f, q, v, tau)[1](v)[0], v.numpy() @ expected.q, ROUNDING)

    def total(q: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return f(q, v, tau).sum()

    twice = (hessian(total), jacfwd(jacfwd(total)), jacrev(jacrev(total)), jacrev(jacfwd(total)))
    by_both = [second(q, v) for second in twice]
    for found in by_both:
        assert_close(found, by_both[0], ROUNDING)
    one = vmap(grad(total))(torch.stack([q, v]), torch.stack([v, tau]))
    assert_close(one[1], grad(total)(v, tau), ROUNDING)


@pytest.mark.parametrize("places", [(0, 0, 0), (1, None, 0), (None, 0, -1)])
def test_vmap_over_any_dimension(places: tuple[int | None, ...]) -> None:
    given = _state(3)
    mapped = [x[0] if k is None else x.movedim(0, k) for x, k in zip(given, places, strict=True)]
    expected = ARM.forward_dynamics(*(x[0] if k is None else x for x, k in zip(given, places, strict=True)))
    assert torch.equal(vmap(ARM.forward_dynamics, in_dims=places)(*mapped), expected)
    twice = vmap(vmap(ARM.gravity_force))(given[0].expand(2, 3, 2))
    assert torch.equal(twice, ARM.gravity_force(given[0]).expand(2, 3, 2))


def test_out_takes_the_answer() -> None:
    q, v, tau = _state(3)
    out = torch.zeros(3, 4, dtype=torch.float64)[:, ::2]
    version = out._version
    assert ARM.forward_dynamics(q, v, tau, out=out) is out and out._version > version
    assert torch.equal(out, ARM.forward_dynamics(q, v, tau))
    with pytest.raises(on.ArgumentError, match=r"`out` the answer has no gradient.*torch.no_grad"):
        ARM.forward_dynamics(q.clone().requires_grad_(), v, tau, out=out)
    with pytest.raises(on.ArgumentError, match=r"`out` is a tensor of torch.float32"):
        ARM.forward_dynamics(q, v, tau, out=out.float())
    with pytest.raises(on.ArgumentError, match="`out` must be a tensor"):
        ARM.forward_dynamics(q, v, tau, out=out.numpy())
    with pytest.raises(on.ArgumentError, match="several numbers of `out` are one in memory"):
        ARM.forward_dynamics(q, v, tau, out=out[:1].expand(3, 2))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (lambda q: q.half(), r"'q' is a tensor of float16.*x.float\(\)"),
        (lambda q: q.bfloat16(), r"'q' is a tensor of bfloat16.*x.float\(\)"),
        (lambda q: q.long(), r"'q' is a tensor of int64.*x.double\(\)"),
        (lambda q: q.to(torch.complex128), "give real numbers"),
        (lambda q: q.to_sparse(), r"not a dense tensor.*x.to_dense\(\)"),
        (lambda q: q[:1], r"argument 'q' has shape \(1,\)"),
        (lambda q: q.to("meta"), r"several devices \(q on meta, v on cpu, tau on cpu\)"),
        (lambda q: "q", "'q' has data type"),
    ],
)
def test_wrong_tensors_are_named(given: Any, words: str) -> None:
    q, v, tau = _state()
    with pytest.raises(on.ArgumentError, match=words):
        ARM.forward_dynamics(given(q), v, tau)


def test_devices_of_torch_are_devices() -> None:
    q = _state()[0]
    assert_close(ARM.gravity_force(q.numpy(), device=torch.device("cpu")), ARM.gravity_force(q), ROUNDING)
    assert device_number(torch.device("cuda")) == 0 and device_number(torch.device("cuda:1")) == 1
    with pytest.raises(on.ArgumentError, match=r"`device` must be .*not device\(type='mps'\)"):
        ARM.gravity_force(q.numpy(), device=torch.device("mps"))


def test_tensors_without_numbers_give_the_shape() -> None:
    given = [x.to("meta") for x in _state(4)]
    assert ARM.forward_dynamics(*given).shape == (4, 2) and ARM.mass_matrix(given[0]).device.type == "meta"
    with pytest.raises(on.ArgumentError, match=r"'q' has shape \(4, 1\).*last dimensions must be \(2,\)"):
        ARM.mass_matrix(given[0][:, :1])
    with pytest.raises(on.ArgumentError, match=r"do not broadcast: q \(4,\), v \(3,\)"):
        ARM.forward_dynamics(given[0], given[1][:3], given[2])


def test_methods_without_derivatives_say_so() -> None:
    q, v, tau = _state()
    found = ARM.forward_dynamics(q, v, tau, method="conjugate-gradient")
    assert_close(found, ARM.forward_dynamics(q, v, tau), 1e-6)
    moving = ARM.forward_dynamics(q.requires_grad_(), v, tau, method="conjugate-gradient")
    with pytest.raises(on.ArgumentError, match="has no derivatives: it is NumPy code"):
        moving.sum().backward()


def test_threads_share_operators() -> None:
    given = [x.requires_grad_() for x in _state(20)]

    def gradient(k: int) -> torch.Tensor:
        x = [y[k].detach().requires_grad_() for y in given]
        return torch.cat(torch.autograd.grad(ARM.forward_dynamics(*x).square().sum(), x))

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(gradient, range(20)))
    for k, found in enumerate(together):
        assert torch.equal(found, gradient(k))
    large = _state(4000)
    assert torch.equal(ARM.forward_dynamics(*large, threads=2), ARM.forward_dynamics(*large, threads=1))


def test_first_calls_in_many_threads_at_once() -> None:
    robot, together = on.chain(3), Barrier(4)
    given = [torch.full((3,), 0.1 * k, dtype=torch.float64) for k in range(1, 4)]

    def gradient(k: int) -> torch.Tensor:
        x = [y.clone().requires_grad_() for y in given]
        together.wait()
        return torch.cat(torch.autograd.grad(robot.forward_dynamics(*x).sum(), x))

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(gradient, range(4)))
    expected = robot.vjp("forward_dynamics", [x.numpy() for x in given], np.ones(3))
    for x in found:
        assert_close(x, np.concatenate(expected), ROUNDING)


def test_operators_go_with_their_robot() -> None:
    robot = on.chain(2)
    x = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    answer = robot.gravity_force(x)
    gc.collect()
    before = len(table._BY_KEY)
    del robot
    gc.collect()
    answer.sum().backward()  # the graph keeps what it needs
    assert x.grad is not None
    del answer
    gc.collect()
    assert len(table._BY_KEY) < before


def test_varied_robots_with_numbers_of_numpy() -> None:
    q, v, tau = _state()
    varied = ARM.vary(mass=np.array([[1.0, 2.0], [3.0, 4.0]]))
    found = varied.forward_dynamics(q, v, tau)
    assert_close(found, varied.forward_dynamics(q.numpy(), v.numpy(), tau.numpy()), ROUNDING)
    assert torch.autograd.gradcheck(varied.forward_dynamics, [x.requires_grad_() for x in (q, v, tau)], fast_mode=True)


def test_kernels_take_tensors() -> None:
    kernel = kernel_of(ARM, "pose")
    (q,) = tensors(ARM, kernel)
    assert np.array_equal(kernel(q), kernel(q.numpy()))
