"""The command `ordern bench gpu`: what a GPU is, what kernels reach there, and what bounds them."""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from .outputs import show
from .source import loaded
from .terminal import paint, table

if TYPE_CHECKING:
    from ..gpu import Device
    from ..robot import Robot

__all__ = ["QUESTIONS", "described", "run"]

QUESTIONS = ("forward_dynamics", "inverse_dynamics", "mass_matrix", "forward_dynamics_derivatives")
_USUAL = ("puma560", "quadruped")
_STATES = 1 << 20
_TRAJECTORIES, _STEPS = 1 << 16, 1000
_MOST_STEPPED = 60
"""Freedoms up to which rollouts are measured: the code of longer robots takes long to compile."""


def run(args: argparse.Namespace, robots: list[str]) -> int:
    """Measure all robots on the first GPU."""
    from ..gpu import find_device

    device = find_device("cuda")
    data = [measured_robot(loaded(args, name), device, args.batch or _STATES) for name in robots or _USUAL]
    lines = [paint(text, "bold") for text in described(device)]
    for found in data:
        lines += ["", *robot_lines(found)]
    show(args, {"device": device_data(device), "robots": data}, lines, ())
    return 0


def device_data(device: Device) -> dict[str, Any]:
    """Return what a device is, as plain numbers and words."""
    return {
        "name": device.name,
        "capability": list(device.capability),
        "multiprocessors": device.attribute("multiprocessors"),
        "memory": device.memory,
        "bandwidth": device.bandwidth,
        "peak": {dtype: device.peak(dtype) for dtype in ("float32", "float64")},
        "driver": device.driver.version_text,
    }


def described(device: Device) -> list[str]:
    """Return what a device is, in words."""
    major, minor = device.capability
    peaks = ", ".join(f"{device.peak(t) / 1e12:.1f} TFLOP/s {t}" for t in ("float32", "float64") if device.peak(t))
    return [
        f"{device.name}: capability {major}.{minor}, {device.attribute('multiprocessors')} multiprocessors, "
        f"{device.memory / 1e9:.0f} GB at {device.bandwidth / 1e12:.2f} TB/s",
        f"{peaks or 'unknown arithmetic peak'}; driver for CUDA {device.driver.version_text}",
    ]


def measured_robot(robot: Robot, device: Device, states: int) -> dict[str, Any]:
    """Return what the main functions of a robot reach on a device."""
    from ..gpu.measure import measured

    rows = []
    for question in QUESTIONS:
        kernel = robot.kernel(question).on(device)
        for dtype in ("float32", "float64"):
            begun = time.perf_counter()
            kernel.program.loaded(_dtype(dtype))
            made = time.perf_counter() - begun
            rate = measured(kernel, states, dtype)
            rows.append({"function": question, "dtype": dtype, "first_call": made, **asdict(rate)})
    if robot.nv <= _MOST_STEPPED and not robot.nc:
        rows += [_rollout(robot, device, dtype) for dtype in ("float32", "float64")]
    return {"robot": robot.name, "nv": robot.nv, "states": states, "rows": rows}


def _rollout(robot: Robot, device: Device, dtype: str) -> dict[str, Any]:
    """Return what steps of semi-implicit Euler reach, of many trajectories of which the last state is kept."""
    import numpy as np

    from ..gpu import array
    from ..gpu.device import Event
    from ..gpu.measure import rated
    from ..simulate.rollout_device import device_loop

    begun, kind = time.perf_counter(), np.dtype(dtype)
    loop = device_loop(robot, "semi-implicit-euler", None, kind, frozenset(), device)
    made = time.perf_counter() - begun
    q = array(robot.random(np.random.default_rng(0), (_TRAJECTORIES,)), kind, device)
    v = array(np.zeros((_TRAJECTORIES, robot.nv)), kind, device)
    marks, times = [Event(device, timed=True) for _ in range(2)], []
    for _ in range(3):
        marks[0].record(device.stream.handle)
        robot.rollout(q, v, None, _STEPS, 1e-4, every=_STEPS)
        marks[1].record(device.stream.handle)
        marks[1].wait(loop.doing)
        times.append(marks[1].seconds_since(marks[0]))
    rate = rated(loop.loaded, kind, _TRAJECTORIES * _STEPS / max(min(times), 1e-9), 0)
    return {"function": "rollout (a step)", "dtype": dtype, "first_call": made, **asdict(rate)}


def _dtype(name: str) -> Any:
    import numpy as np

    return np.dtype(name)


def robot_lines(found: dict[str, Any]) -> list[str]:
    """Return the table of a robot."""
    head = ["function", "", "states/s", "GB/s", "of peak", "registers", "made in", "bound by"]
    rows = [head]
    for row in found["rows"]:
        share = f"{100 * row['arithmetic_share']:.0f} %"
        rate = f"{row['states'] / 1e9:.3g} G" if row["states"] >= 1e8 else f"{row['states'] / 1e6:.3g} M"
        figures = [rate, f"{row['bytes'] / 1e9:.0f}", share, str(row["registers"]), f"{row['first_call']:.2f} s"]
        rows.append([row["function"], row["dtype"], *figures, row["bound"]])
    title = f"{found['robot']}: {found['nv']} velocities, batches of {found['states']:,}"
    return [paint(title, "bold"), *table(rows, right=range(2, 7))]
