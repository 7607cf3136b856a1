"""Robots with contacts as environments of Gymnasium, and their arguments in rollouts that go on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.errors import ArgumentError
from tests.contact.robots import hopper


def test_rollouts_go_on_from_earlier_ones() -> None:
    robot = hopper().with_contacts(on.Ground(0.7), points=["foot"], limits=False, sweeps=3)
    q0, v0 = np.array([1, 0, 0, 0, 0, 0, 0.4, 0.3, -0.6]), np.zeros(8)
    whole = robot.rollout(q0, v0, steps=60, dt=2e-3)
    first = robot.rollout(q0, v0, steps=30, dt=2e-3)
    second = robot.rollout(first.q[-1], first.v[-1], steps=30, dt=2e-3, contact_impulses=first.contact_impulses[-1])
    np.testing.assert_array_equal(second.q, whole.q[30:])
    for bad in (np.zeros((2, 3)), np.full((1, 3), np.nan), "no"):
        with pytest.raises(ArgumentError, match="contact_impulses"):
            robot.rollout(q0, v0, steps=2, contact_impulses=bad)


@pytest.mark.slow
@pytest.mark.needs("gymnasium")
def test_environments_touch_the_ground() -> None:
    robot = hopper().with_contacts(on.Ground(0.7), points=["foot"], limits=False, sweeps=20)

    def reward(q: Any, v: Any, tau: Any) -> Any:
        return q[:, 6]

    starts = {"q": np.array([1, 0, 0, 0, 0, 0, 0.4, 0.1, -0.2])}
    worlds = on.gym.VectorEnv(robot, 4, reward=reward, starts=starts, scale=1.0, dt=2e-3, hold=5, length=20)
    worlds.reset(seed=0)
    actions = np.zeros((4, worlds.single_action_space.shape[0]), np.float32)
    heights = [worlds.step(actions)[1] for _ in range(15)]
    alone = robot.rollout(starts["q"], np.zeros(8), steps=75, dt=2e-3)
    np.testing.assert_allclose(heights[-1], alone.q[-1, 6], atol=1e-9)
