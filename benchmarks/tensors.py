"""Calls with tensors of PyTorch, beyond the time of the compiled function itself."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

from .harness import Figures, benchmark, race, ratio
from .robots import load

ROBOTS = ("panda", "talos") if find_spec("torch") else ()
STATES = 4096


def _tensors(robot: str, states: int | None = None) -> dict[str, object]:
    import torch

    machine, rng = load(robot), np.random.default_rng(0)
    batch = () if states is None else (states,)
    numbers = [machine.random(rng, batch), *(rng.normal(size=(*batch, machine.nv)) for _ in range(2))]
    given = [torch.from_numpy(x) for x in numbers]
    moving = [x.clone().requires_grad_() for x in given]
    machine.forward_dynamics(*numbers)  # single states have a function of their own after the first call
    scope = {"grad": torch.autograd.grad, "robot": machine, "ones": torch.ones_like(given[1])}
    for name, some in (("numbers", numbers), ("given", given), ("moving", moving)):
        scope[name] = some
    scope["answer"] = machine.forward_dynamics(*moving)
    return scope


@benchmark("{robot}.forward_dynamics.torch.single", robot=ROBOTS, quick={"robot": ("panda",)})
def single(robot: str) -> Figures:
    t = race(
        {
            "numbers": "robot.forward_dynamics(*numbers)",
            "given": "robot.forward_dynamics(*given)",
            "moving": "robot.forward_dynamics(*moving)",
            "backward": "grad(answer, moving, ones, retain_graph=True)",
        },
        _tensors(robot),
    )
    yield "numpy.ns_per_call", 1e9 * t["numbers"].min()
    yield "added_us", 1e6 * float(np.median(t["given"] - t["numbers"])), "at most 40"
    yield "with_gradient.added_us", 1e6 * float(np.median(t["moving"] - t["numbers"])), "at most 70"
    yield "backward.us_per_call", 1e6 * t["backward"].min()


@benchmark("{robot}.forward_dynamics.torch.batch", robot=ROBOTS, quick={"robot": ("panda",)})
def batch(robot: str) -> Figures:
    calls = {name: f"robot.forward_dynamics(*{name}, threads=1)" for name in ("numbers", "given")}
    t = race(calls, _tensors(robot, STATES))
    yield "ns_per_state", 1e9 * t["given"].min() / STATES
    yield "per_numpy", ratio(t["given"], t["numbers"])
