"""The motion of a grasp in time: a run of arms and object as one robot, whose steps contacts and loops correct.

All but the equations of motion and the contacts is the machinery of `Robot.simulate`: integrators, events, limits,
samples, the account of energy, checkpoints.
"""

from __future__ import annotations

import inspect
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, unknown_name
from ..simulate.arguments import integrator_for, report_times, require_end
from ..simulate.constraints.limits import limit_stops
from ..simulate.forces import External, Table, applied
from ..simulate.options import METHODS as ALL_METHODS
from ..simulate.options import SimulationOptions
from ..simulate.results.result import Result
from ..simulate.run.chunk import Stepwise
from ..simulate.run.problem import Problem
from ..simulate.simulate import drive
from .arguments import finite, numbers, per_arm
from .as_one_robot import from_whole, to_whole
from .contact_rows import ContactMechanism, contact_rows
from .dense import DENSE
from .one_sided import BREACH, OneSidedContacts
from .projecting import fitting
from .recursive import RECURSIVE
from .state import GraspState

if TYPE_CHECKING:
    from .mechanism import Grasp

__all__ = ["METHODS", "simulate"]

Array = NDArray[Any]
METHODS = tuple(m for m in ALL_METHODS if m != "variational")
DYNAMICS = (*RECURSIVE, *DENSE)
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
    project: bool,
    breach: str,
    **keywords: Any,
) -> Result:
    """See `Grasp.simulate`; the keywords are those of `SimulationOptions`."""
    began = time.perf_counter()
    if breach not in BREACH:
        raise unknown_name("way to treat a breach", breach, BREACH, _WHAT)
    if not isinstance(project, (bool, np.bool_)):
        raise ArgumentError(f"{_WHAT}: project must be True or False, not {project!r}")
    if keywords.get("method") == "variational":
        raise unknown_name("integrator", "variational", METHODS, _WHAT)
    options = SimulationOptions(**keywords, drift="project" if project else "none")
    span = report_times(until)
    forces = _joint_forces(grasp, tau, wrench)
    q, v = to_whole(_start(grasp, q0, v0, pose, velocity, project))
    if options.dynamics not in (None, *DYNAMICS):
        raise unknown_name("method", str(options.dynamics), DYNAMICS, "grasp")
    robot, mechanism = grasp.robot, ContactMechanism(grasp)
    problem = Problem(
        robot,
        applied(robot, forces),
        External(robot, None),
        options.dynamics,
        options.smoothing,
        mechanism=mechanism,
        drift=str(options.drift),
    )
    problem.close(problem.closed, q=q)
    require_end(span[1], problem.tau, options, breach == "stop")
    stops = limit_stops(problem, options.limits, q)
    runner = Stepwise(integrator_for(problem, options))
    # also so that compiling is not counted as running
    found = contact_rows(problem).motion(q, v, np.zeros(problem.nv), problem.dynamics_method)
    if options.method == "radau" and found.singular:
        raise ArgumentError(
            f"{_WHAT}: the method 'radau' looks at states next to those in which tips and object fit, and there "
            f"contacts that depend on each other ({int(found.rank)} of {found.rows} rows are independent here) would "
            "lock the motion; use an explicit method"
        )
    parts = {
        "loops": robot.loop_digest,
        "contacts": [
            [type(c).__name__, c.name, c.at.matrix, c.on_tip.matrix, c.bound, c.surface] for c in grasp.contacts
        ],
        "breach": breach,
    }
    contacts = OneSidedContacts(problem, breach)
    return contacts.told(drive(problem, options, (q, v), span, stops, runner, parts, began, contacts))


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
