"""Controlled runs of one second beside the run of the same robot without a controller.

The controllers of the library are computed in the compiled time loop, continuously or in samples of 1 kHz. `function`
is a controller of the user that does nothing: what is left is the cost of calling it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ordern as on

from .harness import Figures, benchmark, processor_clock, settings
from .robots import load

PERIOD = 1e-3
UNTIL = 1.0
HOME = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.7])
KP = np.array([100.0, 100.0, 100.0, 100.0, 10.0, 10.0, 2.0])
KD = 0.1 * KP
TIP = "panda_hand_tcp"
co = on.controllers


def _move(robot: on.Robot) -> on.trajectories.Trajectory:
    return on.trajectories.minimum_jerk(robot, HOME, HOME + 0.3, 0.8)


def _function(robot: on.Robot, period: float | None = None) -> Any:
    force = robot.gravity_force(HOME)

    def constant(t: float, q: Any, v: Any) -> Any:
        return force

    return constant if period is None else co.Sampled(constant, period)


CONTROLLERS: dict[str, Callable[..., Any]] = {
    "pd": lambda robot, **k: co.PD(robot, _move(robot), KP, KD, gravity=True, **k),
    "gravity": lambda robot, **k: co.GravityCompensation(robot, 1.0, **k),
    "computed_torque": lambda robot, **k: co.ComputedTorque(robot, _move(robot), 100.0, **k),
    "feed_forward": lambda robot, **k: co.FeedForward(robot, _move(robot), KP, KD, **k),
    "saturated": lambda robot, **k: co.Saturated(robot, co.ComputedTorque(robot, _move(robot), 100.0, **k)),
    "operational_space": lambda robot, **k: co.OperationalSpace(robot, TIP, robot.pose(HOME + 0.1, TIP), 50.0, **k),
    "function": _function,
}


@benchmark(
    "{robot}.control.{controller}",
    robot=("panda7",),
    controller=CONTROLLERS,
    quick={"controller": ("computed_torque", "function")},
)
def controlled(robot: str, controller: str) -> Figures:
    machine = load(robot)
    make = CONTROLLERS[controller]
    runs: dict[str, Any] = {"none": None, "continuous": make(machine), "sampled": make(machine, period=PERIOD)}
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(3 if settings.quick else 8):
        for name, tau in runs.items():
            started = processor_clock()
            result = machine.simulate(HOME, tau=tau, until=UNTIL)
            times[name].append(processor_clock() - started)
            assert result.report.stopped == "end", result.report.message
    best = {name: min(x[1:]) for name, x in times.items()}
    for name in ("none", "continuous", "sampled"):
        yield f"{name}.ms", 1e3 * best[name]
    yield "continuous.over_none", best["continuous"] / best["none"]
    if controller == "function":
        yield "sampled.us_per_sample", 1e6 * (best["sampled"] - best["none"]) * PERIOD / UNTIL
