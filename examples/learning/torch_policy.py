"""Train a network that moves the tip of an arm to any goal, by gradients through rollouts (pip install torch)."""

import math
import sys
import time
from collections.abc import Callable

import torch

import ordern as on

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 150
ARMS, CONTROL_STEPS, HOLD, DT = 64, 50, 10, 2e-3

torch.manual_seed(0)
torch.set_num_threads(1)
arm = on.load("double-pendulum")
network = torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.Tanh(), torch.nn.Linear(64, 2)).double()


def tip(q: torch.Tensor) -> torch.Tensor:
    """Return the place of the tip in the plane of the arm."""
    return arm.pose(q, "tip")[..., :3:2, 3]


def policy(goal: torch.Tensor) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """Return joint forces as a function of states: those that hold the arm, and what the network adds."""

    def forces(q: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        missing = goal - tip(q)
        pull = (missing.unsqueeze(-2) @ arm.jacobian(q, "tip", axes="world")[..., 3::2, :]).squeeze(-2)
        return arm.gravity_force(q) + 10.0 * network(torch.cat([q.sin(), q.cos(), v, pull], dim=-1))

    return forces


def run(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the mean square distances of the tips from their goals on the way, and the distances at the end."""
    start = math.pi * (2.0 * torch.rand(count, 2, dtype=torch.float64) - 1.0)
    goal = tip(start + torch.randn(count, 2, dtype=torch.float64)).detach()
    states = arm.rollout(start, torch.zeros_like(start), steps=CONTROL_STEPS * HOLD, dt=DT, every=HOLD, hold=HOLD,
                         policy=policy(goal))  # fmt: skip
    apart = tip(states.q) - goal[:, None]
    effort = 1e-3 * states.v.square().mean()
    return apart.square().sum(-1).mean() + effort, apart[:, -1].norm(dim=-1)


optimiser = torch.optim.Adam(network.parameters(), lr=1e-2)
began = time.perf_counter()
for k in range(ROUNDS):
    cost, ends = run(ARMS)
    optimiser.zero_grad()
    cost.backward()
    torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
    optimiser.step()
    if k % 25 == 0:
        print(f"round {k}: cost {cost:.3f}, tips end {ends.median():.3f} m from their goals")
with torch.no_grad():
    cost, ends = run(256)
print(f"after {time.perf_counter() - began:.0f} s: cost {cost:.3f}, tips end {ends.median():.3f} m from their goals")
