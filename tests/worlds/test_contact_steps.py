"""Steps with contacts in JAX and PyTorch: gradients through them are those of differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ordern as on
from tests.contact.robots import ball


@pytest.mark.slow
@pytest.mark.needs("jax")
def test_gradients_through_steps_in_jax() -> None:
    import jax
    import jax.numpy as jnp

    from tests.worlds.jax_precision import precision

    robot = ball().with_contacts(on.Ground(0.5))

    def distance(v: Any) -> Any:
        def step(state: Any, _: Any) -> Any:
            found = robot.contact_step(*state[:2], jnp.zeros(6), 1e-2, impulses=state[2])
            return (found.q, found.v, found.impulses), None

        start = jnp.array([1.0, 0, 0, 0, 0, 0, 0.1]), v, jnp.zeros((1, 3))
        return jax.lax.scan(step, start, None, length=20)[0][0][4]

    with precision(True):
        v = jnp.array([0.0, 0, 0, 1, 0, 0])
        found = jax.jit(jax.grad(distance))(v)
        e = 1e-5
        expected = [(distance(v.at[k].add(e)) - distance(v.at[k].add(-e))) / (2 * e) for k in (1, 3)]
    np.testing.assert_allclose(found[jnp.array([1, 3])], expected, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.needs("torch")
def test_gradients_through_a_step_in_torch() -> None:
    import torch

    robot = ball().with_contacts(on.Ground(0.5))
    q = torch.tensor([1.0, 0, 0, 0, 0, 0, 0.1], dtype=torch.float64)
    v = torch.tensor([0.0, 0, 0, 1, 0, 0], dtype=torch.float64, requires_grad=True)
    robot.contact_step(q, v, dt=1e-2).v[3].backward()
    e = 1e-6

    def speed(by: float) -> float:
        w = np.array([0.0, 0, 0, 1 + by, 0, 0])
        return float(robot.contact_step(q.numpy(), w, dt=1e-2).v[3])

    assert v.grad is not None
    assert float(v.grad[3]) == pytest.approx((speed(e) - speed(-e)) / (2 * e), rel=1e-6)
