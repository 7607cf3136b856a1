"""The driver of a simulation: from arguments to a Result."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ArgumentError
from .arguments import (
    METHODS,
    Progress,
    event_list,
    initial_state,
    integrator_for,
    progress_shown,
    report_times,
    run_key,
    step_settings,
)
from .constraints.limits import Stop, check_mode
from .constraints.loop_stops import loop_stops
from .constraints.looped import LoopedProblem, drift_of, structure_of
from .constraints.looped_run import LoopedRun
from .constraints.start import assembled, closed_start
from .events import Event
from .forces import External, applied
from .integrators.integrator import Settings
from .integrators.native import kept
from .integrators.tableaus import TABLEAUS
from .run.balance import conserved
from .run.chunk import Compiled, Runner, Stepwise
from .run.lengths import is_positive, require_reachable
from .run.problem import Problem
from .run.run import Run
from .switches import Switch, checked

if TYPE_CHECKING:
    from ..robot import Robot
    from .results.result import Result

__all__ = ["METHODS", "simulate"]

Array = NDArray[np.float64]


def simulate(
    robot: Robot,
    q0: ArrayLike | None = None,
    v0: ArrayLike | None = None,
    tau: Any = None,
    until: float | ArrayLike = 1.0,
    *,
    method: str = "dormand-prince-8",
    step: float | None = None,
    rtol: float = 1e-10,
    atol: float = 1e-10,
    tolerance: str = "motion",
    events: Sequence[Event] = (),
    limits: str = "ignore",
    restitution: float = 0.0,
    external: Any = None,
    dynamics: str | None = None,
    smoothing: float = 0.01,
    dense: bool = True,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress = None,
    max_steps: int = 10_000_000,
    native: bool | None = None,
    drift: str | tuple[float, float] = "project",
    switches: Sequence[Switch] = (),
) -> Result:
    """See `Robot.simulate`."""
    began = time.perf_counter()
    changes = checked(robot, switches)
    drift_of(drift)
    if method == "variational":
        _require_variational(robot, bool(changes), limits)
    q = robot.project(initial_state("q0", q0, robot.neutral() if q0 is not None else assembled(robot), robot))
    v = initial_state("v0", v0, np.zeros(robot.nv), robot)
    times, end = report_times(until)
    settings = step_settings(method, step, rtol, atol, tolerance)
    if not is_positive(smoothing):
        raise ArgumentError(f"smoothing must be a positive velocity, not {smoothing!r}")
    if not is_positive(max_steps) or int(max_steps) != max_steps:
        raise ArgumentError(f"max_steps must be a whole number above 0, not {max_steps!r}")
    events = event_list(events)
    stops = check_mode(robot, limits, restitution, q)
    forces = (applied(robot, tau), External(robot, external))
    ends_early = limits == "stop" or any(e.terminal for e in events)
    require_reachable(end, settings.step, "step", int(max_steps), ends_early)
    require_reachable(end, forces[0].longest, "the period of tau", int(max_steps), ends_early)
    problem: Problem
    if robot.nc or changes:
        problem = LoopedProblem(robot, *forces, dynamics, float(smoothing), drift, bool(changes))
        problem.use(structure_of(robot, {x.name: x.active for x in robot.constraints}, q, 0.0))
        q, v = closed_start(problem.now, q, v, v0 is not None)
        problem.use(structure_of(robot, problem.closed, q, 0.0))
        stops += loop_stops(problem, limits, q)
    else:
        dynamics = "articulated-body" if dynamics is None else dynamics
        robot.kernel("forward_dynamics", dynamics)  # an unknown or unfit method is named before anything is done
        problem = Problem(robot, *forces, dynamics, float(smoothing))
    between = bool(dense or events or stops or times is not None)
    runner = _runner(problem, settings, method, native, between)
    _compile(problem, q, v, stops if limits == "bounce" else [])
    ready = time.perf_counter()
    looped = {"switches": changes} if isinstance(problem, LoopedProblem) else {}
    run = (LoopedRun if isinstance(problem, LoopedProblem) else Run)(
        problem,  # type: ignore[arg-type]
        runner,
        Stepwise(integrator_for(problem, settings, method)) if limits == "bounce" else None,
        (q, v),
        end,
        times,
        events,
        stops,
        limits,
        float(restitution),
        keep=bool(dense),
        max_steps=int(max_steps),
        method=method,
        began=ready,
        compiling=ready - began,
        order=TABLEAUS[method].order if method in TABLEAUS else 4,
        **looped,
    )
    shown = progress_shown(progress)
    key = (
        ""
        if checkpoint is None
        else run_key(
            {
                "robot": [robot.name, robot.digest, robot.lower, robot.upper],
                "q0": q,
                "v0": v,
                "tau": problem.tau.key,
                "external": problem.external.key,
                "until": [times, end],
                "method": [method, dynamics, problem.smoothing, bool(dense)],
                "step-or-tolerances": [settings.step, settings.rtol, settings.atol],
                "events": events,
                "limits": limits,
                "restitution": float(restitution),
                "loops": [robot.loop_digest, [[x.name, x.lower, x.upper] for x in robot.loops], drift, changes],
            }
        )
    )
    return run.go(checkpoint, key, shown)


def _require_variational(robot: Robot, switched: bool, limits: str) -> None:
    """Raise unless the method can do it at all, before anything else is asked for."""
    if robot.nc or switched:
        raise ArgumentError(
            f"the method 'variational' is for trees, but {robot.name!r} has loops or couplings between joints; use "
            "an adaptive one, with drift='project', or `robot.opened()`, the same robot without them"
        )
    if limits == "bounce":
        raise ArgumentError("limits='bounce' is not for the method 'variational'; use an adaptive one")


def _compile(problem: Problem, q: Array, v: Array, stops: list[Stop]) -> None:
    """Use all functions of the robot that a run needs once, so that compiling is not counted as running."""
    drift = problem.drift if isinstance(problem, LoopedProblem) else ""
    key = ("simulate", problem.dynamics_method, len(stops), problem.external.absent, drift)
    kept(problem.robot, key, lambda: _use(problem, q, v, stops))


def _use(problem: Problem, q: Array, v: Array, stops: list[Stop]) -> bool:
    robot = problem.robot
    robot.project(q)
    robot.position_rate(q, v)
    problem.free_dynamics(q, v, np.zeros(robot.nv), 0.0)
    robot.kinetic_energy(q, v)
    robot.potential_energy(q)
    problem.passive_force(q, v)
    if stops:
        problem.stop_response(q, problem.stop_rows(stops, q), 0.0)
        problem.stop_bias(stops, q, v)
    if isinstance(problem, LoopedProblem):
        problem.now.smallest(q[None], 0.0)
        problem.corrected_many(np.zeros(1), robot.integrate(q, np.full(robot.nv, 1e-9))[None], v[None])
        robot.inverse_dynamics(q, v, v)
    if conserved(robot, problem.external.absent).any():
        robot.momentum(q, v)
    return True


def _runner(problem: Problem, settings: Settings, method: str, native: bool | None, between: bool) -> Runner:
    """Machine code where forces are known beforehand, else steps from Python."""
    reasons = []
    if isinstance(problem, LoopedProblem):
        reasons.append("loops are kept closed step by step, from Python")
    if method not in TABLEAUS:
        reasons.append(f"method {method!r} is stepped from Python")
    if problem.tau.kind == "function":
        reasons.append("tau is a Python function")
    if problem.external.is_function:
        reasons.append("the external forces are a Python function")
    if problem.robot.nv == 0:
        reasons.append("nothing moves")
    if not reasons and native is not False:
        try:
            return Compiled(problem, settings, method, between)
        except ArgumentError as e:
            reasons.append(str(e))
    if native:
        raise ArgumentError(f"native=True, but {'; '.join(reasons)}")
    return Stepwise(integrator_for(problem, settings, method))
