"""Reach a point with model-predictive path integral control: a million sampled motions in each control step, on a GPU.

    python examples/learning/mppi_gpu.py [SAMPLES [STEPS [ROBOT]]]

With PyTorch and an NVIDIA GPU there are a million samples of 50 steps; without, two thousand on the processor. The
robot is a bundled one, or a URDF file such as panda.urdf.
"""

import sys
import time
from importlib.util import find_spec
from typing import Any

import numpy as np

import ordern as on

GPU = bool(on.gpu.devices()) and find_spec("torch") is not None
SAMPLES = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000 if GPU else 2_000
STEPS = int(sys.argv[2]) if len(sys.argv) > 2 else 60
ROBOT = sys.argv[3] if len(sys.argv) > 3 else "puma560"
HORIZON, DT, EVERY = 50, 0.01, 10

robot = on.load(ROBOT)
tool = robot.kernel("pose", frame=robot.bodies[-1].name)
if GPU:
    import torch

    torch.manual_seed(0)
    tool = tool.on("cuda")
xp: Any = torch if GPU else np
rng = np.random.default_rng(0)


def there(x: Any) -> Any:
    """Return an array where the samples are computed, in single precision."""
    return torch.as_tensor(np.asarray(x, np.float32), device="cuda") if GPU else np.asarray(x, np.float32)


def sampled(scale: float) -> Any:
    """Return deviations of the joint accelerations, held for some steps: (samples, horizon, nv)."""
    shape = (SAMPLES, HORIZON // EVERY, 1, robot.nv)
    drawn = torch.randn(shape, device="cuda") if GPU else rng.standard_normal(shape, np.float32)
    held = drawn.expand(-1, -1, EVERY, -1) if GPU else np.broadcast_to(drawn, (*shape[:2], EVERY, robot.nv))
    return scale * held.reshape(SAMPLES, HORIZON, robot.nv)


def improved(q: Any, v: Any, plan: Any, goal: Any) -> Any:
    """Return a better plan of joint accelerations: the average of sampled ones, weighted by what they reach."""
    more = sampled(4.0)
    M, bias = there(robot.mass_matrix(q)), there(robot.bias_force(q, v))
    run = robot.rollout(there(q), there(v), (plan + more) @ M + bias, dt=DT, every=EVERY)
    apart = ((tool(run.q[:, 1:])[..., :3, 3] - goal) ** 2).sum(-1)
    cost = apart.sum(-1) + apart[:, -1] + 1e-3 * (run.v[:, 1:] ** 2).sum(-1).sum(-1)
    fine = xp.isfinite(cost)  # the wildest samples may diverge
    cost = xp.where(fine, cost, cost[fine].max())
    weights = xp.exp(-20.0 * (cost - cost.min()) / (cost.mean() - cost.min()))
    return plan + (weights / weights.sum() @ more.reshape(SAMPLES, -1)).reshape(HORIZON, -1)


q, v = 0.3 * robot.random(rng), np.zeros(robot.nv)
goal = robot.pose(robot.integrate(q, rng.uniform(-0.5, 0.5, robot.nv)), robot.bodies[-1].name)[:3, 3]
plan = there(np.zeros((HORIZON, robot.nv)))
times = []
for k in range(STEPS):
    begun = time.perf_counter()
    plan = improved(q, v, plan, there(goal))
    tau = np.asarray(plan[0].cpu() if GPU else plan[0], float) @ robot.mass_matrix(q) + robot.bias_force(q, v)
    times.append(time.perf_counter() - begun)
    moved = robot.rollout(q, v, tau, 1, DT)
    q, v = moved.q[-1], moved.v[-1]
    plan = xp.concatenate([plan[1:], plan[-1:]])
    if k % 10 == 9:
        apart = np.linalg.norm(robot.pose(q, robot.bodies[-1].name)[:3, 3] - goal)
        print(f"{k + 1:4d} steps: {1e3 * apart:6.1f} mm from the goal, {1.0 / np.median(times):6.1f} plans a second")
