"""Mechanisms in motion: energy and loops after ten seconds, singular positions, reference problems, and Cassie.

All runs are `robot.simulate` as it is by default, unless said otherwise. Energy drift is relative to the largest
kinetic energy (see `Report.energy_drift`), `open_m` the largest residual at the end of any step, `between_m` in the
middle of steps, `s_per_s` the processor's time for a simulated second, without that of compiling.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import numpy as np

import ordern as on
from ordern import robots
from ordern.robots.mechanisms import andrews_squeezer as squeezer
from ordern.robots.mechanisms import flyball_governor, four_bar_chain

from .harness import Figures, benchmark, difference, processor_clock, race, settings, wall_clock
from .robots import FOLDER

Array = np.ndarray
UNDRIVEN = (
    "four-bar",
    "slider-crank",
    "spatial-slider-crank",
    "five-bar",
    "stewart-platform",
    "delta-robot",
    "double-parallelogram",
    "bricard",
    "door",
)
CHAINS = {2: 10.0, 4: 10.0, 10: 3.0, 40: 1.5}
"""Numbers of squares, and for how long they fall: through two flat positions at least."""
CASSIE = FOLDER / "cassie_description/robots/cassie_v2.sdf"


def start(name: str) -> tuple[on.Robot, Array]:
    """Return a bundled mechanism, in the position "assembled"."""
    return on.load(name), np.array(robots.positions(name)["assembled"], float)


def simulated(robot: on.Robot, q: Array, v: Any, until: float, **options: Any) -> tuple[on.Result, float]:
    """Return a run, after a short one that compiles the code; and the processor's time for it."""
    robot.simulate(q, v, until=1e-3 * until, **options)
    started = processor_clock()
    run = robot.simulate(q, v, until=until, **options)
    return run, processor_clock() - started


def figures(run: on.Result, seconds: float) -> Figures:
    """Return the figures of a report."""
    report = run.report
    assert report.ok and report.loops is not None, report.message
    yield "steps", report.steps
    yield "energy_drift", report.energy_drift
    yield "open_m", report.loops.violation
    yield "between_m", report.loops.between
    yield "closing_gave_J", report.loops.projected
    yield "singular", len(report.loops.singular)
    yield "s_per_s", seconds / report.time


@benchmark(
    "mechanisms.{robot}",
    robot=UNDRIVEN,
    quick={"robot": ("four-bar", "stewart-platform", "double-parallelogram", "door")},
)
def undriven(robot: str) -> Figures:
    """Ten seconds (two in a quick run) from rest; a door from a push, since nothing else moves it."""
    machine, q = start(robot)
    v = np.full(machine.nv, 1.0 if robot == "door" else 0.0)
    yield from figures(*simulated(machine, q, v, 2.0 if settings.quick else 10.0))


@benchmark("mechanisms.four-bar-chain-{n}", n=CHAINS, quick={"n": (2, 10)})
def chain(n: int) -> Figures:
    """N squares, from upright posts, with ends at 1 m/s. At the end all posts should have a pendulum's angle."""
    robot, q = start(f"four-bar-chain-{n}")
    run, seconds = simulated(robot, q, four_bar_chain.initial_velocity(n), 2.0 if settings.quick else CHAINS[n])
    yield from figures(run, seconds)
    posts = run.q[-1][::2]
    yield "posts_apart_rad", float(np.ptp(posts))
    yield "pendulum_error_rad", abs(posts[0] - _as_a_pendulum(n, run.t[-1]))


def _as_a_pendulum(n: int, t: float) -> float:
    """The angle of all posts if they stay parallel: I w' = -m cos(angle), by Runge-Kutta steps of 0.1 ms."""
    ratio = 9.81 * ((n + 1) / 2 + n) / ((n + 1) / 3 + n)
    count = round(t / 1e-4)
    h, x, w = t / count, np.pi / 2, -1.0
    for _ in range(count):
        a1 = -ratio * np.cos(x)
        a2 = -ratio * np.cos(x + h / 2 * w)
        a3 = -ratio * np.cos(x + h / 2 * w + h * h / 4 * a1)
        a4 = -ratio * np.cos(x + h * w + h * h / 2 * a2)
        x, w = x + h * w + h * h / 6 * (a1 + a2 + a3), w + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
    return float(x)


@benchmark("mechanisms.flyball-governor.{method}", method=("dormand-prince-8", "radau"), quick={"method": ("radau",)})
def governor(method: str) -> Figures:
    """Stiff, spinning at 2 pi rad/s: explicit steps at the default tolerances, and implicit ones at 1e-6."""
    robot, q = start("flyball-governor")
    v, loose = flyball_governor.initial_velocity(), {"rtol": 1e-6, "atol": 1e-6} if method == "radau" else {}
    yield from figures(*simulated(robot, q, v, 1.0 if settings.quick else 10.0, method=method, **loose))


ANDREWS_Q = (
    *(15.81077119629904, -15.75637105984298, 0.04082224013073101, -0.5347301163226948),
    *(0.5244099658805304, 0.5347301163226948, 1.048080741042263),
)
ANDREWS_V = (
    *(1139.920302151208, -1424.379294994111, 11.03291221937134, 19.29337464421385),
    *(0.5735699284790808, -19.29337464421385, 0.3231791658026955),
)
"""At 0.03 s, in the order of the Test Set for IVP Solvers. Its own error is 1.4e-9; its v opens loops at 1e-9 m/s."""


@benchmark("mechanisms.andrews-squeezer")
def andrews() -> Figures:
    """Until 0.03 s, as it is by default and at 1e-12: against the reference, and against a run at 1e-13.

    Errors of q are in rad, those of v relative to the largest, 1,424 rad/s.
    """
    robot, q = start("andrews-squeezer")

    def run(tolerance: float) -> tuple[on.Result, float]:
        options = {"rtol": tolerance, "atol": tolerance, "dense": False}
        return simulated(robot, q, None, 0.03, tau=lambda t, q, v: squeezer.forces(q), **options)

    best, _ = run(1e-13)
    for name, tolerance in (("default", 1e-10), ("1e-12", 1e-12)):
        found, seconds = run(tolerance)
        q_end, v_end = squeezer.in_order(found.q[-1]), squeezer.in_order(found.v[-1])
        yield f"{name}.q_error", float(np.abs(q_end - ANDREWS_Q).max())
        yield f"{name}.v_error", difference(v_end, np.array(ANDREWS_V))
        yield f"{name}.q_from_best", float(np.abs(found.q[-1] - best.q[-1]).max())
        yield f"{name}.v_from_best", difference(found.v[-1], best.v[-1])
        yield f"{name}.steps", found.report.steps
        yield f"{name}.energy_drift", found.report.energy_drift
        yield f"{name}.open_m", found.report.loops.violation
        yield f"{name}.ms", 1e3 * seconds


@benchmark("mechanisms.cassie", quick=False)
def cassie_in_motion() -> Figures:
    """Held at its pelvis, its legs fall for a second from where the file has them; forward dynamics of many states."""
    robot = on.load(CASSIE)
    q = robot.neutral()
    mobility = robot.mobility(q)
    yield "nv", robot.nv
    yield "rows", mobility.constraints
    yield "rank", mobility.rank
    run, seconds = simulated(robot, q, None, 1.0)
    yield from figures(run, seconds)
    count = 1024
    states = run.q[np.linspace(0, len(run.q) - 1, count).astype(int)]
    v = robot.project_velocity(states, np.random.default_rng(0).normal(size=(count, robot.nv)))
    tau = np.zeros(robot.nv)
    times = race({"batch": lambda: robot.forward_dynamics(states, v, tau)}, clock=wall_clock)
    yield "batch.us", 1e6 * times["batch"].min() / count


FIRST = """
import json, sys, time, warnings
import numpy as np
import ordern as on
clock = getattr(time, sys.argv[3])
warnings.simplefilter("ignore", on.ModelWarning)
robot = on.load(sys.argv[1])
q, rest = np.array(json.loads(sys.argv[2])), np.zeros(robot.nv)
seconds = {}
calls = {
    "jacobian": lambda: robot.loop_jacobian(q),
    "dynamics": lambda: robot.forward_dynamics(q, rest, rest),
    "simulate": lambda: robot.simulate(q, until=1e-6),
}
for name, run in calls.items():
    started = clock()
    run()
    seconds[name] = clock() - started
print(json.dumps(seconds))
"""


@benchmark(
    "mechanisms.{robot}.first_use",
    robot=("four-bar", "stewart-platform", "cassie", "four-bar-chain-40"),
    quick={"robot": ("four-bar",)},
)
def first_use(robot: str) -> Figures:
    """Seconds of first calls, one after the other, in a fresh process without a cache."""
    source = str(CASSIE) if robot == "cassie" else robot
    q = on.load(source).neutral() if robot == "cassie" else start(robot)[1]
    done = subprocess.run(
        [sys.executable, "-c", FIRST, source, json.dumps(q.tolist()), processor_clock.__name__],
        env={**os.environ, "ORDERN_CACHE": "off"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr.strip().rpartition("\n")[2])
    for what, seconds in json.loads(done.stdout).items():
        yield f"{what}_s", seconds
