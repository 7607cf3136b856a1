"""Linearised steps in batches, against MuJoCo's differences (`mjd_transitionFD`) state by state.

Both return the matrices A and B of one step of semi-implicit Euler; MuJoCo's have the errors of differences.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .harness import Figures, benchmark, race, ratio
from .mujoco_peer import mujoco, mujoco_model
from .robots import load

N = 1024
DT = 1e-3


@benchmark("{robot}.{method}.linearise", robot=("panda7", "ur5"), method=("semi-implicit-euler", "rk4"))
def linearise(robot: str, method: str) -> Figures:
    machine = load(robot)
    rng = np.random.default_rng(0)
    q, v, tau = machine.random(rng, N), rng.normal(size=(N, machine.nv)), rng.normal(size=(N, machine.nv))
    contestants: dict[str, Any] = {
        "batch": lambda: machine.linearise(q, v, tau, DT, method=method),
        "one": lambda: machine.linearise(q[0], v[0], tau[0], DT, method=method),
    }
    if mujoco and method == "semi-implicit-euler":  # MuJoCo has no other explicit method here
        model = mujoco_model(machine, DT)
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:] = q[0], v[0]
        A = np.zeros((2 * model.nv, 2 * model.nv))
        contestants["mujoco"] = lambda: mujoco.mjd_transitionFD(model, data, 1e-6, True, A, None, None, None)
    t = race(contestants)
    yield "us_per_state", 1e6 * t["batch"].min() / N
    yield "one.us_per_call", 1e6 * t["one"].min()
    if "mujoco" not in t:
        return
    yield "mujoco.us_per_call", 1e6 * t["mujoco"].min()
    yield "vs_mujoco", ratio(t["mujoco"], t["batch"] / N)
    yield "one.vs_mujoco", ratio(t["mujoco"], t["one"])
