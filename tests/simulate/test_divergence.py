"""Trajectories that diverged: joints that are much faster than their limits, in all array libraries."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on


def wheel(joint: object = None, **terms: float) -> on.Robot:
    """Return a joint, by default a revolute one, with unit inertia."""
    b = on.Builder("wheel", gravity=(0, 0, 0)).body("base").body("rim", mass=1.0, inertia=(1.0, 1.0, 1.0))
    return b.joint("axle", joint or on.joints.Revolute((0, 0, 1)), "base", "rim", **terms).build()


@pytest.mark.parametrize(
    ("robot", "bound"),
    [
        (wheel(), 200.0),
        (wheel(velocity_limit=3.0), 30.0),
        (wheel(velocity_limit=0.0), 200.0),
        (wheel(on.joints.Prismatic((0, 0, 1))), 100.0),
    ],
)
def test_ten_times_the_limit_is_too_fast(robot: on.Robot, bound: float) -> None:
    force = np.array([0.9, 1.1])[:, None] * bound  # reaches this speed after a second
    run = robot.rollout(np.zeros((2, 1)), np.zeros((2, 1)), force, steps=100, dt=0.01, every=10, limits="ignore")
    assert run.diverged.tolist() == [False, True] and run.diverged_at.tolist() == [-1, 10]
    assert run[1].diverged


@pytest.mark.needs("jax")
def test_arrays_of_jax_say_the_same() -> None:
    import jax.numpy as jnp

    zero = jnp.zeros((2, 1))
    run = wheel().rollout(zero, zero, jnp.array([[190.0], [210.0]]), steps=100, dt=0.01)
    assert run.diverged.tolist() == [False, True]


@pytest.mark.needs("torch")
def test_tensors_say_the_same() -> None:
    import torch

    zero = torch.zeros((2, 1))
    run = wheel().rollout(zero, zero, torch.tensor([[190.0], [210.0]]), steps=100, dt=0.01)
    assert run.diverged.tolist() == [False, True]


def test_what_starts_fast_may_stay_fast() -> None:
    orbit = on.Builder("satellite", gravity=(0, 0, 0)).body("bus", mass=1.0, inertia=(1.0, 1.0, 1.0))
    v = np.array([0, 0, 0, 7e3, 0, 0])
    assert not orbit.build(floating=True).rollout([1, 0, 0, 0, 0, 0, 0], v, steps=10).diverged
