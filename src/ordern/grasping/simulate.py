"""The motion of a grasp in time: a run of arms and object as one robot, whose steps contacts and loops correct.

All but the equations of motion and the contacts is the machinery of `Robot.simulate`: integrators, events, limits,
samples, the account of energy, checkpoints.
"""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, unknown_name
from ..simulate.arguments import METHODS as ALL_METHODS
from ..simulate.arguments import (
    event_list,
    integrator_for,
    progress_shown,
    report_times,
    run_key,
    step_settings,
)
from ..simulate.constraints.limits import check_mode
from ..simulate.constraints.loop_stops import loop_stops
from ..simulate.events import Event
from ..simulate.forces import Table
from ..simulate.integrators.tableaus import TABLEAUS
from ..simulate.results.result import Result
from ..simulate.run.chunk import Stepwise
from ..simulate.run.lengths import is_positive, require_reachable
from .arguments import finite, numbers, per_arm
from .as_one_robot import from_whole, to_whole
from .problem import GraspProblem
from .projecting import fitting
from .run import BREACH, GraspRun
from .state import GraspState
from .structure import GraspStructure

if TYPE_CHECKING:
    from .mechanism import Grasp

__all__ = ["METHODS", "simulate"]

Array = NDArray[Any]
METHODS = tuple(m for m in ALL_METHODS if m != "variational")
_WHAT = "grasp.simulate"


def simulate(
    grasp: Grasp,
    q0: Any,
    v0: Any,
    tau: Any,
    until: Any,
    *,
    pose: Any,
    velocity: Any,
    wrench: Any,
    method: str,
    dynamics: str | None,
    step: float | None,
    rtol: float,
    atol: float,
    tolerance: str,
    events: Sequence[Event],
    limits: str,
    restitution: float,
    project: bool,
    breach: str,
    smoothing: float,
    dense: bool,
    checkpoint: str | os.PathLike[str] | None,
    progress: bool | Callable[[float], Any] | None,
    max_steps: int,
) -> Result:
    """See `Grasp.simulate`."""
    began = time.perf_counter()
    if method not in METHODS:
        raise unknown_name("integrator", method, METHODS, _WHAT)
    if breach not in BREACH:
        raise unknown_name("way to treat a breach", breach, BREACH, _WHAT)
    settings = step_settings(method, step, rtol, atol, tolerance)
    if not isinstance(project, (bool, np.bool_)):
        raise ArgumentError(f"{_WHAT}: project must be True or False, not {project!r}")
    if not is_positive(smoothing):
        raise ArgumentError(f"{_WHAT}: smoothing must be a positive velocity, not {smoothing!r}")
    if not is_positive(max_steps) or int(max_steps) != max_steps:
        raise ArgumentError(f"{_WHAT}: max_steps must be a whole number above 0, not {max_steps!r}")
    times, end = report_times(until)
    watched = event_list(events)
    problem = GraspProblem(grasp, _joint_forces(grasp, tau, wrench), _dynamics(dynamics), float(smoothing), project)
    start = _start(grasp, q0, v0, pose, velocity, project)
    q, v = to_whole(start)
    problem.use(GraspStructure.of(grasp, q))
    ends_early = limits == "stop" or breach == "stop" or any(e.terminal for e in watched)
    require_reachable(end, settings.step, "step", int(max_steps), ends_early)
    require_reachable(end, problem.tau.longest, "the period of tau", int(max_steps), ends_early)
    stops = check_mode(grasp.robot, limits, restitution, q) + loop_stops(problem, limits, q)
    integrator = integrator_for(problem, settings, method)
    # also so that compiling is not counted as running
    found = problem.now.motion(q, v, np.zeros(problem.nv), problem.dynamics_method)
    if method == "radau" and found.singular:
        raise ArgumentError(
            f"{_WHAT}: the method 'radau' looks at states next to those in which tips and object fit, and there "
            f"contacts that depend on each other ({int(found.rank)} of {found.rows} rows are independent here) would "
            "lock the motion; use an explicit method"
        )
    ready = time.perf_counter()
    run = GraspRun(
        problem,
        Stepwise(integrator),
        Stepwise(integrator_for(problem, settings, method)) if limits == "bounce" else None,
        (q, v),
        end,
        times,
        watched,
        stops,
        limits,
        float(restitution),
        keep=bool(dense),
        max_steps=int(max_steps),
        method=method,
        began=ready,
        compiling=ready - began,
        order=TABLEAUS[method].order if method in TABLEAUS else 4,
        breach=breach,
    )
    robot, key = grasp.robot, ""
    if checkpoint is not None:
        parts: dict[str, Any] = {
            "robot": [robot.name, robot.digest, robot.loop_digest, robot.lower, robot.upper],
            "contacts": [
                [type(c).__name__, c.name, c.at.matrix, c.on_tip.matrix, c.bound, c.surface] for c in grasp.contacts
            ],
            "q0": q,
            "v0": v,
            "tau": problem.tau.key,
            "until": [times, end],
            "method": [method, dynamics, problem.smoothing, bool(dense), bool(project), breach],
            "step-or-tolerances": [settings.step, settings.rtol, settings.atol],
            "events": watched,
            "limits": [limits, float(restitution)],
        }
        key = run_key(parts)
    return run.go(checkpoint, key, progress_shown(progress))


def _dynamics(given: str | None) -> str | None:
    from .mechanism import METHODS as known

    if given is not None and given not in known:
        raise unknown_name("method", given, known, "grasp")
    return given


def _start(grasp: Grasp, q0: Any, v0: Any, pose: Any, velocity: Any, project: bool) -> GraspState:
    """The state that a run begins with."""
    finite(grasp.arms, per_arm(grasp.arms, q0, "q"), "q0")
    start = grasp.state(q0, v0, pose, velocity)
    if start.shape != ():
        raise ArgumentError(f"{_WHAT}: one state at a time, not a batch of shape {start.shape}")
    return fitting(start, _WHAT, project)


def _require_signature(name: str, f: Any) -> None:
    """Raise unless a function can be called with a time and a state."""
    try:
        inspect.signature(f).bind(0.0, None)
    except TypeError as e:
        raise ArgumentError(
            f"{_WHAT}: `{name}` must be a function f(t, state) of a time and a GraspState (state.q, state.v, "
            f"state.pose, ...): {e}"
        ) from None
    except ValueError:  # it does not tell
        pass


def _joint_forces(grasp: Grasp, tau: Any, wrench: Any) -> Any:
    """Joint forces of the whole robot: those of the arms, and the force on the object along its own axes."""
    n = grasp.robot.nv
    for name, f in (("tau", tau), ("wrench", wrench)):
        if callable(f) and not isinstance(f, Table):
            _require_signature(name, f)
    if isinstance(tau, Table) and wrench is None:
        if tau.values.shape[1] != grasp.nv:
            raise ArgumentError(f"grasp.simulate: the table of `tau` has {tau.values.shape[1]} columns, not {grasp.nv}")
        pad = np.zeros((len(tau.t), n - grasp.nv))
        return Table(tau.t, np.concatenate([tau.values, pad], axis=1), tau.hold)
    if wrench is not None and grasp.object is None:
        raise ArgumentError("grasp.simulate: a `wrench` on an object that does not move has no effect; leave it out")
    if not callable(tau) and wrench is None:
        parts = per_arm(grasp.arms, np.zeros(grasp.nv) if tau is None else tau, "tau")
        return np.concatenate([*parts, np.zeros(n - grasp.nv)])

    def forces(t: float, q: Array, v: Array) -> Array:
        state = from_whole(grasp, q, v)
        given = tau(t, state) if callable(tau) and not isinstance(tau, Table) else tau(t) if callable(tau) else tau
        parts = per_arm(grasp.arms, np.zeros(grasp.nv) if given is None else given, "tau")
        if grasp.object is None:
            return np.concatenate(parts)
        w = wrench(t, state) if callable(wrench) else np.zeros(6) if wrench is None else wrench
        x = numbers(w, "`wrench`", (6,))
        return np.concatenate([*parts, state.R.T @ x[:3], state.R.T @ x[3:]])

    for name in ("period", "breaks"):  # what a controller says of its times
        if hasattr(tau, name):
            setattr(forces, name, getattr(tau, name))
    return forces
