"""Train a policy that balances a pole on a cart, with PPO of stable-baselines3 (pip install stable-baselines3)."""

import sys
import time

import numpy as np
import torch
from stable_baselines3 import PPO

import ordern as on

torch.set_num_threads(1)  # the network is small, and threads would wait for each other
STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000

cart = (
    on.Builder("cart-pole")
    .body("rail")
    .body("cart", parent="rail", joint=on.Prismatic((1, 0, 0)), joint_name="slide", mass=1.0)
    .body("pole", parent="cart", joint=on.Revolute((0, 1, 0)), joint_name="hinge", mass=0.1, com=(0, 0, 0.5))
    .build()
)


def forces(q: np.ndarray, v: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """Return the forces of 64 carts: up to 10 N on the cart, none on the hinge."""
    return np.concatenate([10.0 * np.clip(actions[:, :1], -1, 1), np.zeros((len(q), 1))], axis=1)


def environments(count: int) -> on.gym.VectorEnv:
    """Return carts that start nearly upright, and end when the pole has fallen or the cart is far away."""
    return on.gym.VectorEnv(
        cart,
        count,
        reward=lambda q, v, tau: np.cos(q[:, 1]) - 0.1 * np.abs(q[:, 0]),
        terminated=lambda q, v: (np.abs(q[:, 1]) > 0.4) | (np.abs(q[:, 0]) > 2.4),
        starts={"q": on.distributions.uniform(-0.1, 0.1), "v": on.distributions.uniform(-0.1, 0.1)},
        parameters={"mass": {"pole": on.distributions.uniform(0.05, 0.3)}},  # poles of different weights
        forces=forces,
        dt=5e-3,
        hold=4,
        length=500,
        autoreset="same-step",
    )


def steps_upright(policy: PPO) -> float:
    """Return how many control steps the pole stays up, on the average of 64 episodes."""
    env = environments(64)
    seen, _ = env.reset(seed=1000)
    up, count = np.ones(64, bool), 0
    for _ in range(500):
        seen, _, fallen, over, _ = env.step(policy.predict(seen, deterministic=True)[0])
        count += int(up.sum())
        up &= ~(fallen | over)
    return count / 64


policy = PPO("MlpPolicy", on.gym.stable_baselines3(environments(64)), n_steps=64, batch_size=512, seed=0, device="cpu")
print(f"before: the pole stays up for {steps_upright(policy):.0f} control steps")
start = time.perf_counter()
policy.learn(STEPS)
print(f"after {STEPS:,} steps of learning: {steps_upright(policy):.0f} of 500 control steps")
print(f"learned in {time.perf_counter() - start:.0f} s", file=sys.stderr)
