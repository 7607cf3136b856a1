"""Steps with contacts on a GPU: steps per second, for some numbers of registers and threads.

    python -m benchmarks.gpu.contacts [anymal.urdf]

65,536 quadrupeds, and ANYmal if its file is given, fall onto their feet and stand, for 100 steps of 2 ms with 5 sweeps;
the last state is kept. The first line of a robot has the plan that rollouts use.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from dataclasses import replace
from typing import Any

os.environ.setdefault("ORDERN_CACHE_DIR", tempfile.mkdtemp(prefix="ordern-contacts-"))

import numpy as np

import ordern as on
from ordern.compile.ptx.machine import assembly
from ordern.compile.ptx.plan import Plan, repeat_plan
from ordern.compile.ptx.rollout import write_rollout
from ordern.gpu import Device, array, find_device
from ordern.gpu.code import Binary, Loaded, linked
from ordern.gpu.device import Event
from ordern.simulate.integrators.native import contact_requests
from ordern.simulate.rollout_device import device_loop

TRAJECTORIES, STEPS, DT = 1 << 16, 100, 2e-3
FEET = {
    "quadruped": ("lf_foot", "rf_foot", "lh_foot", "rh_foot"),
    "anymal": ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT"),
}
PLANS = [(128, 168), (128, 128), (64, 255), (64, 168), (256, 128), (256, 96)]
"""Threads of a block, and registers of a thread."""


def standing(file: str = "", sweeps: int = 5) -> tuple[on.Robot, Any]:
    """Return a robot with springs in its legs and contacts at its feet, and a position above the ground."""
    name = "anymal" if file else "quadruped"
    robot = on.load(file, floating=True) if file else on.load(name)
    q = robot.neutral() if file else np.array(on.robots.positions(name)["stand"])
    builder = robot.builder()
    for joint in robot.independent[1:]:
        if file:
            bent = {"HFE": 0.8, "KFE": -1.6}.get(joint.name[-3:], 0.0)
            q[joint.q] = bent if "F" in joint.name[:2] else -bent
        builder.set_terms(joint.name, stiffness=200.0, damping=5.0, rest=float(q[joint.q][0]))
    q[6] += 0.02 + 0.06 - min(robot.pose(q, foot)[2, 3] for foot in FEET[name])
    points = dict.fromkeys(FEET[name], 0.02)
    return builder.build().with_contacts(on.Ground(0.8), points=points, limits=False, sweeps=sweeps), q


def starts(robot: on.Robot, q: Any, dtype: str, device: Device) -> tuple[Any, Any]:
    """Return random states near a position, on a device."""
    rng = np.random.default_rng(0)
    q0 = robot.integrate(q, 0.02 * rng.standard_normal((TRAJECTORIES, robot.nv)))
    v0 = 0.1 * rng.standard_normal((TRAJECTORIES, robot.nv))
    return array(q0, np.dtype(dtype), device), array(v0, np.dtype(dtype), device)


def steps_per_second(robot: on.Robot, q: Any, v: Any, device: Device) -> float:
    """Return the rate of a rollout, the best of some."""
    marks, times = [Event(device, timed=True) for _ in range(2)], []
    for _ in range(4):
        marks[0].record(device.stream.handle)
        robot.rollout(q, v, steps=STEPS, dt=DT, every=STEPS)
        marks[1].record(device.stream.handle)
        marks[1].wait("a rollout with contacts")
        times.append(marks[1].seconds_since(marks[0]))
    return TRAJECTORIES * STEPS / max(min(times), 1e-9)


def tried(robot: on.Robot, dtype: str, plan: Plan, device: Device) -> Loaded:
    """Return the loop of a rollout with a plan of its own."""
    requests = contact_requests(robot, False, False)
    ir, code = write_rollout(robot, requests, lambda m, q, v: (q, v), dtype, device.architecture, plan)
    same = {name: getattr(code, name) for name in Binary.__slots__ if name != "object"}
    text = linked(assembly(ir, device.architecture), device, "rollout")
    return Loaded(Binary(object=text, **same), device, "rollout")


def main(files: list[str]) -> None:
    """Print a line for each robot, data type and plan."""
    device = find_device()
    for file in ["", *files]:
        robot, position = standing(file)
        for dtype in ("float32", "float64"):
            begun = time.perf_counter()
            loop = device_loop(robot, "semi-implicit-euler", None, np.dtype(dtype), frozenset(("tau",)), device)
            made, own = time.perf_counter() - begun, loop.loaded
            state, usual = starts(robot, position, dtype, device), repeat_plan(device.architecture)
            for block, registers in [(usual.block, usual.registers), *PLANS]:
                try:
                    if (block, registers) != (usual.block, usual.registers):
                        loop.loaded = tried(robot, dtype, replace(usual, block=block, registers=registers), device)
                    rate, local = steps_per_second(robot, *state, device), loop.loaded.attribute("local")
                    words = f"{rate / 1e6:8.1f} M steps/s  {local} bytes of local memory, first call {made:.1f} s"
                except on.GpuError as e:
                    words = f"refused: {e}"[:120]
                print(f"{robot.name:12} {dtype}  {block:4} threads {registers:4} registers  {words}", flush=True)
            loop.loaded = own


if __name__ == "__main__":
    main(sys.argv[1:])
