"""Tensors over long runs and in several processes: memory does not grow, robots go, forked workers compute."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys

import pytest

from tests.tolerances import HUNG

pytestmark = [pytest.mark.slow, pytest.mark.needs("torch")]

GROWTH = """
import gc, sys
import numpy as np, ordern as on, torch

def pages():
    return int(open("/proc/self/statm").read().split()[1]) * 4096

def use(robot):
    x = [torch.zeros(50, n, dtype=torch.float64, requires_grad=True) for n in (robot.nq, robot.nv, robot.nv)]
    a = robot.forward_dynamics(*x)
    (g,) = torch.autograd.grad(a.square().sum(), x[:1], create_graph=True)
    g.sum().backward()
    torch.vmap(robot.gravity_force)(x[0])
    mass = torch.ones(len(robot.bodies), dtype=torch.float64, requires_grad=True)
    run = robot.vary(mass=mass).rollout(*x[:2], steps=3)
    run.q.sum().backward()

arm = on.load("double-pendulum")
for _ in range(100):
    use(arm)
before = pages()
for _ in range(300):
    use(arm)
print(pages() - before)
"""
ROBOTS = """
import gc, weakref
import ordern as on, torch
from ordern.worlds.torch import table

alive = []
for k in range(6):
    robot = on.chain(2 + k % 2)
    alive.append(weakref.ref(robot))
    x = torch.zeros(robot.nv, dtype=torch.float64, requires_grad=True)
    robot.rollout(x, x, steps=2).v.sum().backward()
    robot.vary(mass=torch.ones(robot.nv, dtype=torch.float64)).pose(x, robot.bodies[-1].name).sum().backward()
    del robot, x
    gc.collect()
print(sum(x() is not None for x in alive), len(table._BY_KEY))
"""
WORKERS = """
import numpy as np, ordern as on, torch

arm = on.load("double-pendulum")

class States(torch.utils.data.Dataset):
    def __len__(self):
        return 12
    def __getitem__(self, k):
        q = torch.full((2,), 0.1 * k, dtype=torch.float64, requires_grad=True)
        energy = arm.potential_energy(q)
        return torch.autograd.grad(energy, q)[0]

if __name__ == "__main__":
    expected = torch.stack([States()[k] for k in range(12)])
    loader = torch.utils.data.DataLoader(States(), batch_size=3, num_workers=2, multiprocessing_context="fork")
    assert torch.equal(torch.cat(list(loader)), expected)
    print(len(list(loader)))
"""


def _printed(program: str) -> list[int]:
    """Return the numbers that a program prints."""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=HUNG, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return [int(x) for x in ran.stdout.split()]


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the size of a process is read from /proc")
def test_memory_does_not_grow() -> None:
    (grown,) = _printed(GROWTH)
    assert grown < 3_000_000  # a kilobyte that each of 300 rounds loses, ten times over


def test_robots_and_their_operators_go() -> None:
    assert _printed(ROBOTS) == [0, 0]


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="there is no fork")
def test_forked_workers_of_a_data_loader() -> None:
    assert _printed(WORKERS) == [4]
